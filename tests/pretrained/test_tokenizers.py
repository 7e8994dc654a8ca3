"""Codecs of pretrained models find the pieces and ids that their own tokenisers find."""

import gzip
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import SentencePieceProcessor
from tests.pretrained.tokenizer_families import FAMILIES, QUIET, Family
from tests.pretrained.tokenizer_files import (
    ENDS,
    ODD,
    SPECIAL,
    texts,
    write_m2m100,
    write_marian,
    write_t5,
)

from dragoman.errors import ImportModelError, InputError, TextError
from dragoman.pretrained.tokenizers import load_codecs
from dragoman.text.codec import Codec
from dragoman.text.imported import Imported

pytestmark = QUIET

SHARED = next((one / "shared" / "data" for one in Path(__file__).parents if (one / "shared" / "data").is_dir()), None)
FILES = (
    "multi30k/train.de.gz",
    "multi30k/train.cs.gz",
    "multi30k/train.fr.gz",
    "evbnews-en-vi/train.vi.gz",
    "iwslt15-en-vi/tst2012.raw.vi",
    "alt-en-vi/train.vi.gz",
)


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
@pytest.mark.parametrize("each", [30, pytest.param(2000, marks=pytest.mark.slow)])
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


@pytest.mark.parametrize("added", [[1], {"3": None}, {"x": {"content": "a"}}, {"3": {}}])
@pytest.mark.parametrize("write", [write_marian, write_t5])
def test_added_tokens_that_are_none_are_refused(tmp_path: Path, write: Callable[..., Any], added: object) -> None:
    config = write(tmp_path / "model")
    (tmp_path / "model" / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}))
    with pytest.raises(ImportModelError, match=r"the tokeniser's files in .* are damaged"):
        load_codecs(tmp_path / "model", config)


@pytest.mark.parametrize(("family", "name"), [("t5", "extra_ids"), ("pegasus", "offset")])
def test_more_tokens_than_rows_are_refused_before_they_are_made(family: str, name: str, tmp_path: Path) -> None:
    config = write_t5(tmp_path / "model", family)
    huge = {"vocab_size": 9_999_999} if family == "t5" else {}
    with pytest.raises(ImportModelError, match=r"they do not belong together"):
        load_codecs(tmp_path / "model", config | huge | {name: 9_999_000})


def test_a_vocabulary_of_another_size_is_refused(tmp_path: Path) -> None:
    config = write_m2m100(tmp_path / "m2m")
    with pytest.raises(
        ImportModelError, match=r"but the model has 300 rows of embeddings; they do not belong together"
    ):
        load_codecs(tmp_path / "m2m", config | {"vocab_size": 300})
    with pytest.raises(ImportModelError, match=r"tokens, but the model has 9999999 rows .* do not belong together"):
        load_codecs(tmp_path / "m2m", config | {"vocab_size": 9_999_999})
    with pytest.raises(ImportModelError, match=r"`vocab_size` is missing in the model's settings"):
        load_codecs(tmp_path / "m2m", {"model_type": "m2m_100"})
    with pytest.raises(ImportModelError, match=r"`decoder_start_token_id` is 99999 in the settings"):
        load_codecs(tmp_path / "m2m", config | {"decoder_start_token_id": 99999})


def test_added_text_is_refused(tmp_path: Path) -> None:
    config = write_t5(tmp_path / "t5")
    added = {"added_tokens_decoder": {str(config["vocab_size"] - 1): {"content": "ꞌ", "special": False}}}
    (tmp_path / "t5" / "tokenizer_config.json").write_text(json.dumps(added), encoding="utf-8")
    with pytest.raises(ImportModelError, match=r"text that its SentencePiece model lacks \(such as `ꞌ`, 1 in all\)"):
        load_codecs(tmp_path / "t5", config)


def test_added_text_is_refused_where_ids_are_a_table(tmp_path: Path) -> None:
    config = write_marian(tmp_path / "marian")
    config |= {"vocab_size": config["vocab_size"] + 1, "decoder_vocab_size": config["vocab_size"] + 1}
    added = {"Dragoman": config["vocab_size"] - 1}
    (tmp_path / "marian" / "added_tokens.json").write_text(json.dumps(added), encoding="utf-8")
    with pytest.raises(ImportModelError, match=r"such as `Dragoman`, 1 in all"):
        load_codecs(tmp_path / "marian", config)


def test_a_tokeniser_of_another_kind_is_refused(tmp_path: Path) -> None:
    table = {"model": {"type": "WordPiece", "vocab": {"a": 0}}, "added_tokens": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(table), encoding="utf-8")
    with pytest.raises(
        ImportModelError, match=r"of the kind `WordPiece`, not one of SentencePiece; give a folder with the original"
    ):
        load_codecs(tmp_path, {"model_type": "t5", "vocab_size": 10})


@pytest.mark.parametrize(
    ("family", "name"), [("mbart", "AlbertTokenizer"), ("m2m_100", "SMALL100Tokenizer"), ("t5", "ByT5Tokenizer")]
)
def test_a_tokeniser_with_other_rules_is_refused(family: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(
        ImportModelError, match=rf"the tokeniser `{name}`, .* `{family}` can be imported with \w+Tokenizer"
    ):
        load_codecs(tmp_path, {"model_type": family, "vocab_size": 10, "tokenizer_class": name})


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
