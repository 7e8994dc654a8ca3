"""Beam search over any `Step`; size 1 is greedy search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils import parametrize

from dragoman.decoding.constraints import Constraint, apply_constraints, constraints_from
from dragoman.decoding.hypotheses import Hypotheses, Hypothesis, ranked
from dragoman.decoding.settings import DecodingSettings
from dragoman.decoding.top_k import blockwise_top_k, top_log_probs
from dragoman.errors import RunError
from dragoman.interfaces import BOS, EOS, PAD, Step
from dragoman.tree import map_tensors


@dataclass(frozen=True)
class Beams:
    """Hypotheses that have not ended; `ids` begin with BOS (or what else was begun with), and `log_prob` is minus infinity
    on empty places."""

    ids: Int[Tensor, "batch beam length"]
    log_prob: Float[Tensor, "batch beam"]


@dataclass(frozen=True)
class Finished:
    """The best hypotheses that have ended, best first; `ids` run from BOS to EOS, then PAD."""

    ids: Int[Tensor, "batch beam length"]
    log_prob: Float[Tensor, "batch beam"]
    score: Float[Tensor, "batch beam"]


@dataclass(frozen=True)
class Search:
    """The sentences still searched, and where they stand."""

    sentences: Int[Tensor, " batch"]
    maximum: Int[Tensor, " batch"]
    least_maximum: int
    """The smallest maximum when search began; while no more tokens have been chosen, length ends no sentence."""
    beams: Beams
    finished: Finished

    @property
    def length(self) -> int:
        """How many tokens have been chosen."""
        return self.beams.ids.shape[-1] - 1


@dataclass(frozen=True)
class Choice:
    """The best continuations of each sentence's beams, best first, and whether any of them is EOS."""

    parents: Int[Tensor, "batch choice"]
    tokens: Int[Tensor, "batch choice"]
    log_prob: Float[Tensor, "batch choice"]
    ends: bool


@torch.no_grad()
@parametrize.cached()
def beam_search(
    step: Step,
    state: Any,
    maximum: Int[Tensor, " batch"],
    *,
    settings: DecodingSettings,
    constraints: Sequence[Constraint] = (),
    begin: Int[Tensor, " batch"] | None = None,
) -> Hypotheses:
    """Find the best continuations of BOS for each sentence, or of the tokens `begin`.

    `state` has one row per sentence; `maximum` is the most tokens each translation may have, before EOS. At that length
    EOS is forced, so every score is the model's own. Hypotheses that end are kept apart from those that go on, and end
    only where EOS is among the `beam` best continuations. With `stopping: exact` a sentence ends when the best open
    hypothesis, were all its further tokens certain, could not enter the n best; with a beam of 1, at its first EOS.
    Returns `settings.n_best` translations, or all of the beam where `coverage_penalty` asks for `rerank` afterwards.
    RunError where the model's probabilities are not numbers.
    """
    rules = [*constraints_from(settings)[1:], *constraints]  # `choose` itself forbids PAD and BOS
    search, state = start(maximum, settings.size, begin), state.expand(settings.size)
    found: dict[int, list[Hypothesis]] = {}
    places = torch.arange(settings.size, device=maximum.device)
    while len(search.sentences) > 0:
        logits, state = step(search.beams.ids[:, :, -1].reshape(-1, 1), state)
        choice = choose(search, logits, rules)
        finished = finish(search, choice, settings)
        beams, parents = follow(search.beams, choice)
        search = replace(search, beams=beams, finished=finished)
        if may_have_ended(search, choice, settings) and (ended := has_ended(search, settings)).any():
            found.update(read(select(search, ended)))
            going = (~ended).nonzero().squeeze(1)
            search, state = select(search, ~ended), state.select(rows_of(parents)[going].flatten(), going)
        elif settings.size > 1 and (parents != places).any():
            state = state.reorder(rows_of(parents).flatten())
    return ranked([found[sentence] for sentence in range(len(maximum))], settings.wanted)


def start(maximum: Int[Tensor, " batch"], size: int, begin: Int[Tensor, " batch"] | None = None) -> Search:
    """Return a search in which each sentence has one open hypothesis, BOS or its token of `begin`, and none that ended."""
    batch, device = len(maximum), maximum.device
    first = torch.full((batch,), BOS, device=device) if begin is None else begin
    ids = first[:, None, None].expand(-1, size, -1)
    nothing = torch.full((batch, size), -torch.inf, device=device)
    log_prob = nothing.clone()
    log_prob[:, 0] = 0
    least = int(maximum.min()) if batch else 0
    beams, finished = Beams(ids, log_prob), Finished(ids, nothing, nothing)
    return Search(torch.arange(batch, device=device), maximum, least, beams, finished)


def choose(search: Search, logits: Float[Tensor, "rows vocab"], rules: Sequence[Constraint]) -> Choice:
    """Choose the best continuations, twice as many as beams: at most half of them are EOS, so enough go on.

    PAD and BOS never follow, by whatever `rules`. A hypothesis at its maximum length, or that has no way on, can only end there.
    """
    batch, size, _ = search.beams.ids.shape
    count = min(2 * size + 2, logits.shape[1])
    if rules:
        values, tokens = blockwise_top_k(apply_with_forced_end(search, logits, rules), count)
    else:
        values, tokens = top_log_probs(logits, count)
    values = values.masked_fill((tokens == PAD) | (tokens == BOS), -torch.inf)
    if rules or search.length >= search.least_maximum:
        must_end = (search.maximum <= search.length).repeat_interleave(size) | (values.amax(1) == -torch.inf)
        if must_end.any():
            end = torch.full_like(values, -torch.inf)
            end[:, 0] = logits.log_softmax(-1)[:, EOS]
            values = torch.where(must_end[:, None], end, values)
            tokens = tokens.masked_fill(must_end[:, None], EOS)
    candidates = search.beams.log_prob[:, :, None] + values.view(batch, size, -1)
    log_prob, places = candidates.flatten(1).topk(2 * size)
    following = tokens.view(batch, -1).gather(1, places)
    return Choice(places // values.shape[1], following, log_prob, bool((following == EOS).any()))


def apply_with_forced_end(
    search: Search, logits: Float[Tensor, "rows vocab"], rules: Sequence[Constraint]
) -> Float[Tensor, "rows vocab"]:
    """Return log-probabilities, minus infinity where a rule forbids a token."""
    prefix = search.beams.ids[:, :, 1:].flatten(0, 1)
    return apply_constraints(
        rules, prefix, logits.log_softmax(-1), search.sentences.repeat_interleave(search.beams.ids.shape[1])
    )


def finish(search: Search, choice: Choice, settings: DecodingSettings) -> Finished:
    """Return the best of the hypotheses that had ended and those that end now."""
    if not choice.ends:
        return search.finished
    old, beams, size = search.finished, search.beams, settings.size
    ended = choice.tokens[:, :size] == EOS
    log_prob = choice.log_prob[:, :size].masked_fill(~ended, -torch.inf)
    score = settings.normalise(log_prob, beams.ids.shape[-1])  # BOS does not count, EOS does
    ids = extend(beams.ids, choice.parents[:, :size], choice.tokens[:, :size])
    score, places = torch.cat([old.score, score], 1).topk(size)
    longer = ids.shape[-1] - old.ids.shape[-1]
    return Finished(
        ids=pick(torch.cat([torch.nn.functional.pad(old.ids, (0, longer), value=PAD), ids], 1), places),
        log_prob=torch.cat([old.log_prob, log_prob], 1).gather(1, places),
        score=score,
    )


def follow(beams: Beams, choice: Choice) -> tuple[Beams, Int[Tensor, "batch beam"]]:
    """Return the best continuations that have not ended, and which beam each came from."""
    size = beams.ids.shape[1]
    if not choice.ends:
        parents = choice.parents[:, :size]
        return Beams(extend(beams.ids, parents, choice.tokens[:, :size]), choice.log_prob[:, :size]), parents
    going = choice.log_prob.masked_fill(choice.tokens == EOS, -torch.inf)
    log_prob, places = going.topk(size)
    parents, tokens = choice.parents.gather(1, places), choice.tokens.gather(1, places)
    return Beams(extend(beams.ids, parents, tokens), log_prob), parents


def may_have_ended(search: Search, choice: Choice, settings: DecodingSettings) -> bool:
    """Tell whether `has_ended` can be true for a sentence for which it was not before, without asking the sentences.

    Where nothing ends now, a search that waits for enough hypotheses to end can only be ended by length; one that weighs open
    hypotheses against those that ended may find at any time that none can still win.
    """
    weighs = settings.size > 1 and settings.stopping != "full" and search.finished.ids.shape[-1] > 1
    return choice.ends or weighs or search.length > search.least_maximum


def has_ended(search: Search, settings: DecodingSettings) -> Bool[Tensor, " batch"]:
    """Tell for which sentences nothing better can be found, or nothing is left to follow."""
    best_open, score = search.beams.log_prob[:, 0], search.finished.score
    over = search.length > search.maximum
    if settings.size == 1 or settings.stopping == "full":
        return over | (score[:, -1] > -torch.inf) | (best_open == -torch.inf)
    attainable = settings.normalise(best_open, search.maximum + 1)  # scores are below 0: longest is best
    return over | (attainable <= score[:, settings.wanted - 1])


def read(search: Search) -> dict[int, list[Hypothesis]]:
    """Return the finished hypotheses of each sentence as lists."""
    finished, found = search.finished, {}
    rows = zip(finished.ids.tolist(), finished.log_prob.tolist(), finished.score.tolist(), strict=True)
    for sentence, row in zip(search.sentences.tolist(), rows, strict=True):
        hypotheses = [Hypothesis(ids[1 : ids.index(EOS)], *rest) for ids, *rest in zip(*row, strict=True) if EOS in ids]
        found[sentence] = [one for one in hypotheses if one.score > -torch.inf]
        if not found[sentence]:
            raise RunError(
                "the model's probabilities are not numbers; its weights are damaged, take another checkpoint"
            )
    return found


def rows_of(parents: Int[Tensor, "batch beam"]) -> Int[Tensor, "batch beam"]:
    """Return the rows of a state in which the hypotheses stand that `parents` counts within each sentence."""
    batch, size = parents.shape
    return parents + size * torch.arange(batch, device=parents.device)[:, None]


def select(search: Search, which: Bool[Tensor, " batch"]) -> Search:
    """Keep only some sentences."""
    return map_tensors(lambda tensor: tensor[which], search)


def extend(
    ids: Int[Tensor, "batch beam length"], parents: Int[Tensor, "batch choice"], tokens: Int[Tensor, "batch choice"]
) -> Int[Tensor, "batch choice longer"]:
    """Write each token after the ids of its parent."""
    return torch.cat([pick(ids, parents), tokens[:, :, None]], -1)


def pick(
    ids: Int[Tensor, "batch beam length"], places: Int[Tensor, "batch choice"]
) -> Int[Tensor, "batch choice length"]:
    """Gather whole rows of ids along the beam axis."""
    return ids.gather(1, places[:, :, None].expand(-1, -1, ids.shape[-1]))
