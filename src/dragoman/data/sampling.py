"""Random segmentations of many texts at once."""

import random
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, Int64

from dragoman.data.store import Ids
from dragoman.native.compilation import SEGMENTATION, available
from dragoman.native.segmentation import drop_merges
from dragoman.text.codec import Codec
from dragoman.text.pieces import SPACE, SentencePiece
from dragoman.text.sampling import BpeDropout
from dragoman.text.vocabulary import UNK


class Merges(NamedTuple):
    """All merges of a vocabulary as numbers.

    A symbol is a piece (its id) or a character that is no piece, but part of some (a number larger than all ids).
    """

    characters: Int32[np.ndarray, " characters"]
    """The symbol of each Unicode character, -1 of those that are in no piece."""
    begins: Int64[np.ndarray, " begins"]
    """Where the merges begin that have this symbol on the left, and at the end where the last ones end."""
    rights: Int32[np.ndarray, " merges"]
    merged: Int32[np.ndarray, " merges"]
    """What symbol a merge gives; the smaller it is, the better the merge."""
    ids: Int32[np.ndarray, " symbols+1"]
    """The id of each symbol, UNK of those that are no piece and, at the end, of -1."""


@lru_cache(maxsize=2)
def merges_of(dropout: BpeDropout) -> Merges:
    """Return all merges that a vocabulary allows."""
    ranks = dropout.ranks
    others = sorted({character for piece in ranks for character in piece if character not in ranks})
    symbols = ranks | {
        character: symbol for symbol, character in enumerate(others, 1 + max(ranks.values(), default=-1))
    }
    found = sorted(
        (symbols[piece[:at]], symbols[piece[at:]], rank)
        for piece, rank in ranks.items()
        for at in range(1, len(piece))
        if piece[:at] in symbols and piece[at:] in symbols
    )
    lefts, rights, merged = (np.array(column, np.int32) for column in np.array(found, np.int32).reshape(-1, 3).T)
    begins = np.searchsorted(lefts, np.arange(max(symbols.values(), default=-1) + 2)).astype(np.int64)
    characters, ids = np.full(sys.maxunicode + 1, -1, np.int32), np.full(len(begins), UNK, np.int32)
    for symbol, number in symbols.items():
        if len(symbol) == 1:
            characters[ord(symbol)] = number
        if symbol in ranks:
            ids[number] = number
    return Merges(characters, begins, rights, merged, ids)


def dropout_of(codec: Codec) -> BpeDropout | None:
    """Return what a codec segments words at random with, if that is byte pair encoding with dropout."""
    return codec.tokenizer.dropout if isinstance(codec.tokenizer, SentencePiece) else None


def sample_all(codec: Codec, texts: Sequence[str], *, rng: random.Random, rate: float) -> list[Ids]:
    """Return the ids that `Codec.sample` gives of each text, with the same random numbers, for a rate above 0.

    Byte pair encoding with dropout is done in C++ if possible, about five times as fast as in Python.
    """
    dropout, tokenizer = dropout_of(codec), codec.tokenizer
    if dropout is None or not isinstance(tokenizer, SentencePiece) or not available(SEGMENTATION):
        return [np.array(codec.sample(text, rng, rate), np.int32) for text in texts]
    words = [tokenizer.written(codec.normalize(text)).split() for text in texts]
    found = segment_words(dropout, words, rng=rng, rate=rate)
    return [ids[::-1] for ids in found] if codec.right_to_left else found


def segment_words(dropout: BpeDropout, texts: Sequence[Sequence[str]], *, rng: random.Random, rate: float) -> list[Ids]:
    """Return the ids of texts, given as words, that `dropout` gives of one word after the other; requires `SEGMENTATION`."""
    merges = merges_of(dropout)
    written = "".join(SPACE + word for words in texts for word in words)
    if not written:
        return [np.zeros(0, np.int32) for _ in texts]
    symbols = merges.characters[np.frombuffer(written.encode("utf-32-le"), np.uint32)]
    lengths = np.array([1 + len(word) for words in texts for word in words])
    counts = lengths.cumsum()
    begins = counts - lengths
    drop_merges(symbols, counts, (merges.begins, merges.rights, merges.merged), rng=rng, rate=rate)
    left = np.arange(len(symbols)) - begins.repeat(lengths) < counts.repeat(lengths)
    owners = np.arange(len(counts)).repeat(counts)
    ids = merges.ids[symbols[left]]
    again = (ids[1:] == UNK) & (ids[:-1] == UNK) & (owners[1:] == owners[:-1])
    single = np.append(True, ~again)
    text_of_word = np.arange(len(texts)).repeat([len(words) for words in texts])
    sizes = np.bincount(text_of_word[owners[single]], minlength=len(texts))
    return np.split(ids[single], sizes.cumsum()[:-1])
