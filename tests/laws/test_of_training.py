"""Laws 9 to 11, 13 and 14 catch the bugs that they are there for. `test_laws_of_work` tries them on every architecture."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from tests.laws.planting import Law, Plant, law, numbers_of, replace, see_caught
from tests.slow import some
from torch.nn.utils import clip_grad_norm_

from dragoman.attention import relative
from dragoman.data.stream import BatchStream
from dragoman.laws import of_training as laws
from dragoman.layers import positions
from dragoman.text import words
from dragoman.training import ema, state, step
from dragoman.training.progress import Progress


def takes_the_mean_of_means(
    right: Any, model: Any, objective: Any, optimizer: Any, *, batches: Any, **named: Any
) -> Any:
    optimizer.zero_grad()
    losses = [objective(model, batch) for batch in batches]
    sum(loss.total / loss.tokens / len(losses) for loss in losses).backward()
    total = sum(loss.total.item() for loss in losses)
    tokens = sum(loss.tokens for loss in losses)
    norm = clip_grad_norm_(model.parameters(), named["clip"]).item()
    return step.StepResult(total, total, tokens, norm)


def counts_padding(right: Any, model: Any, objective: Any, optimizer: Any, *, batches: Any, **named: Any) -> Any:
    result = right(model, objective, optimizer, batches=batches, **named)
    cells = sum(batch.real.numel() for batch in batches)
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad *= result.tokens / cells
    return result


def does_nothing(right: Any, *given: Any, **named: Any) -> None:
    return None


def seeks_the_next_batch(right: Any, stream: BatchStream, position: dict[str, Any]) -> None:
    right(stream, position)
    stream._advance()


def counts_steps_again(right: Any, saved: Any) -> Any:
    return right({**saved, "step": 0})


def drops_the_averages(right: Any, tensors: Any, prefix: str) -> Any:
    return {} if prefix == "optimizer." else right(tensors, prefix)


def puts_spaces_everywhere(right: Any, pieces: Any) -> list[str]:
    return [" " + piece.strip(words.JOINER) for piece in pieces]


def keeps_its_table_to_itself(right: Any, layer: positions.LearnedPositions, *sizes: int) -> None:
    right(layer, *sizes)
    table = layer.table
    del layer.table
    vars(layer)["table"] = SimpleNamespace(weight=table.weight.detach(), num_embeddings=table.num_embeddings)


def resuming(**budget: Any) -> Law:
    """Law 10, tried on a model with dropout and subword sampling."""
    given = {"budget": budget or {"steps": 4}, "stops": [2]}
    return lambda folder: laws.law_10_a_resumed_run_equals_an_unbroken_one(ARCHITECTURES["plain gru"], folder, **given)


def codec_law(folder: Path) -> None:
    """Law 11, tried on words."""
    laws.law_11_text_survives_the_codec(laws.codec_of("words"))


ACCUMULATION = partial(law, laws.law_9_uneven_batches_add_up)

BUGS: dict[str, tuple[Law, Plant]] = {
    "9: mean of means": (
        ACCUMULATION("bahdanau, two gru layers"),
        replace(step, "train_step", takes_the_mean_of_means),
    ),
    "9: divided by cells, padding included": (
        ACCUMULATION("transformer pre-norm, sinusoidal"),
        replace(step, "train_step", counts_padding),
    ),
    "10: random state not restored": (resuming(), replace(torch, "set_rng_state", does_nothing)),
    "10: optimiser's averages dropped": (resuming(), replace(state, "part_of", drops_the_averages)),
    "10: average begins anew": (resuming(steps=4, ema=0.9), replace(ema.WeightAverage, "restore", does_nothing)),
    "10: steps counted again": (resuming(), replace(Progress, "from_json", counts_steps_again)),
    "10: stream resumes one batch late": (resuming(), replace(BatchStream, "seek", seeks_the_next_batch)),
    "10: stream begins anew": (resuming(epochs=1.5), replace(BatchStream, "seek", does_nothing)),
    "13: values of distances left out": (
        law(laws.law_13_every_weight_is_trained, "transformer, shaw"),
        replace(relative.Shaw, "values", does_nothing),
    ),
    "14: a table of positions not saved": (
        law(laws.law_14_saved_weights_are_all_there_is, "transformer post-norm, learned"),
        replace(positions.LearnedPositions, "__init__", keeps_its_table_to_itself),
    ),
    "11: spaces put around punctuation": (codec_law, replace(words, "join_words", puts_spaces_everywhere)),
}


@pytest.mark.parametrize("name", some(BUGS, list(BUGS)[::2]))
def test_a_planted_bug_is_caught(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    see_caught(*BUGS[name], tmp_path, monkeypatch=monkeypatch)


def test_every_law_has_a_planted_bug() -> None:
    assert {name.partition(":")[0] for name in BUGS} == numbers_of(laws)
