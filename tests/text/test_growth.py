"""Vocabularies grow: what they have stays as it is."""

import random
from pathlib import Path
from typing import Any

import pytest
from tests.pretrained.tokenizer_files import ODD, texts, write_fairseq, write_m2m100, write_marian, write_t5

from dragoman.errors import TextError
from dragoman.pretrained.tokenizers import load_codecs
from dragoman.text.codec import Codec, learn_codecs
from dragoman.text.frames import Between
from dragoman.text.growth import grow, origins, unknown_characters
from dragoman.text.imported import Imported
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, TextSettings, WordsSettings

NEW = ("ʔ", "ə")
SENTENCE = "con ʔo əca ʔə"
OWN: dict[str, TextSettings] = {
    "bpe": SentencePieceSettings(size=300),
    "unigram": SentencePieceSettings(size=250, algorithm="unigram"),
    "lower": SentencePieceSettings(size=300, lower=True),
    "two": SentencePieceSettings(size=250, joint=False),
    "reversed": SentencePieceSettings(size=300, right_to_left=True),
    "characters": CharactersSettings(),
}
FAMILIES: dict[str, Any] = {
    "marian": lambda folder: write_marian(folder, ("fra", "vie")),
    "marian, two tables": lambda folder: write_marian(folder, apart=True),
    "m2m100": write_m2m100,
    "nllb": lambda folder: write_fairseq(folder, "m2m_100", kind="bpe"),
    "mbart50": lambda folder: write_fairseq(folder, "mbart", kind="unigram"),
    "pegasus": lambda folder: write_t5(folder, "pegasus"),
    "bytes": lambda folder: write_t5(folder, byte_fallback=True, size=500),
}


def own(name: str, tags: tuple[str, ...] = ("<to en>", "<to vi>")) -> tuple[Codec, Codec]:
    """Learn codecs from the phrasebook."""
    lines = texts()
    return learn_codecs(OWN[name], lambda: zip(lines[::2], lines[1::2], strict=True), tags)


def codecs_of(name: str, folder: Path) -> tuple[Codec, Codec]:
    """Return the codecs of one kind."""
    if name in OWN:
        return own(name)
    config = FAMILIES[name](folder / "model")
    return load_codecs(folder / "model", config)


@pytest.mark.parametrize("name", [*OWN, *FAMILIES])
def test_new_characters_get_ids_after_all_others_and_everything_else_stays(name: str, tmp_path: Path) -> None:
    before = codecs_of(name, tmp_path)
    after = grow(before, (NEW, NEW))
    for old, new in zip(before, after, strict=True):
        assert sorted(set(unknown_characters(old, SENTENCE))) == sorted(NEW) and unknown_characters(new, SENTENCE) == []
        assert new.pieces(range(len(old))) == old.pieces(range(len(old)))
        assert new.pieces(range(len(old), len(new))) == list(NEW)
        assert new.special == old.special and new.frames == old.frames and new.starts == old.starts
        for text in (*texts()[:200], *ODD):
            if not set(text) & set(NEW):
                assert new.encode(text) == old.encode(text), text
        assert new.decode(new.encode(SENTENCE)) == new.normalize(SENTENCE)
        assert new.encode(SENTENCE).count(new.special.unk) == 0
    assert before[0].shares(before[1]) == after[0].shares(after[1])


@pytest.mark.parametrize("name", ["bpe", "unigram"])
def test_new_characters_can_be_sampled(name: str) -> None:
    codec, _ = grow(own(name), (NEW, NEW))
    for seed in range(20):
        assert codec.decode(codec.sample(SENTENCE, random.Random(seed), 0.5)) == SENTENCE


@pytest.mark.parametrize("name", ["bpe", "nllb", "marian"])
def test_a_grown_codec_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    grown = grow(codecs_of(name, tmp_path), (NEW, NEW), ("zz",))
    for side, codec in zip(("source", "target"), grown, strict=True):
        codec.save(tmp_path, side)
        assert Codec.load(tmp_path, side) == codec


def test_each_side_gets_its_own_characters_unless_they_share_a_vocabulary() -> None:
    apart = grow(own("two"), (["ʔ"], ["ə"]))
    assert [unknown_characters(codec, "ʔə") for codec in apart] == [["ə"], ["ʔ"]]
    shared = grow(own("bpe"), (["ʔ"], ["ə", "ʔ"]))
    assert [unknown_characters(codec, "ʔə") for codec in shared] == [[], []] and shared[0] == shared[1]


def test_a_character_of_the_other_side_keeps_its_id(tmp_path: Path) -> None:
    """Marian has one table of ids for two SentencePiece models, one of which makes one piece of unknown characters in a row."""
    source, target = codecs_of("marian", tmp_path)
    assert isinstance(source.tokenizer, Imported)
    known = (one for one in source.tokenizer.vocabulary if len(one) == 1 and one.isalpha())
    first, second = [one for one in known if not source.tokenizer.finds(one)][:2]
    assert (
        unknown_characters(source, first + second) == [first, second]
        and unknown_characters(target, first + second) == []
    )
    grown, other = grow((source, target), ([first, second], []))
    assert len(grown) == len(source) and len(other) == len(target)
    ids = [source.tokenizer.vocabulary.id(one) for one in (first, second)]
    assert grown.encode(f"a{first}{second}b")[1:3] == ids
    assert unknown_characters(grown, first + second) == [] and other.encode("tôi") == target.encode("tôi")


@pytest.mark.parametrize("name", ["bpe", "two", "characters"])
def test_a_new_tag_is_like_the_others(name: str) -> None:
    before = own(name)
    source, target = grow(before, (NEW, ()), ("lo",))
    assert source.tag("lo") == [len(source) - 1] and source.tag("vi") == before[0].tag("vi")
    assert source.special.tags == (*before[0].special.tags, len(source) - 1)
    assert len(source.encode("a <to lo> b")) > 3 and len(source) - 1 not in source.encode("<to lo>")
    assert (len(target) == len(before[1])) == (name != "bpe")
    with pytest.raises(TextError, match=r"has the language `vi` already"):
        grow(before, ((), ()), ("vi",))


def test_words_grow_by_languages_alone() -> None:
    pairs = list(zip(texts()[::2], texts()[1::2], strict=True))
    before = learn_codecs(WordsSettings(), lambda: pairs, ("<to en>", "<to vi>"))
    assert unknown_characters(before[0], SENTENCE) == []
    source, _ = grow(before, ((), ()), ("lo",))
    assert source.tag("lo") == [len(before[0])]
    with pytest.raises(TextError, match=r"cannot grow by characters"):
        grow(before, (NEW, ()))


@pytest.mark.parametrize(
    ("name", "code", "piece", "way", "there"),
    [
        ("m2m100", "lo2", "__lo2__", ("en", "lo2"), ("en", "vi")),
        ("nllb", "hmn_Latn", "hmn_Latn", ("eng_Latn", "hmn_Latn"), ("eng_Latn", "vie_Latn")),
        ("mbart50", "lo_LA", "lo_LA", ("en_XX", "lo_LA"), ("en_XX", "vi_VN")),
        ("marian", "lao", ">>lao<<", (None, "lao"), (None, "fra")),
    ],
)
def test_a_new_language_of_an_imported_model_is_used_as_the_others(
    name: str, code: str, piece: str, way: tuple[str | None, str], there: tuple[str | None, str], tmp_path: Path
) -> None:
    before = codecs_of(name, tmp_path)
    source, target = grow(before, ((), ()), (code,))
    new = len(before[0])
    assert source.pieces([new]) == [piece] and source.tag(code) == [new] and new in source.special.tags
    known = before[0].tag(there[1])[0]

    def swapped(ids: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new if one == known else one for one in ids)

    assert source.frame(Between(*there)) == before[0].frame(Between(*there))
    assert source.frame(Between(*way)).before == swapped(before[0].frame(Between(*there)).before)
    assert target.start(Between(*way)) == swapped(before[1].start(Between(*there)))
    back = Between(way[1], way[0])
    if name not in ("marian", "marian, two tables"):
        assert source.frame(back).before == (new,)
    assert source.decode([*source.encode("cats"), new]) == "cats"
    with pytest.raises(TextError, match=r"already"):
        grow((source, target), ((), ()), (code,))


def test_models_of_one_direction_get_no_language(tmp_path: Path) -> None:
    for codecs in (own("bpe", ()), codecs_of("pegasus", tmp_path)):
        with pytest.raises(TextError, match=r"no codes of languages.* `data\.languages`"):
            grow(codecs, ((), ()), ("lo",))


def test_a_language_may_not_be_spelled_as_a_token_that_is_there(tmp_path: Path) -> None:
    codecs = codecs_of("nllb", tmp_path)
    with pytest.raises(TextError, match=r"the token `▁the` already"):
        grow(codecs, ((), ()), ("▁the",))


def test_rows_begin_as_means_of_what_stood_for_them(tmp_path: Path) -> None:
    before, _ = codecs_of("nllb", tmp_path)
    after, _ = grow((before, before), (NEW, NEW), ("hmn_Latn",))
    characters, other, language = origins(before, after)
    assert characters == other and language == list(before.tokenizer.vocabulary.tags.values())
    spoken = set(before.encode("I love cats."))
    assert spoken <= set(characters) and not set(characters) & {*before.special.all, *language}


def test_characters_that_were_spelled_in_bytes_begin_as_their_mean(tmp_path: Path) -> None:
    spelling, _ = codecs_of("bytes", tmp_path)
    larger, _ = grow((spelling, spelling), (NEW, NEW))
    assert [spelling.pieces(one) for one in origins(spelling, larger)] == [["<0xCA>", "<0x94>"], ["<0xC9>", "<0x99>"]]


def test_spaces_and_what_the_vocabulary_drops_are_no_unknown_characters() -> None:
    codec = Codec(learn_codecs(OWN["bpe"], lambda: [(one, one) for one in texts()[:300]])[0].tokenizer)
    assert unknown_characters(codec, "a\u200bb  c\u00a0d") == []
    assert unknown_characters(codec, "日本 a 日") == ["日", "本", "日"]
