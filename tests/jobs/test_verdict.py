"""The verdict on an adapted run; `test_adapt.py` has those of real ones."""

import pytest

from dragoman.jobs.verdict import Advice, Change, Verdict


def change(difference: float, low: float, high: float) -> Change:
    """A change of BLEU from 20."""
    return Change(100, 20.0, 20.0 + difference, difference, low, high, "signature")


@pytest.mark.parametrize(
    ("domain", "general", "advice", "words"),
    [
        (change(5.0, 3.0, 7.0), change(-0.2, -0.6, 0.3), "keep", "the new run is better: BLEU 20.0 -> 25.0, +5.0"),
        (change(5.0, 3.0, 7.0), None, "keep", "not measured"),
        (change(5.0, 3.0, 7.0), change(-0.4, -0.6, -0.1), "keep", "In general the new run is worse"),
        (change(5.0, 3.0, 7.0), change(-2.0, -3.0, 0.1), "keep", "In general the difference may be chance"),
        (change(5.0, 3.0, 7.0), change(-0.6, -1.2, -0.04), "keep", "In general the difference may be chance"),
        (change(5.0, 3.0, 7.0), change(-2.0, -3.0, -1.0), "keep for the domain", "for this domain alone"),
        (change(0.5, -0.5, 1.5), change(1.0, 0.5, 1.5), "discard", "In the domain the difference may be chance"),
        (change(-2.0, -3.0, -1.0), None, "discard", "In the domain the new run is worse"),
        (change(0.02, 0.01, 0.04), change(-0.02, -0.04, -0.01), "discard", "In general the difference may be chance"),
    ],
)
def test_the_advice_follows_from_both_changes(
    domain: Change, general: Change | None, advice: Advice, words: str
) -> None:
    verdict = Verdict(domain, general, "test")
    assert verdict.advice == advice and words in str(verdict)
    assert "measured on dev" not in str(verdict)
    for parts, names in (
        (("dev", "test"), ["The domain"]),
        (("test", "dev"), [] if general is None else ["General text"]),
    ):
        found = str(Verdict(domain, general, *parts))
        assert [
            line.split(" is measured on dev")[0] for line in found.splitlines() if "measured on dev" in line
        ] == names


def test_a_change_of_nothing_has_no_sign_of_a_loss() -> None:
    assert "+0.0 (95% interval +0.0 to +0.0" in str(change(-0.01, -0.04, -0.0))
