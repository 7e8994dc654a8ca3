"""Exit codes and streams of the command line, as a shell sees them."""

import os
import re
import select
import signal
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch
import typer
from tests.tiny import Trained, dragoman, process, recipe_file, refusal

from dragoman import plugins
from dragoman.cli import main as cli
from dragoman.cli.main import CommandFiles
from dragoman.errors import DragomanError

ENDS = 120
"""Seconds after which a process hangs."""


def run_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Replace the commands by one that fails."""
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    def fail() -> None:
        print("a result")
        raise error

    monkeypatch.setattr(cli, "app", app)


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (DragomanError("the recipe is wrong"), 2, "dragoman: the recipe is wrong\n"),
        (
            OSError(28, "No space left on device", "a.txt"),
            2,
            "dragoman: a.txt cannot be used (No space left on device); ",
        ),
        (
            OSError(28, "No space left on device"),
            2,
            "dragoman: a file or standard output cannot be used (No space left",
        ),
        (KeyboardInterrupt(), 130, ""),
        (MemoryError(), 2, "dragoman: there is not enough memory; "),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4294967296000 bytes."),
            2,
            "dragoman: there is not enough memory (4,000.0 GiB were requested at once); ",
        ),
        (RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB"), 2, "dragoman: there is not enough memory; "),
        (UnicodeEncodeError("utf-8", "a\udcfe.en", 1, 2, "surrogates"), 2, "dragoman: `a\\udcfe.en` is not UTF-8 text"),
        (
            RecursionError("maximum recursion depth exceeded"),
            1,
            "dragoman: this is a bug in Dragoman: RecursionError",
        ),
    ],
)
def test_what_goes_wrong_ends_in_a_sentence_and_a_code(monkeypatch: pytest.MonkeyPatch, error, code, sentence):
    run_with(monkeypatch, error)
    found = dragoman()
    assert (found.code, found.output) == (code, "a result\n")
    assert found.errors.startswith(sentence)
    assert found.errors.count("\n") == bool(sentence)


@pytest.mark.parametrize("error", [ZeroDivisionError(), RuntimeError("shapes do not match")])
def test_a_defect_is_not_hidden(monkeypatch: pytest.MonkeyPatch, error):
    run_with(monkeypatch, error)
    with pytest.raises(type(error)):
        dragoman()


PLUGIN = """
import torch
from dragoman.attention.scores import Dot
from dragoman.plugins import Plugin, register

class Mine(Dot):
    def __init__(self, fails):
        super().__init__()
        self.fails = fails
        if fails == "constructor":
            raise ValueError("made\\nwrongly")

    def forward(self, queries, keys):
        if self.fails == "forward":
            return torch.ones(2, 3) @ torch.ones(2, 3)
        return super().forward(queries, keys)

class Short(Dot):
    def forward(self, queries):
        return queries

def build(query_dim, key_dim, *, hidden, positions):
    return Short() if FAILS == "signature" else Mine(FAILS)

register(Plugin("score", "mine", build if FAILS != "arguments" else lambda query_dim: None))
"""


@pytest.mark.parametrize(
    ("fails", "named", "way"),
    [
        ("constructor", ["{path}, line 11 (ValueError: made wrongly)"], 'raise ValueError("made'),
        ("forward", ["{path}, line 15 (RuntimeError: mat1 and mat2"], "torch.ones(2, 3) @ torch.ones(2, 3)"),
        ("signature", ["{path}, line 19 (TypeError: ", "forward() takes 2 positional arguments"], "_call_impl"),
        ("arguments", ["`mine` cannot be built", "too many positional arguments", "docs/extend.md"], ""),
    ],
)
def test_a_fault_of_a_plugin_is_said_with_its_line_and_the_way_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str, named: list[str], way: str
) -> None:
    monkeypatch.setattr(plugins, "_registered", {})
    path = tmp_path / "mine.py"
    path.write_text(f"FAILS = {fails!r}{PLUGIN}", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    import_module("mine")
    recipe = recipe_file(tmp_path, "rnn")
    found = dragoman(
        "train", recipe, "--set", "model.score=mine", "--set", "training.steps=1", "--out", tmp_path / "run"
    )
    monkeypatch.delitem(sys.modules, "mine")
    assert found.code == 2
    lines = found.errors.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("dragoman: "))
    assert all(word.format(path=path) in lines[at] for word in named), lines[at]
    assert way in "\n".join(lines[at + 1 :])
    assert not any("dragoman/jobs" in line for line in lines), "what led to the plugin is not its author's"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["translat"], "translat"),
        (["translate", "run", "--bean", "4"], "--bean"),
        (["translate", "run", "--engine", "abacus"], "abacus"),
        (["translate", "run", "--beam", "0"], "--beam"),
        (["translate"], "RUN"),
        (["demo", "--language", "xx"], "xx"),
    ],
)
def test_wrong_usage_names_what_is_wrong(arguments, word):
    found = dragoman(*arguments)
    assert (found.code, found.output) == (2, "")
    assert word in found.errors
    assert "Traceback" not in found.errors
    assert "Value error" not in found.errors


def test_help_names_every_command():
    found = dragoman("--help")
    assert found.code == 0
    for name in ("demo", "train", "translate", "score", "evaluate", "bleu", "attend", "align", "average", "recipes"):
        assert name in found.output


def test_a_line_is_answered_before_the_next_is_sent_and_ctrl_c_ends_quietly(trained: Trained, tmp_path: Path):
    running = process("translate", trained("rnn"), folder=tmp_path)
    assert running.stdin is not None and running.stdout is not None
    answers = []
    for line in (b"I love cats.\n", b"\n", b"This is a book.\n"):
        running.stdin.write(line)
        running.stdin.flush()
        assert select.select([running.stdout], [], [], ENDS)[0], "no answer"
        answers.append(running.stdout.readline())
    running.send_signal(signal.SIGINT)
    assert running.wait(ENDS) == 130  # while standard input is still open
    output, errors = running.communicate()
    assert (output, errors) == (b"", b"")
    assert [answer == b"\n" for answer in answers] == [False, True, False]


@pytest.mark.slow
def test_a_mistake_ends_the_program_while_more_may_come(trained: Trained, tmp_path: Path):
    running = process("translate", trained("rnn"), folder=tmp_path)
    assert running.stdin is not None
    running.stdin.write(b"I love cats.\n\xff\n")
    running.stdin.flush()
    assert running.wait(ENDS) == 2
    output, errors = running.communicate()
    assert output.count(b"\n") == 1
    assert errors.decode() == (
        "dragoman: line 2 of standard input is not UTF-8; convert it first, for example with iconv\n"
    )


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(trained: Trained, tmp_path: Path):
    running = process("translate", trained("rnn"), "--beam", 1, folder=tmp_path)
    assert running.stdin is not None and running.stdout is not None and running.stderr is not None
    running.stdin.write(b"I love cats.\n")
    running.stdin.flush()
    assert running.stdout.readline()
    running.stdout.close()
    running.stdin.write(b"I love cats.\n")
    running.stdin.close()
    errors = running.stderr.read()
    running.stderr.close()
    assert running.wait(ENDS) == 1
    assert errors == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_an_error(tmp_path: Path):
    with open("/dev/full", "wb") as full:
        running = process("recipes", folder=tmp_path, stdout=full)
    _, errors = running.communicate(timeout=ENDS)
    assert running.returncode == 2
    assert errors.decode().startswith("dragoman: a file or standard output cannot be used (No space left on device)")
    assert errors.count(b"\n") == 1


@pytest.mark.parametrize("closed", [(0, 1), (1,), (1, 2)], ids=["input and output", "output", "output and errors"])
def test_closed_output_is_refused_before_anything_is_done(tmp_path: Path, closed):
    def close() -> None:
        for descriptor in closed:
            os.close(descriptor)

    running = process("recipes", folder=tmp_path, stdout=None, preexec_fn=close)
    _, errors = running.communicate(b"", timeout=ENDS)
    assert running.returncode == 2
    assert (errors == b"") if 2 in closed else errors.startswith(b"dragoman: standard output is closed")


def test_notes_do_not_go_to_standard_output_where_standard_error_is_closed(tmp_path: Path):
    (tmp_path / "text").write_text("a .\n", encoding="utf-8")
    running = process("bleu", "text", "text", folder=tmp_path, stderr=None, preexec_fn=lambda: os.close(2))
    output, _ = running.communicate(timeout=ENDS)
    assert running.returncode == 0
    assert [line.split()[0] for line in output.decode().splitlines()] == ["BLEU", "chrF2", "TER"]


def test_a_path_that_is_not_utf8_is_named_in_a_sentence():
    found = dragoman("bleu", "/x/\udcfe.en", os.devnull)
    assert (found.code, found.output) == (2, "")
    assert found.errors.startswith("dragoman: there is no file /x/\\udcfe.en") and found.errors.count("\n") == 1


def test_an_argument_that_is_not_utf8_is_refused(trained: Trained, tmp_path: Path):
    sentence = refusal("attend", trained("rnn"), "caf\udce9", "--target", "mèo", "-o", tmp_path / "a.html")
    assert "`caf\\udce9` is not UTF-8 text" in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_run_whose_path_is_not_utf8_is_refused_before_it_is_trained(tmp_path: Path) -> None:
    sentence = refusal("train", recipe_file(tmp_path, "rnn"), "--out", tmp_path / "caf\udce9")
    assert sentence.endswith(
        "caf\\udce9 is not UTF-8 text, as the path of a run must be; choose another folder with --out"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.yaml"]


def commands_that_load_a_run() -> list[str]:
    """Return the names of commands with an argument RUN, but for those that only rewrite files on the CPU."""
    found = dict(CommandFiles())
    found |= {f"classify {name}": command for name, command in found.pop("classify").commands.items()}
    loading = [name for name, command in found.items() if any(param.metavar == "RUN" for param in command.params)]
    return [name for name in loading if name not in ("average", "export", "grow", "merge", "shortlist", "verify")]


@pytest.mark.parametrize("name", commands_that_load_a_run())
def test_every_command_that_loads_a_run_takes_a_device(name: str):
    group, _, inner = name.rpartition(" ")
    command = CommandFiles()[group].commands[inner] if group else CommandFiles()[inner]
    assert "--device" in {option for parameter in command.params for option in parameter.opts}


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_device_that_is_not_there_is_refused(trained: Trained):
    assert "`cuda`" in refusal("translate", trained("rnn"), "--device", "cuda", stdin="I love cats.\n")
    assert dragoman("translate", trained("rnn"), "--device", "cpu", stdin="I love cats.\n").code == 0


@pytest.mark.parametrize("group", [(), ("keys",), ("classify",)])
def test_the_help_of_every_command_is_whole_on_a_line(group: tuple[str, ...]):
    found = dragoman(*group, "--help")
    assert "..." not in found.output.partition("Commands:")[2]


def test_an_unknown_command_is_refused_with_the_nearest_name():
    found = dragoman("translat")
    assert found.code == 2 and "'translate'" in found.errors


def test_the_version_is_printed() -> None:
    found = dragoman("--version")
    assert found.code == 0 and re.fullmatch(r"dragoman \S+ \(Python 3\.\S+, torch \S+\)", found.output.strip())


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        ("train", "--out", "a"),
        ("translate", "--beam", "3"),
        ("calibrate", "--on", "a b"),
        ("translate", "--device", "cpu"),
        ("classify train", "--out", "a"),
    ],
)
def test_an_option_of_one_value_that_is_given_twice_is_refused(command: str, option: str, value: str) -> None:
    found = dragoman(*command.split(), "run", option, *value.split(), option, *value.split())
    assert found.code == 2 and f"{option} is given 2 times, but takes one value; give it once" in found.errors


def test_options_of_several_values_and_switches_may_be_repeated(tmp_path: Path) -> None:
    found = dragoman("translate", tmp_path / "nothing", "--set", "beam=2", "--set", "beam=3", "--json", "--json")
    assert found.code == 2 and "nothing" in found.errors and "times" not in found.errors
