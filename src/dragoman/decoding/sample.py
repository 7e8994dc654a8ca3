"""Sample translations from the model's distribution."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils import parametrize

from dragoman.decoding.constraints import Constraint, constrain, constraints_from
from dragoman.decoding.hypotheses import Hypotheses, Hypothesis, SearchStep, ranked
from dragoman.decoding.settings import SearchSettings
from dragoman.errors import RunError
from dragoman.interfaces import Step
from dragoman.special_ids import SPECIAL_IDS, SpecialIds

Randomness = torch.Generator | Sequence[Random]
"""Random generators: one for a whole batch, on its device, or one per sentence, so that the samples of a sentence do not
depend on the others in the batch."""


@dataclass(frozen=True)
class Samples:
    """Samples that have not ended, some of each sentence; `ids` start with BOS (or the tokens that sampling began with)."""

    sentences: Int[Tensor, " rows"]
    ids: Int[Tensor, "rows length"]
    token_log_probs: Float[Tensor, "rows length"]
    log_prob: Float[Tensor, " rows"]

    def select(self, which: Bool[Tensor, " rows"]) -> "Samples":
        """Keep only some of them."""
        return Samples(self.sentences[which], self.ids[which], self.token_log_probs[which], self.log_prob[which])


@torch.no_grad()
@parametrize.cached()
def sample(
    step: Step,
    state: Any,
    maximum: Int[Tensor, " batch"],
    *,
    settings: SearchSettings,
    generator: Randomness,
    constraints: Sequence[Constraint] = (),
    begin: Int[Tensor, " batch"] | None = None,
    special: SpecialIds = SPECIAL_IDS,
) -> Hypotheses:
    """Sample `n_best` translations of each sentence, token by token, and rank them by score; some may be equal.

    Arguments are those of `beam_search`. Equal generators give equal samples for the same batch, or for the same sentence if
    each has its own. Temperature, top-k and top-p affect the sampling only: log-probabilities are the model's.
    """
    found: dict[int, list[Hypothesis]] = {}
    options: dict[str, Any] = {"generator": generator, "constraints": constraints, "begin": begin, "special": special}
    for one in sample_steps(step, state, maximum, settings=settings, **options):
        found.update(one.completed)
    return ranked([found[sentence] for sentence in range(len(maximum))], settings.n_best)


def sample_steps(
    step: Step,
    state: Any,
    maximum: Int[Tensor, " batch"],
    *,
    settings: SearchSettings,
    generator: Randomness,
    constraints: Sequence[Constraint] = (),
    begin: Int[Tensor, " batch"] | None = None,
    special: SpecialIds = SPECIAL_IDS,
) -> Iterator[SearchStep]:
    """Sample like `sample`, and yield the result of each step; closing the generator cancels the rest."""
    rules, copies = [*constraints_from(settings, special), *constraints], settings.n_best
    samples, state = _start(maximum, copies, begin, special=special), state.repeat(copies)
    found: list[list[Hypothesis]] = [[] for _ in range(len(maximum))]
    while len(samples.sentences) > 0:
        with torch.no_grad():
            logits, state = step(samples.ids[:, -1:], state)
        log_probs = logits.log_softmax(-1)
        at_limit = maximum[samples.sentences] <= samples.ids.shape[1] - 1
        allowed = constrain(
            rules, samples.ids[:, 1:], log_probs, sentences=samples.sentences, at_limit=at_limit, special=special
        )
        tokens = _draw(shape(allowed, settings).exp(), samples.sentences, generator)
        own = log_probs.gather(1, tokens)
        samples = Samples(
            samples.sentences,
            torch.cat([samples.ids, tokens], 1),
            torch.cat([samples.token_log_probs, own], 1),
            samples.log_prob + own.squeeze(1),
        )
        ended = tokens.squeeze(1) == special.eos
        completed = {}
        if ended.any():
            for sentence, one in _finished(samples.select(ended), settings):
                found[sentence].append(one)
                if len(found[sentence]) == copies:
                    completed[sentence] = found[sentence]
            samples, state = samples.select(~ended), state.select((~ended).nonzero().squeeze(1))
        yield SearchStep(completed, partial(_open, samples))


def shape(log_probs: Float[Tensor, "rows vocab"], settings: SearchSettings) -> Float[Tensor, "rows vocab"]:
    """Apply temperature, then keep the `top_k` most probable tokens, then the nucleus of `top_p`, and normalise.

    >>> even = torch.tensor([[0.5, 0.3, 0.2]]).log()
    >>> shape(even, SearchSettings(method="sample", top_p=0.6)).exp()
    tensor([[0.6250, 0.3750, 0.0000]])
    """
    below = log_probs - log_probs.amax(-1, keepdim=True)  # so that the likeliest stays finite at any temperature
    lowest = torch.finfo(below.dtype).tiny  # a lower temperature would be 0 among numbers of this type
    shaped = (below / max(settings.temperature, lowest)).log_softmax(-1)
    if 0 < settings.top_k < shaped.shape[-1]:
        least = shaped.topk(settings.top_k).values[:, -1:]
        shaped = shaped.masked_fill(shaped < least, -torch.inf).log_softmax(-1)
    if settings.top_p < 1:
        ordered, places = shaped.sort(descending=True)
        before = ordered.exp().cumsum(-1) - ordered.exp()
        outside = torch.zeros_like(before, dtype=torch.bool).scatter(1, places, before >= settings.top_p)
        shaped = shaped.masked_fill(outside, -torch.inf).log_softmax(-1)
    return shaped


def _start(
    maximum: Int[Tensor, " batch"], copies: int, begin: Int[Tensor, " batch"] | None, *, special: SpecialIds
) -> Samples:
    """Return `copies` samples of each sentence, each with BOS or its token of `begin`."""
    sentences = torch.arange(len(maximum), device=maximum.device).repeat_interleave(copies)
    begin = torch.full((len(maximum),), special.bos, device=maximum.device) if begin is None else begin
    nothing = torch.zeros(len(sentences), device=maximum.device)
    return Samples(sentences, begin.repeat_interleave(copies)[:, None], nothing[:, None], nothing)


def _draw(
    probabilities: Float[Tensor, "rows vocab"], sentences: Int[Tensor, " rows"], generator: Randomness
) -> Int[Tensor, "rows 1"]:
    """Sample one token for each row, with the generator of the batch or of its sentence.

    >>> certain = torch.tensor([[0.0, 1.0, 0.0]])
    >>> _draw(certain, torch.tensor([0]), [Random(1)])
    tensor([[1]])
    """
    if isinstance(generator, torch.Generator):
        return torch.multinomial(probabilities, 1, generator=generator)
    if not probabilities.isfinite().all():
        raise RunError("the model produces NaN probabilities; its weights are damaged, use another checkpoint")
    uniform = [generator[sentence].random() for sentence in sentences.tolist()]
    cumulative = probabilities.double().cumsum(-1)  # in float32, sums over a large vocabulary lose unlikely tokens
    wanted = torch.tensor(uniform, dtype=torch.float64, device=probabilities.device)[:, None] * cumulative[:, -1:]
    return torch.searchsorted(cumulative, wanted, right=True)


def _finished(samples: Samples, settings: SearchSettings) -> Iterator[tuple[int, Hypothesis]]:
    """Yield samples that have just ended, with their sentences."""
    scores = settings.normalise(samples.log_prob, samples.ids.shape[1] - 1)
    for sentence, ids, tokens, log_prob, score in zip(*_listed(samples), scores.tolist(), strict=True):
        yield sentence, Hypothesis(ids[1:-1], log_prob, score, tuple(tokens[1:]))


def _open(samples: Samples) -> dict[int, list[Hypothesis]]:
    """Return the unfinished samples of each sentence, most probable first."""
    found: dict[int, list[Hypothesis]] = {}
    for sentence, ids, tokens, log_prob in zip(*_listed(samples), strict=True):
        found.setdefault(sentence, []).append(Hypothesis(ids[1:], log_prob, log_prob, tuple(tokens[1:])))
    return {sentence: sorted(some, key=lambda one: -one.log_prob) for sentence, some in found.items()}


def _listed(samples: Samples) -> list[list[Any]]:
    """Return the fields of samples as lists."""
    return [one.tolist() for one in (samples.sentences, samples.ids, samples.token_log_probs, samples.log_prob)]
