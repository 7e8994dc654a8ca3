"""The training objective: sums over target tokens, divided once by their number."""

from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from dragoman.interfaces import Batch, DecoderOutput, Loss
from dragoman.machine.dtypes import upcast
from dragoman.models.seq2seq import Seq2Seq
from dragoman.plugins import get
from dragoman.training.consistency import first_pass, inconsistency, second_pass_cut, twice
from dragoman.training.consistency_settings import RDropSettings, SimCutSettings
from dragoman.training.contracts import Objective
from dragoman.training.expected_reward import expected_cost
from dragoman.training.expected_reward_settings import RewardSettings
from dragoman.training.guided import alignment_loss
from dragoman.training.settings import GuidedSettings, TrainingSettings
from dragoman.training.word_dropout import drop_words


def build_objective(training: TrainingSettings) -> Objective:
    """Choose the training objective."""
    if training.objective != "translation":
        objective: Objective = get("objective", training.objective).make(training)
        return objective
    return partial(
        translation_loss,
        smoothing=training.label_smoothing,
        guided=training.supervised,
        reward=training.reward,
        consistency=training.consistency,
        word_dropout=training.word_dropout,
    )


def translation_loss(
    model: Seq2Seq,
    batch: Batch,
    *,
    smoothing: float = 0.0,
    guided: GuidedSettings | None = None,
    reward: RewardSettings | None = None,
    consistency: RDropSettings | SimCutSettings | None = None,
    word_dropout: float = 0.0,
) -> Loss:
    """Return the label-smoothed cross-entropy of the target given the source, summed over real target tokens.

    The penalty for imbalanced experts is added once per token, so that a single division remains correct. A guided head adds
    its alignment loss, which needs the weights and so rules out fused attention. Hard attention with sampled positions adds
    the term that makes its gradient that of the expected cost. Consistency training takes all this from two passes (R-Drop:
    their mean) or from the first of them (SimCut), and adds how much they disagree. With a reward, all this is weighted by its
    alpha, and the expected reward of sampled translations is maximised as well (Wu et al. 2016, equation 9). Word dropout
    hides words from every pass.
    """
    if consistency is None:
        costs = _costs(
            model, _read(model, batch, guided, word_dropout=word_dropout), batch, smoothing=smoothing, guided=guided
        )
    else:
        batch = replace(batch, cached_label_positions=batch.label_positions)
        both = twice(batch)
        with second_pass_cut(model, consistency, model.special):
            output = _read(model, both, guided, word_dropout=word_dropout)
        if isinstance(consistency, SimCutSettings):
            costs = _costs(model, first_pass(output), batch, smoothing=smoothing, guided=guided)
        else:
            of_both = _costs(model, output, both, smoothing=smoothing, guided=guided)
            costs = Loss(of_both.total / 2, len(batch.label_positions), of_both.plain / 2)
        features = rows_at(output.features, both.label_positions)
        costs = replace(costs, total=costs.total + inconsistency(model, consistency, output=output, features=features))
    if reward is not None:
        costs = replace(costs, total=reward.alpha * costs.total + expected_cost(model, batch, reward))
    return costs


def _read(model: Seq2Seq, batch: Batch, guided: GuidedSettings | None, *, word_dropout: float) -> DecoderOutput:
    """Run the model, with attention weights where a head is guided by the links of the batch."""
    source, inputs = batch.source, batch.inputs
    if word_dropout:
        source = replace(source, ids=drop_words(source.ids, word_dropout, model.special))
        inputs = drop_words(inputs, word_dropout, model.special)
    return model(source, inputs, need_weights=guided is not None and batch.links is not None)


def _costs(
    model: Seq2Seq, output: DecoderOutput, batch: Batch, *, smoothing: float, guided: GuidedSettings | None
) -> Loss:
    """Return the cross-entropy of one pass, with everything that is added to it."""
    label_positions = batch.label_positions
    features, labels = rows_at(output.features, label_positions), rows_at(batch.labels, label_positions)
    tokens = len(labels)
    total, plain = output.head.loss(features, labels, smoothing)
    if output.penalty is not None:
        total = total + output.penalty * tokens
    if output.choice is not None and model.reinforcement is not None:
        total = total + model.reinforcement(token_costs(output, batch), output.choice, batch.real)
    if guided is not None and batch.links is not None and output.attention is not None:
        total = total + guided.weight * alignment_loss(output.attention, batch.links, guided)
    return Loss(total, tokens, plain)


def rows_at(
    values: Shaped[Tensor, "batch target ..."], label_positions: Int[Tensor, " tokens"]
) -> Shaped[Tensor, "tokens ..."]:
    """Return the values at `label_positions`, concatenated; without padding these are all, and nothing is copied."""
    flat = values.flatten(0, 1)
    return flat if len(label_positions) == len(flat) else flat.index_select(0, label_positions)


@torch.no_grad()
def token_costs(output: DecoderOutput, batch: Batch) -> Float[Tensor, "batch target"]:
    """Return the negative log-probability of each label, 0 on padding, computing the logits of some rows at a time."""
    costs = []
    for features, labels in zip(output.features.split(16), batch.labels.split(16), strict=True):
        log_probs = upcast(output.head(features)).log_softmax(-1)
        costs.append(-log_probs.gather(-1, labels[..., None]).squeeze(-1))
    return torch.cat(costs) * batch.real
