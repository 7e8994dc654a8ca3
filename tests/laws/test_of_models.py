"""Laws 1 to 8 catch the bugs that they are there for. `test_laws` tries them on every architecture."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.laws.planting import Law, Plant, law, numbers_of, replace, see_caught
from torch import Tensor, nn

from dragoman.attention import attend, masks, multi_head, relative, scores
from dragoman.attention.local import Window
from dragoman.attention.lookup import Lookup
from dragoman.decoding import beam
from dragoman.decoding.beam import Search
from dragoman.interfaces import DecoderState, KeyValues
from dragoman.laws import of_models as laws
from dragoman.layers import positions, recurrent
from dragoman.models import luong, posterior
from dragoman.models import recurrent as recurrent_models
from dragoman.tree import map_tensors

TRANSFORMER = "transformer pre-norm, sinusoidal"
POST_NORM = "transformer post-norm, learned"
BAHDANAU = "bahdanau, two gru layers"
FEEDING = "luong, two gru layers, input feeding"


def causal_from_top_left(right: Any, queries: int, keys: int, device: Any = None) -> Tensor:
    return torch.ones(queries, keys, dtype=torch.bool).tril()[None]


def sees_everything(right: Any, queries: int, keys: int, device: Any = None) -> Tensor:
    return torch.ones(1, queries, keys, dtype=torch.bool)


def sees_one_too_many(right: Any, queries: int, keys: int, device: Any = None) -> Tensor:
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries + 1)[None]


def forgets_where_it_stands(right: Any, layer: nn.Module, states: Tensor, offset: int = 0) -> Tensor:
    return right(layer, states)


def keeps_new_keys_alone(right: Any, memory: KeyValues, new: KeyValues) -> KeyValues:
    return KeyValues(torch.cat([new.keys, memory.keys], 2), torch.cat([new.values, memory.values], 2))


def does_not_carry_the_fed_vector(right: Any, decoder: Any, tokens: Tensor, state: Any, **named: Any) -> Any:
    output, after = right(decoder, tokens, state, **named)
    return output, DecoderState(after.source, recurrent_models.RecurrentPast(after.past.hidden, state.past.fed))


def ignores_the_source_mask(right: Any, real: Tensor) -> Tensor:
    return torch.ones_like(real)[:, None, :]


def reads_the_padding(right: Any, stack: Any, inputs: Tensor, lengths: Tensor) -> Any:
    return right(stack, inputs, torch.full_like(lengths, inputs.shape[1]))


def takes_the_last_column(right: Any, stack: Any, inputs: Tensor, lengths: Tensor) -> Any:
    outputs, after = stack.stack(inputs)
    return outputs, (stack._join(after),)


def normalises_over_the_batch(right: Any, norm: nn.LayerNorm, states: Tensor) -> Tensor:
    mean, variance = states.mean(), states.var(correction=0)
    return norm.weight * (states - mean) / (variance + norm.eps).sqrt() + norm.bias


def does_not_move_the_past(right: Any, state: DecoderState, rows: Tensor) -> DecoderState:
    return state


def repeats_in_turn(right: Any, state: DecoderState, copies: int) -> DecoderState:
    return map_tensors(lambda tensor: tensor.repeat(copies, *[1] * (tensor.dim() - 1)), state)


def moves_the_past_alone(right: Any, state: DecoderState, rows: Tensor) -> DecoderState:
    padded = torch.arange(len(rows)) % state.source.mask.shape[0]
    return DecoderState(right(state, padded).source, right(state, rows).past)


def masks_after_the_softmax(right: Any, raw: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = raw.softmax(-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


def hides_with_a_small_number(right: Any, raw: Tensor, mask: Tensor | None = None) -> Tensor:
    return (raw if mask is None else raw.masked_fill(~mask, -5.0)).softmax(-1)


def starts_over(right: Any, window: Window, queries: Tensor, mask: Tensor, offset: int, **named: Any) -> Any:
    return right(window, queries, mask, 0, **named)


def looks_past_the_source(right: Any, window: Window, queries: Tensor, mask: Tensor, offset: int, **named: Any) -> Any:
    _, gaussian = right(window, queries, mask, offset, **named)
    return torch.ones_like(mask.expand(*queries.shape[:3], -1)), gaussian


def draws_at_inference(right: Any, lookup: Lookup, weights: Tensor) -> Any:
    lookup.training = True
    found = right(lookup, weights)
    lookup.training = False
    return found


def forgets_the_predictions(right: Any, decoder: Any, tokens: Tensor, state: Any, **named: Any) -> Any:
    output, after = right(decoder, tokens, state, **named)
    past = recurrent_models.RecurrentPast(after.past.hidden, state.past.fed, position=after.past.position)
    return output, DecoderState(after.source, past)


def does_not_hide(right: Any, raw: Tensor, mask: Tensor | None = None) -> Tensor:
    return right(raw)


def turns_from_the_start(right: Any, kind: relative.Relative, states: Tensor, offset: int) -> Tensor:
    return right(kind, states, 0)


def counts_from_top_left(right: Any, offset: int, queries: int, keys: int, device: Any = None) -> Tensor:
    return right(0, queries, keys, device=device)


def averages_from_the_start(right: Any, kind: relative.Relative, weights: Tensor, offset: int) -> Tensor:
    return right(kind, weights, 0)


def does_not_scale(right: Any, queries: Tensor, keys: Tensor, *rest: Any, **named: Any) -> Tensor:
    return right(queries * queries.shape[-1] ** 0.5, keys, *rest, **named)


def prefers_the_first_keys(right: Any, score: nn.Module, queries: Tensor, keys: Tensor) -> Tensor:
    return right(score, queries, keys) - torch.arange(keys.shape[-2])


def forgets_what_beams_had(right: Any, search: Search, logits: Tensor, rules: Any) -> Any:
    sizes = search.beams.log_prob
    forgetful = dataclasses.replace(search.beams, log_prob=sizes.masked_fill(sizes > -torch.inf, 0.0))
    return right(dataclasses.replace(search, beams=forgetful), logits, rules)


CHUNKS = partial(law, laws.law_1_chunks_do_not_matter)
FUTURE = partial(law, laws.law_2_the_future_does_not_matter)
PADDING = partial(law, laws.law_3_padding_does_not_matter)
ROWS = partial(law, laws.law_4_rows_follow_hypotheses)
DISTRIBUTION = partial(law, laws.law_5_weights_are_a_distribution)
ASKING = partial(law, laws.law_6_asking_for_weights_changes_nothing)
ORDER = partial(law, laws.law_7_the_order_of_keys_does_not_matter)
ENCODER_ORDER = partial(law, laws.law_7_an_encoder_without_positions_does_not_know_order)
BEAM = partial(law, laws.law_8_a_wide_beam_finds_the_best)

BUGS: dict[str, tuple[Law, Plant]] = {
    "1: causal mask aligned top left": (CHUNKS(TRANSFORMER), replace(masks, "causal", causal_from_top_left)),
    "1: sinusoids begin anew in each chunk": (
        CHUNKS(TRANSFORMER),
        replace(positions.SinusoidalPositions, "forward", forgets_where_it_stands),
    ),
    "1: learned positions begin anew in each chunk": (
        CHUNKS(POST_NORM),
        replace(positions.LearnedPositions, "forward", forgets_where_it_stands),
    ),
    "1: new keys stand before the old": (CHUNKS(TRANSFORMER), replace(KeyValues, "extend", keeps_new_keys_alone)),
    "1: input feeding vector not carried": (
        CHUNKS(FEEDING),
        replace(luong.LuongDecoder, "forward", does_not_carry_the_fed_vector),
    ),
    "1: window starts over in each chunk": (CHUNKS("luong, local-m"), replace(Window, "forward", starts_over)),
    "1: predictions of the last position forgotten": (
        CHUNKS("posterior"),
        replace(posterior.PosteriorDecoder, "forward", forgets_the_predictions),
    ),
    "1: rotary begins anew in each chunk": (
        CHUNKS("transformer, rotary"),
        replace(relative.Rotary, "rotate", turns_from_the_start),
    ),
    "1: distances count from the top left": (
        CHUNKS("transformer, t5"),
        replace(relative, "distances", counts_from_top_left),
    ),
    "1: slopes count from the top left": (
        CHUNKS("transformer, alibi"),
        replace(relative, "distances", counts_from_top_left),
    ),
    "1: value vectors of distances begin anew in each chunk": (
        CHUNKS("transformer, shaw"),
        replace(relative.Shaw, "values", averages_from_the_start),
    ),
    "2: no causal mask": (FUTURE(TRANSFORMER), replace(masks, "causal", sees_everything)),
    "2: entmax ignores the mask": (
        FUTURE("transformer, entmax to itself"),
        replace(attend, "entmax15", does_not_hide),
    ),
    "2: causal mask one too wide": (FUTURE(POST_NORM), replace(masks, "causal", sees_one_too_many)),
    "3: source mask ignored by a Transformer": (
        PADDING(TRANSFORMER),
        replace(masks, "to_source", ignores_the_source_mask),
    ),
    "3: source mask ignored by a recurrent decoder": (
        PADDING(FEEDING),
        replace(masks, "to_source", ignores_the_source_mask),
    ),
    "3: backward encoder reads padding": (
        PADDING(BAHDANAU),
        replace(recurrent.BidirectionalStack, "forward", reads_the_padding),
    ),
    "3: embedding of padding leaks into the last state": (
        PADDING("plain gru"),
        replace(recurrent.BidirectionalStack, "forward", takes_the_last_column),
    ),
    "3: layer norm over the batch": (PADDING(TRANSFORMER), replace(nn.LayerNorm, "forward", normalises_over_the_batch)),
    "4: beams not reordered": (ROWS(TRANSFORMER), replace(DecoderState, "reorder", does_not_move_the_past)),
    "4: beams not reordered, recurrent": (ROWS(FEEDING), replace(DecoderState, "reorder", does_not_move_the_past)),
    "4: copies of rows not side by side": (ROWS(BAHDANAU), replace(DecoderState, "expand", repeats_in_turn)),
    "4: source not moved with selected rows": (ROWS(BAHDANAU), replace(DecoderState, "select", moves_the_past_alone)),
    "5: source mask ignored": (DISTRIBUTION(BAHDANAU), replace(masks, "to_source", ignores_the_source_mask)),
    "5: mask after the softmax": (DISTRIBUTION(FEEDING), replace(attend, "masked_softmax", masks_after_the_softmax)),
    "5: hidden keys get a small weight": (
        DISTRIBUTION(TRANSFORMER),
        replace(attend, "masked_softmax", hides_with_a_small_number),
    ),
    "5: sparsemax ignores the mask": (
        DISTRIBUTION("bahdanau, sparsemax"),
        replace(attend, "sparsemax", does_not_hide),
    ),
    "5: entmax ignores the mask": (DISTRIBUTION("luong, entmax"), replace(attend, "entmax15", does_not_hide)),
    "5: window ignores the source mask": (
        DISTRIBUTION("luong, local-p"),
        replace(Window, "forward", looks_past_the_source),
    ),
    "6: hard attention draws at inference": (
        ASKING("bahdanau, hard, reinforced"),
        replace(Lookup, "_choose", draws_at_inference),
    ),
    "6: fused attention not scaled": (ASKING(TRANSFORMER), replace(multi_head, "attend_scaled_dot", does_not_scale)),
    "7: score prefers the first keys": (
        ORDER("bahdanau gru additive"),
        replace(scores.Additive, "forward", prefers_the_first_keys),
    ),
    "7: score of self-attention prefers the first keys": (
        ENCODER_ORDER("transformer, general to itself"),
        replace(scores.General, "forward", prefers_the_first_keys),
    ),
    "8: beams not reordered": (BEAM(FEEDING), replace(DecoderState, "reorder", does_not_move_the_past)),
    "8: log-probabilities not added up": (BEAM("luong dot"), replace(beam, "choose", forgets_what_beams_had)),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_caught(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    see_caught(*BUGS[name], tmp_path, monkeypatch=monkeypatch)


def test_every_law_has_a_planted_bug() -> None:
    assert {name.partition(":")[0] for name in BUGS} == numbers_of(laws)
