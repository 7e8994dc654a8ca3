"""Hashes of many texts at once, and sets of them."""

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]

BASE = 0x9E3779B97F4A7C15
"""An odd number: the place of a character in its text is that power of it."""
_BITS = 20
"""Bits of a hash by which it is looked up."""


def mixed(values: Hashes) -> Hashes:
    """Spread hashes over all 64 bits (the finaliser of MurmurHash3)."""
    for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        values = (values ^ (values >> np.uint64(33))) * np.uint64(multiplier)
    return values ^ (values >> np.uint64(33))


def segment_hashes(codes: Hashes, starts: Places) -> Hashes:
    """Return a hash of the codes from each start up to the next, whatever is before; codes of 0 at its end do not count.

    It is the polynomial sum of code times `BASE` to the power of the place, modulo 2^64.

    >>> one, two = segment_hashes(np.array([1, 5, 6, 0, 5, 6], np.uint64), np.array([1, 4]))
    >>> bool(one == two)
    True
    """
    sums = np.add.reduceat(codes * _powers(BASE, len(codes)), starts)
    return mixed(sums * _powers(pow(BASE, -1, 1 << 64), len(codes))[starts])


def numbered(hashes: Hashes) -> tuple[Hashes, Places]:
    """Return the different hashes in order, and the number that each hash has among them.

    >>> [found.tolist() for found in numbered(np.array([7, 3, 7], np.uint64))]
    [[3, 7], [1, 0, 1]]
    """
    ordered = np.sort(hashes)
    different = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    slots = np.zeros(1 << _BITS, np.int64)
    slots[different >> np.uint64(64 - _BITS)] = np.arange(len(different))
    numbers = slots[hashes >> np.uint64(64 - _BITS)]
    shared = np.flatnonzero(different[numbers] != hashes)  # with another hash in its slot
    numbers[shared] = np.searchsorted(different, hashes[shared])
    return different, numbers


def _powers(base: int, count: int) -> Hashes:
    """Return the first powers of a number, modulo 2^64."""
    factors = np.full(count, base, np.uint64)
    factors[:1] = 1
    return np.cumprod(factors)


class SeenHashes:
    """A set of hashes above 0 in an array, which takes many at once: 16 to 32 bytes each.

    It stops growing at `most`: later hashes are compared with those that are in it, and not added.
    """

    def __init__(self, most: int = 1 << 24) -> None:
        self._slots = np.zeros(1 << 13, np.uint64)
        self._count = 0
        self._most = most

    def __len__(self) -> int:
        return self._count

    def has(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Tell which hashes are in the set."""
        return self._slots[self._places(hashes)] != 0

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Add hashes, and tell which were there before or come earlier in `hashes`."""
        fresh, first = np.unique(hashes, return_index=True)
        known = np.ones(len(hashes), bool)
        new = ~self.has(fresh)
        known[first[new]] = False
        if self._count + new.sum() <= self._most:
            while 2 * (self._count + int(new.sum())) > len(self._slots):
                old = self._slots[self._slots != 0]
                self._slots = np.zeros(2 * len(self._slots), np.uint64)
                self._put(old)
            self._put(fresh[new])
            self._count += int(new.sum())
        return known

    def _places(self, hashes: Hashes) -> Places:
        """Return the slot of each hash, or the free one where its search ends."""
        last = np.int64(len(self._slots) - 1)
        places = (hashes & np.uint64(last)).astype(np.int64)
        going = np.arange(len(hashes))
        while len(going):
            there = self._slots[places[going]]
            going = going[(there != 0) & (there != hashes[going])]
            places[going] = (places[going] + 1) & last
        return places

    def _put(self, hashes: Hashes) -> None:
        """Put different hashes, which are not there, into free slots; where two want one, the last gets it first."""
        while len(hashes):
            places = self._places(hashes)
            self._slots[places] = hashes
            hashes = hashes[self._slots[places] != hashes]
