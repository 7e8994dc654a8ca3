"""A disk that is full or read-only, from any write on, ends each command in one sentence, and leaves what was there intact."""

import errno
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.test_calibrate import write_pairs
from tests.end_to_end.disk import Disk
from tests.jobs.test_calibrate import ASSIGNMENTS, half_right
from tests.jobs.test_mixing import texts
from tests.pretrained.folders import write_model
from tests.tiny import Trained, dragoman, recipe_file

from dragoman.jobs.verify import BAD, verify

FAULTS = (errno.ENOSPC, errno.EROFS, errno.EACCES)
SHORT = ("--set", "training.steps=4", "--set", "training.validate_every=2")
DEVICE = ("--device", "cpu")
LINE = "I love cats.\n"

Command = Callable[[Trained, Path], tuple[object, ...]]


def copied(trained: Trained, place: Path, *assignments: str) -> Path:
    """Return a copy of a run."""
    return shutil.copytree(trained("transformer", *assignments), place / "run")


def adapt(trained: Trained, place: Path) -> tuple[object, ...]:
    """Return the command that adapts a run to a few pairs."""
    few = ("--set", "training.steps=2", "--set", "training.threads=1")
    return (
        "adapt",
        copied(trained, place),
        "--data",
        texts(place.parent / "domain"),
        "--out",
        place / "new",
        *DEVICE,
        *few,
    )


def calibrate(trained: Trained, place: Path) -> tuple[object, ...]:
    """Return the command that calibrates a run on translations of which half are right."""
    run = copied(trained, place, *ASSIGNMENTS)
    return ("calibrate", run, "--on", *write_pairs(place.parent, half_right(run)), *DEVICE)


COMMANDS: dict[str, Command] = {
    "train": lambda trained, place: ("train", recipe_file(place.parent, "transformer"), "--out", place / "run", *SHORT),
    "resume": lambda trained, place: ("train", "--resume", copied(trained, place), "--set", "training.steps=24"),
    "average": lambda trained, place: ("average", copied(trained, place), "--out", place / "new"),
    "export": lambda trained, place: ("export", copied(trained, place), "--to", "ctranslate2"),
    "huggingface": lambda trained, place: ("export", copied(trained, place), "--to", "huggingface"),
    "import": lambda trained, place: (
        "import",
        write_model(place.parent / "opus-mt-en-vi", "marian"),
        "--out",
        place / "new",
    ),
    "adapt": adapt,
    "calibrate": calibrate,
    "shortlist": lambda trained, place: ("shortlist", copied(trained, place)),
    "attend": lambda trained, place: ("attend", copied(trained, place), "I love cats.", "-o", place / "a.svg"),
}


def command_of(name: str, trained: Trained, place: Path) -> tuple[object, ...]:
    """Make the folder of a command, with what it needs, and return it."""
    place.mkdir(parents=True)
    return COMMANDS[name](trained, place)


def fail_at(name: str, trained: Trained, tmp_path: Path, write: int, number: int) -> None:
    """Run a command on a disk that fails from a write on; it is refused in one sentence, and what was there stays."""
    place = tmp_path / f"{write}-{number}" / "place"
    command = command_of(name, trained, place)
    run = place / "run"
    before = dragoman("translate", run, stdin=LINE).output if (run / "manifest.json").exists() else None
    with Disk(place, write, number).watching():
        found = dragoman(*command, stdin=LINE)
    where = (name, write, errno.errorcode[number], found)
    *_, sentence, end = found.errors.split("\n")
    assert found.code in (0, 2) and "Traceback" not in found.errors, where
    if found.code:
        assert end == "" and sentence.startswith("dragoman: ") and str(place) in sentence, where
    assert not list(place.rglob("*.partial")), where
    if before is not None:
        assert dragoman("translate", run, stdin=LINE).output == before or name == "resume", where
    for folder in place.iterdir():
        if (folder / "manifest.json").exists():
            assert not [one for one in verify(folder) if one.state in BAD], (where, verify(folder))
    again = dragoman(
        *command, *(["--resume"] if name == "train" and (run / "manifest.json").exists() else []), stdin=LINE
    )
    assert again.code == 0 or found.code == 0 or "--resume" in again.errors, (where, again)
    shutil.rmtree(place.parent)


def writes_of(name: str, trained: Trained, tmp_path: Path) -> int:
    """Return how often a command writes."""
    place = tmp_path / "count" / "place"
    command = command_of(name, trained, place)
    with Disk(place).watching() as disk:
        found = dragoman(*command, stdin=LINE)
    assert found.code == 0 and disk.writes > 0, found
    return disk.writes


@pytest.mark.parametrize("name", ["average", "shortlist"])
def test_a_disk_that_fails_ends_a_command_in_a_sentence(name: str, trained: Trained, tmp_path: Path):
    writes = writes_of(name, trained, tmp_path)
    for write, number in zip({0, writes // 2, writes - 1}, FAULTS, strict=False):
        fail_at(name, trained, tmp_path, write, number)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_fails_at_any_write_ends_a_command_in_a_sentence(name: str, trained: Trained, tmp_path: Path):
    for write in range(writes_of(name, trained, tmp_path)):
        fail_at(name, trained, tmp_path, write, FAULTS[write % 3])


@pytest.mark.slow
def test_no_room_for_temporary_files_is_no_obstacle(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", full)
    for name in COMMANDS:
        found = dragoman(*command_of(name, trained, tmp_path / name / "place"), stdin=LINE)
        assert found.code == 0, (name, found)
