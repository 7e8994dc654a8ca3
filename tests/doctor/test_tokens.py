"""Lines become numbered tokens."""

import numpy as np

from dragoman.doctor.tokens import MARK, NUMBER, WORD, Side, Tokens, number_tokens, read_batch


def lines_of(side: Side) -> list[set[int]]:
    """Return the tokens of each line."""
    return [set(side.types[side.rows == row].tolist()) for row in range(len(side))]


def test_a_token_has_one_number_on_both_sides_and_in_either_case() -> None:
    batch = read_batch(["Paris, paris 7"], ["7 PARIS"])
    [source], [target] = lines_of(batch.source), lines_of(batch.target)
    assert target < source and len(source) == 3
    assert sorted(batch.kinds[list(target)].tolist()) == [WORD, NUMBER]
    assert batch.kinds[list(source - target)].tolist() == [MARK]


def test_rare_tokens_come_first() -> None:
    batch = read_batch(["a b", "a c", "a"], ["b"])
    first = batch.source.types[batch.source.rows == 0]
    counts = np.bincount(np.concatenate([batch.source.types, batch.target.types]))
    assert counts[first].tolist() == [2, 3]


def test_a_blank_line_has_the_empty_token_and_no_length() -> None:
    batch = read_batch(["", " \t", "a"], ["", "b"])
    assert batch.source.lengths.tolist() == [0, 0, 1]
    source, target = lines_of(batch.source), lines_of(batch.target)
    assert source[0] == source[1] == target[0] and len(source[0]) == 1 and source[2].isdisjoint(source[0])


def test_scripts_without_spaces_are_cut_into_characters() -> None:
    batch = read_batch(["我爱 NLP"], [])
    assert len(batch.source.types) == 3 and batch.source.lengths.tolist() == [6]


def test_a_line_feed_inside_a_line_does_not_end_it() -> None:
    assert read_batch(["a\nb", "c"], []).source.rows.tolist() == [0, 0, 1]
    assert len(read_batch([], []).source) == 0


def test_parts_of_lines_that_are_joined_have_the_tokens_of_all() -> None:
    lines = ["a b", "", "c, d", "e"]
    tokens = Tokens.of(lines[:1]).joined(Tokens.of(lines[1:]))
    for first, end in ((0, 4), (1, 3), (2, None), (4, 9), (7, 9)):
        found = number_tokens(tokens.part(first, end), Tokens.of([]), 0).source
        expected = read_batch(lines[first:end], []).source
        assert (found.rows.tolist(), found.types.tolist()) == (expected.rows.tolist(), expected.types.tolist())
