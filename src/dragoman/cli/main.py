"""The command `dragoman` and its sub-commands."""

import io
import os
import sys
from contextlib import suppress

import typer

from dragoman.cli import (
    aligning,
    classifying,
    comparing,
    demo,
    distilling,
    exporting,
    inspecting,
    managing,
    measuring,
    shortlisting,
    training,
    translating,
    writing,
)
from dragoman.errors import DragomanError
from dragoman.machine.openmp import load_average, set_wait_policy

app = typer.Typer(
    name="dragoman",
    help="Train, evaluate and inspect translators from your own parallel text.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help starts three times as fast
)

for _module in (
    demo,
    training,
    distilling,
    comparing,
    translating,
    exporting,
    shortlisting,
    writing,
    measuring,
    inspecting,
    aligning,
    managing,
):
    for _name, _command in _module.COMMANDS.items():
        app.command(_name)(_command)

_classify = typer.Typer(
    help="Give documents labels, by attention to words and to sentences.", no_args_is_help=True, rich_markup_mode=None
)
for _name, _command in classifying.COMMANDS.items():
    _classify.command(_name)(_command)
app.add_typer(_classify, name="classify")


def main() -> None:
    """Run the command line; a user's mistake ends in one sentence and exit code 2, Ctrl-C in 130."""
    set_wait_policy(os.environ, load_average())  # nothing has imported torch yet
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    try:
        try:
            app()
        finally:
            print(end="", flush=True)
    except DragomanError as error:
        sys.exit(_fail(str(error), 2))
    except KeyboardInterrupt:
        sys.exit(_fail("stopped", 130))
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        place = f"{error.filename} cannot be used" if error.filename else "a file or standard output cannot be used"
        sys.exit(_fail(f"{place} ({error.strerror or error}); make room, or choose another place", 2))


def _drop_output() -> None:
    """Let what standard output could not take vanish, so that Python does not try again on leaving."""
    with suppress(OSError, AttributeError):  # where standard output is closed, or is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str, code: int) -> int:
    """Say why, on standard error."""
    print(f"dragoman: {sentence}", file=sys.stderr)
    return code
