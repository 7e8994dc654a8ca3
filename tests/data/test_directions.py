"""Which languages a run translates between, and what is refused."""

import time
from dataclasses import replace
from itertools import permutations

import pytest
from tests.pretrained.tokenizer_files import sentencepiece, texts

from dragoman.data.directions import Directions, imported_directions
from dragoman.data.settings import DataSettings
from dragoman.errors import InputError, SettingsError, TextError
from dragoman.settings import parse
from dragoman.special_ids import SpecialIds
from dragoman.text.codec import Codec
from dragoman.text.frames import Between, Frame, Frames
from dragoman.text.imported import Imported, Table
from dragoman.text.tags import refusal, tag_piece, tag_pieces

ONE = Directions((("en", "vi"),))
MANY = Directions((("en", "fr"), ("fr", "en"), ("en", "de"), ("cs", "en")), tagged=True)
INTO_ONE = Directions((("en", "fr"), ("de", "fr")), tagged=True)


def test_one_direction_needs_no_names() -> None:
    assert ONE.choose() == ONE.choose("en") == ONE.choose(to="vi") == ONE.choose("en", "vi") == ("en", "vi")
    assert ONE.frames(None, 2) == ONE.frames("vi", 2) == ONE.frames(["vi", None], 2) == [None, None]


@pytest.mark.parametrize(
    ("source", "to", "wanted"),
    [
        ("vi", None, "`vi` to `vi`"),
        (None, "fr", "`en` to `fr`"),
        ("vi", "en", "`vi` to `en`"),
        ("", None, "`` to `vi`"),
    ],
)
def test_one_direction_refuses_others(source: str | None, to: str | None, wanted: str) -> None:
    with pytest.raises(InputError, match=rf"translates from `en` to `vi`, not from {wanted}; give a run that does"):
        ONE.choose(source, to)


def test_several_directions_need_the_target() -> None:
    assert (MANY.languages, MANY.targets) == (("en", "fr", "de", "cs"), ("fr", "en", "de"))
    assert MANY.choose(to="de") == (None, "de")
    assert MANY.choose("en", "de") == ("en", "de")
    assert MANY.frames("de", 2) == [Between(None, "de")] * 2
    assert MANY.frames(["de", Between("cs", "en")], 2) == [Between(None, "de"), Between("cs", "en")]
    assert MANY.frames(Between("en", "fr"), 2) == [Between("en", "fr")] * 2
    assert INTO_ONE.choose() == (None, "fr") and INTO_ONE.frames(None, 1) == [Between(None, "fr")]


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
    assert sentence.endswith("; translating to `en`, and that to `de`, may be much better.")
    apart = Directions((("en", "fr"), ("de", "cs")), tagged=True).remark(("en", "cs"))
    assert apart is not None and "better" not in apart
    assert ONE.remark(ONE.choose()) is None


def test_each_sentence_may_have_its_language_but_must_have_one() -> None:
    with pytest.raises(InputError, match=r"`to` names 1 languages for 2 sentences"):
        MANY.frames(["fr"], 2)
    with pytest.raises(InputError, match=r"several languages"):
        MANY.frames(["fr", None], 2)


def test_one_direction_may_be_needed() -> None:
    assert ONE.require_one("a run") == ("en", "vi")
    with pytest.raises(InputError, match=r"a run translates in several directions .*; give a run of one direction"):
        MANY.require_one("a run")
    tagged = Directions((("en", "vi"),), tagged=True)
    with pytest.raises(
        InputError, match=r"a run was trained with a tag .*en-vi.*; give a run trained without `data\.languages`"
    ):
        tagged.require_one("a run")


def test_a_model_of_very_many_languages_is_named_by_them() -> None:
    known = [f"l{number}" for number in range(40)]
    many = Directions(tuple(permutations(known, 2)), tagged=True, by_source=True)
    assert str(many).endswith("l10, l11 and 28 others") and len(str(many)) < 90
    with pytest.raises(
        InputError, match=r"language of the source \(l1, .* and 27 others\); .*`to=Between\(\"l1\", \"l0\"\)`"
    ):
        many.choose(to="l0")
    with pytest.raises(InputError, match=r"l11, l12 and 28 others\); say which one with `--to`"):
        many.choose()
    assert many.choose("l1", "l0") == Between("l1", "l0")


def test_no_message_lists_all_of_very_many_languages() -> None:
    known = [f"l{number}" for number in range(202)]
    with pytest.raises(SettingsError, match=r"l10, l11 and 190 others\)") as found:
        parse(DataSettings, {"languages": known, "train": [{"tsv": "a", "languages": ["l1", "xx"]}]})
    assert len(str(found.value)) < 300
    assert refusal("<to xx>", dict.fromkeys(tag_pieces(known), 4)).count("l1") < 5
    both = Frames({Between("xx", one): Frame((4,)) for one in known})
    with pytest.raises(TextError, match=r"xx-l11 and 190 others"):
        both.of(Between("yy", "l1"))


def test_a_model_of_two_hundred_languages_takes_no_time() -> None:
    known = {f"l{number}": Frame((number + 4,)) for number in range(202)}
    pieces = ("<pad>", "<s>", "</s>", "<unk>", *known)
    frames = Frames({Between(source=name): frame for name, frame in known.items()})
    starts = Frames({Between(target=name): frame for name, frame in known.items()})
    table = Table(pieces, SpecialIds(), tags={tag_piece(name): number for number, name in enumerate(known, 4)})
    codec = Codec(Imported(sentencepiece(texts()), replace(table, frames=frames, starts=starts)))
    begin = time.perf_counter()
    every = imported_directions(codec, codec, Directions((("l0", "l1"),)))
    assert len(every.trained) == 202 * 201 and every.usual == ("l0", "l1")
    for one in known:
        assert every.choose("l7", one) == ("l7", one) if one != "l7" else True
        assert every.remark(("l7", one)) is None or one == "l7"
    assert time.perf_counter() - begin < 2


def test_the_usual_direction_needs_no_names() -> None:
    adapted = Directions((("en", "fr"), ("fr", "en")), tagged=True, by_source=True, usual=("en", "fr"))
    assert adapted.choose() == adapted.choose("en") == adapted.choose(to="fr") == Between("en", "fr")
    assert adapted.choose(to="en") == Between("fr", "en")
    assert adapted.frames(None, 1) == [Between("en", "fr")]
