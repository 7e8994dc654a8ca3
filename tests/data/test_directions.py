"""Which languages a run translates between, and what is refused."""

import pytest

from dragoman.data.directions import Directions
from dragoman.errors import InputError

ONE = Directions((("en", "vi"),))
MANY = Directions((("en", "fr"), ("fr", "en"), ("en", "de"), ("cs", "en")), tagged=True)
INTO_ONE = Directions((("en", "fr"), ("de", "fr")), tagged=True)


def test_one_direction_needs_no_names() -> None:
    assert ONE.choose() == ONE.choose("en") == ONE.choose(to="vi") == ONE.choose("en", "vi") == ("en", "vi")
    assert ONE.tags(None, 2) == ONE.tags("vi", 2) == ONE.tags(["vi", None], 2) == [None, None]


@pytest.mark.parametrize(
    ("source", "to", "wanted"),
    [("vi", None, "`vi` to `vi`"), (None, "fr", "`en` to `fr`"), ("vi", "en", "`vi` to `en`")],
)
def test_one_direction_refuses_others(source: str | None, to: str | None, wanted: str) -> None:
    with pytest.raises(InputError, match=rf"translates from `en` to `vi`, not from {wanted}; give a run that does"):
        ONE.choose(source, to)


def test_several_directions_need_the_target() -> None:
    assert (MANY.languages, MANY.targets) == (("en", "fr", "de", "cs"), ("fr", "en", "de"))
    assert MANY.choose(to="de") == (None, "de")
    assert MANY.choose("en", "de") == ("en", "de")
    assert MANY.tags("de", 2) == ["de", "de"]
    assert MANY.tags(["de", "en"], 2) == ["de", "en"]
    assert INTO_ONE.choose() == (None, "fr") and INTO_ONE.tags(None, 1) == ["fr"]


@pytest.mark.parametrize(
    ("source", "to", "message"),
    [
        (None, None, r"into several languages \(fr, en, de\); say which one with `--to`"),
        ("en", None, r"into several languages \(fr, en, de\); say which one with `--to`"),
        (None, "cs", r"does not translate into `cs`; it knows fr, en, de"),
        ("vi", "fr", r"does not translate from `vi`; it knows en, fr, de, cs"),
        ("fr", "fr", r"are both `fr`; give two different ones"),
    ],
)
def test_several_directions_refuse_what_they_cannot_do(source: str | None, to: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MANY.choose(source, to)


def test_a_pair_that_was_never_seen_is_remarked_on() -> None:
    assert MANY.remark(("en", "fr")) is None
    assert MANY.remark((None, "fr")) is None
    sentence = MANY.remark(MANY.choose("fr", "de"))
    assert sentence is not None and "from `fr` to `de`" in sentence and "zero-shot" in sentence
    assert ONE.remark(ONE.choose()) is None


def test_each_sentence_may_have_its_language_but_must_have_one() -> None:
    with pytest.raises(InputError, match=r"`to` names 1 languages for 2 sentences"):
        MANY.tags(["fr"], 2)
    with pytest.raises(InputError, match=r"several languages"):
        MANY.tags(["fr", None], 2)


def test_one_direction_may_be_needed() -> None:
    assert ONE.require_one("a run") == ("en", "vi")
    with pytest.raises(InputError, match=r"a run translates in several directions .*; give a run of one direction"):
        MANY.require_one("a run")
    tagged = Directions((("en", "vi"),), tagged=True)
    with pytest.raises(
        InputError, match=r"a run was trained with a tag .*en-vi.*; give a run trained without `data\.languages`"
    ):
        tagged.require_one("a run")
