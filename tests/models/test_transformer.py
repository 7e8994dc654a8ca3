"""The Transformer. Its equations are tested in `tests/reference`, its laws in `tests/laws`."""

import pytest
import torch
from torch import nn

from dragoman.errors import InputError, SettingsError
from dragoman.laws.examples import source, target
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.layers.experts import Experts
from dragoman.layers.residual import RmsNorm
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.transformer import TransformerSettings, build_transformer

SIZES = {"width": 8, "heads": 2, "feed_forward": 12, "encoder_layers": 3, "decoder_layers": 2}
SHARED = Vocabularies(13, 13, shared=True)


def model_of(vocabularies: Vocabularies = SHARED, **settings: object) -> Seq2Seq:
    return build_transformer(TransformerSettings(**{**SIZES, **settings}), vocabularies).eval()


def test_weights_come_by_layer_and_head() -> None:
    output = model_of()(source([5, 3]), target(2, 4), need_weights=True)
    assert output.logits.shape == (2, 4, 13)
    assert output.attention.shape == (2, 2, 2, 4, 5)


def test_sizes_may_differ_between_the_languages() -> None:
    model = model_of(Vocabularies(13, 17), tied="target")
    assert model(source([5]), target(1, 4)).logits.shape == (1, 4, 17)


def test_tying_shares_one_matrix_two_or_none() -> None:
    for tied, matrices in (("all", 1), ("target", 2), ("embeddings", 2), ("none", 3)):
        model = model_of(tied=tied)
        weights = (model.encoder.embedding.weight, model.decoder.embedding.weight, model.decoder.head.weight)
        assert len({id(weight) for weight in weights}) == matrices
        assert (model.decoder.head.weight is model.decoder.embedding.weight) == (tied in ("all", "target"))
        assert (model.encoder.embedding.weight is model.decoder.embedding.weight) == (tied in ("all", "embeddings"))


@pytest.mark.parametrize("tied", ["all", "embeddings"])
def test_tying_both_embeddings_needs_one_vocabulary(tied: str) -> None:
    with pytest.raises(SettingsError, match=rf"`model\.tied: {tied}` needs one vocabulary.*`text\.joint: true`"):
        model_of(Vocabularies(13, 13), tied=tied)


def test_layers_share_the_biases_of_t5_if_asked() -> None:
    for relative, tables in (("t5", 5), ("t5_shared", 2)):
        names = [name for name, _ in model_of(relative=relative).named_parameters() if name.endswith("relative.table")]
        assert len(names) == tables
    model = model_of(relative="t5_shared")
    assert len({id(layer.attention.relative) for layer in model.encoder.layers}) == 1
    assert model.encoder.layers[0].attention.relative is not model.decoder.layers[0].self_attention.relative


def test_scaling_is_of_embeddings_or_of_the_output_or_of_neither() -> None:
    root = SIZES["width"] ** 0.5
    for scaling, scale, factor in (("embeddings", root, 1.0), ("output", 1.0, 1 / root), ("none", 1.0, 1.0)):
        decoder = model_of(scaling=scaling).decoder
        assert decoder.embedding.scale == scale
        output, _ = decoder(target(2, 3), decoder.start(model_of(scaling=scaling).encoder(source([5, 3]))))
        torch.testing.assert_close(output.features.square().mean(), torch.tensor(factor**2), rtol=1e-3, atol=1e-3)


def test_the_output_layer_may_have_a_bias() -> None:
    for biased in (True, False):
        names = [name for name, _ in model_of(output_bias=biased).named_parameters()]
        assert ("decoder.head.bias" in names) == biased


def test_embeddings_may_be_normalised() -> None:
    model = model_of(embedding_norm=True)
    read: list[torch.Tensor] = []
    model.encoder.dropout.register_forward_hook(lambda module, given, states: read.append(states))
    model(source([5, 3]), target(2, 4))
    torch.testing.assert_close(read[0].mean(-1), torch.zeros(2, 5), rtol=0, atol=1e-5)
    assert isinstance(model.decoder.embedding_norm, nn.LayerNorm)


def test_root_mean_squares_replace_every_layer_norm() -> None:
    model = model_of(norm_kind="rms", embedding_norm=True)
    kinds = {type(module) for module in model.modules()}
    assert RmsNorm in kinds and nn.LayerNorm not in kinds


@pytest.mark.parametrize("experts", [None, ExpertSettings(experts=2, active=1)])
def test_layers_that_start_with_zeros_return_their_input(experts: ExpertSettings | None) -> None:
    read, written = source([5, 3]), target(2, 4)
    for zero in (True, False):
        model = model_of(zero_start=zero, experts=experts)
        encoded = model.encoder(read)
        output, _ = model.decoder(written, model.decoder.start(encoded))
        for side, ids, states in ((model.encoder, read.ids, encoded.states), (model.decoder, written, output.features)):
            assert torch.allclose(states, side.norm(side.positions(side.embedding(ids))), atol=1e-5) == zero


def test_no_linear_layer_has_a_bias_if_none_is_wanted() -> None:
    assert not [name for name, _ in model_of(biases=False, norm_kind="rms").named_parameters() if "bias" in name]


def test_only_pre_norm_ends_with_a_norm() -> None:
    for norm in ("pre", "post"):
        model = model_of(norm=norm)
        for side in (model.encoder, model.decoder):
            assert isinstance(side.norm, nn.LayerNorm) == (norm == "pre")


def test_experts_take_the_place_of_every_feed_forward_network_and_their_penalties_add_up() -> None:
    experts = ExpertSettings(experts=4, active=2, importance=1.0)
    torch.manual_seed(1)
    model = model_of(experts=experts, dropout=0.0).train()
    layers = [*model.encoder.layers, *model.decoder.layers]  # type: ignore[union-attr, misc]
    assert all(isinstance(layer.feed_forward, Experts) for layer in layers)
    said: list[torch.Tensor] = []
    for layer in layers:
        layer.feed_forward.register_forward_hook(lambda module, read, mixed: said.append(mixed.penalty))
    penalty = model(source([5, 3]), target(2, 4)).penalty
    assert penalty is not None and len(said) == 5 and all(float(one.detach()) > 0 for one in said)
    torch.testing.assert_close(penalty, torch.stack(said).sum())
    assert model.eval()(source([5, 3]), target(2, 4)).penalty is None


def test_post_norm_states_are_normal_position_by_position() -> None:
    states = model_of(norm="post").encoder(source([5, 3])).states
    torch.testing.assert_close(states.mean(-1), torch.zeros(2, 5), rtol=0, atol=1e-5)
    torch.testing.assert_close(states.var(-1, correction=0), torch.ones(2, 5), rtol=1e-3, atol=1e-3)


def test_the_past_grows_with_each_position_and_the_source_stays() -> None:
    model = model_of()
    state = first = model.decoder.start(model.encoder(source([5, 3])))
    assert first.past.memories == ()
    for length, tokens in enumerate(target(2, 3).split(1, 1), 1):
        _, state = model.decoder(tokens, state)
        assert [memory.keys.shape[2] for memory in state.past.memories] == [length, length]
    assert state.source is first.source


@pytest.mark.parametrize(
    ("settings", "bounds"),
    [
        ({}, (None, None)),
        ({"positions": "learned"}, (4, 4)),
        ({"positions": "bart"}, (4, 4)),
        ({"positions": "fixed"}, (4, 4)),
        ({"self_score": "location"}, (4, 4)),
        ({"cross_score": "location"}, (4, None)),
    ],
)
def test_a_model_says_how_long_sentences_may_be(
    settings: dict[str, str], bounds: tuple[int | None, int | None]
) -> None:
    model = model_of(max_positions=4, **settings)
    assert (model.source_positions, model.target_positions) == bounds
    for lengths, prefix, bound in (([5], 2, bounds[0]), ([3], 5, bounds[1])):
        if bound is None:
            model(source(lengths), target(1, prefix))
        else:
            with pytest.raises(InputError, match=r"a sentence of 5 tokens is longer than the 4 positions"):
                model(source(lengths), target(1, prefix))


def test_a_width_that_does_not_divide_into_heads_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"does not divide into 3 heads"):
        model_of(heads=3)


def test_sinusoids_let_it_read_past_any_length() -> None:
    model = model_of(max_positions=4)
    assert model(source([60]), target(1, 50)).logits.isfinite().all()


@pytest.mark.parametrize("rate", ["dropout", "attention_dropout", "feed_forward_dropout"])
def test_each_dropout_is_for_training_only(rate: str) -> None:
    model = model_of(**{"dropout": 0.0, rate: 0.5})
    sentences, prefixes = source([5, 3]), target(2, 4)
    assert torch.equal(model(sentences, prefixes).logits, model(sentences, prefixes).logits)
    model.train()
    assert not torch.equal(model(sentences, prefixes).logits, model(sentences, prefixes).logits)


def test_the_first_head_of_the_middle_layer_says_which_words_reach_the_output() -> None:
    model, looked = model_of(lexical=True, decoder_layers=3), list[torch.Tensor]()
    model.decoder.lexical.register_forward_hook(lambda module, given, added: looked.append(given[0]))
    attention = model(source([5, 3]), target(2, 4), need_weights=True).attention
    torch.testing.assert_close(looked[0], attention[:, 1, 0])
    assert not torch.allclose(looked[0], attention[:, 1, 1]) and not torch.allclose(looked[0], attention[:, 0, 0])
