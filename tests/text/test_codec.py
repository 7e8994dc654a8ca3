"""The way from text to ids and back."""

import hashlib
import json
import random
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.errors import TextError
from dragoman.text import Codec, learn_codecs, normalize
from dragoman.text.pieces import SentencePiece
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, TextSettings, WordsSettings
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK
from dragoman.text.words import Words

PAIRS = [
    ("The cat sat on the mat.", "Con mèo ngồi trên chiếc thảm."),
    ("Don't (ever) say “no”!", "Đừng bao giờ nói “không”!"),
    ("I study at school, don't I?", "Tôi học ở trường, phải không?"),
    ("He's 12 years old - really.", "Anh ấy 12 tuổi - thật đấy."),
]
EVERYTHING: list[TextSettings] = [
    SentencePieceSettings(size=90),
    SentencePieceSettings(size=90, lower=True),
    SentencePieceSettings(size=92, inline_casing=True),
    SentencePieceSettings(algorithm="unigram", size=80),
    WordsSettings(minimum_count=1, joint=True),
    CharactersSettings(joint=True),
    CharactersSettings(joint=True, lower=True),
]
ALPHABET = sorted(set("".join(normalize(text) + normalize(text, lower=True) for pair in PAIRS for text in pair)))


def learn(settings: TextSettings) -> Codec:
    """Learn a joint codec from PAIRS, in lower case too so that every character is known either way."""
    lower = [(source.lower(), target.lower()) for source, target in PAIRS]
    return learn_codecs(settings, lambda: PAIRS * 2 + lower)[0]


@pytest.fixture(scope="module", params=EVERYTHING, ids=lambda settings: f"{settings.kind}-{settings.lower}")
def codec(request: pytest.FixtureRequest) -> Codec:
    return learn(request.param)


def test_text_survives_the_codec(codec: Codec) -> None:
    for text in (text for pair in PAIRS for text in pair):
        ids = codec.encode(text)
        assert UNK not in ids
        assert codec.decode(ids) == codec.normalize(text) == codec.join(codec.split(text))


@given(text=st.lists(st.sampled_from([*ALPHABET, " ", "\u00a0", "\t", "e\u0302\u0301"])).map("".join))
def test_any_text_of_known_characters_survives_the_codec(codec: Codec, text: str) -> None:
    is_known = UNK not in codec.encode(text)
    assert is_known or isinstance(codec.tokenizer, Words)
    assert (codec.decode(codec.encode(text)) == codec.normalize(text)) == is_known
    assert (codec.decode(codec.sample(text, random.Random(1), 0.5)) == codec.normalize(text)) == is_known


@given(text=st.text())
def test_every_piece_of_any_text_has_its_spelling(codec: Codec, text: str) -> None:
    assert len(codec.split(text)) == len(codec.encode(text))
    assert codec.join(codec.split(text)) == codec.normalize(text)


@given(text=st.text(), seed=st.integers(0, 9))
@example(text="<s>", seed=0)
@example(text="</s> <unk><pad>", seed=1)
def test_samples_decode_as_the_usual_cut_does(codec: Codec, text: str, seed: int) -> None:
    assert codec.decode(codec.sample(text, random.Random(seed), 0.4)) == codec.decode(codec.encode(text))
    assert codec.sample(text, random.Random(seed), 0.0) == codec.encode(text)


@given(ids=st.data())
def test_any_ids_have_text_and_words(codec: Codec, ids: st.DataObject) -> None:
    some = ids.draw(st.lists(st.integers(0, len(codec) - 1)))
    before_end = some[: some.index(EOS)] if EOS in some else some
    words = codec.decode(some).split()
    owners = codec.piece_words(before_end)
    assert len(owners) == len(before_end)
    assert max(owners, default=-1) <= len(words)
    assert [owner == -1 for owner in owners] == [index in (PAD, BOS) for index in before_end]
    for number, word in enumerate(words):
        spelled = "".join(
            codec.join([piece])
            for piece, owner in zip(codec.pieces(before_end), owners, strict=True)
            if owner == number
        )
        if isinstance(codec.tokenizer, SentencePiece) and codec.tokenizer.inline_casing:
            word, spelled = word.lower(), spelled.lower()  # a token by itself does not show its capital
        assert word in spelled or spelled in word


def test_decoding_ends_at_the_end_and_skips_the_beginning(codec: Codec) -> None:
    ids = codec.encode("the cat")
    assert codec.decode([BOS, *ids, PAD, EOS, *ids]) == "the cat"
    assert codec.decode([]) == ""
    assert codec.pieces([PAD, BOS, EOS, UNK]) == ["<pad>", "<s>", "</s>", "<unk>"]


def test_unknown_pieces_are_shown(codec: Codec) -> None:
    assert codec.decode(codec.encode("the 世 cat")) == "the <unk> cat"


def test_pieces_know_their_words(codec: Codec) -> None:
    text = "Don't say no."
    ids = [BOS, *codec.encode(text), EOS]
    owners = codec.piece_words(ids)
    assert owners[0] == owners[-1] == -1
    words = codec.words(text)
    assert words == codec.normalize(text).split()
    for number, word in enumerate(words):
        spelled = [piece for piece, owner in zip(codec.pieces(ids), owners, strict=True) if owner == number]
        assert codec.join(spelled) == word


def test_a_saved_codec_is_equal(codec: Codec, tmp_path: Path) -> None:
    codec.save(tmp_path / "run", "source")
    loaded = Codec.load(tmp_path / "run", "source")
    assert loaded == codec
    assert hash(loaded) == hash(codec)
    assert len(loaded) == len(codec)
    assert loaded.encode(PAIRS[0][0]) == codec.encode(PAIRS[0][0])
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["source.json"]


def test_different_codecs_have_different_fingerprints() -> None:
    codecs = [learn(settings) for settings in EVERYTHING]
    assert len({codec.fingerprint for codec in codecs}) == len(EVERYTHING)
    assert codecs[0] != codecs[1]


def test_a_joint_vocabulary_is_one_object_and_separate_ones_are_two() -> None:
    source, target = learn_codecs(SentencePieceSettings(size=90), lambda: PAIRS)
    assert source is target
    source, target = learn_codecs(CharactersSettings(), lambda: PAIRS)
    assert UNK in source.encode("mèo")
    assert UNK not in target.encode("mèo")


def damage(path: Path, **changes: object) -> None:
    """Change entries of a codec's file."""
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pieces": ["a", "a"]}, "is damaged; restore it from an intact copy"),
        ({"pieces": ["a", "b"]}, "has been changed since it was written"),
        ({"pieces": None}, "is damaged"),
        ({"kind": "runes"}, "is damaged"),
        ({"kind": "sentencepiece", "model": "A", "algorithm": "bpe"}, "is damaged"),
        ({"format": 99}, "was written by a newer Dragoman; update this one"),
        ({"format": None}, "is not a tokeniser"),
    ],
)
def test_a_damaged_codec_is_refused(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    learn(CharactersSettings()).save(tmp_path, "source")
    damage(tmp_path / "source.json", **changes)
    with pytest.raises(TextError, match=r"source\.json " + message):
        Codec.load(tmp_path, "source")


@pytest.mark.parametrize("kind", ["characters", "words"])
@pytest.mark.parametrize("changes", [{"pieces": [5]}, {"pieces": "ab"}, {"pieces": ["\ud800"]}, {"lower": "yes"}])
def test_what_cannot_be_a_codec_is_refused_although_its_fingerprint_is_right(
    kind: str, changes: dict[str, object], tmp_path: Path
) -> None:
    description: dict[str, object] = {"kind": kind, "lower": False, "pieces": ["a"], **changes}
    table = {"format": 1, "fingerprint": fingerprint(description), **description}
    (tmp_path / "source.json").write_text(json.dumps(table), encoding="utf-8")
    with pytest.raises(TextError, match=r"source\.json is damaged"):
        Codec.load(tmp_path, "source")


def test_an_unknown_algorithm_is_refused_although_its_fingerprint_is_right(tmp_path: Path) -> None:
    learn(SentencePieceSettings(size=90)).save(tmp_path, "source")
    table = json.loads((tmp_path / "source.json").read_text(encoding="utf-8"))
    description = {key: table[key] for key in ("kind", "lower", "model")} | {"algorithm": "wordpiece"}
    damage(tmp_path / "source.json", **description, fingerprint=fingerprint(description))
    with pytest.raises(TextError, match=r"source\.json is damaged"):
        Codec.load(tmp_path, "source")


def fingerprint(description: dict[str, object]) -> str:
    """Return the fingerprint of a codec that is so described."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode("ascii")).hexdigest()[:32]


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff", b'{"a": 1}'[:5]])
def test_a_file_cut_short_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "source.json").write_bytes(content)
    with pytest.raises(TextError, match=r"source\.json is damaged; restore it from an intact copy"):
        Codec.load(tmp_path, "source")


def test_a_missing_codec_is_named(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"there is no tokeniser .*target\.json; give the folder of a trained run"):
        Codec.load(tmp_path, "target")


def test_a_codec_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "source.json").mkdir()
    with pytest.raises(TextError, match=r"source\.json cannot be read \(Is a directory\)"):
        Codec.load(tmp_path, "source")


@given(text=st.lists(st.sampled_from([*ALPHABET, " ", "e\u0302\u0301"])).map("".join))
def test_from_right_to_left_everything_is_the_other_way_round_but_the_text(codec: Codec, text: str) -> None:
    other = codec.directed(True)
    assert other.encode(text) == codec.encode(text)[::-1]
    assert other.split(text) == codec.split(text)[::-1]
    assert other.owners(text) == codec.owners(text)[::-1]
    assert other.sample(text, random.Random(1), 0.5) == codec.sample(text, random.Random(1), 0.5)[::-1]
    ids = other.encode(text)
    assert other.decode([*ids, EOS, PAD]) == codec.decode(ids[::-1])
    assert other.join(other.split(text)) == codec.normalize(text)
    assert other.piece_words([BOS, *ids, EOS]) == [-1, *codec.piece_words(ids[::-1])[::-1], -1]


def test_a_direction_is_part_of_a_codec_but_not_of_its_vocabulary(codec: Codec, tmp_path: Path) -> None:
    other = codec.directed(True)
    assert other != codec and other.shares(codec) and codec.shares(other) and other.directed(False) == codec
    other.save(tmp_path, "target")
    loaded = Codec.load(tmp_path, "target")
    assert loaded == other and loaded.right_to_left and codec.directed(False) is codec


def test_only_the_target_is_written_from_right_to_left() -> None:
    for joint in (True, False):
        settings = WordsSettings(minimum_count=1, joint=joint, right_to_left=True)
        source, target = learn_codecs(settings, lambda: PAIRS)
        assert (source.right_to_left, target.right_to_left, source.shares(target)) == (False, True, joint)
