"""Word alignments between the tokens of a pair, as the model needs them."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from jaxtyping import Bool, Int32

from dragoman.text.codec import Codec
from dragoman.text.links import Links

WordLinks = Int32[np.ndarray, "links 2"]
"""Word alignment of one pair: (source word, target word), numbered in its normalised texts."""

TokenLinks = Bool[np.ndarray, "_ _"]
"""Token alignment of one pair: whether each target token (first axis) translates each source token, special ones left out."""


def spaced(text: str) -> list[str]:
    """Split text where word alignments count words: at spaces, and not at other white space.

    >>> spaced(" a b\u00a0c ")
    ['a', 'b\xa0c']
    """
    return [word for word in text.split(" ") if word]


def normalized_links(links: Links, texts: tuple[str, str], codecs: tuple[Codec, Codec]) -> list[tuple[int, int]]:
    """Return the alignment, sure or only possible, between the words of the normalised texts.

    Normalising may make several words of one, at a no-break space for instance, or none.
    """
    source, target = (_renumbered(text, codec) for text, codec in zip(texts, codecs, strict=True))
    return sorted({(i, j) for before, after in links.possible for i in source[before] for j in target[after]})


def link_tokens(links: WordLinks, source: Sequence[int], target: Sequence[int]) -> Bool[np.ndarray, "target source"]:
    """Align tokens whose words are aligned; `source` and `target` hold the word of each token, -1 for one of no word.

    >>> link_tokens(np.int32([[0, 1]]), source=[0, 0, 1], target=[0, 1]).astype(int).tolist()
    [[0, 0, 0], [1, 1, 0]]
    """
    counts = (2 + max([*target, *links[:, 1]], default=0), 2 + max([*source, *links[:, 0]], default=0))
    words = np.zeros(counts, bool)  # the last of each side is no word
    words[links[:, 1], links[:, 0]] = True
    return words[np.ix_(np.array(target, int), np.array(source, int))]


def _renumbered(text: str, codec: Codec) -> list[range]:
    """Return for each word of a text the numbers of its words in the normalised text."""
    words = spaced(text)
    counts = [1] * len(words) if words == codec.words(text) else [len(codec.words(word)) for word in words]
    return [range(start, end) for start, end in pairwise([0, *accumulate(counts)])]
