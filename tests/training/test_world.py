"""Several processes take the steps of one."""

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
from tests.end_to_end.processes import run_together
from tests.laws.architectures import FAMILIES
from tests.training.test_splitting import EACH, MORE, PAIRS, SPLITTABLE, gradients, without_dropout
from torch.optim import SGD

from dragoman.errors import TrainingError
from dragoman.models.seq2seq import Seq2Seq
from dragoman.training.objectives import translation_loss
from dragoman.training.replicas import add_gradient
from dragoman.training.step import Compute, target_tokens, train_step
from dragoman.training.world import ALONE, World, connection_named, joined

OBJECTIVE = partial(translation_loss, smoothing=0.1)
BATCHES = [PAIRS, MORE]
TOKENS = target_tokens(BATCHES)


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    """Compute in float64."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def stepped(model: Seq2Seq, world: World = ALONE) -> tuple[list[float], dict[str, torch.Tensor]]:
    """Return the sums and the gradient of a step that changes no weights."""
    compute = Compute(world=world)
    optimizer = SGD(model.parameters(), lr=0.0)
    batches = world.share(BATCHES)
    result = train_step(model, OBJECTIVE, optimizer, batches=batches, clip=1e9, compute=compute, tokens=TOKENS)
    return [result.total, result.plain, result.tokens, result.norm], gradients(model)


@pytest.mark.parametrize("name", EACH)
def test_the_gradients_of_all_shares_are_those_of_the_step(name: str) -> None:
    _, wanted = stepped(without_dropout(name))
    model = without_dropout(name)
    for rank in range(3):
        for batch in World(rank, 3).share(BATCHES):
            add_gradient(model, OBJECTIVE, batch, tokens=TOKENS, precision=Compute().precision)
    found = gradients(model)
    assert found.keys() == wanted.keys()
    for part, gradient in wanted.items():
        torch.testing.assert_close(found[part], gradient, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("by_rows", [True, False])
def test_each_row_is_in_one_share(by_rows: bool) -> None:
    shares = [World(rank, 4, by_rows).share(BATCHES) for rank in range(4)]
    rows = sorted(str(row) for share in shares for batch in share for row in batch.source.ids.tolist())
    assert len(rows) == sum(len(batch.source.ids) for batch in BATCHES)
    assert target_tokens([batch for share in shares for batch in share]) == TOKENS
    if not by_rows:
        assert [len(share) for share in shares] == [1, 1, 0, 0]


@pytest.mark.parametrize(("by_rows", "size", "turns"), [(True, 4, 2), (False, 1, 2), (False, 2, 1), (False, 4, 1)])
def test_no_process_computes_more_often_than_the_first(by_rows: bool, size: int, turns: int) -> None:
    assert World(0, size, by_rows).turns(BATCHES) == turns == len(World(0, size, by_rows).share(BATCHES))


def test_others_are_told_that_the_first_process_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(World, "agree", lambda _, value=None: told.append(value))
    with World(0, 2).warned_of_failure():
        pass
    assert told == []
    with pytest.raises(KeyError, match=r"mine"), World(0, 2).warned_of_failure():
        raise KeyError("mine")
    assert told == [None]


def test_an_error_between_processes_is_told_from_others() -> None:
    with pytest.raises(TrainingError, match=r"connection .* was lost \(.*pair.cc.*--resume"), connection_named():
        raise RuntimeError("[/torch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer")
    with pytest.raises(RuntimeError, match=r"shapes"), connection_named():
        raise RuntimeError("shapes do not match")


def test_one_process_alone_changes_nothing() -> None:
    model = without_dropout("gnmt")
    ALONE.sum_gradients(list(model.parameters()))
    assert all(weight.grad is None for weight in model.parameters())
    assert ALONE.sum([1.5, 2]) == [1.5, 2] and ALONE.agree({"a": 0.1}) == {"a": 0.1}
    state = torch.get_rng_state()
    ALONE.draw_differently(3)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.slow
def test_two_processes_take_the_step_of_one(tmp_path: Path) -> None:
    """Batches that cannot be cut are dealt out whole."""
    found = run_together(2, "tests.training.test_world", str(tmp_path))
    assert [one.returncode for one in found] == [0, 0], found
    for name in FAMILIES:
        sums, wanted = stepped(without_dropout(name))
        results = [json.loads((tmp_path / f"{name} {rank}.json").read_text()) for rank in range(2)]
        assert results[0] == results[1]
        assert results[0]["sums"] == pytest.approx(sums, rel=1e-9)
        assert results[0]["norms"] == pytest.approx(
            {part: float(one.norm()) for part, one in wanted.items()}, rel=1e-6, abs=1e-12
        )


def test_the_other_processes_draw_other_numbers_that_depend_on_the_step_alone() -> None:
    drawn = []
    for world, step in ((World(1, 2), 4), (World(1, 2), 4), (World(1, 2), 5), (World(1, 3, seed=1), 4)):
        world.draw_differently(step)
        drawn.append(float(torch.rand(())))
    assert drawn[0] == drawn[1] and len(set(drawn)) == 3


if __name__ == "__main__":
    place = Path(sys.argv[1])
    torch.set_default_dtype(torch.float64)
    with joined(torch.device("cpu")) as together:
        assert together.agree({"from": together.rank}) == {"from": 0}
        assert together.total(together.rank + 1.0) == 3.0
        for kind in FAMILIES:
            own = World(together.rank, together.size, by_rows=kind in SPLITTABLE)
            numbers, grads = stepped(without_dropout(kind), own)
            norms = {part: float(one.norm()) for part, one in grads.items()}
            (place / f"{kind} {own.rank}.json").write_text(json.dumps({"sums": numbers, "norms": norms}))
