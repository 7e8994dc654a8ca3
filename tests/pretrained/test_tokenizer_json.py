"""The library `tokenizers` cuts text as the codec whose file it reads."""

import json
import re
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.pretrained.odd_text import ODD
from tokenizers import Tokenizer

from dragoman.data.corpus import read_pairs
from dragoman.data.settings import DataSettings
from dragoman.pretrained import tokenizer_json as written
from dragoman.settings import parse
from dragoman.text.codec import Codec, learn_codec
from dragoman.text.normalize import normalize
from dragoman.text.settings import CharactersSettings, SentencePieceSettings
from dragoman.text.vocabulary import EOS

SHARED = Path("../shared/data")
KINDS: dict[str, Any] = {
    "bpe": SentencePieceSettings(size=400),
    "bpe, lower": SentencePieceSettings(size=300, lower=True),
    "unigram": SentencePieceSettings(algorithm="unigram", size=300),
    "unigram, lower": SentencePieceSettings(algorithm="unigram", size=250, lower=True),
    "characters": CharactersSettings(),
    "characters, lower": CharactersSettings(lower=True),
}


def texts(part: str = "train", pairs: int = 300) -> list[str]:
    """Return sentences of the phrasebook in both languages, some with signs that pieces with "<" are made of."""
    corpus = {"phrasebook": part, "pairs": pairs}
    data = parse(DataSettings, {"source": "en", "target": "vi", "train": [corpus], "dev": [corpus]})
    found = [text for pair in read_pairs(data.train[0], data) for text in (pair.source, pair.target)]
    return found + ["a <b> and </b> << 1 < 2 </ s >"] * 5


def codec_of(kind: str, tags: tuple[str, ...] = ()) -> Codec:
    """Learn a small codec."""
    return learn_codec(KINDS[kind], texts(), tags)


def read(codec: Codec, target: Codec | None = None) -> Any:
    """Return the tokenizer that the library reads, as `transformers` sets it up; a `target` has ids of its own."""
    content = written.tokenizer_json(codec, target or codec, len(codec) if target else 0)
    found = Tokenizer.from_str(json.dumps(content))
    found.encode_special_tokens = True
    return found


@pytest.mark.parametrize("own_rows", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_text_has_the_tokens_of_the_codec(kind: str, own_rows: bool) -> None:
    codec = codec_of(kind)
    tokenizer = read(codec, codec if own_rows else None)
    for text in [*ODD, *texts("test", 200)]:
        assert tokenizer.encode(text).ids == [*codec.encode(text), EOS], text


@pytest.mark.parametrize("kind", KINDS)
def test_random_text_of_known_and_odd_signs_has_them_too(kind: str) -> None:
    codec, rng = codec_of(kind), Random(4)
    tokenizer = read(codec)
    signs = sorted(set("".join([*ODD, *texts("test", 50)])))
    for _ in range(2000):
        text = "".join(rng.choices(signs, k=rng.randint(1, 30)))
        assert tokenizer.encode(text).ids == [*codec.encode(text), EOS], text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("own_rows", [False, True])
def test_tokens_become_the_text_of_the_codec(kind: str, own_rows: bool) -> None:
    codec, rng = codec_of(kind), Random(5)
    tokenizer, offset = read(codec, codec if own_rows else None), len(codec) if own_rows else 0
    rows = [codec.encode(text) for text in ODD] + [rng.choices(range(4, len(codec)), k=12) for _ in range(500)]
    for ids in rows:
        known = [index for index in ids if index != codec.special.unk]
        begun = [offset + index for index in (1, *known, 2, 0, 0)]
        assert tokenizer.decode(begun, skip_special_tokens=True) == codec.decode(known)


def test_every_invisible_sign_and_every_space_is_known() -> None:
    """Hexadecimal escapes are written in another way here, nothing else differs."""
    classes = {
        name: re.compile(re.sub(r"\\x\{(\w+)\}", lambda found: re.escape(chr(int(found[1], 16))), pattern))
        for name, pattern in (("invisible", written.INVISIBLE), ("spaces", written.SPACES))
    }
    for sign in map(chr, (*range(0xD800), *range(0xE000, 0x30000), *range(0xE0000, 0xE0200))):
        assert bool(classes["spaces"].fullmatch(sign)) == sign.isspace(), ascii(sign)
        if classes["invisible"].fullmatch(sign) or ord(sign) < 0x3000:
            assert bool(classes["invisible"].fullmatch(sign)) == (normalize(f"a{sign}b") == "ab"), ascii(sign)


def test_a_final_sigma_is_found_as_python_finds_it() -> None:
    tokenizer = read(codec_of("characters, lower"))
    for letters in product("ΑΣ'. \u0301", repeat=5):
        text = "".join(letters)
        found = tokenizer.normalizer.normalize_str(text)
        assert found == normalize(text, lower=True).replace(" ", "▁"), ascii(text)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
def test_a_tag_is_one_token_with_the_spaces_around_it(kind: str) -> None:
    codec = codec_of(kind, ("<to fr>", "<to vi>", "<synthetic source>"))
    tokenizer = read(codec)
    for text in ("I love cats.", "  </s> x"):
        wanted = [*codec.tag("fr"), *codec.encode(text), EOS]
        assert tokenizer.encode(f"<to fr> {text}").ids == wanted
        assert tokenizer.encode(f"<to fr>{text}").ids == wanted
    assert tokenizer.encode("<synthetic source> x").ids == [*codec.encode("<synthetic source> x"), EOS]


def test_the_configuration_names_the_tokens_of_the_target() -> None:
    assert written.tokenizer_config(0, 9)["eos_token"] == "</s>"
    assert written.tokenizer_config(7, 9)["eos_token"] == written.TARGET + "</s>"


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the parallel corpora in ../shared/data")
@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_real_sentences_have_the_tokens_of_the_codec(algorithm: Any) -> None:
    lines = (SHARED / "evbnews-en-vi" / "dev.vi").read_text(encoding="utf-8").split("\n")
    codec = learn_codec(SentencePieceSettings(algorithm=algorithm, size=1500), lines)
    tokenizer = read(codec)
    differing = [line for line in lines if tokenizer.encode(line).ids != [*codec.encode(line), EOS]]
    assert len(differing) <= (0 if algorithm == "bpe" else 1)
