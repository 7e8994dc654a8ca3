"""Beam search that must write given phrases: dynamic beam allocation (Post and Vilar 2018, sections 3 and 4).

The candidates of a step are the most probable continuations of all hypotheses, the most probable one of each, and those that
begin or go on with a phrase (section 3.1). They are sorted into banks by how many tokens of phrases are still missing, and the
beam is divided among the banks (section 3.2); a hypothesis ends only with all phrases.

Deviations: a phrase may be written in several ways, so banks count the tokens that are missing at least, not those that are
there. Any occurrence counts, also of two phrases that overlap. A phrase stands between word boundaries where the `joined` tokens
are known. Slots of small banks go to the most probable candidates of the others, not to neighbouring banks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.decoding.beam import Extensions, Search, apply_with_forced_end, at_limit, likeliest
from dragoman.decoding.constraints import Constraint
from dragoman.special_ids import SPECIAL_IDS, SpecialIds

Phrase = tuple[tuple[int, ...], ...]
"""The ways to write a phrase, of which a translation must contain one. None is empty."""

Joined = Callable[[int, int], bool]
"""Tells whether two tokens in a row, in the order of the ids, are in one word."""


class Begun(NamedTuple):
    """A way of a phrase with which a hypothesis ends, as far as it is written."""

    phrase: int
    way: int
    written: int


@dataclass(frozen=True)
class Progress:
    """How far a hypothesis has written the phrases of its sentence."""

    missing: frozenset[int]
    begun: frozenset[Begun]
    fresh: frozenset[int]
    """Phrases that its last token completed, which are missing again if the next token goes on with the same word."""
    left: int
    """The least number of tokens with which nothing would be missing."""


class Candidate(NamedTuple):
    """A continuation of a hypothesis."""

    log_prob: float
    parent: int
    token: int
    left: int


def apart(_before: int, _after: int) -> bool:
    """Tell that no two tokens are in one word."""
    return False


class RequiredPhrases:
    """The rule that each sentence's translations contain its phrases, by which continuations are chosen too."""

    def __init__(
        self,
        phrases: Sequence[Sequence[Phrase]],
        *,
        joined: Joined = apart,
        special: SpecialIds = SPECIAL_IDS,
    ) -> None:
        """Take the phrases of each sentence."""
        self._phrases = [tuple(some) for some in phrases]
        self._joined, self._special = joined, special
        self._known: dict[tuple[int, tuple[int, ...]], Progress] = {}
        """The progress of the hypotheses of the last step, from which that of the next follows faster."""

    def __call__(
        self,
        prefix: Int[Tensor, "rows length"],
        log_probs: Float[Tensor, "rows vocab"],
        sentences: Int[Tensor, " rows"],
    ) -> Float[Tensor, "rows vocab"]:
        """Forbid hypotheses that miss a phrase to end."""
        rows = [(sentence, tuple(ids)) for sentence, ids in zip(sentences.tolist(), prefix.tolist(), strict=True)]
        self._known = {row: self._progress(*row) for row in dict.fromkeys(rows)}
        unfinished = [number for number, row in enumerate(rows) if self._known[row].left]
        if not unfinished:
            return log_probs
        allowed = log_probs.clone()
        allowed[torch.tensor(unfinished, device=log_probs.device), self._special.eos] = -torch.inf
        return allowed

    def choose(self, search: Search, logits: Float[Tensor, "rows vocab"], rules: Sequence[Constraint]) -> Extensions:
        """Choose continuations bank by bank: what ends comes first, then as many others as there are beams."""
        size, end = search.beams.ids.shape[1], self._special.eos
        nothing = Candidate(-torch.inf, 0, end, 0)
        complete = (search.finished.score[:, 0] > -torch.inf).tolist()
        chosen = []
        for some, has_one in zip(self._candidates(search, logits, rules), complete, strict=True):
            least = 0 if has_one else min((one.left for one in some if one.token == end), default=0)
            ends = [one for one in sorted(some, reverse=True) if one.left == least][:size]
            ends = [one for one in ends if one.token == end]
            others = allocate([one for one in some if one.token != end], size)
            chosen.append([*ends, *[nothing] * (size - len(ends)), *others, *[nothing] * (size - len(others))])
        parents, tokens = ([[one[field] for one in row] for row in chosen] for field in (1, 2))
        return Extensions(
            torch.tensor(parents, device=logits.device),
            torch.tensor(tokens, device=logits.device),
            torch.tensor([[one.log_prob for one in row] for row in chosen], device=logits.device),
            ends=True,
        )

    def _candidates(
        self, search: Search, logits: Float[Tensor, "rows vocab"], rules: Sequence[Constraint]
    ) -> list[list[Candidate]]:
        """Return the candidates of each sentence."""
        batch, size, _ = search.beams.ids.shape
        log_probs = apply_with_forced_end(search, logits, rules)
        values, tokens = likeliest(search, logits, log_probs)
        past = search.beams.log_prob.flatten()
        totals = past[:, None] + values
        best, places = totals.view(batch, -1).topk(2 * size)
        owners = places // values.shape[1] + size * torch.arange(batch, device=past.device)[:, None]
        own = torch.arange(len(past), device=past.device)[:, None].expand(-1, 2)
        hypotheses = self._hypotheses(search)
        wanted = self._wanted(hypotheses, ((past > -torch.inf) & ~at_limit(search)).tolist())
        rows, needed = torch.tensor(wanted, device=past.device, dtype=torch.long).reshape(-1, 2).unbind(1)
        found = zip(
            torch.cat([owners.flatten(), own.flatten(), rows]).tolist(),
            torch.cat([tokens.view(batch, -1).gather(1, places).flatten(), tokens[:, :2].flatten(), needed]).tolist(),
            torch.cat([best.flatten(), totals[:, :2].flatten(), past[rows] + log_probs[rows, needed]]).tolist(),
            strict=True,
        )
        some: list[list[Candidate]] = [[] for _ in range(batch)]
        for (row, token), value in {(row, token): value for row, token, value in found if value > -torch.inf}.items():
            left = self._after(*hypotheses[row], token).left
            some[row // size].append(Candidate(value, row % size, token, left))
        return some

    def _hypotheses(self, search: Search) -> list[tuple[int, tuple[int, ...]]]:
        """Return the sentence and the ids of each row."""
        size = search.beams.ids.shape[1]
        sentences = search.sentences.repeat_interleave(size).tolist()
        return [
            (sentence, tuple(ids))
            for sentence, ids in zip(sentences, search.beams.ids[:, :, 1:].flatten(0, 1).tolist(), strict=True)
        ]

    def _wanted(
        self, hypotheses: Sequence[tuple[int, tuple[int, ...]]], goes_on: Sequence[bool]
    ) -> list[tuple[int, int]]:
        """Return the tokens with which each row that goes on would begin or go on with a phrase, each with its row."""
        return [
            (row, token)
            for row, ((sentence, ids), more) in enumerate(zip(hypotheses, goes_on, strict=True))
            if more and (progress := self._known[sentence, ids]).left
            for token in self._next(sentence, ids, progress)
        ]

    def _next(self, sentence: int, ids: tuple[int, ...], progress: Progress) -> set[int]:
        """Return the tokens that begin or go on with a missing phrase."""
        phrases = self._phrases[sentence]
        first = {way[0] for phrase in progress.missing for way in phrases[phrase]}
        further = {phrases[one.phrase][one.way][one.written] for one in progress.begun}
        return {token for token in first if not (ids and self._joined(ids[-1], token))} | further

    def _progress(self, sentence: int, ids: tuple[int, ...]) -> Progress:
        """Return the progress of a hypothesis."""
        if not ids:
            phrases = self._phrases[sentence]
            nothing: frozenset[Begun] = frozenset()
            return Progress(frozenset(range(len(phrases))), nothing, frozenset(), sum(map(shortest, phrases)))
        return self._after(sentence, ids[:-1], ids[-1])

    def _after(self, sentence: int, ids: tuple[int, ...], token: int) -> Progress:
        """Return the progress of a hypothesis with one more token."""
        before = self._known.get((sentence, ids)) or self._progress(sentence, ids)
        phrases = self._phrases[sentence]
        joins = bool(ids) and self._joined(ids[-1], token)
        missing = before.missing | before.fresh if joins else before.missing
        if not missing:
            return before if not before.fresh else Progress(missing, frozenset(), frozenset(), 0)
        begun = {
            Begun(one.phrase, one.way, one.written + 1)
            for one in before.begun
            if one.phrase in missing and phrases[one.phrase][one.way][one.written] == token
        }
        if not joins:
            begun |= {
                Begun(phrase, way, 1)
                for phrase in missing
                for way, ids_of_way in enumerate(phrases[phrase])
                if ids_of_way[0] == token
            }
        done = frozenset(one.phrase for one in begun if one.written == len(phrases[one.phrase][one.way]))
        going = frozenset(one for one in begun if one.written < len(phrases[one.phrase][one.way]))
        left = sum(
            min(
                [shortest(phrases[phrase])]
                + [len(phrases[phrase][one.way]) - one.written for one in going if one.phrase == phrase]
            )
            for phrase in missing - done
        )
        return Progress(missing - done, going, done, left)


def allocate(candidates: Sequence[Candidate], size: int) -> list[Candidate]:
    """Divide a beam among banks of candidates with equally many tokens missing; what is free goes to the most probable others.

    >>> some = [Candidate(-1.0, 0, 5, 1), Candidate(-2.0, 0, 6, 1), Candidate(-9.0, 1, 7, 0)]
    >>> [one.token for one in allocate(some, 2)]
    [7, 5]
    """
    banks: dict[int, list[Candidate]] = {}
    for one in sorted(candidates, reverse=True):
        banks.setdefault(one.left, []).append(one)
    share = max(size // max(len(banks), 1), 1)
    chosen = [one for left in sorted(banks) for one in banks[left][:share]][:size]
    rest = sorted((one for some in banks.values() for one in some[share:]), reverse=True)
    return chosen + rest[: size - len(chosen)]


def shortest(phrase: Phrase) -> int:
    """Return how many tokens a phrase has at least.

    >>> shortest(((7, 8), (9,)))
    1
    """
    return min(map(len, phrase))
