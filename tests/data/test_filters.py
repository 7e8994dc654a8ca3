"""Pairs that teach nothing are left out."""

import random
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.corpus import Pair
from dragoman.data.filters import FilterSummary, HashSet64, PairFilter, excess, mostly_dropped, rejection_reason
from dragoman.data.settings import FilterSettings
from dragoman.text.normalize import normalize

SETTINGS = FilterSettings(max_words=4, max_characters=20, max_ratio=2, drop_duplicates=True)


def kept(pairs: list[tuple[str, str]], settings: FilterSettings) -> tuple[list[tuple[str, str]], FilterSummary]:
    """Filter pairs that stand on the lines of a file."""
    pair_filter = PairFilter(settings)
    return [pair[:2] for pair in pair_filter.keep(numbered(pairs))], pair_filter.summary


def numbered(pairs: list[tuple[str, str]]) -> list[Pair]:
    """Number pairs as the lines of a file."""
    return [Pair(source, target, f"line {number}") for number, (source, target) in enumerate(pairs, 1)]


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("a b c d", "a b c d", None),
        ("", "a", "with an empty side"),
        ("a", "", "with an empty side"),
        ("a b c d e", "a b c d", "with more than 4 words"),
        ("a b c d", "a b c d e", "with more than 4 words"),
        ("a" * 20, "a" * 20, None),
        ("a" * 20, "a" * 21, "with more than 20 characters"),
        ("a" * 5, "a" * 20, None),
        ("a" * 4, "a" * 20, "with sides whose lengths differ more than 2 times"),
        ("a" * 20, "a" * 4, "with sides whose lengths differ more than 2 times"),
    ],
)
def test_a_pair_is_left_out_for_a_reason(source: str, target: str, reason: str | None) -> None:
    assert rejection_reason(source, target, SETTINGS) == reason


@pytest.mark.parametrize(
    ("text", "said"),
    [("a b c  d ", None), ("a b c d e", "5 words"), ("a" * 20, None), ("猫" * 21, "21 characters"), ("", None)],
)
def test_a_text_is_longer_than_any_that_is_kept(text: str, said: str | None) -> None:
    found = excess(text, SETTINGS)
    assert (
        (found is None) == (said is None) == (rejection_reason(normalize(text), "a" * 10, SETTINGS) is None or not text)
    )
    assert said is None or (found is not None and found.startswith(f"{said}, ") and "`data.filters.max_" in found)


def test_limits_can_be_lifted() -> None:
    settings = FilterSettings(max_words=None, max_characters=None)
    assert excess("a " * 9999, settings) is None
    assert rejection_reason("a " * 9999, "b", settings) is None


def test_text_is_judged_as_it_will_be_read() -> None:
    assert kept([("a", "\u00a0\u200b "), ("  a  \u200b", "b" * 20)], FilterSettings())[0] == [("  a  \u200b", "b" * 20)]


def test_equal_pairs_are_kept_once_where_asked_for() -> None:
    pairs = [("a", "b"), ("a", "c"), (" a", "b "), ("b", "a"), ("a", "b")]
    assert kept(pairs, SETTINGS)[0] == [("a", "b"), ("a", "c"), ("b", "a")]
    assert kept(pairs, FilterSettings())[0] == pairs


def test_a_pair_of_an_earlier_corpus_is_a_duplicate_too() -> None:
    pair_filter = PairFilter(SETTINGS)
    kept = [
        [pair[:2] for pair in pair_filter.keep(numbered(corpus))] for corpus in ([("a", "b")], [("a", "b"), ("c", "d")])
    ]
    assert kept == [[("a", "b")], [("c", "d")]]
    assert (pair_filter.summary.kept, pair_filter.summary.dropped) == (2, {"seen before": 1})


def test_every_pair_is_counted_with_its_reason_and_first_places() -> None:
    _, summary = kept([("a", "b")] * 2 + [("", "x")] * 4 + [("a b c d e", "a")], SETTINGS)
    assert str(summary).splitlines() == [
        "1 pair kept, 6 left out",
        "  4 with an empty side: line 3; line 4; line 5, ...",
        "  1 seen before: line 2",
        "  1 with more than 4 words: line 7",
    ]
    summary.warnings.append("it looks odd")
    assert FilterSummary.from_table(summary.table()) == summary


def test_the_same_pair_into_another_language_is_no_duplicate() -> None:
    pair_filter = PairFilter(SETTINGS)
    ways = [("en", "fr"), ("en", "it"), ("en", "fr"), None]
    pairs = [Pair("a", "b", f"line {number}", languages=way) for number, way in enumerate(ways)]
    assert [pair.to for pair in pair_filter.keep(pairs)] == ["fr", "it", None]


@pytest.mark.parametrize(("empty", "warned"), [(2, False), (3, True)])
def test_a_corpus_of_which_more_than_half_is_dropped_is_named(empty: int, warned: bool) -> None:
    pair_filter = PairFilter(FilterSettings())
    list(pair_filter.keep(numbered([("", "b")] * 9)))
    before = deepcopy(pair_filter.summary)
    list(pair_filter.keep(numbered([("a", "b")] * 2 + [("", "b")] * empty)))
    found = list(mostly_dropped("b.tsv", before, pair_filter.summary))
    assert [one.startswith("3 of the 5 pairs of b.tsv are dropped, 3 of them with an empty side") for one in found] == (
        [True] if warned else []
    )


def test_hashes_are_new_once() -> None:
    rng = random.Random(1)
    keys = [
        rng.choice((rng.getrandbits(64), rng.randrange(1, 5000), rng.randrange(1, 50) << 40)) or 1
        for _ in range(20_000)
    ]
    seen, expected = HashSet64(), set[int]()
    for key in keys:
        assert seen.add(key) == (key not in expected)
        expected.add(key)
    assert len(seen) == len(expected)


texts = st.text(alphabet="ab \u00a0\u200b", max_size=12)


@given(st.lists(st.tuples(texts, texts), max_size=30), st.booleans())
def test_every_pair_is_kept_or_counted_and_what_is_kept_passes_again(pairs: list[tuple[str, str]], once: bool) -> None:
    settings = SETTINGS.model_copy(update={"drop_duplicates": once})
    found, summary = kept(pairs, settings)
    assert (summary.kept, summary.dropped.total()) == (len(found), len(pairs) - len(found))
    assert kept(found, settings)[0] == found
    assert all(rejection_reason(*map(normalize, pair), settings) is None for pair in found)
    assert not once or len({tuple(map(normalize, pair)) for pair in found}) == len(found)
