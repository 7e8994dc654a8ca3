"""Beam search over any `Step`; size 1 is greedy search.

`search_steps` is the search itself, one step at a time, for those that show hypotheses as they grow or may stop before the
end; `beam_search` takes all its steps.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn.utils import parametrize

from dragoman.decoding.candidates import candidates
from dragoman.decoding.constraints import Constraint, apply_constraints, constraints_from
from dragoman.decoding.hypotheses import Candidate, Hypotheses, Hypothesis, SearchStep, Unwatched, Watch, ranked
from dragoman.decoding.settings import SearchSettings
from dragoman.decoding.top_k import blockwise_top_k, top_log_probs
from dragoman.errors import RunError
from dragoman.interfaces import Step
from dragoman.special_ids import SPECIAL_IDS, SpecialIds
from dragoman.tree import map_tensors

FEW = 8
"""So many tokens are compared one by one, which needs no transfer to the device."""


@dataclass(frozen=True)
class Beams:
    """Hypotheses that have not ended; `ids` start with BOS (or the tokens that the search began with).

    `log_probs` has the log-probability of the ids up to each one, so the last is that of the hypothesis, `log_prob`; it is minus
    infinity in empty slots.
    """

    ids: Int[Tensor, "batch beam length"]
    log_probs: Float[Tensor, "batch beam length"]
    log_prob: Float[Tensor, "batch beam"]


@dataclass(frozen=True)
class Finished:
    """The best hypotheses that have ended, best first; `ids` run from BOS to EOS, then PAD."""

    ids: Int[Tensor, "batch beam length"]
    log_probs: Float[Tensor, "batch beam length"]
    log_prob: Float[Tensor, "batch beam"]
    score: Float[Tensor, "batch beam"]


@dataclass(frozen=True)
class Search:
    """The sentences still searched, and how far their search has come."""

    sentences: Int[Tensor, " batch"]
    maximum: Int[Tensor, " batch"]
    least_maximum: int
    """The smallest maximum when the search began; while no more tokens have been chosen, length ends no sentence."""
    beams: Beams
    finished: Finished
    special: SpecialIds

    @property
    def length(self) -> int:
        """How many tokens have been chosen."""
        return self.beams.ids.shape[-1] - 1


@dataclass(frozen=True)
class Extensions:
    """The best continuations of each sentence's beams by one token, best first, and whether any of them is EOS."""

    parents: Int[Tensor, "batch choice"]
    tokens: Int[Tensor, "batch choice"]
    log_prob: Float[Tensor, "batch choice"]
    ends: bool


@runtime_checkable
class Chooser(Protocol):
    """A rule that also says which of the continuations that the rules allow are followed, in place of the most probable."""

    def choose(self, search: Search, logits: Float[Tensor, "rows vocab"], rules: Sequence[Constraint]) -> Extensions:
        """Choose continuations as `choose` does; what ends must be among the first, as many as there are beams."""
        ...


@torch.no_grad()
@parametrize.cached()
def beam_search(
    step: Step,
    state: Any,
    maximum: Int[Tensor, " batch"],
    *,
    settings: SearchSettings,
    constraints: Sequence[Constraint] = (),
    begin: Int[Tensor, " batch"] | None = None,
    special: SpecialIds = SPECIAL_IDS,
    watch: Watch | None = None,
) -> Hypotheses:
    """Find the best continuations of BOS for each sentence, or of the tokens `begin`.

    `state` has one row per sentence; `maximum` is the most tokens each translation may have, before EOS. At that length
    EOS is forced, so every score is the model's own. Hypotheses that end are kept apart from those that continue, and end
    only where EOS is among the `beam` best continuations. With `stopping: exact` a sentence ends when the best open
    hypothesis, were all its further tokens certain, could not enter the n best; with a beam of 1, at its first EOS.
    Returns `settings.n_best` translations, or all of the beam where `coverage_penalty` asks for `rerank` afterwards; none for
    sentences that the `watch` gives up. Raises RunError if the model produces NaN probabilities.
    """
    found: dict[int, list[Hypothesis]] = {}
    watch = watch or Unwatched()
    options: dict[str, Any] = {"constraints": constraints, "begin": begin, "special": special, "watch": watch}
    for one in search_steps(step, state, maximum, settings=settings, **options):
        found.update(one.completed)
        watch.see(one)
    return ranked([found.get(sentence, []) for sentence in range(len(maximum))], settings.wanted)


def search_steps(
    step: Step,
    state: Any,
    maximum: Int[Tensor, " batch"],
    *,
    settings: SearchSettings,
    constraints: Sequence[Constraint] = (),
    begin: Int[Tensor, " batch"] | None = None,
    special: SpecialIds = SPECIAL_IDS,
    watch: Watch | None = None,
) -> Iterator[SearchStep]:
    """Search like `beam_search`, and yield the result of each step; the model takes a step when the next one is requested.

    Closing the generator cancels the search; the `watch`, which sees nothing else here, may give up single sentences.
    """
    rules = [*constraints_from(settings, special)[1:], *constraints]  # `choose` itself forbids what is never written
    chooser = next((rule.choose for rule in constraints if isinstance(rule, Chooser)), choose)
    search, state = start(maximum, settings.size, begin, special=special), state.expand(settings.size)
    same = torch.arange(settings.size, device=maximum.device)
    while len(search.sentences) > 0:
        if watch is not None and (gone := watch.abandoned()):
            search, state = without(search, state, gone)
            if not len(search.sentences):
                return
        with torch.no_grad():
            logits, state = step(search.beams.ids[:, :, -1].reshape(-1, 1), state)
        extensions = chooser(search, logits, rules)
        finished = finish(search, extensions, settings)
        beams, parents = follow(search.beams, extensions, special)
        weighed = partial(_weighed, search, extensions, beams, parents=parents)
        search = replace(search, beams=beams, finished=finished)
        if may_have_ended(search, extensions, settings) and (ended := has_ended(search, settings)).any():
            completed = finished_hypotheses(select(search, ended))
            remaining = (~ended).nonzero().squeeze(1)
            search = select(search, ~ended)
            state = state.select(rows_of(parents)[remaining].flatten(), remaining)
        else:
            completed = {}
            if settings.size > 1 and (parents != same).any():
                state = state.reorder(rows_of(parents).flatten())
        yield SearchStep(completed, partial(open_hypotheses, search), weighed)


def _weighed(
    search: Search, extensions: Extensions, beams: Beams, *, parents: Int[Tensor, "batch beam"]
) -> dict[int, list[Candidate]]:
    """Return the extensions among which a step chose the next beams."""
    pairs = torch.stack([extensions.parents, extensions.tokens], -1)
    followed = torch.stack([parents, beams.ids[:, :, -1]], -1)
    return candidates(search.sentences, pairs, extensions.log_prob, followed=followed, special=search.special)


def start(
    maximum: Int[Tensor, " batch"],
    size: int,
    begin: Int[Tensor, " batch"] | None = None,
    *,
    special: SpecialIds = SPECIAL_IDS,
) -> Search:
    """Return a search in which each sentence has one open hypothesis, BOS or its token of `begin`, and none that ended."""
    batch, device = len(maximum), maximum.device
    begin = torch.full((batch,), special.bos, device=device) if begin is None else begin
    ids = begin[:, None, None].expand(-1, size, -1)
    nothing = torch.full((batch, size), -torch.inf, device=device)
    log_prob = nothing.clone()
    log_prob[:, 0] = 0
    least = int(maximum.min()) if batch else 0
    beams, finished = Beams(ids, log_prob[:, :, None], log_prob), Finished(ids, nothing[:, :, None], nothing, nothing)
    return Search(torch.arange(batch, device=device), maximum, least, beams, finished, special)


def choose(search: Search, logits: Float[Tensor, "rows vocab"], rules: Sequence[Constraint]) -> Extensions:
    """Choose the best continuations, twice as many as beams: at most half of them are EOS, so enough continue.

    PAD, BOS and language tags never follow, whatever the `rules`. A hypothesis at its maximum length, or that the rules leave no
    continuation, can only end there.
    """
    batch, size, _ = search.beams.ids.shape
    values, tokens = likeliest(search, logits, apply_with_forced_end(search, logits, rules) if rules else None)
    candidates = search.beams.log_prob[:, :, None] + values.view(batch, size, -1)
    log_prob, places = candidates.flatten(1).topk(2 * size)
    following = tokens.view(batch, -1).gather(1, places)
    ends = bool((following == search.special.eos).any())
    return Extensions(places // values.shape[1], following, log_prob, ends)


def likeliest(
    search: Search, logits: Float[Tensor, "rows vocab"], allowed: Float[Tensor, "rows vocab"] | None
) -> tuple[Float[Tensor, "rows choice"], Int[Tensor, "rows choice"]]:
    """Return the log-probabilities and ids of the best continuations of each hypothesis, enough to choose from.

    `allowed` are the log-probabilities under rules, if there are any. What cannot go on has EOS alone.
    """
    special, size = search.special, search.beams.ids.shape[1]
    count = min(2 * size + len(special.unwritten), logits.shape[1])
    values, tokens = top_log_probs(logits, count) if allowed is None else blockwise_top_k(allowed, count)
    values = values.masked_fill(_any_of(tokens, special.unwritten), -torch.inf)
    if allowed is not None or search.length >= search.least_maximum:
        must_end = at_limit(search) | (values.amax(1) == -torch.inf)
        if must_end.any():
            end = torch.full_like(values, -torch.inf)
            end[:, 0] = logits.log_softmax(-1)[:, special.eos]
            values = torch.where(must_end[:, None], end, values)
            tokens = tokens.masked_fill(must_end[:, None], special.eos)
    return values, tokens


def at_limit(search: Search) -> Bool[Tensor, " rows"]:
    """Tell which hypotheses have their maximum length."""
    return (search.maximum <= search.length).repeat_interleave(search.beams.ids.shape[1])


def _any_of(tokens: Int[Tensor, "rows choice"], ids: Sequence[int]) -> Bool[Tensor, "rows choice"]:
    """Tell which tokens are any of some ids."""
    if len(ids) > FEW:
        return torch.isin(tokens, torch.tensor(ids, device=tokens.device))
    found = torch.zeros_like(tokens, dtype=torch.bool)
    for one in ids:
        found = found | (tokens == one)
    return found


def apply_with_forced_end(
    search: Search, logits: Float[Tensor, "rows vocab"], rules: Sequence[Constraint]
) -> Float[Tensor, "rows vocab"]:
    """Return log-probabilities, minus infinity where a rule forbids a token."""
    prefix = search.beams.ids[:, :, 1:].flatten(0, 1)
    return apply_constraints(
        rules, prefix, logits.log_softmax(-1), sentences=search.sentences.repeat_interleave(search.beams.ids.shape[1])
    )


def finish(search: Search, extensions: Extensions, settings: SearchSettings) -> Finished:
    """Return the best of the hypotheses that had ended and those that end now."""
    if not extensions.ends:
        return search.finished
    old, beams, size, special = search.finished, search.beams, settings.size, search.special
    parents, tokens = extensions.parents[:, :size], extensions.tokens[:, :size]
    log_prob = extensions.log_prob[:, :size].masked_fill(tokens != special.eos, -torch.inf)
    score = settings.normalise(log_prob, beams.ids.shape[-1])  # BOS does not count, EOS does
    score, places = torch.cat([old.score, score], 1).topk(size)
    return Finished(
        ids=pick(join(old.ids, extend(beams.ids, parents, tokens), filler=special.pad), places),
        log_probs=pick(join(old.log_probs, extend(beams.log_probs, parents, log_prob), filler=0), places),
        log_prob=torch.cat([old.log_prob, log_prob], 1).gather(1, places),
        score=score,
    )


def follow(beams: Beams, extensions: Extensions, special: SpecialIds) -> tuple[Beams, Int[Tensor, "batch beam"]]:
    """Return the best continuations that have not ended, and which beam each came from."""
    size = beams.ids.shape[1]
    if extensions.ends:
        log_prob, places = extensions.log_prob.masked_fill(extensions.tokens == special.eos, -torch.inf).topk(size)
        parents, tokens = extensions.parents.gather(1, places), extensions.tokens.gather(1, places)
    else:
        parents, tokens = extensions.parents[:, :size], extensions.tokens[:, :size]
        log_prob = extensions.log_prob[:, :size]
    return Beams(extend(beams.ids, parents, tokens), extend(beams.log_probs, parents, log_prob), log_prob), parents


def may_have_ended(search: Search, extensions: Extensions, settings: SearchSettings) -> bool:
    """Return whether `has_ended` can be true for a sentence for which it was not before, without looking at the sentences.

    Where nothing ends now, a search that waits for enough hypotheses to end can only be ended by length; one that weighs open
    hypotheses against those that ended may find at any time that none can still win.
    """
    weighs = settings.size > 1 and settings.stopping != "full" and search.finished.ids.shape[-1] > 1
    return extensions.ends or weighs or search.length > search.least_maximum


def has_ended(search: Search, settings: SearchSettings) -> Bool[Tensor, " batch"]:
    """Return for which sentences nothing better can be found, or nothing is left to follow."""
    best_open, score = search.beams.log_prob[:, 0], search.finished.score
    over = search.length > search.maximum
    if settings.size == 1 or settings.stopping == "full":
        return over | (score[:, -1] > -torch.inf) | (best_open == -torch.inf)
    attainable = settings.normalise(best_open, search.maximum + 1)  # scores are below 0: longest is best
    return over | (attainable <= score[:, settings.wanted - 1])


def open_hypotheses(search: Search) -> dict[int, list[Hypothesis]]:
    """Return the unfinished hypotheses of each sentence as lists, most probable first."""
    beams = search.beams
    rows = zip(beams.ids.tolist(), beams.log_probs.tolist(), strict=True)
    return {
        sentence: [
            Hypothesis(ids[1:], log_probs[-1], log_probs[-1], differences(log_probs))
            for ids, log_probs in zip(*row, strict=True)
            if log_probs[-1] > -math.inf
        ]
        for sentence, row in zip(search.sentences.tolist(), rows, strict=True)
    }


def finished_hypotheses(search: Search) -> dict[int, list[Hypothesis]]:
    """Return the finished hypotheses of each sentence as lists. Raises RunError if probabilities are NaN."""
    finished, found = search.finished, {}
    rows = zip(
        *(one.tolist() for one in (finished.ids, finished.log_probs, finished.log_prob, finished.score)),
        strict=True,
    )
    for sentence, row in zip(search.sentences.tolist(), rows, strict=True):
        found[sentence] = [
            Hypothesis(ids[1:end], log_prob, score, differences(log_probs[: end + 1]))
            for ids, log_probs, log_prob, score in zip(*row, strict=True)
            if score > -math.inf
            for end in [ids.index(search.special.eos)]
        ]
        if not found[sentence]:
            raise RunError("the model produces NaN probabilities; its weights are damaged, use another checkpoint")
    return found


def differences(log_probs: list[float]) -> tuple[float, ...]:
    """Return the log-probability of each token after the first, given those of all prefixes.

    >>> differences([0.0, -1.0, -1.5])
    (-1.0, -0.5)
    """
    return tuple(after - before for before, after in pairwise(log_probs))


def rows_of(parents: Int[Tensor, "batch beam"]) -> Int[Tensor, "batch beam"]:
    """Return the rows of a state that belong to the hypotheses that `parents` counts within each sentence."""
    batch, size = parents.shape
    return parents + size * torch.arange(batch, device=parents.device)[:, None]


def select(search: Search, which: Bool[Tensor, " batch"]) -> Search:
    """Keep only some sentences."""
    return map_tensors(lambda tensor: tensor[which], search)


def without(search: Search, state: Any, gone: Collection[int]) -> tuple[Search, Any]:
    """Give up sentences; return the search and the state of the others."""
    kept = ~torch.isin(search.sentences, torch.tensor(list(gone), device=search.sentences.device))
    if kept.all():
        return search, state
    rows = torch.arange(search.beams.log_prob.numel(), device=kept.device).view_as(search.beams.log_prob)
    return select(search, kept), state.select(rows[kept].flatten(), kept.nonzero().squeeze(1))


def extend(
    written: Shaped[Tensor, "batch beam length"],
    parents: Int[Tensor, "batch choice"],
    new: Shaped[Tensor, "batch choice"],
) -> Shaped[Tensor, "batch choice longer"]:
    """Write each new entry after those of its parent."""
    return torch.cat([pick(written, parents), new[:, :, None]], -1)


def join(
    old: Shaped[Tensor, "batch old shorter"], new: Shaped[Tensor, "batch new length"], *, filler: int
) -> Shaped[Tensor, "batch both length"]:
    """Put two lists of rows together, the old ones filled up to the new length."""
    missing = new.shape[-1] - old.shape[-1]
    return torch.cat([torch.nn.functional.pad(old, (0, missing), value=filler), new], 1)


def pick(
    written: Shaped[Tensor, "batch beam length"], places: Int[Tensor, "batch choice"]
) -> Shaped[Tensor, "batch choice length"]:
    """Gather whole rows along the beam axis."""
    return written.gather(1, places[:, :, None].expand(-1, -1, written.shape[-1]))
