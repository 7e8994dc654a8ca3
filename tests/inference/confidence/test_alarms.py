"""Alarms ring for what they name, and for nothing else."""

import numpy as np
import pytest
from tests.inference.confidence.test_features import evidence

from dragoman.inference.confidence.alarms import Alarm, AlarmLimits, limits_from, measured, raise_alarms
from dragoman.inference.confidence.evidence import Evidence

USED = np.full((4, 5), 2.0)


def alarms(source: str, target: str, **parts: object) -> dict[str, tuple[str, ...]]:
    """Return the alarms of a translation by name, with their words."""
    found = raise_alarms(evidence(source, target, **parts), AlarmLimits(), ("en", "vi"))
    return {alarm.name: alarm.words for alarm in found}


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("we like the house", "chúng tôi thích ngôi nhà", {}),
        ("we like the house", "nhà nhà nhà nhà nhà nhà", {"repetition": ()}),
        ("we really like the house by the sea", "nhà", {"too short": ()}),
        ("we", "chúng tôi thích ngôi nhà bên bờ biển", {"too long": ()}),
        ("we like the house", "we like the house", {"copied": ()}),
        ("we like the house", "we like the nhà", {"copied": ()}),
        ("we like the house", "we like ngôi nhà ấy", {}),
        (
            "the children like to play in the garden behind the old house by the river",
            "孩子们喜欢在河边老房子后面的花园里玩",
            {},
        ),
        (
            "孩子们喜欢在河边老房子后面的花园里玩",
            "the children like to play in the garden behind the old house by the river",
            {},
        ),
        ("the children like to play in the garden behind the old house by the river", "아이들", {"too short": ()}),
        ("we left in 1998.", "chúng tôi rời đi", {"number lost": ("1998",)}),
        ("we met the BBC there", "chúng tôi đã gặp họ ở đó", {"name lost": ("BBC",)}),
    ],
)
def test_each_alarm_has_its_cause(source: str, target: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert alarms(source, target) == expected


def test_words_that_nothing_stands_for_are_named() -> None:
    erased = np.array([[3.0, 0, 0], [0.0, 2.0, 0], [0.0, 0, 0], [0.0, 0, 0], [0.0, 0.1, 0], [-0.5, 0, 0]])
    found = alarms("we like the house and garden.", "chúng thích", erased=erased)
    assert found["omission"] == ("the", "house", "and", "garden")
    assert "detached" not in found


@pytest.mark.parametrize("uses", [(0.0, 2.0), (2.0, 0.0)])
def test_a_name_that_stands_twice_may_be_used_at_either_place(uses: tuple[float, float]) -> None:
    erased = np.full((6, 6), 2.0)
    erased[2], erased[5] = uses
    assert alarms("we love London , old London", "chúng tôi thích Luân Đôn cổ", erased=erased) == {}


@pytest.mark.parametrize(("words", "expected"), [(3, False), (4, True)])
def test_only_more_than_the_limit_is_an_omission(words: int, expected: bool) -> None:
    erased = np.repeat([[0.0] * 3, [9.0] * 3], [words, 4 - words], axis=0)
    found = alarms("we like the house", "chúng thích", erased=erased)
    assert ("omission" in found) == expected and AlarmLimits().omission == 3


def test_a_translation_that_needs_no_source_word_is_detached() -> None:
    assert "detached" in alarms("we like the house", "một hai ba bốn", erased=np.zeros((4, 5)))
    assert alarms("we like the house", "một hai ba bốn", erased=USED) == {}


def test_a_name_that_the_translation_needs_is_not_lost() -> None:
    used = alarms("we like old London", "chúng tôi thích Luân Đôn", erased=np.full((4, 6), 2.0))
    useless = np.array([[2.0] * 6, [2.0] * 6, [2.0] * 6, [0.1] * 6])
    lost = alarms("we like old London", "chúng tôi thích nhà cổ", erased=useless)
    assert used == {} and lost == {"name lost": ("London",)}


def test_where_all_nouns_have_capitals_a_capital_makes_no_name() -> None:
    useless = np.array([[2.0] * 6, [2.0] * 6, [2.0] * 6, [0.1] * 6])
    for word, expected in (("Häuser", ()), ("McDonald", ("McDonald",))):
        pair = evidence(f"wir mögen alte {word}", "chúng tôi thích nhà cổ", erased=useless)
        for languages in (("de", "vi"), ("de-AT", "vi"), ("deu_Latn", "vie_Latn")):
            found = {alarm.name: alarm.words for alarm in raise_alarms(pair, AlarmLimits(), languages)}
            assert found.get("name lost", ()) == expected


def test_names_that_good_translations_lack_are_not_lost() -> None:
    def reference(gain: float) -> Evidence:
        erased = np.array([[2.0] * 6, [2.0] * 6, [2.0] * 6, [gain] * 6])
        return evidence("we like old Christmas", "chúng tôi thích giáng sinh", erased=erased)

    gains = [-0.2, *[0.1 * one for one in range(100)]]
    measures = [measured(reference(gain / 6), ("en", "vi")) for gain in gains]
    limits = limits_from(measures, 0.02)
    lost = [any(raise_alarms(reference(gain / 6), limits, ("en", "vi"))) for gain in gains]
    assert limits.name < AlarmLimits().name and 0 < sum(lost) <= 0.02 * len(gains) and lost[0]
    assert limits_from([{"length": 0.0, "name": np.inf}] * 9, 0.02).name == AlarmLimits().name


def test_limits_are_set_by_good_translations_and_never_below_the_defaults() -> None:
    good = evidence("we like the house", "chúng tôi thích nhà", erased=USED)
    assert (
        limits_from([measured(good, ("en", "vi"))] * 50, 0.02).model_copy(update={"shortest": -1.1, "longest": 1.1})
        == AlarmLimits()
    )
    rows = [{"repetition": 0.0, "copied": 0.0, "length": one / 100, "omission": float(one)} for one in range(101)]
    found = limits_from(rows, 0.1)
    assert (found.omission, found.detached) == (90.0, AlarmLimits().detached)
    assert (found.shortest, found.longest) == (pytest.approx(-0.05), pytest.approx(1.05))


@pytest.mark.parametrize("count", [60, 120, 949])
def test_no_more_good_translations_than_the_share_exceed_a_limit(count: int) -> None:
    values = [1 + one / 7 for one in range(count)]
    found = limits_from([{"length": 0.0, "omission": one} for one in values], 0.02)
    assert 0 < sum(one > found.omission for one in values) <= 0.02 * count


def test_an_alarm_reads_as_a_sentence_part() -> None:
    assert str(Alarm("detached")) == "detached"
    assert str(Alarm("omission", ("the", "house"))) == "omission: the house"


def test_an_alarm_says_where_its_words_are() -> None:
    erased = np.array([[3.0, 0, 0], [2.0, 0, 0], [0.0, 0, 0], [0.0, 0, 0], [0.0, 0, 0], [0.0, 0, 0], [2.0, 0, 0]])
    pair = evidence("in 1998, we (the BBC) and 1998", "chúng thích", erased=erased)
    found = {alarm.name: alarm.places for alarm in raise_alarms(pair, AlarmLimits(), ("en", "vi"))}
    assert found["number lost"] == (1, 6) and found["name lost"] == (4,) and found["omission"] == (2, 3, 4, 5)
    assert raise_alarms(evidence("we like it", "we like it"), AlarmLimits(), ("en", "vi"))[0].places == ()


def test_a_translation_that_other_sources_make_as_probable_is_detached() -> None:
    own = np.log(np.full(5, 0.2))
    for foreign, expected in [(0.1, set()), (0.3, {"detached"})]:
        given = {"erased": USED, "log_probs": own, "foreign": np.log(np.full((2, 5), foreign))}
        assert set(alarms("we like the house", "chúng tôi thích nhà", **given)) == expected
    rows = [{"length": 0.0, "contrast": one / 10} for one in range(-10, 91)]
    assert limits_from(rows, 0.02).contrast == -0.8
    assert limits_from(rows[20:], 0.02).contrast == 0.0
