"""ConvS2S: what each position sees, and how training starts. Its equations are tested in `tests/reference`."""

from unittest.mock import patch

import pytest
import torch
from tests.laws.architectures import convolutional
from torch import Tensor, nn
from torch.nn.utils import parametrize

from dragoman.decoding import DecodingSettings, beam_search, step_of
from dragoman.decoding.sample import sample
from dragoman.errors import InputError
from dragoman.laws.examples import batch, fresh_model, model_of, source, target
from dragoman.models import convs2s
from dragoman.models.seq2seq import Seq2Seq, Vocabularies

WIDE = ((256, 3), (256, 3), (256, 3))


def changed_positions(before: Tensor, after: Tensor) -> list[int]:
    """Positions, on the second axis, where two tensors differ at all."""
    return torch.nonzero((before != after).any(0).any(-1)).flatten().tolist()


def other_token(ids: Tensor, position: int) -> Tensor:
    """The same ids with another token at one position."""
    changed = ids.clone()
    changed[:, position] = 4 + (ids[:, position] - 3) % 9
    return changed


@torch.no_grad()
@pytest.mark.parametrize(
    ("layers", "left", "right"),
    [(((8, 3),) * 4, 4, 4), (((8, 5), (8, 1), (6, 3)), 3, 3), (((8, 2), (8, 4)), 1, 3), (((8, 1),) * 3, 0, 0)],
)
def test_a_source_state_sees_as_far_as_its_layers_are_wide_together(
    layers: tuple[tuple[int, int], ...], left: int, right: int
) -> None:
    """Of width k, a layer adds (k - 1) / 2 inputs on each side; an even one the odd input on the right."""
    assert left + right == sum(width - 1 for _, width in layers)
    encoder = model_of(convolutional(encoder_layers=layers)).encoder
    sentence = source([16])
    before = encoder(sentence).states
    for position in (0, 7, 14):
        after = encoder(convs2s.Padded(other_token(sentence.ids, position), sentence.mask)).states
        expected = [seen for seen in range(16) if position - right <= seen <= position + left]
        assert changed_positions(before, after) == expected


@torch.no_grad()
@pytest.mark.parametrize("layers", [((8, 3),) * 3, ((8, 5), (6, 1), (8, 2))])
def test_a_target_position_sees_as_many_tokens_as_its_layers_are_wide_together(
    layers: tuple[tuple[int, int], ...],
) -> None:
    field = 1 + sum(width - 1 for _, width in layers)
    model, sentence, tokens = model_of(convolutional(decoder_layers=layers)), source([3]), target(1, 14)
    before = model(sentence, tokens).features
    for position in (1, 5, 13):
        after = model(sentence, other_token(tokens, position)).features
        assert changed_positions(before, after) == list(range(position, min(position + field, 14)))


@torch.no_grad()
def test_every_layer_gives_its_weights() -> None:
    output = model_of(convolutional(decoder_layers=((8, 3), (8, 3), (4, 1))))(
        source([5, 3]), target(2, 4), need_weights=True
    )
    assert output.attention.shape == (2, 3, 1, 4, 5)
    assert not torch.allclose(output.attention[:, 0], output.attention[:, 1])


def test_the_encoder_learns_at_a_rate_of_one_over_twice_the_layers_that_attend_to_it() -> None:
    model, sentences = fresh_model(convolutional(decoder_layers=((8, 3),) * 3, dropout=0.0)), batch([5, 3], [4, 6])

    def gradients() -> dict[str, Tensor]:
        model.zero_grad()
        model(sentences.source, sentences.inputs).logits.square().sum().backward()
        return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}

    scaled = gradients()
    with patch.object(convs2s, "scale_gradient", lambda states, factor: states):
        plain = gradients()
    for name, gradient in plain.items():
        if name.startswith("encoder") and "embedding" not in name:
            torch.testing.assert_close(scaled[name], gradient / 6)
        elif name.startswith("decoder"):
            torch.testing.assert_close(scaled[name], gradient)
    source_embedding = "encoder.embedding.tokens.weight"
    assert (scaled[source_embedding] != plain[source_embedding] / 6).any()


def test_layers_start_with_activations_of_one_variance() -> None:
    """Embedding and position vary by 0.1^2 each; every layer of both sides keeps their sum, attention included."""
    torch.manual_seed(1)
    settings = convolutional(embedding=256, output_embedding=256, encoder_layers=WIDE, decoder_layers=WIDE, dropout=0.2)
    model = convs2s.build_convolutional(settings, Vocabularies(500, 500)).train()
    variances: dict[str, float] = {}

    def keep(name: str) -> object:
        def hook(_: nn.Module, __: object, output: Tensor | convs2s.ConvolutionalLayerOutput) -> None:
            states = output if isinstance(output, Tensor) else output.states
            variances[name] = states.var().item()

        return hook

    for side in (model.encoder, model.decoder):
        for name in ("enter", "leave"):
            getattr(side, name).register_forward_hook(keep(f"{type(side).__name__} {name}"))
    for number, layer in enumerate(model.decoder.layers):
        layer.register_forward_hook(keep(f"layer {number}"))
    model(source([30] * 20, vocabulary=500), torch.randint(4, 500, (20, 30)))
    assert len(variances) == 7
    assert {name: variance for name, variance in variances.items() if not 0.5 < variance / 0.02 < 1.5} == {}


def test_positions_do_not_count_padding_and_end_where_the_settings_say() -> None:
    model = model_of(convolutional(max_positions=12))
    assert (model.source_positions, model.target_positions) == (12, 12)
    with pytest.raises(InputError, match=r"a sentence of 13 tokens is longer than the 12 positions of this model"):
        model.encoder(source([13, 2]))
    alone, padded = model.encoder(source([4])), source([4, 9])
    ids = padded.ids.clone()
    ids[0, :4] = source([4]).ids[0]
    together = model.encoder(convs2s.Padded(ids, padded.mask))
    torch.testing.assert_close(together.states[:1, :4], alone.states)


def weights_made(model: Seq2Seq, search: str) -> int:
    """How often the direction and length of the decoder's last linear layer become a matrix in one search."""
    normed = model.decoder.leave.parametrizations.weight
    settings = DecodingSettings(beam=2, minimum_length=4)
    state, limits = model.decoder.start(model.encoder(source([5, 3]))), torch.tensor([6, 6])
    with patch.object(type(normed[0]), "forward", autospec=True, side_effect=type(normed[0]).forward) as made:
        if search == "beam":
            beam_search(step_of(model.decoder), state, limits, settings=settings)
        else:
            sample(step_of(model.decoder), state, limits, settings=settings, generator=torch.Generator())
    return sum(call.args[0] is normed[0] for call in made.call_args_list)


@pytest.mark.parametrize("search", ["beam", "sample"])
def test_normalised_weights_are_made_once_in_a_search_and_not_kept_after_it(search: str) -> None:
    model = model_of(convolutional())
    assert weights_made(model, search) == 1
    assert weights_made(model, search) == 1
    assert not parametrize._cache
