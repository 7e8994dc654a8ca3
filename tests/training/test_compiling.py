"""Compiled training is plain training within rounding. What a GPU records is compiled here without the recording."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.tiny import ROOT

from dragoman.errors import SettingsError
from dragoman.interfaces import Batch
from dragoman.laws.examples import batch
from dragoman.models.build import ModelSettings, build_model
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.native.compilation import find_compiler
from dragoman.training.compiling import Compiled, round_up, rounded
from dragoman.training.objectives import build_objective, translation_loss
from dragoman.training.settings import TrainingSettings

CPU, GPU = torch.device("cpu"), torch.device("cuda")
SETTINGS = TrainingSettings(steps=1)


def scene(name: str) -> dict[str, Any]:
    """Compile and train in a process of its own."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.training.compiled", name]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    plain, compiled = found["numbers"]
    assert compiled == pytest.approx(plain, rel=1e-3)
    return found


@pytest.mark.slow
def test_a_compiled_transformer_trains_as_the_plain_one_with_few_programs() -> None:
    found = scene("transformer")
    assert found["names"] == [] and found["said"] == []
    assert found["programs after counting"] == 0 and 1 <= found["programs"] <= 3


@pytest.mark.slow
def test_the_loop_of_a_recurrent_decoder_is_one_program_for_each_shape() -> None:
    found = scene("loop")
    assert found["programs"] == 3 and found["said"] == []


@pytest.mark.slow
def test_a_storm_of_programs_is_told_once_and_training_goes_on() -> None:
    found = scene("storm")
    (said,) = found["said"]
    assert "1 programs" in said and found["programs"] == 1


@pytest.mark.slow
def test_what_cannot_be_compiled_is_told_once_and_training_goes_on() -> None:
    (said,) = scene("broken")["said"]
    assert "no compiler today" in said and "tomorrow" not in said


@pytest.mark.slow
def test_torchs_own_compiler_gives_the_same() -> None:
    if find_compiler() is None:
        pytest.skip("torch's compiler needs a C++ compiler on a CPU")
    assert scene("inductor")["said"] == []


@pytest.mark.slow
def test_graphs_without_a_gpu_are_plain_programs() -> None:
    assert len(scene("without a GPU")["said"]) == 1


@pytest.mark.slow
def test_a_run_goes_on_compiled_and_back_with_the_same_losses() -> None:
    found = scene("resumed")
    assert len(found["numbers"][1]) == 9 and found["programs"] >= 1


@pytest.mark.parametrize(
    ("refusal", "calls", "sentence"),
    [
        ("TorchDynamoException", 1, "(no compiler today); training continues"),
        ("FailOnRecompileLimitHit", 3, "5 programs were compiled"),
    ],
    ids=["broken", "too many programs"],
)
def test_what_torch_refuses_is_computed_uncompiled_and_said_once(
    refusal: str, calls: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch._dynamo.exc as refusals  # a second, which only this test needs

    called: list[str] = []

    def compile_to_refusal(forward: Callable[..., Any], **_: Any) -> Callable[..., Any]:
        def first_refusing(*arguments: Any, **named: Any) -> Any:
            called.append("forward")
            if len(called) == 1:
                raise getattr(refusals, refusal)("no compiler today\nand none tomorrow")
            return forward(*arguments, **named)

        return first_refusing

    monkeypatch.setattr(torch, "compile", compile_to_refusal)
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: None)
    torch.manual_seed(1)
    settings: ModelSettings = RecurrentSettings.model_validate({"embedding": 8, "hidden": 8, "dropout": 0.0})
    model = build_model(settings, Vocabularies(19, 19))
    pairs, said = batch([5, 3, 4], [6, 3, 2]), list[str]()
    expected = build_objective(SETTINGS)(model, pairs).total
    objective = Compiled(model, "graphs", said.append, most=5).around(build_objective)(SETTINGS)
    for _ in range(2):
        torch.testing.assert_close(objective(model, pairs).total, expected)
    assert len(called) == calls and len(said) == 1 and sentence in said[0]
    assert "forward" not in vars(model.decoder)


def test_nothing_is_compiled_unless_it_is_asked_for() -> None:
    assert TrainingSettings(steps=1).compile == "none" and TrainingSettings(steps=1).padding == "masked"


def test_few_shapes_are_left() -> None:
    sizes = [round_up(size) for size in range(1, 257)]
    assert all(size <= up <= 1.25 * size for size, up in enumerate(sizes, 1))
    assert len(set(sizes)) <= 4 * 8 and [round_up(size) for size in sizes] == sizes


@pytest.mark.parametrize("decoder", ["bahdanau", "luong"])
def test_a_rounded_batch_has_the_loss_and_the_gradient_of_the_batch(decoder: str) -> None:
    given = batch([5, 9, 4, 3, 2, 6, 7, 1, 3], [12, 3, 2, 4, 5, 6, 7, 3, 3])
    wider = rounded(given)
    assert wider.source.ids.shape == (10, 10) and wider.inputs.shape == (10, 12)
    found = []
    for one in (given, wider, rounded(wider)):
        torch.manual_seed(1)
        settings: ModelSettings = RecurrentSettings.model_validate({"embedding": 8, "hidden": 8, "decoder": decoder})
        model = build_model(settings, Vocabularies(19, 19)).eval()
        assert isinstance(model, Seq2Seq)
        found.append(gradients(model, one))
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=1e-4, atol=1e-5)


def gradients(model: Seq2Seq, pairs: Batch) -> list[torch.Tensor]:
    loss = translation_loss(model, pairs, smoothing=0.1)
    loss.total.backward()
    return [loss.total, loss.plain, *(p.grad for p in model.parameters() if p.grad is not None)]


def test_compiled_code_is_never_loaded_from_a_folder_that_others_may_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "shared"))
    with pytest.raises(SettingsError, match=r"`training\.compile: model`.*shared is writable by other users.*none"):
        Compiled(torch.nn.Linear(1, 1), "model", print)
