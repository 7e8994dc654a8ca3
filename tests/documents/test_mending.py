"""Placeholders are put back where the links say that they belong."""

import random

import pytest

from dragoman.documents import mending
from dragoman.documents.alignment import align
from dragoman.documents.mending import mend
from dragoman.documents.placeholders import conserved, missing


def mended(source: str, target: str, links=None) -> str:
    return mend(align(source, target, links)).alignment.target


def test_markers_of_qt_are_put_back():
    assert mended("Copy %1 to %2", "Chép % 1 vào 2", [(0, 0), (1, 1), (1, 2), (2, 3), (3, 4)]) == "Chép %1 vào %2"
    assert mended("%n file(s) left", "còn n tệp", [(0, 1), (1, 2), (2, 0)]) == "còn %n tệp"


def test_percent_signs_stay_doubled():
    assert mended("%d%% of 50%% left", "còn %d% của 50%", [(0, 1), (1, 2), (2, 3), (3, 0)]) == "còn %d%% của 50%%"
    assert mended("%d of 50% left", "còn %d của 50%") == "còn %d của 50%"


def test_a_changed_number_is_replaced_where_it_is():
    assert mended("pay (12)!", "trả (21)!", [(0, 0), (1, 1)]) == "trả (12)!"


def test_words_that_translate_a_placeholder_alone_are_replaced():
    assert mended("see %s, now", "xem phần trăm, ngay", [(0, 0), (1, 1), (1, 2), (2, 3)]) == "xem %s, ngay"


def test_of_equal_numbers_the_one_without_a_link_is_lost():
    assert mended("1. red city 1", "phố đỏ 1", [(1, 1), (2, 0), (3, 2)]) == "1 phố đỏ 1"
    assert mended("1. red city 1", "1 phố đỏ", [(0, 0), (1, 2), (2, 1)]) == "1 phố 1 đỏ"


def test_lost_signs_are_put_back_and_replace_no_word():
    assert mended("☐ yes ☐ no", "có không", [(0, 0), (1, 0), (2, 1), (3, 1)]) == "☐ có ☐ không"
    assert mended("she ____ home", "cô về.", [(0, 0), (1, 1)]) == "cô ____ về."
    assert mended("I like it 😀!", "tôi thích !", [(0, 0), (1, 1), (3, 2)]) == "tôi thích 😀 !"
    assert mended("a 😀 b %s", "x ⁇ y %d", [(0, 0), (1, 1), (2, 2), (3, 3)]) == "x 😀 y %s"


def test_without_links_no_word_is_replaced():
    assert mended("see %s now", "a b c") == "a %s b c"


def test_numbers_side_by_side_are_not_read_as_one():
    assert mended("95 or 106 cats", "95 c", [(0, 0), (3, 1)]) == "95, 106 c"
    assert mended("7 or 124 cats", "124 c", [(2, 0), (3, 1)]) == "7, 124 c"


def test_what_is_doubled_is_taken_out():
    assert mended("see {0}", "xem {0} {0}", [(0, 0), (1, 1), (1, 2)]) == "xem {0}"
    assert mended("see it", "{0} %s xem {0} {1} nó {2}") == "xem nó"
    assert mended("see it", "{0}%s xem") == "xem"


def test_every_translation_can_be_mended():
    words = [
        "a",
        "b,",
        "%s",
        "{0}",
        "12",
        "1,000",
        "(7)",
        "x@y.de",
        "http://a.b/c",
        "MP3",
        '"%d"',
        "20-30",
        "⁇",
        "%1",
        "%2",
        "%n",
        "9%%",
        "%s%s",
    ]
    for seed in range(500):
        chance = random.Random(seed)
        source, target = (" ".join(chance.choices(words, k=chance.randint(0, 7))) for _ in range(2))
        links = [(chance.randrange(8), chance.randrange(8)) for _ in range(8)]
        assert conserved(source, mended(source, target, chance.choice([None, links]))), (source, target)


def test_what_stands_in_the_place_of_a_word_keeps_its_signs():
    found = mend(align('save "%d"? now', 'lưu "%D"? ngay', [(0, 0), (1, 1), (2, 2)])).alignment
    assert found.target == 'lưu "%d"? ngay'
    assert [found.target[start:end] for start, end in found.target_words] == ["lưu", '"%d"?', "ngay"]


@pytest.mark.parametrize("known", [True, False], ids=["linked", "by position"])
@pytest.mark.parametrize("parts", [["x", "a", "b"], ["a", "b"], []], ids=["spoilt", "lost", "nothing left"])
def test_what_is_lost_all_over_a_long_text_is_put_back_at_once(parts: list[str], known: bool, monkeypatch):
    rounds = []

    def counted(source: str, target: str):
        rounds.append(target)
        return missing(source, target)

    monkeypatch.setattr(mending, "missing", counted)
    source = " ".join(f"{{{number}}} a b" for number in range(300))
    target = " ".join(parts * 300)
    words = {"x": 0, "a": 1, "b": 2}
    links = [(3 * n + words[part], len(parts) * n + j) for n in range(300) for j, part in enumerate(parts)]
    found = mend(align(source, target, links if known else None))
    assert conserved(source, found.alignment.target) and found.count == 300
    if known and parts:
        assert found.alignment.target == source
    assert len(rounds) < 10


def test_what_is_lost_in_a_row_is_put_back_in_its_order():
    row = " ".join(f"{{{number}}}" for number in range(40))
    assert mended(f"see {row} now.", "xem.", [(0, 0), (41, 0)]) == f"xem {row}."
    assert mended("pages 20-30 of 7 or 123", "trang của", [(0, 0), (2, 1)]) == "trang 20 30 của 7, 123"
