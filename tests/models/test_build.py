"""The choice among architectures, and what all of them have in common."""

from collections.abc import Iterator

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES, FAMILIES, Architecture
from tests.laws.test_laws import each
from torch import nn

from dragoman.interfaces import Decoder, DecoderState, Encoder
from dragoman.laws.examples import VOCABULARY, batch, fresh_model
from dragoman.models.build import ModelSettings, build_model, filled_next
from dragoman.models.recurrent import RecurrentDecoder
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.transformer import TransformerDecoder
from dragoman.settings import Settings, dump, parse
from dragoman.training.objectives import translation_loss


class Section(Settings):
    """A recipe of which only the model counts."""

    model: ModelSettings


@pytest.fixture(autouse=True)
def same_draw() -> Iterator[None]:
    torch.manual_seed(1)
    yield


def test_the_kind_chooses_the_family() -> None:
    vocabularies = Vocabularies(9, 9, shared=True)
    recurrent = parse(Section, {"model": {"kind": "rnn", "decoder": "plain"}}).model
    assert isinstance(build_model(recurrent, vocabularies).decoder, RecurrentDecoder)
    small = {"kind": "transformer", "width": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    assert isinstance(build_model(parse(Section, {"model": small}).model, vocabularies).decoder, TransformerDecoder)


@each(FAMILIES)
def test_every_family_is_an_encoder_and_a_decoder(architecture: Architecture) -> None:
    model = fresh_model(architecture)
    assert isinstance(model, Seq2Seq) and isinstance(model.encoder, Encoder) and isinstance(model.decoder, Decoder)


@each(ARCHITECTURES)
def test_settings_survive_a_recipe(architecture: Architecture) -> None:
    section = Section(model=architecture)
    assert parse(Section, Settings.model_dump(section, mode="json")) == section
    assert "kind:" in dump(section)


@each(ARCHITECTURES, quick=FAMILIES)
def test_a_fresh_model_expects_all_pieces_about_alike(architecture: Architecture) -> None:
    model, pairs = fresh_model(architecture, 50).eval(), batch([5, 3, 2, 4] * 8, [6, 3, 2, 7] * 8)
    loss = translation_loss(model, pairs)
    assert loss.total.item() / loss.tokens == pytest.approx(torch.tensor(50.0).log().item(), abs=1.5)


@each(ARCHITECTURES, quick=FAMILIES)
def test_every_weight_learns(architecture: Architecture) -> None:
    model = fresh_model(architecture)
    translation_loss(model, batch([5, 3, 2, 4] * 4, [6, 3, 2, 7] * 4), smoothing=0.1).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), f"{name} gets no gradient"


@each(ARCHITECTURES, quick=FAMILIES)
def test_every_architecture_trains_and_decodes_in_bfloat16(architecture: Architecture) -> None:
    model, pairs = fresh_model(architecture), batch([5, 3], [6, 3])
    with torch.autocast("cpu", torch.bfloat16):
        loss = translation_loss(model, pairs, smoothing=0.1)
        loss.total.backward()
        model.eval()
        state: DecoderState = model.decoder.start(model.encoder(pairs.source))
        for tokens in pairs.inputs.split(1, 1):
            output, state = model.decoder(tokens, state, need_weights=True)
            assert output.logits.isfinite().all()
    exact = translation_loss(model, pairs).total / loss.tokens
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        rounded = translation_loss(model, pairs).total / loss.tokens
    assert rounded.item() == pytest.approx(exact.item(), abs=0.1)


def test_the_same_random_state_gives_the_same_weights() -> None:
    first, other = (dict(fresh_model(RecurrentSettings(hidden=8, embedding=4)).named_parameters()) for _ in range(2))
    assert all(torch.equal(parameter, other[name]) for name, parameter in first.items())
    assert first["encoder.embedding.weight"].shape == (VOCABULARY, 4)


def test_a_model_that_is_filled_next_takes_no_random_numbers_and_a_plugin_those_of_the_seed() -> None:
    theirs = RecurrentSettings().model_copy(update={"kind": "theirs"})
    before = torch.get_rng_state()
    with filled_next(RecurrentSettings(), 1):
        nn.Linear(2, 2)
        assert torch.equal(torch.get_rng_state(), before)
    drawn = []
    for _ in range(2):
        with filled_next(theirs, 1):
            drawn.append(nn.Linear(2, 2).weight)
        assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(*drawn)
