"""Models of documents. Their equations are tested in `tests/reference`, their laws in `tests/laws`."""

from dataclasses import replace

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES

from dragoman.interfaces import Padded, Previous
from dragoman.laws.examples import fresh_model, model_of, source, target
from dragoman.models.document import DocumentEncoder, DocumentSettings
from dragoman.models.seq2seq import Seq2Seq
from dragoman.models.transformer_settings import TransformerSettings

SETTINGS = ARCHITECTURES["document"]
SOURCE = source([5, 3, 1, 4])
"""Two previous sentences, two, one, none."""


def nearest(padded: Padded, count: int) -> Padded:
    """The same sentences after the nearest `count` of those before."""
    assert padded.previous is not None
    return replace(padded, previous=Previous(padded.previous.ids[:, -count:], padded.previous.mask[:, -count:]))


def test_it_is_the_transformer_with_one_part_more() -> None:
    shared = {name: value for name, value in SETTINGS.model_dump().items() if name not in ("kind", "previous")}
    sentence_model = dict(fresh_model(TransformerSettings(**shared)).named_parameters())
    document_model = dict(fresh_model(SETTINGS).named_parameters())
    assert sentence_model.keys() < document_model.keys()
    assert all(name.startswith("encoder.hierarchy.") for name in document_model.keys() - sentence_model.keys())
    assert all(document_model[name].shape == parameter.shape for name, parameter in sentence_model.items())


def test_experts_read_the_previous_sentences_too_and_the_penalties_of_both_readings_add_up() -> None:
    encoder = fresh_model(ARCHITECTURES["document, experts"]).train().encoder
    said: list[torch.Tensor] = []
    for layer in encoder.layers:  # type: ignore[attr-defined]
        layer.feed_forward.register_forward_hook(lambda module, read, mixed: said.append(mixed.penalty))
    penalty = encoder(SOURCE).penalty
    assert penalty is not None and len(said) == 4
    torch.testing.assert_close(penalty, torch.stack(said).sum())


def test_without_previous_sentences_the_states_are_the_transformers() -> None:
    encoder = model_of(SETTINGS).encoder
    assert isinstance(encoder, DocumentEncoder)
    alone = encoder(replace(SOURCE, previous=None)).states
    found = encoder.read(SOURCE, need_weights=True)
    assert torch.equal(found.states[3], alone[3])
    assert torch.equal(found.kept[3], torch.ones(5))
    for row in range(3):
        assert not torch.allclose(found.states[row], alone[row], atol=1e-2)
    assert torch.equal(encoder.read(replace(SOURCE, previous=None)).kept, torch.ones(4, 5))


def test_a_document_of_one_sentence_has_finite_gradients() -> None:
    model = fresh_model(SETTINGS)
    model(SOURCE, target(4, 3)).logits.square().sum().backward()
    assert all(one.grad is not None and one.grad.isfinite().all() for one in model.parameters())


@pytest.mark.parametrize("name", ["document", "document, post-norm"])
def test_weights_of_both_levels_are_distributions_over_what_is_there(name: str) -> None:
    encoder = model_of(ARCHITECTURES[name]).encoder
    assert isinstance(encoder, DocumentEncoder) and SOURCE.previous is not None
    found = encoder.read(SOURCE, need_weights=True)
    assert found.words is not None and found.sentences is not None
    words_there = SOURCE.previous.mask[:, None, None].expand_as(found.words)
    there = SOURCE.previous.mask.any(-1)[:, None, None].expand_as(found.sentences)
    assert (found.words[~words_there] == 0).all() and (found.sentences[~there] == 0).all()
    torch.testing.assert_close(found.words.sum(-1), there.float())
    torch.testing.assert_close(found.sentences.sum(-1), there.any(-1).float())
    blind = encoder.read(SOURCE)
    assert blind.words is None and blind.sentences is None
    torch.testing.assert_close(blind.states, found.states, rtol=1e-4, atol=2e-5)
    torch.testing.assert_close(encoder(SOURCE).states, blind.states)


def test_of_more_sentences_than_it_reads_the_nearest_count() -> None:
    one = DocumentSettings(**dict(SETTINGS, previous=1))
    model, tokens = model_of(one), target(4, 3)
    torch.testing.assert_close(model(SOURCE, tokens).logits, model(nearest(SOURCE, 1), tokens).logits)
    other = model_of(SETTINGS)
    assert not torch.allclose(other(SOURCE, tokens).logits[0], other(nearest(SOURCE, 1), tokens).logits[0], atol=1e-3)


def test_the_distance_of_a_sentence_does_not_matter_but_its_words_do() -> None:
    model, tokens = model_of(SETTINGS), target(4, 3)
    assert SOURCE.previous is not None
    before = SOURCE.previous
    swapped = replace(SOURCE, previous=Previous(before.ids.flip(1), before.mask.flip(1)))
    torch.testing.assert_close(model(swapped, tokens).logits, model(SOURCE, tokens).logits, rtol=1e-3, atol=1e-4)
    others = replace(SOURCE, previous=Previous(before.ids.where(before.ids < 4, 4 + before.ids % 9), before.mask))
    changed = (model(others, tokens).logits - model(SOURCE, tokens).logits).abs().flatten(1).max(1).values
    assert (changed[:2] > 1e-2).all() and changed[3] < 1e-5


def test_a_model_says_how_many_sentences_it_reads() -> None:
    assert (fresh_model(SETTINGS).previous, fresh_model(ARCHITECTURES["plain gru"]).previous) == (3, 0)
    assert isinstance(fresh_model(SETTINGS), Seq2Seq)
