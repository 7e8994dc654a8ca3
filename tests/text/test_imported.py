"""Vocabularies of imported models: text is cut by SentencePiece, numbered by a table, and joined again."""

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pretrained.tokenizer_files import ODD, pieces_of, sentencepiece, texts

from dragoman.errors import TextError
from dragoman.special_ids import SpecialIds
from dragoman.text import imported
from dragoman.text.codec import FORMAT, OWN_FORMAT, Codec
from dragoman.text.frames import Between, Frame, Frames
from dragoman.text.imported import Imported, Table
from dragoman.text.normalize import normalize

MODEL = sentencepiece(texts(), size=300)
PIECES = ("</s>", "<unk>", ">>fra<<", *pieces_of(MODEL)[3:], "<pad>", "<unused 1>")
LAST = len(PIECES) - 1


def table(**changes: Any) -> Table:
    """Return a table of ids as Marian has them."""
    given: dict[str, Any] = {
        "pieces": PIECES,
        "special": SpecialIds(pad=LAST - 1, bos=LAST - 1, eos=0, unk=1, mask=1),
        "silent": frozenset({0, 2, LAST - 1, LAST}),
        "tags": {"<to fra>": 2},
        "frames": Frames({Between(target="fra"): Frame((2,))}),
    }
    return Table(**{**given, **changes})


CODEC = Codec(Imported(MODEL, table()))


@given(st.text(st.characters(codec="utf-8")))
def test_any_text_is_cut_and_joined(text: str) -> None:
    ids, pieces = CODEC.encode(text), CODEC.split(text)
    assert len(ids) == len(pieces) == len(CODEC.owners(text))
    assert not {CODEC.special.eos, CODEC.special.pad, LAST} & set(ids)
    assert CODEC.join(pieces) == CODEC.normalize(text)
    assert CODEC.words(text) == CODEC.normalize(text).split()
    if CODEC.special.unk not in ids:
        assert CODEC.decode(ids) == CODEC.normalize(text)


def test_its_own_rules_normalise_the_text() -> None:
    assert CODEC.normalize("  ﬁne\u00a0 ｆｕｌｌ ½ ") == "fine full 1⁄2"  # NFKC, and not Dragoman's NFC
    assert normalize("ﬁne") == "ﬁne"
    plain = Codec(Imported(sentencepiece(texts(), size=300, rule="identity"), table()))
    assert plain.normalize("ﬁne") == "ﬁne"


def test_it_is_saved_with_a_number_that_old_releases_refuse(tmp_path: Path) -> None:
    CODEC.save(tmp_path, "source")
    written = json.loads((tmp_path / "source.json").read_text(encoding="utf-8"))
    assert (written["format"], written["kind"]) == (FORMAT, "imported") and OWN_FORMAT < FORMAT
    loaded = Codec.load(tmp_path, "source")
    assert loaded == CODEC and loaded.fingerprint == CODEC.fingerprint
    assert isinstance(loaded.tokenizer, Imported) and loaded.tokenizer.table == table()


def test_it_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(CODEC))
    assert sent == CODEC and [sent.encode(text) for text in ODD] == [CODEC.encode(text) for text in ODD]


@pytest.mark.parametrize(
    "changes",
    [
        {"special": SpecialIds(pad=LAST, bos=LAST, eos=0, unk=1, mask=1)},
        {"silent": frozenset({0})},
        {"frames": Frames()},
        {"starts": Frames({Between(target="fra"): Frame((5,))})},
        {"tags": {}},
    ],
)
def test_everything_counts_for_the_fingerprint(changes: dict[str, Any]) -> None:
    other = Codec(Imported(MODEL, table(**changes)))
    assert other != CODEC
    assert other.shares(CODEC)  # the tokens have the same ids


@pytest.mark.parametrize(
    "change",
    [
        {"model": "bm90aGluZw=="},
        {"model": "?"},
        {"special": {"pad": 0}},
        {"special": {"pad": 10**6, "bos": 0, "eos": 0, "unk": 1, "mask": 1}},
        {"silent": [-1]},
        {"silent": [True]},
        {"pieces": ["a", 3]},
        {"pieces": ["a", "a"]},
        {"tags": {"<to fr>": "3"}},
        {"frames": [["en"]]},
        {"starts": [[None, "fra", ["x"], []]]},
    ],
)
def test_a_damaged_file_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    CODEC.save(tmp_path, "source")
    path = tmp_path / "source.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(TextError, match=r"source\.json (is damaged|has been changed).*; restore it"):
        Codec.load(tmp_path, "source")


def test_what_was_described_is_built() -> None:
    tokenizer = CODEC.tokenizer
    assert isinstance(tokenizer, Imported)
    assert imported.build(json.loads(json.dumps(imported.describe(tokenizer)))).table == tokenizer.table


def test_names_of_special_tokens_are_text() -> None:
    for name in ("</s>", "<pad>", "<unk>", "<unused 1>", "I see >>fra<< it"):
        assert not {0, 2, LAST - 1, LAST} & set(CODEC.encode(name))
        assert CODEC.normalize(name) == name


def test_a_language_before_a_text_is_a_token() -> None:
    ids = CODEC.encode(">>fra<< It is a boat.")
    assert ids == [2, *CODEC.encode("It is a boat.")] and CODEC.split(">>fra<<It")[0] == ">>fra<<"
    assert CODEC.decode(ids) == CODEC.normalize(">>fra<< It is a boat.") == "It is a boat."
    assert CODEC.piece_words(ids)[:2] == [-1, 0]
    assert CODEC.frame_of(ids) == CODEC.frame(Between("en", "fra"))


def test_only_the_usual_segmentation_can_be_sampled() -> None:
    assert CODEC.sample("It is.", random.Random(1), 0) == CODEC.encode("It is.")
    with pytest.raises(TextError, match=r"imported model, which cannot be sampled from"):
        CODEC.sample("It is.", random.Random(1), 0.5)


def test_what_is_no_sentencepiece_model_is_refused() -> None:
    with pytest.raises(TextError, match=r"not a SentencePiece model"):
        Imported(b"nothing", table())
