"""A run that adapts another one: trained, resumed, translated with, averaged, started from, and refused for another base."""

import shutil
import signal
from pathlib import Path

import pytest
import torch
from tests.jobs.test_train import Ear
from tests.slow import some
from tests.tiny import Trained, dragoman, recipe, refusal
from torch import Tensor

from dragoman.conversion.job import export
from dragoman.errors import RunError, SettingsError
from dragoman.inference.translator import Translator
from dragoman.jobs.train import fit
from dragoman.layers.adapters import Adapters
from dragoman.runs.folder import open_run
from dragoman.training.checkpoint import load_tensors, own_tensors

CPU = torch.device("cpu")
FEW = ("training.steps=6", "training.validate_every=3", "training.learning_rate=0.05", "training.warmup=1")
SENTENCES = ["I love cats.", "We see a dog."]


def adapting(base: Path, *assignments: str) -> tuple[str, ...]:
    """The settings of adapters of a run."""
    return (f"model.start_from.whole={base}", "model.adapters.rank=2", *FEW, *assignments)


def weights(run: Path) -> dict[str, Tensor]:
    """The weights with which a run translates."""
    return own_tensors(open_run(run).load_any(CPU))


@pytest.fixture(scope="module", params=some(["rnn", "transformer"], ["transformer"]))
def pair(
    request: pytest.FixtureRequest, trained: Trained, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """A base, and a run with adapters of it beside it."""
    folder = tmp_path_factory.mktemp("pair")
    shutil.copytree(trained(request.param), folder / "base")
    fit(recipe(request.param, *adapting(folder / "base")), folder / "adapted")
    return folder / "base", folder / "adapted"


def test_the_file_is_small_and_the_rest_is_the_base(pair: tuple[Path, Path]) -> None:
    base, adapted = pair
    run = open_run(adapted)
    tensors, _ = load_tensors(run.weights)
    assert all(name.startswith(("up.", "down.")) for name in tensors)
    assert run.weights.stat().st_size < open_run(base).weights.stat().st_size
    numbers = sum(tensor.numel() for tensor in tensors.values())
    assert numbers == run.manifest["cost"]["trained_parameters"] < run.manifest["cost"]["parameters"]
    before, after = weights(base), weights(adapted)
    changed = {f"up.{name.replace('.', '/')}" for name in before if not torch.equal(before[name], after[name])}
    assert changed == {name for name in tensors if name.startswith("up.")}
    for name in (name for name in before if f"up.{name.replace('.', '/')}" in changed):
        place = name.replace(".", "/")
        torch.testing.assert_close(after[name], before[name] + tensors[f"up.{place}"] @ tensors[f"down.{place}"])


def test_it_is_a_run_like_any_other(pair: tuple[Path, Path], tmp_path: Path) -> None:
    base, adapted = pair
    translated = [one.text for one in Translator.load(adapted).translate(SENTENCES)]
    found = dragoman("translate", adapted, "--engine", "torch", stdin="\n".join(SENTENCES) + "\n")
    assert (found.code, found.lines) == (0, translated)
    assert dragoman("translate", base, adapted, stdin="I love cats.\n").code == 0
    assert dragoman("average", adapted, "--last", 2, "--out", tmp_path / "average").code == 0
    assert weights(tmp_path / "average").keys() == weights(base).keys()
    kind = open_run(base).recipe.model.kind
    fit(recipe(kind, f"model.start_from.whole={adapted}", *FEW, "training.learning_rate=1e-12"), tmp_path / "full")
    for name, tensor in weights(adapted).items():
        torch.testing.assert_close(weights(tmp_path / "full")[name], tensor, atol=1e-6, rtol=0)


def test_an_export_holds_merged_weights(trained: Trained, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    fit(recipe("transformer", *adapting(trained("transformer"))), tmp_path / "adapted")
    folder, agreement = export(tmp_path / "adapted", tmp_path / "export", quantization="float32")
    assert folder == tmp_path / "export" and agreement.equal_greedy == 1.0


def test_adapters_may_be_stacked(pair: tuple[Path, Path], tmp_path: Path) -> None:
    _, adapted = pair
    kind = open_run(adapted).recipe.model.kind
    fit(recipe(kind, *adapting(adapted, "training.learning_rate=1e-12")), tmp_path / "second")
    stacked = weights(tmp_path / "second")
    for name, tensor in weights(adapted).items():
        torch.testing.assert_close(stacked[name], tensor, atol=1e-6, rtol=0)


def test_a_base_is_found_where_it_was_or_beside_and_no_other_is_taken(pair: tuple[Path, Path], tmp_path: Path) -> None:
    base, adapted = pair
    expected = weights(adapted)
    place = tmp_path / "moved"
    shutil.copytree(adapted, place / "adapted")
    shutil.copytree(base, tmp_path / "kept")
    assert torch.equal(next(iter(weights(place / "adapted").values())), next(iter(expected.values())))
    base.rename(base.with_name("elsewhere"))
    try:
        with pytest.raises(RunError, match=r"holds adapters of the run .*base, which is not there"):
            weights(place / "adapted")
        shutil.copytree(tmp_path / "kept", place / "base")
        for name, tensor in weights(place / "adapted").items():
            assert torch.equal(tensor, expected[name])
        shutil.rmtree(place / "base")
        kind = open_run(adapted).recipe.model.kind
        fit(recipe(kind, "training.steps=2"), place / "base")
        assert "holds adapters of another base than" in refusal(
            "translate", place / "adapted", "--engine", "torch", stdin="a\n"
        )
    finally:
        base.with_name("elsewhere").rename(base)


def test_a_resumed_run_equals_an_unbroken_one(pair: tuple[Path, Path], tmp_path: Path) -> None:
    base, adapted = pair
    kind = open_run(base).recipe.model.kind
    given = recipe(kind, *adapting(base))
    first = fit(given, tmp_path / "run", listener=Ear({2: signal.SIGINT}))
    assert (first.step, first.finished) == (2, False)
    fit(given, tmp_path / "run", resume=True)
    unbroken, broken = (load_tensors(open_run(run).weights)[0] for run in (adapted, tmp_path / "run"))
    assert unbroken.keys() == broken.keys()
    assert all(torch.equal(unbroken[name], broken[name]) for name in unbroken)


def test_averages_of_training_are_averages_of_adapters(trained: Trained, tmp_path: Path) -> None:
    base = trained("transformer")
    more = ("training.ema=0.5", "training.average=2", "training.keep=2")
    fit(recipe("transformer", *adapting(base, *more)), tmp_path / "run")
    tensors, _ = load_tensors(open_run(tmp_path / "run").weights)
    model = open_run(base).load_any(CPU)
    adapters = Adapters(model, open_run(tmp_path / "run").recipe.model.adapters)  # type: ignore[arg-type]
    assert set(tensors) == set(own_tensors(adapters))


def test_what_cannot_be_adapted_is_refused(trained: Trained, tmp_path: Path) -> None:
    base = trained("transformer")

    def refused(*assignments: str) -> str:
        with pytest.raises(SettingsError) as found:
            fit(recipe("transformer", *FEW, *assignments), tmp_path / "run")
        assert not (tmp_path / "run").exists()
        return str(found.value)

    assert "`model.adapters`" in refused("model.adapters={}") and "start_from.whole" in refused("model.adapters={}")
    masked = trained("masked_lm")
    part = (f"model.start_from.encoder={masked}", "model.tied=target", "text.joint=false", "model.adapters={}")
    assert "start_from.whole" in refused(*part)
    assert "`training.frozen: embeddings`" in refused("training.frozen=embeddings")
    whole = f"model.start_from.whole={base}"
    assert "freezes all weights" in refused(whole, "model.adapters.rank=1", "training.frozen=embeddings")
    assert "`model.adapters.rank` is 99" in refused(whole, "model.adapters.rank=99")
    assert "`quary`" in refused(whole, "model.adapters.rank=1", "model.adapters.where=[quary]")


def test_frozen_embeddings_stay_those_of_the_base(trained: Trained, tmp_path: Path) -> None:
    base = trained("transformer")
    fit(recipe("transformer", f"model.start_from.whole={base}", *FEW, "training.frozen=embeddings"), tmp_path / "run")
    before, after = weights(base), weights(tmp_path / "run")
    same = {name for name in before if torch.equal(before[name], after[name])}
    assert len(same) == 1 and "embedding" in next(iter(same))
    assert open_run(tmp_path / "run").manifest["cost"]["trained_parameters"] < sum(
        one.numel() for one in before.values()
    )
