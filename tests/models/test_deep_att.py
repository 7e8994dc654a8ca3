"""Deep-Att: its directions, its linear path and its query, probed by changing what goes in. Its equations: `tests/reference`."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from dragoman.errors import SettingsError
from dragoman.interfaces import Encoded
from dragoman.laws.examples import source, target
from dragoman.models.deep_att import Column, DeepAttSettings, FastForwardStack, build_deep_att, mirrored
from dragoman.models.seq2seq import Seq2Seq, Vocabularies

SIZES = {"embedding": 6, "hidden": 4, "encoder_layers": 3, "decoder_layers": 3}
LENGTH = 5


def model_of(**settings: object) -> Seq2Seq:
    torch.manual_seed(1)
    return build_deep_att(DeepAttSettings(**{**SIZES, **settings}), Vocabularies(13, 17)).eval()


def column_of(layers: int, *, backward: bool) -> Column:
    torch.manual_seed(1)
    column = Column(DeepAttSettings(**{**SIZES, "encoder_layers": layers}), backward=backward)
    return large(column).eval()


def large(module: nn.Module) -> nn.Module:
    """The module with weights so large that what leaks shows."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def forget_the_past(column: FastForwardStack, layer: int) -> None:
    """Let each state of a layer depend on its own position alone."""
    stack, hidden = column.layer(layer).stack, column.layer(layer).hidden
    nn.init.zeros_(stack.weight_hh_l0)
    nn.init.zeros_(stack.weight_ih_l0.data[hidden : 2 * hidden])
    nn.init.constant_(stack.bias_hh_l0.data[hidden : 2 * hidden], -1000.0)


@torch.no_grad()
def changed_by(column: Column, position: int) -> list[bool]:
    """Where [h, f] of the top changes when the embedding at one position does."""
    embedded = torch.randn(1, LENGTH, SIZES["embedding"])
    other = embedded.clone()
    other[:, position] += 1.0
    mirror = mirrored(torch.ones(1, LENGTH, dtype=torch.bool))
    return [bool(there) for there in ((column(embedded, mirror) - column(other, mirror)).abs() > 1e-7).any(-1)[0]]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_directions_alternate_from_layer_to_layer(layer: int, backward: bool) -> None:
    column = column_of(3, backward=backward)
    for other in {0, 1, 2} - {layer}:
        forget_the_past(column, other)
    leftward = backward ^ (layer == 1)
    expected = [place <= 2 if leftward else place >= 2 for place in range(LENGTH)]
    assert changed_by(column, 2) == expected


def test_both_columns_read_the_sentence_one_forward_first_and_one_backward_first() -> None:
    first, second = model_of().encoder.columns
    assert not first.backward and second.backward
    assert first.layer(0).stack.weight_ih_l0 is not second.layer(0).stack.weight_ih_l0


def without_states(layers: int) -> Column:
    """A column whose layers pass on Half(f) alone: the columns of W that read h are zero."""
    column = column_of(layers, backward=False)
    for number in range(1, layers):
        nn.init.zeros_(column.layer(number).stack.weight_ih_l0.data[:, column.halved :])
    return column


@torch.no_grad()
def test_the_path_of_f_is_linear_and_knows_no_other_position() -> None:
    column, hidden = without_states(4), SIZES["hidden"]
    mirror = mirrored(torch.ones(1, LENGTH, dtype=torch.bool))

    def top(embedded: Tensor) -> tuple[Tensor, Tensor]:
        both = column(embedded, mirror)
        return both[..., :hidden], both[..., hidden:]

    left, right = 5 * torch.randn(2, 1, LENGTH, SIZES["embedding"])
    nothing = torch.zeros_like(left)
    h, f = (
        together - one - two + none
        for together, one, two, none in zip(top(left + right), top(left), top(right), top(nothing), strict=True)
    )
    torch.testing.assert_close(f, torch.zeros_like(f), rtol=0, atol=1e-3)
    assert h.abs().max() > 0.1
    other = left.clone()
    other[:, 2] += 1.0
    moved = (top(left)[1] - top(other)[1]).abs().amax(-1)[0] > 1e-6
    assert moved.tolist() == [False, False, True, False, False]


@torch.no_grad()
def test_half_of_f_goes_up() -> None:
    column = without_states(2)
    embedded, mirror = torch.randn(1, LENGTH, SIZES["embedding"]), mirrored(torch.ones(1, LENGTH, dtype=torch.bool))
    before = column(embedded, mirror)
    weight = column.layer(0).stack.weight_ih_l0
    weight[column.halved :] += 1.0
    torch.testing.assert_close(column(embedded, mirror), before)
    weight[: column.halved] += 1.0
    assert not torch.allclose(column(embedded, mirror), before)


def weights_after(model: Seq2Seq, tokens: Tensor) -> Tensor:
    """The attention of each step."""
    states = torch.randn(2, 5, 10, generator=torch.Generator().manual_seed(4))
    state = model.decoder.start(Encoded(states, source([5, 3]).mask))
    found = model.decoder(tokens, state, need_weights=True)[0].attention
    assert found is not None
    return found[:, 0, 0]


@torch.no_grad()
def test_the_bottom_layer_s_state_of_the_step_before_is_the_query() -> None:
    model = large(model_of())
    tokens = target(2, 4)
    other = tokens.clone()
    other[:, 1] = 4 + (other[:, 1] - 3) % 9
    before, after = weights_after(model, tokens), weights_after(model, other)
    torch.testing.assert_close(after[:, :2], before[:, :2])
    assert not torch.allclose(after[:, 2], before[:, 2])
    for number in (1, 2):
        large(model.decoder.stack.layer(number))
    torch.testing.assert_close(weights_after(model, tokens), before)


def test_the_annotation_is_a_quarter_of_what_the_columns_give() -> None:
    assert DeepAttSettings().attended == 1280
    assert model_of().encoder(source([5, 3])).states.shape == (2, 5, 10)
    assert model_of(annotation=7).encoder(source([5, 3])).states.shape == (2, 5, 7)


def test_a_tied_model_shares_target_embedding_and_output() -> None:
    decoder = model_of(tied=True).decoder
    assert decoder.head.weight is decoder.embedding.weight
    assert model_of().decoder.head.weight.shape == (17, 5 * SIZES["hidden"])


def test_dropout_falls_on_embeddings_and_states_but_not_on_the_path_of_f() -> None:
    column = without_states(3).train()
    column.dropout.dropped = 255
    embedded, mirror = torch.randn(1, LENGTH, SIZES["embedding"]), mirrored(torch.ones(1, LENGTH, dtype=torch.bool))
    hidden = SIZES["hidden"]
    dropped, whole = column(embedded, mirror)[..., hidden:], column.eval()(embedded, mirror)[..., hidden:]
    torch.testing.assert_close(dropped, whole)


def test_a_score_that_multiplies_needs_equal_sizes() -> None:
    with pytest.raises(SettingsError, match="queries of size 4 by keys of size 10"):
        model_of(score="dot")
    assert model_of(score="dot", annotation=4)(source([5, 3]), target(2, 4)).logits.shape == (2, 4, 17)


def test_the_location_score_bounds_the_source() -> None:
    assert model_of(score="location", max_positions=9).source_positions == 9
    assert model_of().source_positions is None


def test_padding_stays_where_it_is_when_a_sentence_is_turned() -> None:
    sentences = source([4, 2])
    mirror = mirrored(sentences.mask).view(2, 4)
    assert mirror.tolist() == [[3, 2, 1, 0], [5, 4, 6, 7]]
    nothing = replace(sentences, mask=torch.zeros_like(sentences.mask))
    assert mirrored(nothing.mask).tolist() == list(range(8))
