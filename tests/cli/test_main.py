"""Exit codes and streams of the command line, as a shell sees them."""

import os
import select
import signal
from pathlib import Path

import pytest
import typer
from tests.tiny import Trained, dragoman, process

from dragoman.cli import main as cli
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
    ],
)
def test_what_goes_wrong_ends_in_a_sentence_and_a_code(monkeypatch: pytest.MonkeyPatch, error, code, sentence):
    run_with(monkeypatch, error)
    found = dragoman()
    assert (found.code, found.output) == (code, "a result\n")
    assert found.errors.startswith(sentence)
    assert "Traceback" not in found.errors


def test_a_defect_is_not_hidden(monkeypatch: pytest.MonkeyPatch):
    run_with(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        dragoman()


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


def test_closed_streams_are_no_defect(trained: Trained, tmp_path: Path):
    def close() -> None:
        os.close(0)
        os.close(1)

    running = process("translate", trained("rnn"), folder=tmp_path, stdin=None, stdout=None, preexec_fn=close)
    _, errors = running.communicate(timeout=ENDS)
    assert running.returncode == 2
    assert errors.decode() == "dragoman: standard input is closed; give sentences, for example with < FILE\n"
