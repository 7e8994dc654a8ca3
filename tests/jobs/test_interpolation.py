"""What adaptation changed is kept only as far as general text bears it."""

from pathlib import Path

import pytest
import torch
from tests.jobs.test_mixing import texts
from tests.jobs.test_train import Ear
from tests.tiny import Trained

from dragoman.jobs import interpolation
from dragoman.jobs.adapt import AdaptationSettings, MethodName, adapt
from dragoman.jobs.interpolation import FORGOTTEN, SHARE, interpolate
from dragoman.jobs.mixing import FOLDER, Mixture, written_pairs
from dragoman.runs.folder import open_run
from dragoman.training.checkpoint import load_tensors, own_tensors

FORGETFUL = ("training.steps=12", "training.validate_every=12", "training.threads=1")


LEARNED = ("training.steps=100", "training.validate_every=100")


def adapted(base: Path, out: Path, method: MethodName = "full", *, mix: float = 0.3) -> Ear:
    """Adapt at a rate at which the base forgets, and return what was said."""
    faster = ("training.learning_rate=0.02",)
    if method == "adapters":
        faster = ("training.learning_rate=0.1", "model.adapters.rank=4")
    listener = Ear()
    settings = AdaptationSettings(method=method, mix=mix, assignments=(*FORGETFUL, *faster))
    adapt(base, texts(out.with_name(f"{out.name}-domain")), out, settings=settings, listener=listener)
    return listener


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The weights that a run computes with."""
    return own_tensors(open_run(folder).load_model(torch.device("cpu")))


def general_loss(folder: Path) -> float:
    """The loss of a run on the general dev set of an adapted one."""
    run = open_run(folder)
    mixture = Mixture.load(folder / FOLDER)
    assert mixture is not None
    return interpolation._Between.of(run, written_pairs(run, mixture, "general-dev")).loss(interpolation.PARTS)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full", pytest.param("adapters", marks=pytest.mark.slow)])
def test_weights_lie_between_base_and_adaptation_where_general_text_bears_them(
    method: MethodName, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, kept, whole = trained("transformer", *LEARNED), tmp_path / "kept", tmp_path / "whole"
    said = adapted(base, kept, method).said
    monkeypatch.setattr(interpolation, "FORGOTTEN", 100.0)
    assert not any("is kept" in one for one in adapted(base, whole, method).said)
    (sentence,) = (one for one in said if "is kept" in one)
    share = load_tensors(open_run(kept).weights)[1][SHARE]
    assert load_tensors(open_run(whole).weights)[1][SHARE] == 1.0 and 0.1 <= share < 1 and f"{share:.0%}" in sentence
    first = weights(base)
    for (name, tensor), full in zip(weights(kept).items(), weights(whole).values(), strict=True):
        torch.testing.assert_close(tensor, first[name] + share * (full - first[name]), atol=1e-6, rtol=1e-5)
    run, mixture = open_run(whole), Mixture.load(whole / FOLDER)
    assert mixture is not None
    of_base = interpolation._Between.of(run, written_pairs(run, mixture, "general-dev")).loss(0)
    assert general_loss(whole) > of_base + FORGOTTEN
    assert share == 0.1 or general_loss(kept) <= of_base + FORGOTTEN


def test_a_share_is_chosen_once(trained: Trained, tmp_path: Path) -> None:
    adapted(trained("transformer", *LEARNED), tmp_path / "run")
    path = open_run(tmp_path / "run").weights
    chosen = path.read_bytes()
    interpolate(tmp_path / "run", say=pytest.fail)
    assert path.read_bytes() == chosen


def test_without_general_pairs_all_is_kept(trained: Trained, tmp_path: Path) -> None:
    adapted(trained("transformer", *LEARNED), tmp_path / "run", mix=0.0)
    assert SHARE not in load_tensors(open_run(tmp_path / "run").weights)[1]
