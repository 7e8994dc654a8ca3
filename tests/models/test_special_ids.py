"""Ids of special tokens are names: a model for other ids computes the same, with the rows of its vocabulary permuted."""

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES, FAMILIES
from tests.slow import some

from dragoman.data.collate import collate
from dragoman.interfaces import Batch
from dragoman.layers.embedding import TokenEmbedding, move_padding
from dragoman.models.build import build_model
from dragoman.models.capabilities import capabilities_of
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.settings import parse
from dragoman.special_ids import SpecialIds
from dragoman.training.compiling import rounded
from dragoman.training.expected_reward import expected_cost
from dragoman.training.expected_reward_settings import RewardSettings
from dragoman.training.masking import mask_tokens
from dragoman.training.objectives import translation_loss

SIZE = 37
OTHER = SpecialIds(pad=9, bos=0, eos=30, unk=4, mask=5)
TO_OTHER = torch.arange(SIZE)
"""The id in the other vocabulary of each id of Dragoman's own."""
for _own, _other in ((0, 9), (1, 0), (2, 30), (3, 4)):
    _now = int((_other == TO_OTHER).nonzero())
    TO_OTHER[[_own, _now]] = TO_OTHER[[_now, _own]]
PAIRS = [([11, 12, 13], [14, 15]), ([16], [17, 18, 19, 20]), ([21, 22], [23])]


def renamed(ids: list[int]) -> list[int]:
    return TO_OTHER[torch.tensor(ids)].tolist()


def batches() -> tuple[Batch, Batch]:
    """Return the same pairs in both vocabularies."""
    previous = [[[24, 25]], [[26]], [None]]
    other = [[None if ids is None else renamed(ids) for ids in row] for row in previous]
    theirs = [(renamed(source), renamed(target)) for source, target in PAIRS]
    return collate(PAIRS, previous=previous), collate(theirs, previous=other, special=OTHER)


def models(name: str) -> tuple[Seq2Seq, Seq2Seq]:
    """Return a model for each vocabulary, with the same weights but for the order of the rows."""
    torch.manual_seed(1)
    own = build_model(ARCHITECTURES[name], Vocabularies(SIZE, SIZE, shared=True))
    other = build_model(ARCHITECTURES[name], Vocabularies(SIZE, SIZE, shared=True, special=OTHER))
    weights = own.state_dict()
    for key, weight in weights.items():
        if weight.shape[:1] == (SIZE,):
            weights[key] = torch.empty_like(weight).index_copy_(0, TO_OTHER, weight)
    other.load_state_dict(weights)
    assert isinstance(own, Seq2Seq) and isinstance(other, Seq2Seq)
    return own.eval(), other.eval()


TRANSLATORS = [name for name, settings in ARCHITECTURES.items() if capabilities_of(settings).translates]


@pytest.mark.parametrize("name", some(TRANSLATORS, FAMILIES))
def test_a_model_for_other_ids_has_the_same_loss(name: str) -> None:
    losses = []
    for model, batch in zip(models(name), batches(), strict=True):
        torch.manual_seed(3)
        losses.append(translation_loss(model, batch, smoothing=0.1).total.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_padding_has_no_gradient_whatever_its_id() -> None:
    _, model = models("transformer, nothing tied")
    embedding = next(part for part in model.modules() if isinstance(part, TokenEmbedding))
    embedding(torch.tensor([[9, 0, 11]])).sum().backward()
    gradient = embedding.weight.grad
    assert gradient is not None and gradient[9].abs().sum() == 0 < gradient[0].abs().sum()


def test_the_vector_of_padding_starts_at_zero_and_no_other_does() -> None:
    table = TokenEmbedding(SIZE, 8)
    move_padding(table, OTHER.pad)
    assert (table.weight.abs().sum(1) == 0).nonzero().tolist() == [[9]]


def test_rewards_are_sampled_without_padding_and_begin() -> None:
    _, model = models(next(name for name in TRANSLATORS if ARCHITECTURES[name].kind == "transformer"))
    assert model.special == OTHER
    torch.manual_seed(2)
    cost = expected_cost(model, batches()[1], parse(RewardSettings, {"samples": 3}))
    cost.backward()
    assert cost.isfinite() and all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_tokens_are_masked_by_their_own_names() -> None:
    _, batch = batches()
    seen = set()
    for seed in range(200):
        hidden = mask_tokens(batch, SIZE, torch.Generator().manual_seed(seed), special=OTHER)
        assert (hidden.target.ids[:, 0] == OTHER.bos).all()
        assert torch.equal(hidden.source.ids == OTHER.eos, batch.source.ids == OTHER.eos)
        seen |= set(hidden.source.ids[hidden.source.ids != batch.source.ids].tolist())
    assert OTHER.mask in seen and not seen & (set(OTHER.all) - {OTHER.mask})


def test_rows_that_are_added_end_at_once() -> None:
    _, batch = batches()
    wider = rounded(collate([(renamed([11] * 9), renamed([12] * 9))] * 9, special=OTHER), OTHER)
    assert (wider.source.ids[9:, 0] == OTHER.eos).all() and (wider.source.ids[9:, 1:] == OTHER.pad).all()
    assert batch.source.ids.shape[0] == 3
