"""Alignments are joined, edited, and made by position."""

from dragoman.documents.alignment import Edit, align, edited, join


def words(alignment):
    return [alignment.target[start:end] for start, end in alignment.target_words]


def test_equal_words_are_linked_wherever_they_are_and_the_others_by_position():
    pair = align("pay 30 to Anna", "trả Anna khoản 30")
    assert pair.sources_of() == [[0], [3], [2], [1]]


def test_links_to_words_that_do_not_exist_are_dropped():
    assert align("a b", "x", [(0, 0), (1, 5), (7, 0)]).links == {(0, 0)}
    assert align("", "x").links == frozenset()


def test_joined_sentences_keep_their_links():
    pair = join([align("a b.", "x y."), align("c.", "w z.", [(0, 1)])], [" ", "\n", ""])
    assert (pair.source, pair.target) == (" a b.\nc.", " x y.\nw z.")
    assert words(pair) == ["x", "y.", "w", "z."]
    assert pair.sources_of() == [[0], [1], [], [2]]


def test_an_edit_replaces_words_and_links_what_it_belongs_to():
    pair = align("go to %s now", "a b c d e", [(0, 0), (1, 1), (3, 4)])
    changed = edited(pair, [Edit(4, 7, "%s", (6, 8)), Edit(9, 9, " !", (0, 0))])
    assert changed.target == "a b %s e !"
    assert words(changed) == ["a", "b", "%s", "e", "!"]
    assert changed.sources_of() == [[0], [1], [2], [3], []]


def test_words_are_found_again_after_an_edit_within_a_word():
    changed = edited(align("costs 12", "giá (13), nhé", [(0, 0), (1, 1)]), [Edit(5, 7, "12", (6, 8))])
    assert changed.target == "giá (12), nhé"
    assert words(changed) == ["giá", "(12),", "nhé"]
    assert changed.sources_of() == [[0], [1], []]


def test_what_an_edit_leaves_of_a_word_apart_from_itself_is_a_word():
    changed = edited(align("a $b %d", "x $b%s", [(0, 0), (1, 1), (2, 1)]), [Edit(4, 6, " %d", (5, 7))])
    assert words(changed) == ["x", "$b", "%d"]
    assert sorted(changed.links) == [(0, 0), (2, 2)]
