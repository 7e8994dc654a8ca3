"""Many pairs at once: views of their texts that checks share, each computed when it is first asked for."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dragoman.data.corpus import Pair
from dragoman.doctor import characters
from dragoman.doctor.hashes import Hashes, segment_hashes

SIZE = 4096
"""Number of pairs that are looked at together."""

Rows = NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


class Codes:
    """Lines as one array of UTF-16 code units, each followed by a line feed."""

    def __init__(self, units: characters.Units) -> None:
        self.units = units
        self.ends = np.flatnonzero(units == ord("\n"))
        """Where the line feed of each line is."""
        self.starts = np.concatenate(([0], self.ends[:-1] + 1))
        self.lengths = self.ends - self.starts

    def counts(self, mask: NDArray[np.bool_]) -> Rows:
        """Return how many characters of each line a mask marks."""
        sums = np.concatenate(([0], np.cumsum(mask, dtype=np.int32)))
        return sums[self.ends] - sums[self.starts]

    def rows(self, mask: NDArray[np.bool_]) -> Rows:
        """Return the lines in which a mask marks anything."""
        at = np.flatnonzero(mask)
        return np.unique(np.searchsorted(self.ends, at)) if len(at) else _NONE

    @cached_property
    def hashes(self) -> Hashes:
        """A hash of each line, never 0: different lines have the same one by chance once in about 2^60."""
        return np.maximum(segment_hashes(characters.scrambled()[self.units], self.starts), np.uint64(1))


class Side:
    """The lines of one side."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines: Sequence[str] = lines
        if "\n".join(lines).count("\n") >= max(len(lines), 1):
            self.lines = [line.replace("\n", "\u2028") for line in lines]  # of JSON; an end of a line all the same

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def text(self) -> str:
        """All lines, each with a line feed at its end."""
        return "\n".join([*self.lines, ""])

    @cached_property
    def codes(self) -> Codes:
        """The lines as they are."""
        return Codes(np.frombuffer(self.text.encode("utf-16-le", "surrogatepass"), np.uint16))

    @cached_property
    def hashes(self) -> Hashes:
        """A hash of each line, never 0, of this process: it is another one in the next."""
        found = np.fromiter(map(hash, self.lines), np.int64, len(self.lines)).view(np.uint64)
        return np.maximum(found, np.uint64(1))

    @cached_property
    def uncomposed(self) -> Rows:
        """The lines that are not in Unicode NFC."""
        rows = self.flagged(characters.COMBINING).tolist()
        return np.array([row for row in rows if not unicodedata.is_normalized("NFC", self.lines[row])], np.int64)

    @cached_property
    def flags(self) -> characters.Units:
        """The bits of each character (`doctor/characters.py`)."""
        return characters.flags()[self.codes.units]

    @cached_property
    def letters(self) -> Rows:
        """Number of letters and digits of each line."""
        return self.codes.counts(self.flags & (characters.LETTER | characters.DIGIT) != 0)

    @cached_property
    def words(self) -> Rows:
        """Number of words between spaces of each line."""
        apart = self.flags & characters.SPACE != 0
        begins = ~apart & np.concatenate(([True], apart[:-1]))
        return self.codes.counts(begins)

    @cached_property
    def spoken(self) -> Rows:
        """About how many words each line has; those of scripts without spaces between words are counted by their letters."""
        return self.words + sum(
            self.codes.counts(inside[self.codes.units]) // letters for letters, inside in characters.unspaced()
        )

    @cached_property
    def folded(self) -> Codes:
        """The letters and digits of each line, without case, all digits alike."""
        units = characters.folded()[self._composed_units]
        return Codes(units[units != 0])

    @cached_property
    def spelled(self) -> Codes:
        """The letters of each line, without case, and spaces for anything else."""
        return Codes(characters.spelled()[self._composed_units])

    @property
    def _composed_units(self) -> characters.Units:
        if not len(self.uncomposed):
            return self.codes.units
        return np.frombuffer(unicodedata.normalize("NFC", self.text).encode("utf-16-le", "surrogatepass"), np.uint16)

    def flagged(self, bits: int) -> Rows:
        """Return the lines with a character that has one of these bits."""
        return self.codes.rows(self.flags & bits != 0)

    def matching(self, pattern: re.Pattern[str]) -> Rows:
        """Return the lines in which a pattern is found, which must not match line feeds."""
        at = [match.start() for match in pattern.finditer(self.text)]
        return np.unique(np.searchsorted(self._ends, at, side="right")) if at else _NONE

    @cached_property
    def _ends(self) -> Rows:
        """Where each line ends in `text`, counted in characters, after its line feed."""
        return np.cumsum(np.fromiter(map(len, self.lines), np.int64, len(self.lines)) + 1)


class Chunk:
    """Consecutive pairs of a corpus, and which of them each check has found something in."""

    def __init__(self, pairs: Sequence[Pair], first: int) -> None:
        self.pairs = pairs
        self.first = first
        """Number of the first pair in its corpus, counted from 0."""
        self.source = Side([pair.source for pair in pairs])
        self.target = Side([pair.target for pair in pairs])
        self.found: dict[str, Rows] = {}
        """Rows by the name of a finding."""

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def sides(self) -> tuple[Side, Side]:
        """Source and target."""
        return self.source, self.target

    def flag(self, name: str, rows: Rows) -> None:
        """Remember rows in which something was found."""
        self.found[name] = np.union1d(self.found[name], rows) if name in self.found else rows


def chunks(pairs: Iterable[Pair]) -> Iterator[Chunk]:
    """Cut pairs into chunks."""
    pairs, first = iter(pairs), 0
    while some := list(islice(pairs, SIZE)):
        yield Chunk(some, first)
        first += len(some)
