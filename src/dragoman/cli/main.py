"""The command `dragoman` and its sub-commands."""

import io
import keyword
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dragoman.cli.console import note
from dragoman.cli.options import spread
from dragoman.cli.signals import INTERRUPTED, signals_as_interrupts
from dragoman.errors import DragomanError, InputError, shorten
from dragoman.machine.memory import ran_out_of_memory
from dragoman.machine.openmp import load_average, set_wait_policy
from dragoman.machine.private_cache import CacheError, set_compiler_cache
from dragoman.machine.processes import check_alone

COMMANDS = (
    "demo",
    "train",
    "split",
    "check",
    "plan",
    "adapt",
    "merge",
    "grow",
    "distill",
    "backtranslate",
    "diversify",
    "compare",
    "translate",
    "memory",
    "bulk",
    "serve",
    "keys",
    "import",
    "export",
    "shortlist",
    "calibrate",
    "fill",
    "generate",
    "score",
    "evaluate",
    "tune",
    "bleu",
    "attend",
    "align",
    "aer",
    "average",
    "verify",
    "recipes",
    "schema",
    "laws",
    "classify",
)
"""All commands: each is the function, or the group of functions, of its name in the file of its name in this folder. Where the
name is a keyword of Python, an underscore follows it."""

SHARED = ("train", "compare")
"""Commands that may run in several processes that torchrun starts: they share a training, or the jobs of an arena."""

LONGEST_FAULT = 300
"""Maximum characters that a sentence quotes of an error within a plugin."""

RENAMED = {"continue": "generate"}
"""Old names of commands that still work."""


def in_python(command: str) -> str:
    """Return the name of a command's function and file.

    >>> in_python("import"), in_python("export")
    ('import_', 'export')
    """
    return f"{command}_" if keyword.iskeyword(command) else command


class StrictCommand(TyperCommand):
    """A command that refuses an option that is given twice but has one value: the first would be ignored without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        given = self.make_parser(ctx).parse_args(args=list(args))[2]
        for option in given:
            single = option.param_type_name == "option" and not (option.multiple or getattr(option, "is_flag", False))
            if single and given.count(option) > 1:
                ctx.fail(f"{option.opts[0]} is given {given.count(option)} times, but takes one value; give it once")
        return super().parse_args(ctx, args)


class CommandFiles(Mapping[str, Any]):
    """The commands by their names; the file of a command is imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        found = getattr(import_module(f"dragoman.cli.{in_python(name)}"), in_python(name))
        app = found
        if not isinstance(found, typer.Typer):
            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(name)(spread(found))
        for command in app.registered_commands:
            command.cls = StrictCommand
        return typer.main.get_command(app)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Commands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = CommandFiles()  # type: ignore[assignment]  # read only

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name or its old name."""
        if cmd_name in RENAMED:
            note(f"dragoman: `{cmd_name}` is now called `{RENAMED[cmd_name]}`; the old name still works")
        if cmd_name not in SHARED:
            check_alone(f"`dragoman {cmd_name}`")
        return super().get_command(ctx, RENAMED.get(cmd_name, cmd_name))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what is said of a wrong value does not begin with the kind of an error of Python."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    name="dragoman",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help starts three times as fast
)


def _show_version(wanted: bool) -> None:
    """Print the versions of this program, Python and torch, and end."""
    if wanted:
        from dragoman.machine.provenance import versions

        found = versions()
        print(f"dragoman {found['dragoman']} (Python {found['python']}, torch {found['torch']})")
        raise typer.Exit


@app.callback()
def dragoman(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train, evaluate and inspect translators on your own parallel text."""


def main() -> None:
    """Run the command line; a user's mistake ends in one sentence and exit code 2, Ctrl-C in 130."""
    set_wait_policy(os.environ, load_average())  # nothing has imported torch yet
    with suppress(CacheError):
        set_compiler_cache(os.environ)
    try:
        with signals_as_interrupts():
            _run()
    except DragomanError as error:
        sys.exit(_fail(str(error), 2))
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        place = f"{error.filename} cannot be used" if error.filename else "a file or standard output cannot be used"
        sys.exit(_fail(f"{place} ({error.strerror or error}); make room, or choose another place", 2))
    except UnicodeEncodeError as error:
        sys.exit(_fail(_encoding_sentence(error), 2))
    except RecursionError as error:
        sys.exit(_fail(f"this is a bug in Dragoman: {_place(error)}; please report it with your command", 1))
    except Exception as error:
        if ran_out_of_memory(error):
            sys.exit(_fail(_memory_sentence(error), 2))
        sentence = _plugin_sentence(error)
        if sentence is None:
            raise
        sys.exit(_fail(sentence, 2))


def _run() -> None:
    """Run the command that `sys.argv` names, and write all of its output."""
    _prepare_streams()
    try:
        app()
    except KeyboardInterrupt:  # before or after the command itself
        sys.exit(INTERRUPTED)
    finally:
        print(end="", flush=True)


def _prepare_streams() -> None:
    """Make standard output strict UTF-8, and standard error such that every sentence can be printed.

    Raises InputError if standard output is closed, which Python would silently ignore.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for as long as the program runs
    if sys.stdout is None:
        raise InputError("standard output is closed; send it somewhere, for example with > FILE")
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def _drop_output() -> None:
    """Discard what standard output could not take, so that Python does not try again when it exits."""
    with suppress(OSError, AttributeError):  # standard output is closed, or is not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _encoding_sentence(error: UnicodeEncodeError) -> str:
    """Say which text holds bytes that are not UTF-8; Python keeps those of arguments as lone surrogates."""
    before = re.split(r"[\s<>]", error.object[: error.start])[-1]
    after = re.split(r"[\s<>]", error.object[error.start :])[0]
    return f"`{before[-40:]}{after[:40]}` is not UTF-8 text; convert or rename it"


def _memory_sentence(error: Exception) -> str:
    """Say that memory ran out, how much was requested if that is known, and what to change."""
    requested = re.search(r"(?i)tried to allocate (\d+) bytes", str(error))
    much = f" ({int(requested[1]) / 2**30:,.1f} GiB were requested at once)" if requested else ""
    return (
        f"there is not enough memory{much}; choose a smaller model, training.batch_tokens or --beam, shorter sentences, or "
        "close other programs"
    )


def _plugin_sentence(error: Exception) -> str | None:
    """Say that a plugin is at fault, and in which line, if one is; for its author, the way there follows in other lines."""
    from traceback import format_exception

    from dragoman.plugins import fault_of

    fault = fault_of(error)
    if fault is None:
        return None
    said = shorten(" ".join(f"{type(error).__name__}: {error}".split()), LONGEST_FAULT)
    way = "".join(format_exception(type(error), error, fault.traceback, chain=False)).rstrip()
    place = f"{fault.path}, line {fault.line}"
    return f"a plugin has a fault in {place} ({said}); mend it there, or show its author what follows\n{way}"


def _place(error: BaseException) -> str:
    """Return the kind of an error and the line of Dragoman that it went through last."""
    from traceback import extract_tb

    frames = [frame for frame in extract_tb(error.__traceback__) if f"{os.sep}dragoman{os.sep}" in frame.filename]
    return (
        f"{type(error).__name__} in {frames[-1].filename}, line {frames[-1].lineno}" if frames else type(error).__name__
    )


def _fail(sentence: str, code: int) -> int:
    """Print the reason on standard error, and return the exit code."""
    note(f"dragoman: {sentence}")
    return code
