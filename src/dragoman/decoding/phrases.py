"""Beam search that must write given phrases: dynamic beam allocation (Post and Vilar 2018, sections 3 and 4).

The candidates of a step are the most probable continuations of all hypotheses, the most probable one of each, and those that
begin or go on with a phrase (section 3.1). They are sorted into banks by how many tokens of phrases are still missing, and the
beam is divided among the banks (section 3.2); a hypothesis ends only with all phrases.

Deviations: a phrase may be written in several ways, so banks count the tokens that are missing (see `Progress.left`), not those
that are there; of steps after which equally many of a phrase are missing, the most probable one is a candidate. Any occurrence
counts, also of two phrases that overlap. A phrase stands between words, which is not where two tokens are `joined`. Slots of
small banks go to the most probable candidates of the others, not to neighbouring banks.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
    """With how many tokens nothing would be missing, if one of the phrases that are begun is written to its end."""


class Candidate(NamedTuple):
    """A continuation of a hypothesis."""

    log_prob: float
    parent: int
    token: int
    left: int


def apart(_before: int, _after: int) -> bool:
    """Tell that no two tokens are in one word."""
    return False


class Written(NamedTuple):
    """A hypothesis: its sentence, its last token if it has one, and how far it has come."""

    sentence: int
    last: int | None
    progress: Progress


class Step(NamedTuple):
    """A token with which a row would come further with a phrase."""

    row: int
    phrase: int
    left: int
    """How many tokens of the phrase would still be missing."""
    token: int


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
        self._first: list[dict[int, list[tuple[int, int]]]] = [_by_first_token(some) for some in self._phrases]
        self._joined, self._special = joined, special
        self._known: dict[tuple[int, tuple[int, ...]], Progress] = {}
        """The progress of the hypotheses of the last step, from which that of the next follows faster."""
        self._followed: dict[tuple[int, Progress, bool, int], Progress] = {}
        """What `_follow` returned, which is the same for many hypotheses."""

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
        hypotheses = self._hypotheses(search)
        own = list(map(self._first_apart, hypotheses, tokens.tolist(), (values > -torch.inf).tolist()))
        rows, first = torch.arange(len(past), device=past.device), torch.tensor(own, device=past.device)
        found = zip(
            torch.cat([owners.flatten(), rows]).tolist(),
            torch.cat([tokens.view(batch, -1).gather(1, places).flatten(), tokens[rows, first]]).tolist(),
            torch.cat([best.flatten(), totals[rows, first]]).tolist(),
            strict=True,
        )
        goes_on = ((past > -torch.inf) & ~at_limit(search)).tolist()
        asked = [place for row, one in enumerate(hypotheses) if goes_on[row] for place in self._steps(row, one)]
        continuations = {(row, token): value for row, token, value in found} | self._advancing(asked, past, log_probs)
        some: list[list[Candidate]] = [[] for _ in range(batch)]
        for (row, token), value in continuations.items():
            if value > -torch.inf:
                left = self._after(hypotheses[row], token).left
                some[row // size].append(Candidate(value, row % size, token, left))
        return some

    def _advancing(
        self, asked: Sequence[Step], past: Float[Tensor, " rows"], log_probs: Float[Tensor, "rows vocab"]
    ) -> dict[tuple[int, int], float]:
        """Return the tokens that were asked for, with the log-probabilities of the hypotheses that they make.

        Of several after which equally many tokens of a phrase are missing, it is the most probable one.
        """
        if not asked:
            return {}
        rows, tokens = (torch.tensor([one[place] for one in asked], device=past.device) for place in (0, 3))
        best: dict[tuple[int, ...], tuple[float, int]] = {}
        for step, value in zip(asked, (past[rows] + log_probs[rows, tokens]).tolist(), strict=True):
            best[step[:3]] = max(best.get(step[:3], (-torch.inf, step.token)), (value, step.token))
        return {(place[0], token): value for place, (value, token) in best.items()}

    def _hypotheses(self, search: Search) -> list[Written]:
        """Return the hypothesis of each row."""
        sentences = search.sentences.repeat_interleave(search.beams.ids.shape[1]).tolist()
        written = search.beams.ids[:, :, 1:].flatten(0, 1).tolist()
        return [
            Written(sentence, ids[-1] if ids else None, self._known[sentence, tuple(ids)])
            for sentence, ids in zip(sentences, written, strict=True)
        ]

    def _first_apart(self, one: Written, tokens: Sequence[int], allowed: Sequence[bool]) -> int:
        """Return the place of the first allowed token that leaves the phrases whole which the last one completed."""
        places = [place for place, may in enumerate(allowed) if may] or [0]
        if not one.progress.fresh or one.last is None:
            return places[0]
        return next((place for place in places if not self._joined(one.last, tokens[place])), places[0])

    def _steps(self, row: int, one: Written) -> Iterator[Step]:
        """Yield what goes on with the phrases that a hypothesis has begun, and what begins each that it misses."""
        phrases, progress = self._phrases[one.sentence], one.progress
        for phrase, way, written in progress.begun:
            ids = phrases[phrase][way]
            yield Step(row, phrase, len(ids) - written - 1, ids[written])
        for phrase in progress.missing:
            for ids in phrases[phrase]:
                if one.last is None or not self._joined(one.last, ids[0]):
                    yield Step(row, phrase, len(ids) - 1, ids[0])

    def _progress(self, sentence: int, ids: tuple[int, ...]) -> Progress:
        """Return the progress of a hypothesis."""
        if not ids:
            phrases = self._phrases[sentence]
            nothing: frozenset[Begun] = frozenset()
            return Progress(frozenset(range(len(phrases))), nothing, frozenset(), sum(map(shortest, phrases)))
        before = self._known.get((sentence, ids[:-1])) or self._progress(sentence, ids[:-1])
        return self._after(Written(sentence, ids[-2] if len(ids) > 1 else None, before), ids[-1])

    def _after(self, one: Written, token: int) -> Progress:
        """Return the progress of a hypothesis with one more token."""
        before = one.progress
        if not before.begun and not before.fresh and token not in self._first[one.sentence]:
            return before
        joins = one.last is not None and self._joined(one.last, token)
        key = one.sentence, before, joins, token
        if key not in self._followed:
            self._followed[key] = self._follow(one.sentence, before, token, joins=joins)
        return self._followed[key]

    def _follow(self, sentence: int, before: Progress, token: int, *, joins: bool) -> Progress:
        """Return what a token makes of progress; it `joins` the last one if both are in one word."""
        phrases = self._phrases[sentence]
        missing = before.missing | before.fresh if joins else before.missing
        begun = [
            Begun(phrase, way, written + 1)
            for phrase, way, written in before.begun
            if phrase in missing and phrases[phrase][way][written] == token
        ]
        if not joins:
            begun += [Begun(*place, 1) for place in self._first[sentence].get(token, ()) if place[0] in missing]
        done = frozenset(phrase for phrase, way, written in begun if written == len(phrases[phrase][way]))
        going = frozenset(some for some in begun if some.written < len(phrases[some.phrase][some.way]))
        kept = [one for one in going if not (done and self._joined(token, phrases[one.phrase][one.way][one.written]))]
        return Progress(missing - done, going, done, _left(phrases, missing - done, kept))


def _left(phrases: Sequence[Phrase], missing: frozenset[int], begun: Iterable[Begun]) -> int:
    """Return with how many tokens nothing would be missing, if one of the phrases that are begun is written to its end.

    With several that begin alike, a token would count for each of them, and would be missing again in the others once one is
    written: a hypothesis that writes none would stay in the bank of those that do.
    """
    whole = {phrase: shortest(phrases[phrase]) for phrase in missing}
    saved = [whole[phrase] - len(phrases[phrase][way]) + written for phrase, way, written in begun if phrase in whole]
    return sum(whole.values()) - max([*saved, 0])


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


def _by_first_token(phrases: Sequence[Phrase]) -> dict[int, list[tuple[int, int]]]:
    """Return the phrases and their ways that begin with each token."""
    found: dict[int, list[tuple[int, int]]] = {}
    for number, phrase in enumerate(phrases):
        for way, ids in enumerate(phrase):
            found.setdefault(ids[0], []).append((number, way))
    return found


def shortest(phrase: Phrase) -> int:
    """Return how many tokens a phrase has at least.

    >>> shortest(((7, 8), (9,)))
    1
    """
    return min(map(len, phrase))
