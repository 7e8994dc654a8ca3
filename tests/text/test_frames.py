"""What surrounds a text: found by languages, put around it, and found again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import TextError
from dragoman.special_ids import SpecialIds
from dragoman.text.frames import Between, Frame, Frames, near, shortened

BY_SOURCE = Frames({Between(source="en"): Frame((7,)), Between(source="fr"): Frame((8,))})
BY_TARGET = Frames({Between(target="fr"): Frame((7,)), Between(target="de"): Frame()})
BY_BOTH = Frames({Between("en", "de"): Frame((4, 5)), Between("en", "fr"): Frame((4, 6))})
AFTER = Frames({Between(source="en"): Frame((), (2, 9)), Between(source="fr"): Frame((), (2, 8))})


@pytest.mark.parametrize("frames", [BY_SOURCE, BY_TARGET, BY_BOTH, AFTER])
@given(ids=st.lists(st.integers(20, 30)))
def test_a_frame_is_found_again(frames: Frames, ids: list[int]) -> None:
    for rule, frame in frames.rules.items():
        whole = frames.of(Between(rule.source or "fr", rule.target or "xx")).around(ids)
        assert frames.around(whole) == frame
        assert frame.inside(whole) == ids


def test_languages_decide() -> None:
    assert BY_SOURCE.of(Between("fr", "en")) == Frame((8,)) and BY_TARGET.of(Between("en", "fr")) == Frame((7,))
    assert BY_BOTH.of(Between("en", "fr")) == Frame((4, 6))
    assert BY_SOURCE.languages("source") == ("en", "fr") and BY_SOURCE.languages("target") == ()
    assert not Frames() and Frames().of(None) == Frames().of(Between("a", "b")) == Frames().around([1, 2]) == Frame()


@pytest.mark.parametrize(
    ("frames", "between", "message"),
    [
        (BY_SOURCE, Between("en_XX", "fr"), r"no source language `en_XX`; did you mean `en`\?"),
        (BY_SOURCE, Between(None, "fr"), r"language of the source must be known here; name one of en, fr"),
        (BY_SOURCE, None, r"language of the source must be known here"),
        (BY_TARGET, Between("en", "vi"), r"no target language `vi`; it knows fr, de"),
        (BY_BOTH, Between("de", "en"), r"does not translate from `de` to `en`; it knows en-de, en-fr"),
    ],
)
def test_unknown_languages_are_refused(frames: Frames, between: Between | None, message: str) -> None:
    with pytest.raises(TextError, match=message):
        frames.of(between)


def test_the_nearest_languages_are_named() -> None:
    codes = ["eng_Latn", "fra_Latn", "zho_Hans", "zho_Hant"]
    assert near("__zh__", codes) == "; did you mean `zho_Hans` or `zho_Hant`?"
    assert near("ngeLatn", codes) == "; did you mean `eng_Latn`?"
    assert near("xx", codes) == f"; it knows {', '.join(codes)}"
    assert shortened([str(one) for one in range(15)]).endswith("10, 11 and 3 others")


@pytest.mark.parametrize("frames", [BY_SOURCE, BY_TARGET, BY_BOTH, AFTER, Frames()])
def test_rules_can_be_written_and_read(frames: Frames) -> None:
    assert Frames.read(frames.table()) == frames  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", [["en", None, [1]], [3, None, [1], []], ["en", None, ["1"], []], ["en", None, 1, []]])
def test_damaged_rules_are_refused(rule: list[object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Frames.read([rule])


def test_a_language_may_follow_the_end() -> None:
    special = SpecialIds(pad=1, bos=2, eos=2, unk=3, tags=(8, 9))
    assert special.unwritten == (1, 8, 9)
    assert special.ended([9, 4]) == [9, 4, 2] and special.ended([4, 2, 9]) == [4, 2, 9]
    assert special.ended([]) == [2] and special.ended([9]) == [9, 2]
