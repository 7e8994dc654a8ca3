"""When beam search ends, and what takes no place in it."""

import math
from typing import Any

import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.decoding import DecodingSettings, Hypotheses, beam_search
from dragoman.interfaces import EOS, PAD, DecoderState
from dragoman.special_ids import SpecialIds

NOTHING: DecoderState[None, None] = DecoderState(None, None)
VOCABULARY = 40
TAGS = SpecialIds(tags=tuple(range(30, 36)))


@pytest.mark.parametrize(("stopping", "steps"), [("full", 2), ("exact", 21)])
def test_a_beam_of_finished_hypotheses_is_enough_unless_the_best_is_wanted(stopping: str, steps: int) -> None:
    taken = []

    def even(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        taken.append(1)
        logits = torch.full((len(tokens), 6), -50.0)
        logits[:, [EOS, 4]] = 0.0
        return logits, state

    settings = DecodingSettings.model_validate({"beam": 2, "stopping": stopping, "length_normalisation": "average"})
    beam_search(even, NOTHING, torch.tensor([20]), settings=settings)
    assert len(taken) == steps


def test_exact_search_goes_on_while_a_translation_of_the_maximum_length_could_win() -> None:
    """Ended at once: log 0.7 for EOS. Three tokens, the most there may be, and EOS: log 0.3 in all, a fourth of it for each."""
    begun = torch.full((6,), -50.0)
    begun[EOS], begun[4] = math.log(0.7), math.log(0.3)
    taken = []

    def step(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        taken.append(1)
        sure = torch.full((6,), -50.0)
        sure[4 if len(taken) < 4 else EOS] = 0.0
        return (begun if len(taken) == 1 else sure).expand(len(tokens), -1), state

    settings = DecodingSettings(beam=2, length_normalisation="average")
    (best,) = beam_search(step, NOTHING, torch.tensor([3]), settings=settings).best()
    assert best.ids == [4, 4, 4] and best.score == pytest.approx(math.log(0.3) / 4, abs=1e-5)


def search(logits: Tensor, size: int) -> Hypotheses:
    """Search where the last token alone decides on the next."""

    def step(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        return logits[tokens[:, 0]], state

    settings = DecodingSettings(beam=size, n_best=size)
    return beam_search(step, NOTHING, torch.tensor([6]), settings=settings, special=TAGS)


@pytest.mark.parametrize("size", [1, 3])
def test_what_is_never_written_takes_no_place_in_the_beam(size: int) -> None:
    """Tags, PAD and BOS may be more probable than all else; here one of them has the probability of all, or each a part."""
    written = torch.randn(VOCABULARY, VOCABULARY, generator=torch.Generator().manual_seed(1))
    never = list(TAGS.unwritten)
    apart, together = written.clone(), written.clone()
    apart[:, never], together[:, never] = 20.0, -50.0
    together[:, PAD] = 20.0 + math.log(len(never))
    found, expected = search(apart, size), search(together, size)
    assert found.ids == expected.ids and len(found.ids[0]) == size
    assert found.log_prob[0] == pytest.approx(expected.log_prob[0], abs=1e-3)
