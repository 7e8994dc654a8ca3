"""What word alignments say about unknown words: which source word each translates, and how words are usually translated."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from dragoman.data.lines import read_lines
from dragoman.data.links import TokenLinks, link_tokens, normalized_links
from dragoman.errors import CorpusError
from dragoman.interfaces import UNK
from dragoman.text.codec import Codec
from dragoman.text.links import Links
from dragoman.text.unknown import positional_piece


def split_links(links: Links, texts: tuple[str, str], codecs: tuple[Codec, Codec]) -> TokenLinks:
    """Return the alignment between the tokens of `Codec.split`: of unknown words too, as they are spelled."""
    words = np.array(normalized_links(links, texts, codecs), np.int32).reshape(-1, 2)
    return link_tokens(words, *(codec.owners(text) for codec, text in zip(codecs, texts, strict=True)))


def mark_unknown_positions(ids: Sequence[int], links: TokenLinks, codec: Codec) -> list[int]:
    """Turn unknown words of a target into those that say where in the source the word is that they are aligned to.

    Of several such words the nearest counts, the earlier in the source of two equally near. An unknown word without links,
    or with links out of the codec's reach, stays as it is (Luong et al. 2015, section 3.3).
    """
    placed = list(ids)
    for place in np.flatnonzero(np.array(ids) == UNK).tolist():
        offsets = [place - origin for origin in np.flatnonzero(links[place]).tolist()]
        if offsets:
            placed[place] = codec.tokenizer.vocabulary.id(positional_piece(min(offsets, key=abs)))
    return placed


def learn_dictionary(pairs: Iterable[tuple[str, str, Links | None]], codecs: tuple[Codec, Codec]) -> dict[str, str]:
    """Return the word that each source word is most often aligned to, the first in the alphabet of equally frequent ones.

    Luong et al. 2015, section 3.3, whose dictionary comes from the aligner too. Punctuation marks are left out.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for *texts, links in pairs:
        if links is None:
            continue
        source, target = (codec.split(text) for codec, text in zip(codecs, texts, strict=True))
        for place, origin in np.argwhere(split_links(links, (texts[0], texts[1]), codecs)).tolist():
            if source[origin].isalnum() and target[place].isalnum():
                counts[source[origin]][target[place]] += 1
    return {word: min(found, key=lambda target: (-found[target], target)) for word, found in sorted(counts.items())}


def read_dictionary(path: Path) -> dict[str, str]:
    """Read a word and its translation from each line, a tab between them. CorpusError names the first odd line."""
    words: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        parts = line.split("\t")
        if len(parts) != 2 or not all(parts):
            raise CorpusError(f"{path}, line {number} is not a word, a tab and its translation; write it so")
        words[parts[0]] = parts[1]
    return words
