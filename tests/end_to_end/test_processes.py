"""Training by several processes: the losses are those of one, any number can resume it, and a death does not end it."""

import signal
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
from tests.end_to_end.processes import environment, free_port, run_together
from tests.tiny import recipe, recipe_file

from dragoman.jobs.train import fit
from dragoman.training.checkpoint import load_tensors
from dragoman.training.reports import MetricsFile

DYING = """
import os, signal
from dragoman.cli.main import main
from dragoman.training import trainer
step = trainer.Trainer._step
def dying(self, totals):
    if os.environ["RANK"] == "1" and self.progress.step == 7 and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    step(self, totals)
trainer.Trainer._step = dying
main()
"""
"""A program that is `dragoman`, in which the second of two processes dies once."""
DEATHS = 20
DYING_AT_RANDOM = f"""
import os, random, signal, threading
from dragoman.cli.main import main
from dragoman.training import trainer
restarts, step = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")), trainer.Trainer._step
rng = random.Random(restarts)
victim, after = str(rng.randrange(2)), rng.uniform(0, 0.6)
def dying(self, totals):
    trainer.Trainer._step = step
    if os.environ["RANK"] == victim and restarts < {DEATHS}:
        threading.Timer(after, os.kill, (os.getpid(), signal.SIGKILL)).start()
    step(self, totals)
trainer.Trainer._step = dying
main()
"""
"""A program that is `dragoman`, in which one of two processes dies in the first 0.6 seconds of training, again and again."""
PLAIN = ("model.dropout=0", "training.precision=float32", "training.average=1")
SHARD = "training.shard=true"
MODULE = "tests.end_to_end.processes"


def trained(folder: Path, size: int, *settings: str, start: str = "new", model: str = "transformer") -> Path:
    """Train with so many processes."""
    found = run_together(size, MODULE, str(folder), start, model, *settings)
    assert [one.returncode for one in found] == [0] * size, [one.stderr[-2000:] for one in found]
    return folder


def losses(folder: Path) -> list[float]:
    """Return all losses that a training has recorded."""
    records = MetricsFile(folder / "metrics.jsonl").read()
    return [record[name] for record in records for name in ("loss", "dev_loss") if name in record]


@pytest.mark.parametrize(
    "model", ["transformer", *(pytest.param(one, marks=pytest.mark.slow) for one in ("rnn", "masked_lm"))]
)
def test_two_processes_have_the_losses_of_one(tmp_path: Path, model: str) -> None:
    settings = (*PLAIN, *(["training.replicas=1"] if model == "transformer" else []))
    one = tmp_path / "one"
    fit(recipe(model, *settings), one)
    two = trained(tmp_path / "two", 2, *settings, model=model)
    assert len(losses(one)) > 4
    assert losses(two) == pytest.approx(losses(one), rel=1e-4)
    assert sorted(path.name for path in two.iterdir()) == sorted(path.name for path in one.iterdir())


@pytest.mark.slow
def test_a_run_of_two_processes_is_resumed_by_one_and_by_two(tmp_path: Path) -> None:
    settings = (*PLAIN, "training.replicas=1", "training.save_minutes=0.001")
    for size in (1, 2):
        part = trained(tmp_path / f"part{size}", 2, *settings, "training.steps=15", "training.schedule=constant")
        trained(part, size, *settings, "training.steps=30", "training.schedule=constant", start="resume")
        assert MetricsFile(part / "metrics.jsonl").read()[-1]["step"] == 30
    assert losses(tmp_path / "part1") == pytest.approx(losses(tmp_path / "part2"), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["transformer", "rnn"])
def test_a_run_with_divided_weights_is_that_of_one_process_and_resumed_by_any_number(
    tmp_path: Path, model: str
) -> None:
    """The first half is by two processes with divided weights, and the second by one, by two, or by two that divide them."""
    settings = (*PLAIN, "training.ema=0.9", "training.schedule=constant")
    one = trained(tmp_path / "one", 1, *settings, "training.steps=20", model=model)
    begun = trained(tmp_path / "begun", 2, *settings, SHARD, "training.steps=10", model=model)
    assert sorted(path.name for path in begun.iterdir()) == sorted(path.name for path in one.iterdir())
    for size, shard in ((2, SHARD), (1, "training.shard=false")):
        folder = tmp_path / f"resumed by {size}"
        copytree(begun, folder)
        trained(folder, size, *settings, shard, "training.steps=20", start="resume", model=model)
        assert losses(folder) == pytest.approx(losses(one), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("transformer", ("model.experts={experts: 4, active: 2}", "training.tokens_per_step=800")),
        ("transformer", ("training.reward={samples: 2}", "training.tokens_per_step=800")),
        ("transformer", ("training.phases=[{after: 0.5, optimizer: sgd, dropout: false}]", "training.optimizer=muon")),
        ("transformer", ("training.guided={links: learned}",)),
        ("transformer", ("training.consistency={kind: r_drop}", "training.word_dropout=0.1")),
        ("rnn", ("model.hard={training: reinforce}", "training.tokens_per_step=800")),
        ("masked_lm", ("training.tokens_per_step=600",)),
    ],
)
def test_what_is_trained_otherwise_can_be_divided(tmp_path: Path, model: str, settings: tuple[str, ...]) -> None:
    folder = trained(tmp_path / "run", 2, SHARD, *settings, model=model)
    assert MetricsFile(folder / "metrics.jsonl").read()[-1]["step"] == 20


@pytest.mark.slow
def test_with_dropout_the_same_number_of_processes_repeats_a_run_bit_for_bit(tmp_path: Path) -> None:
    first, second = (trained(tmp_path / name, 2, "model.dropout=0.3") for name in ("first", "second"))
    for name, tensor in load_tensors(first / "model.safetensors")[0].items():
        assert tensor.equal(load_tensors(second / "model.safetensors")[0][name])


@pytest.mark.parametrize(
    ("settings", "file", "named"),
    [
        pytest.param(
            ("model.experts={experts: 4, active: 2}",), False, "training.tokens_per_step", marks=pytest.mark.slow
        ),
        pytest.param((), True, "is a file", marks=pytest.mark.slow),
        pytest.param(("data.train=[{source: none.en, target: none.vi}]",), False, "none.en", marks=pytest.mark.slow),
    ],
)
def test_where_the_first_process_refuses_all_end_with_a_sentence(
    tmp_path: Path, settings: tuple[str, ...], file: bool, named: str
) -> None:
    recipe, out = recipe_file(tmp_path, "transformer", *settings), tmp_path / "run"
    if file:
        out.write_text("")
    found = run_together(2, "dragoman", "train", str(recipe), "--out", str(out))
    assert [one.returncode for one in found] == [2, 2]
    assert named in found[0].stderr.splitlines()[-1]
    (sentence,) = found[1].stderr.splitlines()
    assert sentence.startswith("dragoman: the first process could not begin")
    assert out.exists() == file


@pytest.mark.slow
def test_what_cannot_share_a_batch_is_trained_where_steps_have_several(tmp_path: Path) -> None:
    experts = "model.experts={experts: 4, active: 2}"
    trained(tmp_path / "steps", 2, experts, "training.tokens_per_step=800")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "deaths", "settings"),
    [
        pytest.param(DYING, 1, ("training.save_minutes=0.001",), id="once"),
        pytest.param(
            DYING_AT_RANDOM,
            DEATHS,
            ("training.save_minutes=0.000001", "training.steps=400", "training.ema=0.9", "text.sampling=0.1"),
            id="at-random",
        ),
    ],
)
def test_torchrun_goes_on_after_deaths(tmp_path: Path, program: str, deaths: int, settings: tuple[str, ...]) -> None:
    """`dragoman train` under torchrun itself: workers are killed, and the end is that of the unbroken run."""
    recipe = recipe_file(tmp_path, "transformer", "training.threads=1", *settings)
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", str(deaths)]
    killer = tmp_path / "killer.py"
    killer.write_text(program)
    for name, started in (("whole", ["-m", "dragoman"]), ("killed", [str(killer)])):
        found = subprocess.run(
            [*launch, "--master-port", str(free_port()), *started, "train", str(recipe), "--out", str(tmp_path / name)],
            capture_output=True,
            text=True,
            timeout=600 + 120 * deaths,
        )
        assert found.returncode == 0, found.stderr[-3000:]
        assert found.stderr.count("Done: ") == 1
    whole, killed = (load_tensors(tmp_path / name / "model.safetensors")[0] for name in ("whole", "killed"))
    assert all(tensor.equal(killed[name]) for name, tensor in whole.items())
    assert found.stderr.count("Resuming at step") >= deaths // 2, "most came after a save"


@pytest.mark.slow
def test_where_a_process_dies_in_a_step_the_others_end_with_a_sentence(tmp_path: Path) -> None:
    """Without torchrun, which would end them."""
    killer = tmp_path / "killer.py"
    killer.write_text(DYING)
    recipe = recipe_file(tmp_path, "transformer", SHARD)
    found = run_together(2, "killer", "train", str(recipe), "--out", str(tmp_path / "run"), path=tmp_path)
    assert [one.returncode for one in found] == [2, -signal.SIGKILL], found
    assert "connection to the other processes of this training was lost" in found[0].stderr.splitlines()[-1]


def test_other_commands_are_refused_under_torchrun(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "dragoman", "bleu", "a", "b"],
        env=environment(0, 2, 1),
        capture_output=True,
        text=True,
    )
    assert found.returncode == 2 and "without torchrun" in found.stderr
