"""Codecs of pretrained models put languages where their own tokenisers put them, and T5's words."""

import json
from pathlib import Path

import pytest
from tests.pretrained.tokenizer_families import QUIET, WRITTEN_IN_RUST, Family, transformers
from tests.pretrained.tokenizer_files import ODD, pieces_of, sentencepiece, texts, write_fairseq, write_marian, write_t5

from dragoman.errors import ImportModelError, TextError
from dragoman.pretrained.language_codes import NLLB
from dragoman.pretrained.tokenizers import WRITTEN, load_codecs
from dragoman.text.codec import Codec
from dragoman.text.frames import Between, Frame

pytestmark = QUIET


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
        own = transformers.M2M100Tokenizer.from_pretrained(family.folder, src_lang=source, tgt_lang=target)
        between = Between(source, target)
        assert whole(family.source, "It is a boat.", between) == own("It is a boat.").input_ids
        labels = own(text_target="It is a boat.").input_ids
        assert [*family.target.start(between), *family.target.encode("It is a boat."), 2] == labels
    assert family.target.start(Between("en", "fr")) == (family.original.get_lang_id("fr"),)
    with pytest.raises(TextError, match=r"no source language `fra_Latn`; did you mean `fr`"):
        family.source.frame(Between("fra_Latn", "en"))


def test_marian_may_get_languages_later(tmp_path: Path) -> None:
    """As `add_tokens` and `resize_token_embeddings` give them to a model that is trained on."""
    config = write_marian(tmp_path / "marian", ["fra"])
    index = config["vocab_size"]
    (tmp_path / "marian" / "added_tokens.json").write_text(json.dumps({">>lao<<": index}), encoding="utf-8")
    sizes = {"vocab_size": index + 1, "decoder_vocab_size": index + 1}
    source, _ = load_codecs(tmp_path / "marian", config | sizes)
    own = transformers.MarianTokenizer.from_pretrained(tmp_path / "marian")
    assert whole(source, "I love cats.", Between(target="lao")) == own(">>lao<< I love cats.").input_ids
    assert source.frame(Between(target="lao")) == Frame((index,))


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


@pytest.mark.parametrize("group", ["mul", "roa", "ROMANCE", "fra_vie"])
def test_a_group_of_languages_is_not_one_to_translate_into(group: str, tmp_path: Path) -> None:
    config = write_marian(tmp_path / "marian", ["fra", "vie"])
    source, _ = load_codecs(tmp_path / "marian", config | {"target_lang": group})
    assert source.frames.languages("target") == ("fra", "vie")
    with pytest.raises(TextError, match=rf"no target language `{group}`"):
        source.frame(Between("eng", group))


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


def test_the_first_mbart_starts_with_the_language_that_it_is_to_write(tmp_path: Path) -> None:
    config = write_fairseq(tmp_path / "mbart", "mbart", kind="unigram")
    config |= {"tokenizer_class": "MBartTokenizer", "decoder_start_token_id": None}
    with pytest.raises(ImportModelError, match=r"starts with the code of the target language, .* name it with `--to`"):
        load_codecs(tmp_path / "mbart", config)
    with pytest.raises(ImportModelError, match=r"the target language `vi`; did you mean `vi_VN`"):
        load_codecs(tmp_path / "mbart", config | {WRITTEN: "vi"})
    for given in ({WRITTEN: "vi_VN"}, {"tgt_lang": "vi_VN"}, {"tgt_lang": "en_XX", WRITTEN: "vi_VN"}):
        _, target = load_codecs(tmp_path / "mbart", config | given)
        assert target.pieces([target.special.bos]) == ["vi_VN"] and target.starts.languages("target") == ("vi_VN",)
        assert target.start(Between("en_XX", "vi_VN")) == ()


def test_an_mbart_whose_tokeniser_says_no_name_is_known_by_its_languages(tmp_path: Path) -> None:
    config = write_fairseq(tmp_path / "mbart", "mbart", kind="unigram") | {"tokenizer_class": "TokenizersBackend"}
    transformers.MBart50Tokenizer.from_pretrained(tmp_path / "mbart").save_pretrained(tmp_path / "mbart")
    codec, target = load_codecs(tmp_path / "mbart", config)
    between = Between("sl_SI", "vi_VN")
    assert codec.pieces(codec.frame(between).before) == ["sl_SI"] and target.pieces(target.start(between)) == ["vi_VN"]
