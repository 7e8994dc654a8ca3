"""Codecs of pretrained models find the pieces and ids that their own tokenisers find."""

import gzip
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import SentencePieceProcessor
from tests.pretrained.tokenizer_files import (
    ENDS,
    ODD,
    SPECIAL,
    pieces_of,
    sentencepiece,
    texts,
    write_fairseq,
    write_m2m100,
    write_marian,
    write_t5,
)

from dragoman.errors import ImportModelError, InputError, TextError
from dragoman.pretrained.language_codes import NLLB
from dragoman.pretrained.tokenizers import load_codecs
from dragoman.text.codec import Codec
from dragoman.text.frames import Between, Frame
from dragoman.text.imported import Imported

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

SHARED = next((one / "shared" / "data" for one in Path(__file__).parents if (one / "shared" / "data").is_dir()), None)
FILES = (
    "multi30k/train.de.gz",
    "multi30k/train.cs.gz",
    "multi30k/train.fr.gz",
    "evbnews-en-vi/train.vi.gz",
    "iwslt15-en-vi/tst2012.raw.vi",
    "alt-en-vi/train.vi.gz",
)
Writer = Callable[[Path], dict[str, Any]]
FAMILIES: dict[str, tuple[Writer, str]] = {
    "marian": (write_marian, "MarianTokenizer"),
    "m2m100": (write_m2m100, "M2M100Tokenizer"),
    "nllb": (lambda folder: write_fairseq(folder, "m2m_100", kind="bpe"), "NllbTokenizer"),
    "mbart50": (lambda folder: write_fairseq(folder, "mbart", kind="unigram"), "MBart50Tokenizer"),
    "pegasus": (lambda folder: write_t5(folder, "pegasus"), "PegasusTokenizer"),
    "t5": (write_t5, "T5Tokenizer"),
}
WRITTEN_IN_RUST = ("nllb", "mbart50", "pegasus", "t5")


class Family:
    """A family's codecs and its own tokeniser."""

    def __init__(self, name: str, folder: Path) -> None:
        write, own = FAMILIES[name]
        self.name, self.folder = name, folder / name
        self.config = write(self.folder)
        self.source, self.target = load_codecs(self.folder, self.config)
        self.original: Any = getattr(transformers, own).from_pretrained(self.folder)

    def ids(self, text: str) -> list[int]:
        """Return the ids that the library finds."""
        return list(self.original(text, add_special_tokens=False).input_ids)

    def by_rule(self, text: str) -> list[int]:
        """Return the ids by the rule of the family: those of SentencePiece, moved."""
        (path,) = (*self.folder.glob("*.model"),)
        processor = SentencePieceProcessor(model_file=str(path))
        if self.name == "m2m100":
            table = json.loads((self.folder / "vocab.json").read_text(encoding="utf-8"))
            return [table.get(piece, 3) for piece in processor.encode(text, out_type=str)]
        move = {"nllb": 1, "mbart50": 1, "pegasus": 103, "t5": 0}[self.name]
        return [3 if move == 1 and index == 0 else index + move for index in processor.encode(text)]


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Family:
    """Return one of the families."""
    return Family(request.param, tmp_path_factory.mktemp("tokenizers"))


def spaced(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())


def sentences(each: int) -> Iterator[str]:
    """Yield real sentences in several languages, up to `each` from a file."""
    assert SHARED is not None
    for name in FILES:
        path = SHARED / name
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            yield from (line.rstrip("\n") for line in islice(lines, each))


def test_every_row_of_the_embeddings_has_a_token(family: Family) -> None:
    assert len(family.source) == family.config["vocab_size"]
    assert len(family.target) == family.config.get("decoder_vocab_size", family.config["vocab_size"])
    special = family.target.special
    assert (special.pad, special.bos, special.eos) == tuple(
        family.config[name] for name in ("pad_token_id", "decoder_start_token_id", "eos_token_id")
    )
    assert special.eos not in special.unwritten and special.pad in special.unwritten
    assert family.source.shares(family.target)


@pytest.mark.parametrize("text", ODD)
def test_odd_text_has_the_same_ids(family: Family, text: str) -> None:
    assert family.source.encode(text) == family.ids(text)


def test_sentences_have_the_same_ids(family: Family) -> None:
    for text in texts():
        assert family.source.encode(text) == family.ids(text)


@pytest.mark.skipif(SHARED is None, reason="needs the corpora in shared/data beside the project")
@pytest.mark.parametrize("each", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_real_sentences_have_the_same_ids_and_text(family: Family, each: int) -> None:
    count, unequal = 0, []
    for text in sentences(each):
        count += 1
        ids = family.source.encode(text)
        if family.ids(text.strip()) != ids or spaced(family.original.decode(ids, skip_special_tokens=True)) != spaced(
            family.source.decode(ids).replace("<unk>", "")
        ):
            unequal.append(text)
    assert count > 5 * each and unequal == []


@pytest.mark.parametrize("text", [*ENDS, *SPECIAL])
def test_text_is_text_as_in_training(family: Family, text: str) -> None:
    if family.name == "marian":
        processor = SentencePieceProcessor(model_file=str(family.folder / "source.spm"))
        table = json.loads((family.folder / "vocab.json").read_text(encoding="utf-8"))
        expected = [table.get(piece, 1) for piece in processor.encode(text, out_type=str)]
    else:
        expected = family.by_rule(text)
    ids = family.source.encode(text)
    assert ids == expected
    special = family.source.special
    assert not {special.pad, special.eos, special.bos, *special.tags} & set(ids)


def test_slow_tokenisers_agree_on_white_space_at_the_ends(family: Family) -> None:
    """Those written in Rust keep a space at the end, as a piece that no model saw there."""
    different = [text for text in ENDS if family.source.encode(text) != family.ids(text)]
    if family.name not in ("nllb", "mbart50", "pegasus"):
        assert different == []
    assert all(text.endswith((" ", "\n")) for text in different)


def test_decoding_is_the_same_for_any_ids(family: Family) -> None:
    import random

    rng = random.Random(3)
    target = family.target
    assert isinstance(target.tokenizer, Imported)
    reserved = {*target.special.all, *target.tokenizer.table.silent}
    usable = [index for index in range(len(target)) if index not in reserved]
    for _ in range(200):
        ids = rng.choices(usable, k=rng.randint(1, 20))
        own = family.target.decode(ids).replace("<unk>", "")
        assert spaced(own) == spaced(family.original.decode(ids, skip_special_tokens=True).replace("<unk>", ""))


def test_a_codec_survives_its_file(family: Family, tmp_path: Path) -> None:
    for name, codec in (("source", family.source), ("target", family.target)):
        codec.save(tmp_path, name)
        loaded = Codec.load(tmp_path, name)
        assert (loaded, loaded.special, len(loaded)) == (codec, codec.special, len(codec))
        assert [loaded.encode(text) for text in ODD] == [codec.encode(text) for text in ODD]
        assert (loaded.frames, loaded.starts) == (codec.frames, codec.starts)


@pytest.mark.parametrize("text", [*ODD, *ENDS, *SPECIAL])
def test_normalised_text_is_what_comes_back(family: Family, text: str) -> None:
    codec = family.source
    normalized = codec.normalize(text)
    assert codec.join(codec.split(text)) == normalized
    assert len(codec.split(text)) == len(codec.encode(text)) == len(codec.owners(text))
    assert codec.piece_words(codec.encode(text)) == codec.owners(text) or codec.special.unk in codec.encode(text)
    if codec.special.unk not in codec.encode(text):
        assert codec.decode(codec.encode(text)) == normalized
    assert codec.words(text) == normalized.split()
    assert max(codec.owners(text), default=-1) < max(len(normalized.split()), 1)


def test_lone_surrogates_are_dropped(family: Family) -> None:
    assert family.source.encode("I see \ud83d it") == family.source.encode("I see  it")


# Languages


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the tests of languages."""
    return tmp_path_factory.mktemp("languages")


def whole(codec: Codec, text: str, between: Between | None = None) -> list[int]:
    """Return the ids that an encoder reads."""
    return codec.special.ended(codec.frame(between).around(codec.encode(text)))


def test_m2m100_begins_with_its_languages(folder: Path) -> None:
    family = Family("m2m100", folder)
    for source, target in (("en", "fr"), ("vi", "zu"), ("af", "en")):
        family.original.src_lang, family.original.tgt_lang = source, target
        between = Between(source, target)
        assert whole(family.source, "It is a boat.", between) == family.original("It is a boat.").input_ids
        labels = family.original(text_target="It is a boat.").input_ids
        assert [*family.target.start(between), *family.target.encode("It is a boat."), 2] == labels
    assert family.target.start(Between("en", "fr")) == (family.original.get_lang_id("fr"),)
    with pytest.raises(TextError, match=r"no source language `fra_Latn`; did you mean `fr`"):
        family.source.frame(Between("fra_Latn", "en"))


@pytest.mark.parametrize("name", ["nllb", "mbart50"])
def test_others_begin_with_their_languages(name: str, folder: Path) -> None:
    family = Family(name, folder)
    codes = ("eng_Latn", "vie_Latn", "zul_Latn") if name == "nllb" else ("en_XX", "vi_VN", "sl_SI")
    first = len(pieces_of((family.folder / "sentencepiece.bpe.model").read_bytes())) + 1
    order = family.source.frames.languages("source")
    for code in codes:
        (index,) = family.source.frame(Between(code, codes[0])).before
        assert index == first + order.index(code)  # as in fairseq, whatever order a new tokeniser of transformers has
        assert family.target.start(Between(codes[0], code)) == (index,)
        assert family.source.pieces([index]) == [code]


def test_saved_again_by_transformers_they_have_its_ids(folder: Path, tmp_path: Path) -> None:
    """Version 5 writes tokenizer.json alone, and may number languages in its own way."""
    for name in WRITTEN_IN_RUST:
        family = Family(name, tmp_path)
        again = tmp_path / f"{name}-again"
        if name == "nllb":  # it has no languages unless it is given them
            family.original = transformers.NllbTokenizer.from_pretrained(family.folder, extra_special_tokens=list(NLLB))
        family.original.save_pretrained(again)
        for path in again.glob("*.model"):
            path.unlink()
        size = max(len(family.original), family.config["vocab_size"])
        table = json.loads((again / "tokenizer_config.json").read_text(encoding="utf-8"))
        codec, _ = load_codecs(again, {**table, **family.config, "vocab_size": size})
        for text in (*texts()[:300], *ODD):
            assert codec.encode(text) == family.ids(text), text
        for language in codec.frames.languages("source"):
            (index,) = codec.frame(Between(source=language)).before
            assert index == family.original.convert_tokens_to_ids(language) > 3


def test_nllb_of_old_has_its_language_at_the_end(tmp_path: Path) -> None:
    config = write_fairseq(tmp_path / "nllb", "m2m_100", kind="bpe")
    codec, target = load_codecs(tmp_path / "nllb", {**config, "legacy_behaviour": True})
    between = Between("eng_Latn", "fra_Latn")
    new, _ = load_codecs(tmp_path / "nllb", config)
    (index,) = new.frame(between).before
    assert codec.frame(between) == Frame((), (2, index))
    assert whole(codec, "It is a boat.", between) == [*codec.encode("It is a boat."), 2, index]
    assert codec.piece_words(codec.frame(between).around(codec.encode("a boat")))[-2:] == [-1, -1]
    assert target.start(between) == new.start(between)


def test_mbart_without_a_number_has_its_language_at_the_end(tmp_path: Path) -> None:
    config = write_fairseq(tmp_path / "mbart", "mbart", kind="unigram") | {"tokenizer_class": "MBartTokenizer"}
    original = transformers.MBartTokenizer.from_pretrained(tmp_path / "mbart", src_lang="en_XX", tgt_lang="vi_VN")
    vi = original.convert_tokens_to_ids("vi_VN")
    codec, target = load_codecs(tmp_path / "mbart", config | {"decoder_start_token_id": vi})
    assert whole(codec, "It is a boat.", Between("en_XX", "vi_VN")) == original("It is a boat.").input_ids
    assert (target.special.bos, target.start(Between("en_XX", "vi_VN"))) == (vi, ())
    assert target.starts.languages("target") == ("vi_VN",)
    assert vi in target.special.unwritten and 2 not in target.special.unwritten


def test_a_forced_language_is_the_only_one(tmp_path: Path) -> None:
    config = write_fairseq(tmp_path / "mbart", "mbart", kind="unigram")
    codec, _ = load_codecs(tmp_path / "mbart", config)
    (english,) = codec.start(Between("vi_VN", "en_XX"))
    _, target = load_codecs(tmp_path / "mbart", config | {"forced_bos_token_id": english})
    assert target.starts.languages("target") == ("en_XX",)
    with pytest.raises(TextError, match=r"no target language `vi_VN`"):
        target.start(Between("en_XX", "vi_VN"))


def test_marian_marks_the_target(tmp_path: Path) -> None:
    config = write_marian(tmp_path / "marian", ["fra", "cmn_Hans"])
    original = transformers.MarianTokenizer.from_pretrained(tmp_path / "marian")
    source, target = load_codecs(tmp_path / "marian", config | {"target_lang": "zho"})
    text = "It is a boat."
    for language in ("fra", "cmn_Hans"):
        typed = f">>{language}<< {text}"
        assert (
            whole(source, text, Between("eng", language))
            == original(typed).input_ids
            == whole(source, typed, Between(target="zho"))
        )
        assert source.normalize(typed) == source.normalize(text)
        assert source.piece_words(source.encode(typed))[0] == -1
    assert whole(source, text, Between("eng", "zho")) == original(text).input_ids
    assert target.frame(None) == Frame() and target.start(Between("eng", "fra")) == ()
    assert target.encode(text) == original(text_target=text, add_special_tokens=False).input_ids
    with pytest.raises(TextError, match=r"no target language `fre`; did you mean `fra`"):
        source.frame(Between("eng", "fre"))


def test_unknown_marks_are_text(tmp_path: Path) -> None:
    """The library makes one unknown token of everything between `>>` and `<<`."""
    config = write_marian(tmp_path / "marian", ["fra"])
    source, _ = load_codecs(tmp_path / "marian", config)
    text = ">>The boat is 5 << the house."
    assert source.normalize(text) == text and len(source.encode(text)) > 8
    assert source.encode("I see >>fra<< here")[0] not in source.special.tags


def test_marian_may_have_two_tables(tmp_path: Path) -> None:
    config = write_marian(tmp_path / "marian", apart=True)
    original = transformers.MarianTokenizer.from_pretrained(tmp_path / "marian")
    source, target = load_codecs(tmp_path / "marian", config)
    assert not source.shares(target) and (len(source), len(target)) == (
        config["vocab_size"],
        config["decoder_vocab_size"],
    )
    for text in (*texts()[:300], *ODD):
        assert source.encode(text) == original(text, add_special_tokens=False).input_ids
        assert target.encode(text) == original(text_target=text, add_special_tokens=False).input_ids


def test_an_unknown_piece_is_never_the_end(tmp_path: Path) -> None:
    """SentencePiece's own id of an unknown piece, 0, is the end of a sentence in Marian's table; so could `</s>` in a text be."""
    config = write_marian(tmp_path / "marian")
    source, _ = load_codecs(tmp_path / "marian", config)
    assert set(source.encode("日本")) & {0} == set() and 1 in source.encode("日本")
    model = sentencepiece(["ab ba"] * 50, size=12, rule="identity")
    (tmp_path / "marian" / "source.spm").write_bytes(model)
    source, _ = load_codecs(tmp_path / "marian", config)
    assert 0 not in source.encode("</s>") and source.special.pad not in source.encode("<pad>")


def test_t5_begins_with_words(tmp_path: Path) -> None:
    config = write_t5(tmp_path / "t5")
    original = transformers.T5Tokenizer.from_pretrained(tmp_path / "t5")
    tasks = {
        "translation_en_to_de": {"prefix": "translate English to German: "},
        "summarization": {"prefix": "summarize: "},
    }
    source, target = load_codecs(tmp_path / "t5", {**config, "task_specific_params": tasks})
    between = Between("en", "de")
    for text in (*texts()[:100], *ODD):
        assert whole(source, text, between) == original(f"translate English to German: {text}").input_ids
        assert source.frame_of(source.frame(between).around(source.encode(text))) == source.frame(between)
    assert target.start(between) == ()
    with pytest.raises(TextError, match=r"does not translate from `de` to `en`; it knows en-de"):
        source.frame(Between("de", "en"))
    assert load_codecs(tmp_path / "t5", config)[0].frame(None) == Frame()


def test_t5_may_also_end_with_words(tmp_path: Path) -> None:
    config = write_t5(tmp_path / "t5")
    prefixes = {("en", "vi"): ("en: ", "vi: "), ("vi", "en"): ("vi: ", "en: ")}
    source, target = load_codecs(tmp_path / "t5", config, prefixes=prefixes)
    assert list(target.start(Between("en", "vi"))) == target.encode("vi:")
    assert source.frame(Between("vi", "en")).before == target.start(Between("en", "vi"))


def test_bytes_are_read_and_written(tmp_path: Path) -> None:
    config = write_t5(tmp_path / "t5", family="mt5", byte_fallback=True, size=700) | {"extra_ids": 0}
    codec, _ = load_codecs(tmp_path / "t5", config)
    for text in ("日本 😀 x", "a €b"):
        ids = codec.encode(text)
        assert codec.special.unk not in ids and codec.decode(ids) == text
        assert codec.owners(text)[-1] == len(text.split()) - 1
    piece = codec.tokenizer.vocabulary.id("<0xE6>")
    assert codec.decode([piece]) == "\ufffd"


# Refusals


def test_a_folder_without_a_tokeniser_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ImportModelError, match=r"has no tokeniser: neither sentencepiece\.bpe\.model .* nor tokenizer\.json"
    ):
        load_codecs(tmp_path, {"model_type": "mbart", "vocab_size": 10})
    with pytest.raises(ImportModelError, match=r"has no source\.spm; copy the whole folder .*byte pair encoding"):
        load_codecs(tmp_path, {"model_type": "marian", "vocab_size": 10})
    with pytest.raises(
        ImportModelError, match=r"`model_type` `gpt2`, whose tokeniser is not known; known: marian, .*t5"
    ):
        load_codecs(tmp_path, {"model_type": "gpt2"})


def test_a_damaged_tokeniser_is_refused(tmp_path: Path) -> None:
    config = write_marian(tmp_path / "marian")
    (tmp_path / "marian" / "source.spm").write_bytes(b"nothing")
    with pytest.raises(ImportModelError, match=r"source\.spm is not a SentencePiece model, or is damaged"):
        load_codecs(tmp_path / "marian", config)
    (tmp_path / "marian" / "source.spm").write_bytes((tmp_path / "marian" / "target.spm").read_bytes())
    (tmp_path / "marian" / "vocab.json").write_text("{", encoding="utf-8")
    with pytest.raises(ImportModelError, match=r"vocab\.json is damaged"):
        load_codecs(tmp_path / "marian", config)
    (tmp_path / "marian" / "vocab.json").write_text(
        '{"a": 0, "b": 0, "<unk>": 1, "</s>": 2, "<pad>": 3}', encoding="utf-8"
    )
    with pytest.raises(ImportModelError, match=r"gives `b` and `a` the same id 0"):
        load_codecs(tmp_path / "marian", config)


def test_a_vocabulary_of_another_size_is_refused(tmp_path: Path) -> None:
    config = write_m2m100(tmp_path / "m2m")
    with pytest.raises(
        ImportModelError, match=r"but the model has 300 rows of embeddings; they do not belong together"
    ):
        load_codecs(tmp_path / "m2m", config | {"vocab_size": 300})
    with pytest.raises(ImportModelError, match=r"`vocab_size` is missing in the model's settings"):
        load_codecs(tmp_path / "m2m", {"model_type": "m2m_100"})
    with pytest.raises(ImportModelError, match=r"`decoder_start_token_id` is 99999 in the settings"):
        load_codecs(tmp_path / "m2m", config | {"decoder_start_token_id": 99999})


def test_added_text_is_refused(tmp_path: Path) -> None:
    config = write_t5(tmp_path / "t5")
    added = {"added_tokens_decoder": {str(config["vocab_size"] - 1): {"content": "ꞌ", "special": False}}}
    (tmp_path / "t5" / "tokenizer_config.json").write_text(json.dumps(added), encoding="utf-8")
    with pytest.raises(ImportModelError, match=r"1 tokens of text that its SentencePiece model lacks \(such as `ꞌ`\)"):
        load_codecs(tmp_path / "t5", config)


def test_a_tokeniser_of_another_kind_is_refused(tmp_path: Path) -> None:
    table = {"model": {"type": "WordPiece", "vocab": {"a": 0}}, "added_tokens": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(table), encoding="utf-8")
    with pytest.raises(
        ImportModelError, match=r"of the kind `WordPiece`, not one of SentencePiece; give a folder with the original"
    ):
        load_codecs(tmp_path, {"model_type": "t5", "vocab_size": 10})


def test_prefixes_are_only_for_t5(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a prefix of words is only for T5, not for `marian`; remove it"):
        load_codecs(tmp_path, {"model_type": "marian"}, prefixes={("en", "vi"): ("en: ", "")})


def test_imported_vocabularies_are_not_sampled(family: Family) -> None:
    import random

    assert family.source.sample("It is a boat.", random.Random(1), 0.0) == family.source.encode("It is a boat.")
    with pytest.raises(
        TextError, match=r"cannot be sampled from; set `text\.sampling` and `text\.sampling_target` to 0"
    ):
        family.source.sample("It is a boat.", random.Random(1), 0.1)
