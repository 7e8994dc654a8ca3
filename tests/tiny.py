"""Runs that are trained in a second or two, and the command line as its users call it."""

import io
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from typing import Any
from unittest.mock import patch

import yaml

from dragoman.jobs.choices import choose_model
from dragoman.jobs.workload import Workload
from dragoman.runs.recipe import Recipe, settled, with_auto_sections
from dragoman.settings import merge, override, parse, read_yaml

ROOT = Path(__file__).parents[1]

Trained = Callable[..., Path]
"""Trains a tiny run, once for the same arguments, and gives its folder: the fixture `trained`."""

RNN = {"kind": "rnn", "decoder": "luong", "score": "general", "embedding": 16, "hidden": 32, "dropout": 0.1}
TRANSFORMER = {
    "kind": "transformer",
    "encoder_layers": 1,
    "decoder_layers": 2,
    "width": 16,
    "feed_forward": 32,
    "heads": 2,
    "dropout": 0.1,
}
MODELS = {"rnn": RNN, "transformer": TRANSFORMER}
BLOCKS = {"width": 16, "feed_forward": 32, "heads": 2, "dropout": 0.1}
LANGUAGE_MODELS = {
    "masked_lm": {"kind": "masked_lm", "encoder_layers": 1, **BLOCKS},
    "decoder_only": {"kind": "decoder_only", "decoder_layers": 2, **BLOCKS},
}
ONE_LANGUAGE = {"data": {"target": "en"}, "training": {"metric": "loss"}}
"""What differs in the recipe of a language model."""

RECIPE = {
    "data": {
        "source": "en",
        "target": "vi",
        "train": [{"phrasebook": "train", "pairs": 300}],
        "dev": [{"phrasebook": "train", "pairs": 20, "seed": 2}],
        "test": [{"phrasebook": "test", "pairs": 20}, {"phrasebook": "compositional", "pairs": 20}],
    },
    "text": {"kind": "sentencepiece", "size": 300},
    "training": {
        "steps": 20,
        "batch_tokens": 400,
        "learning_rate": 0.01,
        "warmup": 5,
        "validate_every": 10,
        "log_every": 5,
        "keep": 2,
        "precision": "float32",
        "threads": 1,
        "device": "cpu",
    },
    "decoding": {"beam": 3, "maximum_extra": 5, "minimum_length": 2},
}


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it said."""

    code: int
    output: str
    errors: str

    @property
    def lines(self) -> list[str]:
        """The lines of standard output."""
        assert self.output == "" or self.output.endswith("\n")
        return self.output.split("\n")[:-1]


LEFT_TO_AUTO = {
    "text": {"kind": "sentencepiece", "size": "auto"},
    "model": "auto",
    "training": {name: "auto" for name in ("batch_tokens", "optimizer", "learning_rate", "warmup", "validate_every")},
    "decoding": "auto",
}


def table(model: str, assignments: Sequence[str] = ()) -> dict[str, Any]:
    """Return a tiny recipe as it stands in YAML, with `a.b=value` laid over it."""
    if model in LANGUAGE_MODELS:
        found = merge(merge(RECIPE, ONE_LANGUAGE), {"model": LANGUAGE_MODELS[model]})
        if model == "masked_lm":
            del found["decoding"]
        return override(found, assignments)
    return override(merge(RECIPE, {"model": MODELS[model]}), assignments)


def recipe(model: str, *assignments: str) -> Recipe:
    """Return a tiny recipe."""
    return parse(Recipe, table(model, assignments))


def left_to_auto(*assignments: str) -> Recipe:
    """Return a small recipe that leaves most to `auto`, with settings changed."""
    base = {**RECIPE, "training": {**RECIPE["training"], "steps": 12, "keep": 1}}
    return parse(Recipe, override(with_auto_sections(merge(base, LEFT_TO_AUTO)), assignments))


def chosen(given: Recipe, work: Workload) -> Recipe:
    """Return the recipe with the choices for an amount of work."""
    return settled(given, {choice.path: choice.value for choice in choose_model(given, work)})


def edited(run: Path, folder: Path, **sections: Any) -> Path:
    """Copy a run to `folder`, and change sections of its recipe on which no weight depends."""
    copytree(run, folder)
    found = read_yaml(folder / "recipe.yaml")
    (folder / "recipe.yaml").write_text(yaml.safe_dump(merge(found, sections)), encoding="utf-8")
    return folder


def with_decoding(run: Path, folder: Path, **changes: Any) -> Path:
    """Copy a run to `folder`, and change the decoding section of its recipe."""
    return edited(run, folder, decoding=changes)


def recipe_file(folder: Path, model: str, *assignments: str) -> Path:
    """Write a tiny recipe into `folder`."""
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(table(model, assignments)), encoding="utf-8")
    return path


def dragoman(*arguments: object, stdin: str | bytes = b"", encoding: str = "utf-8") -> Outcome:
    """Run a command in this process, from its arguments to its exit code; `encoding` is the one of the terminal."""
    from dragoman.cli.main import main

    given = stdin.encode() if isinstance(stdin, str) else stdin
    output, errors = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    code = 0
    with (
        patch.object(sys, "argv", ["dragoman", *map(str, arguments)]),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given))),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    texts = []
    for stream in (output, errors):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return Outcome(code, *texts)


def refusal(*arguments: object, stdin: str | bytes = b"") -> str:
    """Run a command that must end in one sentence and exit code 2, with no results, and return the sentence."""
    found = dragoman(*arguments, stdin=stdin)
    assert (found.code, found.output) == (2, ""), found
    *_, sentence, end = found.errors.split("\n")
    assert end == "" and sentence.startswith("dragoman: "), found.errors
    assert "Traceback" not in found.errors
    return sentence.removeprefix("dragoman: ")


@contextmanager
def odd_torch() -> Iterator[None]:
    """Let torch make tensors of another dtype on another device, and see that neither they nor random numbers are changed."""
    import torch

    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    try:
        yield
        assert (torch.get_default_dtype(), torch.get_default_device().type) == (torch.float64, "meta")
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    assert torch.equal(torch.rand(2), expected)


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes, as on a disk that is nearly full, within a `with` block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def process(*arguments: object, folder: Path, **options: Any) -> "subprocess.Popen[bytes]":
    """Start a command as a process of its own, with pipes, in `folder`."""
    pipes: Mapping[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "dragoman", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, env=environment, **(pipes | options))
