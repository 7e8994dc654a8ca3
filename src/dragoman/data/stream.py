"""An endless stream of training batches that can be resumed at any batch."""

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.data.annotations import annotations
from dragoman.data.buckets import Indices, Lengths, Members, batches, pools, split_evenly
from dragoman.data.collate import collate
from dragoman.data.link_counts import LinkedPair
from dragoman.data.links import TokenLinks, link_tokens
from dragoman.data.noise import infilled
from dragoman.data.sampling import sample_all
from dragoman.data.store import Ids, Store
from dragoman.data.variation import PLAIN, Couples, Variation, couples, merged
from dragoman.errors import RunError
from dragoman.interfaces import Batch
from dragoman.text.annotations import annotated
from dragoman.text.codec import Codec
from dragoman.text.frames import Frame
from dragoman.text.tags import NOISED

EncodedPair = tuple[Ids, Ids]
"""Ids of a source and a target sentence."""

MOST_TAGS = 3
"""Tags that a source may begin with: its target language, that a machine wrote it, that it is noised."""

SAMPLED_TOGETHER = 8192
"""How many texts are segmented at random at a time, to limit memory."""


def joined(pairs: Sequence[EncodedPair]) -> EncodedPair:
    """Return one pair or several, one after the other, as one.

    >>> joined([(np.int32([5]), np.int32([6])), (np.int32([7, 8]), np.int32([9]))])[0].tolist()
    [5, 7, 8]
    """
    if len(pairs) == 1:
        return pairs[0]
    sources, targets = zip(*pairs, strict=True)
    return np.concatenate(sources), np.concatenate(targets)


def joined_links(links: Sequence[TokenLinks | None]) -> TokenLinks | None:
    """Return the alignment of pairs that are one after the other, each within itself; None if that of any is unknown."""
    known = [one for one in links if one is not None]
    if len(known) < len(links):
        return None
    whole = np.zeros(np.sum([one.shape for one in known], 0), bool)
    row = column = 0
    for one in known:
        whole[row : row + one.shape[0], column : column + one.shape[1]] = one
        row, column = row + one.shape[0], column + one.shape[1]
    return whole


@dataclass(frozen=True)
class EpochOutline:
    """What an epoch consists of; of a corpus in several pools, as far as the present one tells."""

    batches: float
    cells: float
    """Tokens of both sides of all batches, padding included."""
    tokens: float
    """Target tokens, with </s>."""
    largest: Batch
    """The batch with the most cells."""


class BatchStream(Iterator[Batch]):
    """Batches of at most `tokens` tokens on either side, padding included; each pair once in an epoch, without end.

    The batches are a function of the store, `tokens`, `seed` and `variation`: a stream moved to the `position` of another
    continues identically. The variation may tokenise the texts differently in each epoch (see `Codec.sample`), a pool at a
    time, so that batches are grouped by true lengths, put translations in the place of terms into some sources
    (`data/annotations.py`), hide parts of those that are tagged as noised (`data/noise.py`), and join some pairs with another:
    the two sources and the two targets, one after the other, are one pair, which still counts as two. The next batch is made in
    the background. `tokens` smaller than a sentence gives it a batch of its own.
    """

    def __init__(
        self,
        store: Store,
        codecs: tuple[Codec, Codec],
        tokens: int,
        *,
        seed: int,
        variation: Variation = PLAIN,
        bounds: tuple[int | None, int | None] = (None, None),
        previous: int = 0,
    ) -> None:
        """Begin at the first batch; where sampling gives more than `bounds` (source, target) tokens, `Codec.encode` is used.

        Nor do annotated or noised sources or joined pairs have more than `bounds`; joined ones fit into a batch too. Each
        sentence comes with the `previous` ones before it in its document, which are never sampled, annotated or noised.
        """
        self.store = store
        self.codecs = codecs
        self.tokens = tokens
        self.seed = seed
        self.variation = variation
        self.bounds = bounds
        self.previous = previous
        self._part = (0, 1)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="batches")
        self._enter(epoch=0, pool=0)
        self._index = 0
        self._batch = 0
        self._next: Future[Batch] | None = None

    def __next__(self) -> Batch:
        ready = self._next or self._prepare()
        batch = ready.result()
        self._advance()
        self._next = self._prepare()
        return batch

    @property
    def position(self) -> dict[str, int]:
        """Where the next batch is: its epoch and its index in the epoch, its pool and its index in the pool."""
        return {"epoch": self._epoch, "index": self._index, "pool": self._pool, "batch": self._batch}

    @property
    def epochs_done(self) -> float:
        """Passes over the corpus so far, in pairs given out."""
        return self._epoch + (self._before + int(self._given[self._batch])) / len(self.store)

    def seek(self, position: dict[str, Any]) -> None:
        """Move to a position from a stream over the same corpus. Raises RunError if there is no such position."""
        epoch, index, pool, batch = (int(position[key]) for key in ("epoch", "index", "pool", "batch"))
        fits = min(epoch, index, pool, batch) >= 0
        if fits:
            try:
                self._enter(epoch, pool)
                fits = batch < len(self._plan)
            except IndexError:
                fits = False
        if not fits:
            raise RunError(
                f"the saved position (epoch {epoch}, batch {index}) does not exist: the corpus or the batch size has changed "
                "since training started; start a new run"
            )
        self._index, self._batch, self._next = index, batch, None

    def read_part(self, number: int, count: int) -> None:
        """Read only one of `count` parts of the rows of each batch from now on; the ids of the others are padding.

        Their mask stays that of the whole batch. Where an EOS may be inside a sentence, all rows are read.
        """
        if not self.codecs[1].special.tags:
            self._part, self._next = (number, count), None

    def outline(self) -> EpochOutline:
        """Say what an epoch consists of; the position stays as it is."""
        indices, source, target = self._lengths
        order = np.argsort(indices)
        rows = [order[np.searchsorted(indices, members, sorter=order)] for members in self._plan]
        cells = [len(at) * int(source[at].max() + target[at].max() + 3) for at in rows]  # </s>, and <s> of the target
        share = len(self.store) / int(self._given[-1])
        largest = self._make(self._plan[int(np.argmax(cells))], self._varied, self._partners)
        tokens = int(target.sum()) + len(target)
        return EpochOutline(share * len(cells), share * sum(cells), share * tokens, largest)

    def linked(self, most: int) -> Iterator[LinkedPair]:
        """Yield pairs whose links are known, at most so many, from all over the corpus, with the alignment of their tokens."""
        for at in range(0, len(self.store), max(-(-len(self.store) // most), 1)):
            source, target = self.store.pair(at)
            links = self._links(at, source, target)
            if links is not None:
                yield LinkedPair(source, target, links)

    def close(self) -> None:
        """Wait for the batch being made, and end the background thread."""
        self._worker.shutdown(cancel_futures=True)

    def _enter(self, epoch: int, pool: int) -> None:
        """Plan the batches of one pool."""
        runs = pools(len(self.store), np.random.default_rng((self.seed, epoch)))
        chosen = runs[pool]
        indices = np.concatenate([np.arange(run.start, run.stop) for run in chosen])
        self._varied = self._sample(indices, epoch, pool) if any(self.variation.rates(epoch)) else {}
        if self.variation.annotated:
            self._varied |= self._annotate(indices, epoch, pool)
        if self.variation.noise:
            self._varied |= self._noise(indices, epoch, pool)
        source = np.concatenate([self.store.source_lengths[run.start : run.stop] for run in chosen])
        target = np.concatenate([self.store.target_lengths[run.start : run.stop] for run in chosen])
        for place, at in enumerate(indices.tolist() if self._varied else ()):
            if at in self._varied:
                source[place], target[place] = map(len, self._varied[at])
        self._partners: dict[int, int] = {}
        if self.variation.joined:
            found = self._couples(source, target, place=(epoch, pool))
            self._partners = dict(indices[found].tolist())
            indices, source, target = np.delete(indices, found[:, 1]), merged(source, found), merged(target, found)
        self._lengths = indices, source, target
        rng = np.random.default_rng((self.seed, epoch, pool))
        self._plan: list[Members] = batches(indices, source + 1, target + 1, tokens=self.tokens, rng=rng)
        sizes = [len(members) + sum(at in self._partners for at in members.tolist()) for members in self._plan]
        self._given = np.cumsum([0, *sizes])
        self._epoch, self._pool, self._pools = epoch, pool, len(runs)
        self._before = sum(len(run) for before in runs[:pool] for run in before)

    def _advance(self) -> None:
        """Advance by one batch."""
        self._index += 1
        self._batch += 1
        if self._batch < len(self._plan):
            return
        self._batch = 0
        if self._pool + 1 < self._pools:
            self._enter(self._epoch, self._pool + 1)
        else:
            self._enter(self._epoch + 1, 0)
            self._index = 0

    def _prepare(self) -> Future[Batch]:
        """Start preparing the next batch."""
        return self._worker.submit(self._make, self._plan[self._batch], self._varied, self._partners)

    def _make(self, indices: Members, varied: dict[int, EncodedPair], partners: dict[int, int]) -> Batch:
        """Read and pad the pairs of one batch, with what else is known of them."""
        rows = [[at, partners[at]] if at in partners else [at] for at in indices.tolist()]
        number, count = self._part
        shares = split_evenly(len(rows), count)
        own = shares[number] if number < len(shares) else range(0)
        parts = [
            [varied.get(at) or (self.store.pair(at) if place in own else self._blank(at)) for at in row]
            for place, row in enumerate(rows)
        ]
        pairs = [joined(row) for row in parts]
        previous = [self.store.previous(row[0], self.previous) for row in rows] if self.previous else None
        links = None
        if self.store.linked:
            links = [
                joined_links([self._links(at, *pair) for at, pair in zip(row, part, strict=True)])
                if place in own
                else None
                for place, (row, part) in enumerate(zip(rows, parts, strict=True))
            ]
        return collate(pairs, previous=previous, links=links, special=self.codecs[1].special)

    def _blank(self, index: int) -> EncodedPair:
        """Return as much padding as the sentences of a pair have tokens, without reading them."""
        sides = self.store.source_lengths[index], self.store.target_lengths[index]
        source, target = (np.full(side, self.codecs[1].special.pad, np.int32) for side in sides)
        return source, target

    def _couples(self, source: Lengths, target: Lengths, *, place: tuple[int, int]) -> Couples:
        """Return the positions of pairs to be joined; seed, epoch and pool decide."""
        most = [self.tokens - 1 if bound is None else min(self.tokens - 1, bound) for bound in self.bounds]
        rng = np.random.default_rng((self.seed, *place, 1))
        return couples(source, target, self.variation.joined, most=(most[0], most[1]), rng=rng)

    def _links(self, index: int, source: Ids, target: Ids) -> TokenLinks | None:
        """Return the alignment between the tokens of a pair as it is encoded here; None of an annotated one."""
        links, read, written = self.store.links(index), source.tolist(), target.tolist()
        if links is None or set(read) & set(self.codecs[0].marks):
            return None
        frames = self.codecs[0].frame_of(read), self.codecs[1].starts.around(written)
        sides = zip(frames, (read, written), range(2), strict=True)
        return link_tokens(links, *(self._words(index, side, frame, ids=ids) for frame, ids, side in sides))

    def _words(self, index: int, side: int, frame: Frame, *, ids: list[int]) -> list[int]:
        """Return the word of each token of a sentence, -1 for the frame around it.

        An unknown token does not show whether it was a word of its own, but the text does, unless it was sampled.
        """
        codec, inside = self.codecs[side], frame.inside(ids)
        owners = codec.piece_words(inside)
        if codec.special.unk in inside and inside == codec.encode(text := self.store.text(index)[side]):
            owners = codec.owners(text)
        return [*(-1 for _ in frame.before), *owners, *(-1 for _ in frame.after)]

    def _sample(self, indices: Indices, epoch: int, pool: int) -> dict[int, EncodedPair]:
        """Tokenise the texts of one pool at random; seed, epoch and pool decide how."""
        rates, place = self.variation.rates(epoch), f"{self.seed} {epoch} {pool}"
        rngs = random.Random(place), random.Random(f"{place} target")
        sampled: dict[int, EncodedPair] = {}
        for first in range(0, len(indices), SAMPLED_TOGETHER):
            chosen = indices[first : first + SAMPLED_TOGETHER].tolist()
            usual, texts = [self.store.pair(at) for at in chosen], [self.store.text(at) for at in chosen]
            source, target = (
                sample_all(self.codecs[side], [text[side] for text in texts], rng=rngs[side], rate=rate)
                if (rate := rates[side])
                else [pair[side] for pair in usual]
                for side in range(2)
            )
            if rates[0]:
                frames = (self.codecs[0].frame_of(pair[0].tolist()) for pair in usual)
                source = [
                    np.array(frame.around(ids.tolist()), np.int32) for frame, ids in zip(frames, source, strict=True)
                ]
            for at, pair, drawn in zip(chosen, usual, zip(source, target, strict=True), strict=True):
                fits = all(bound is None or len(ids) <= bound for ids, bound in zip(drawn, self.bounds, strict=True))
                sampled[at] = drawn if fits else pair
        return sampled

    def _annotate(self, indices: Indices, epoch: int, pool: int) -> dict[int, EncodedPair]:
        """Return pairs of one pool in whose sources translations replace some terms; seed, epoch and pool decide."""
        rng, share = random.Random(f"{self.seed} {epoch} {pool} annotated"), self.variation.annotated
        bound, found = self.bounds[0], dict[int, EncodedPair]()
        for at in indices.tolist():
            links = self.store.links(at) if rng.random() < share else None
            if links is None:
                continue
            texts, (source, target) = self.store.text(at), self._varied.get(at) or self.store.pair(at)
            drawn = annotations(self.codecs, texts, links, rng=rng)
            ids = annotated(self.codecs[0], source.tolist(), texts[0], annotations=drawn)
            if bound is None or len(ids) <= bound:
                found[at] = np.array(ids, np.int32), target
        return found

    def _noise(self, indices: Indices, epoch: int, pool: int) -> dict[int, EncodedPair]:
        """Hide parts of the sources in one pool that are tagged as noised; seed, epoch and pool decide which."""
        codec, bound, found = self.codecs[0], self.bounds[0], dict[int, EncodedPair]()
        (tag,), rng = codec.tags([NOISED]), np.random.default_rng((self.seed, epoch, pool, 2))
        for at in indices.tolist():
            source, target = self._varied.get(at) or self.store.pair(at)
            if tag not in source[:MOST_TAGS]:
                continue
            begin = len(codec.leading_tags(source.tolist()))
            noised = infilled(source[begin:], self.variation.noise, mask=codec.special.mask, rng=rng)
            ids = np.concatenate([source[:begin], noised])
            if bound is None or len(ids) <= bound:
                found[at] = ids, target
        return found
