"""Maximise the expected reward of translations sampled from the model: GNMT's second objective."""

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from dragoman.decoding import DecodingSettings, step_of
from dragoman.decoding.sample import sample
from dragoman.interfaces import Batch, Head
from dragoman.machine.dtypes import upcast
from dragoman.metrics.gleu import sentence_gleu
from dragoman.models.seq2seq import Seq2Seq
from dragoman.special_ids import SpecialIds
from dragoman.training.expected_reward_settings import RewardSettings

ROWS = 64
"""Number of sampled translations whose logits exist at the same time."""


def expected_cost(model: Seq2Seq, batch: Batch, settings: RewardSettings) -> Float[Tensor, ""]:
    """Return minus the expected reward, summed over sentences, with the gradient of its estimate from sampled translations.

    sum over sentences of -E[r(Y)], the gradient being -1/(m - 1) sum_i (r(Y_i) - mean r) grad log q(Y_i) over m samples Y_i;
    r is the sentence GLEU of ids. Source: Wu et al. 2016, section 5, equation 8. Deviation: the paper does not say what the
    sum over samples is divided by; m - 1 makes the estimate unbiased, since the mean includes the sample itself. q is the
    model's distribution over what translations may have (`SpecialIds.unwritten`); samples are truncated at
    `settings.maximum_ratio` with a forced </s>, which has no gradient. The encoder runs once; samples are drawn without
    gradient, then scored by the decoder with it. The estimate is unbiased without dropout alone, which draws and scores with
    different weights.
    """
    state, special = model.decoder.start(model.encoder(batch.source)), model.special
    references = [ids[:length] for ids, length in zip(batch.labels.tolist(), _lengths(batch), strict=True)]
    limits = _limits(model, batch, settings)
    decoding = DecodingSettings(method="sample", n_best=settings.samples)
    seed = int(torch.randint(2**62, ()))
    generator = torch.Generator(limits.device).manual_seed(seed)
    drawn = sample(step_of(model.decoder), state, limits, settings=decoding, generator=generator, special=special).ids
    rewards = torch.tensor(
        [[sentence_gleu(ids, reference) for ids in row] for row, reference in zip(drawn, references, strict=True)],
        device=limits.device,
    )
    above = (rewards - rewards.mean(1, keepdim=True)) / (settings.samples - 1)
    rows = _to_rows(drawn, limits, special)
    output, _ = model.decoder(rows.inputs, state.repeat(settings.samples))
    weigh = partial(_log_probs, special=special)
    log_probs = torch.cat(
        [
            checkpoint(weigh, output.head, features, some, use_reentrant=False, preserve_rng_state=False)
            for features, some in zip(output.features.split(ROWS), rows.labels.split(ROWS), strict=True)
        ]
    )
    estimate = -(above.flatten() * (log_probs * rows.chosen).sum(1)).sum()
    return estimate - estimate.detach() - rewards.mean(1).sum()


def _lengths(batch: Batch) -> list[int]:
    """Return the length of each reference in tokens, without EOS."""
    return (batch.real.sum(1) - 1).tolist()


def _limits(model: Seq2Seq, batch: Batch, settings: RewardSettings) -> Int[Tensor, " batch"]:
    """Return the maximum number of tokens, without EOS, to sample for each sentence."""
    most = None if model.target_positions is None else model.target_positions - 1
    return (batch.real.sum(1) * settings.maximum_ratio).ceil().long().clamp(min=1, max=most)


@dataclass(frozen=True)
class _Rows:
    """Drawn translations, a row each."""

    inputs: Int[Tensor, "rows target"]
    """What the decoder reads."""
    labels: Int[Tensor, "rows target"]
    """What it drew then."""
    chosen: Float[Tensor, "rows target"]
    """1 where the choice was its own: not on padding, nor where a translation as long as the limit was made to end."""


def _to_rows(drawn: list[list[list[int]]], limits: Int[Tensor, " batch"], special: SpecialIds) -> _Rows:
    """Pad drawn translations, so that the decoder can read them all at once."""
    rows = [ids for row in drawn for ids in row]
    bounds = [limit for limit, row in zip(limits.tolist(), drawn, strict=True) for _ in row]
    longest = max(len(ids) for ids in rows) + 1
    labels = torch.tensor(
        [[*ids, special.eos, *[special.pad] * (longest - len(ids) - 1)] for ids in rows], device=limits.device
    )
    own = torch.tensor(
        [min(len(ids) + 1, bound) for ids, bound in zip(rows, bounds, strict=True)], device=limits.device
    )
    chosen = torch.arange(longest, device=limits.device) < own[:, None]
    inputs = torch.cat([torch.full_like(labels[:, :1], special.bos), labels[:, :-1]], 1)
    return _Rows(inputs, labels, chosen.float())


def _log_probs(
    head: Head, features: Float[Tensor, "rows target dim"], labels: Int[Tensor, "rows target"], *, special: SpecialIds
) -> Float[Tensor, "rows target"]:
    """Return the log-probability of each label among all tokens that a sample may have; of padding it is that of EOS."""
    logits = upcast(head(features)).clone()
    logits[..., list(special.unwritten)] = -torch.inf
    drawn = labels.masked_fill(labels == special.pad, special.eos)
    return logits.log_softmax(-1).gather(-1, drawn[..., None]).squeeze(-1)
