"""Hiding tokens from a masked language model."""

import math

import pytest
import torch

from dragoman.interfaces import BOS, EOS, PAD, Batch, Padded
from dragoman.laws.examples import LENGTHS, batch, source
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.models.build import build_model
from dragoman.models.masked_lm import MaskedLanguageModel
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import MaskedSettings
from dragoman.special_ids import MASK
from dragoman.training.masking import MASK_RATE, MASKED, REPLACED, MaskingStream, mask_tokens, masked_loss

VOCABULARY = 50


def generator(seed: int = 1) -> torch.Generator:
    """A random state of its own."""
    return torch.Generator().manual_seed(seed)


def large(rows: int = 600, length: int = 60) -> Batch:
    """Sentences of different lengths, which hold all pieces."""
    sentences = source([1 + row % length for row in range(rows)], vocabulary=VOCABULARY)
    return Batch(sentences, sentences)


def within(count: int, trials: int, probability: float) -> bool:
    """Tell whether a count is less than five standard deviations off."""
    return abs(count - trials * probability) < 5 * math.sqrt(trials * probability * (1 - probability))


def test_shares_are_those_of_the_paper() -> None:
    given = large()
    hidden = mask_tokens(given, VOCABULARY, generator())
    before, after, chosen = given.source.ids, hidden.source.ids, hidden.real
    real = int((given.source.mask & (before != EOS)).sum())
    count = int(chosen.sum())
    assert within(count, real, MASK_RATE)
    assert within(int((after[chosen] == MASK).sum()), count, MASKED)
    kept = 1 - MASKED - REPLACED + REPLACED / (VOCABULARY - 4)  # a random piece may be the same
    assert within(int((after[chosen] == before[chosen]).sum()), count, kept)
    others = after[chosen & (after != MASK) & (after != before)]
    assert others.min() >= 4 and others.max() == VOCABULARY - 1
    assert len(others.unique()) == VOCABULARY - 4


def test_only_real_tokens_are_chosen_and_the_others_stay() -> None:
    given = large()
    hidden = mask_tokens(given, VOCABULARY, generator())
    assert torch.equal(hidden.source.mask, given.source.mask)
    assert torch.equal(hidden.source.ids[~hidden.real], given.source.ids[~hidden.real])
    assert not torch.isin(given.source.ids[hidden.real], torch.tensor([PAD, BOS, EOS])).any()


def test_labels_are_the_sentence_as_it_was() -> None:
    given = large(4, 9)
    hidden = mask_tokens(given, VOCABULARY, generator())
    assert torch.equal(hidden.labels, given.source.ids)
    assert hidden.labels.shape == hidden.source.ids.shape == hidden.real.shape


def test_at_least_one_token_is_chosen() -> None:
    sentences = source([1, 2])
    for seed in range(50):
        hidden = mask_tokens(Batch(sentences, sentences), VOCABULARY, generator(seed))
        assert hidden.real.sum() == 1 and hidden.real[1, 0]


class Positioned:
    """A stream that gives the same batch at every position."""

    def __init__(self) -> None:
        self.position = {"epoch": 0, "index": 0}

    def __next__(self) -> Batch:
        self.position = {"epoch": self.position["epoch"] + 1, "index": 0}
        return large(9, 9)


def test_what_is_masked_depends_on_seed_and_position_alone() -> None:
    """Processes that train together have random states of their own."""
    drawn = []
    for seed, state in ((5, 1), (5, 2), (6, 1)):
        stream = MaskingStream(Positioned(), VOCABULARY, seed=seed)  # type: ignore[arg-type]
        torch.manual_seed(state)
        drawn.append([next(stream).source.ids for _ in range(2)])
    first, again, other = drawn
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[0], first[1]) and not torch.equal(first[0], other[0])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_cross_entropy_of_the_chosen_tokens(smoothing: float) -> None:
    torch.manual_seed(2)
    model = build_model(
        MaskedSettings(encoder_layers=1, width=8, feed_forward=8, heads=2, dropout=0.0), Vocabularies(13, 13)
    )
    assert isinstance(model, MaskedLanguageModel)
    hidden = mask_tokens(batch(LENGTHS, [length + 1 for length in LENGTHS]), 13, generator(3))
    loss = masked_loss(model, hidden, smoothing=smoothing)
    logits = model.head(model(hidden.source))
    pairs = [(logits[row, place], hidden.labels[row, place]) for row, place in hidden.real.nonzero().tolist()]
    expected = sum(torch.nn.functional.cross_entropy(a, b, label_smoothing=smoothing) for a, b in pairs)
    torch.testing.assert_close(loss.total, expected)
    assert loss.tokens == len(pairs) == int(hidden.real.sum())


def test_experts_out_of_balance_add_their_penalty_for_each_chosen_token() -> None:
    experts = ExpertSettings(experts=4, active=1, gate="balanced", importance=2.0)
    settings = MaskedSettings(encoder_layers=1, width=8, feed_forward=8, heads=2, dropout=0.0, experts=experts)
    model = build_model(settings, Vocabularies(13, 13))
    assert isinstance(model, MaskedLanguageModel)
    hidden = mask_tokens(batch(LENGTHS, [length + 1 for length in LENGTHS]), 13, generator(3))
    loss, penalty = masked_loss(model, hidden), model.encoder(hidden.source).penalty
    assert penalty is not None and penalty > 0.01
    torch.testing.assert_close(loss.total - loss.plain, penalty * loss.tokens)


def test_what_stands_on_padding_is_no_token() -> None:
    sentences = source([3, 1])
    garbage = Padded(sentences.ids.masked_fill(~sentences.mask, 7), sentences.mask)
    for seed in range(20):
        hidden = mask_tokens(Batch(garbage, garbage), VOCABULARY, generator(seed))
        assert not (hidden.real & ~sentences.mask).any()


def test_the_shares_are_devlins() -> None:
    assert (MASK_RATE, MASKED, REPLACED) == (0.15, 0.8, 0.1)
