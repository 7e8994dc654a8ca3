"""Files and functions are short enough to be read in one go."""

from collections.abc import Iterator

from tests.architecture.cpp import CppSource, cpp_sources, planted_cpp
from tests.architecture.source import PACKAGE, Source, arguments_of, planted, sources, violations

LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 60
PARAMETERS = 8
OPTIONS = 10
"""Parameters of a command, which are its options: no caller writes them in a row."""
LINES_OF_A_CPP_FUNCTION = 80
CPP_PARAMETERS = 10


def files_are_short(source: Source) -> Iterator[str]:
    """Find files of too many lines."""
    lines = source.text.count("\n")
    if lines > LINES_OF_A_FILE:
        yield source.at(source.tree, f"{lines} lines; at most {LINES_OF_A_FILE}")


def functions_are_short(source: Source) -> Iterator[str]:
    """Find functions of too many lines, from `def` to the last."""
    for function in source.functions:
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > LINES_OF_A_FUNCTION:
            yield source.at(function, f"{function.name} has {lines} lines; at most {LINES_OF_A_FUNCTION}")


def functions_take_few_parameters(source: Source) -> Iterator[str]:
    """Find functions of too many parameters."""
    for function in source.functions:
        count = len(arguments_of(function))
        command = source.name == f"{PACKAGE}/cli/{function.name}.py"
        most = OPTIONS if command else PARAMETERS
        if count > most:
            yield source.at(function, f"{function.name} takes {count} parameters; at most {most}")


def cpp_is_short(source: CppSource) -> Iterator[str]:
    """Find C++ files and functions of too many lines, and functions of too many parameters."""
    lines = source.text.count("\n")
    if lines > LINES_OF_A_FILE:
        yield source.at(1, f"{lines} lines; at most {LINES_OF_A_FILE}")
    for function in source.functions:
        if function.lines > LINES_OF_A_CPP_FUNCTION:
            yield source.at(
                function.line, f"{function.name} has {function.lines} lines; at most {LINES_OF_A_CPP_FUNCTION}"
            )
        if function.parameters > CPP_PARAMETERS:
            yield source.at(
                function.line, f"{function.name} takes {function.parameters} parameters; at most {CPP_PARAMETERS}"
            )


def test_cpp_is_short():
    found = "\n".join(finding for source in cpp_sources() for finding in cpp_is_short(source))
    assert not found, found


def test_cpp_functions_are_seen():
    names = {function.name for source in cpp_sources() for function in source.functions}
    assert {"attend", "attend_backward", "run_attending", "BackwardLoop", "forward", "row_loss"} <= names


def test_files_are_short():
    found = violations(files_are_short, sources("src", "tests"))
    assert not found, found


def test_functions_are_short():
    found = violations(functions_are_short, sources("src", "tests"))
    assert not found, found


def test_functions_take_few_parameters():
    found = violations(functions_take_few_parameters, sources(PACKAGE))
    assert not found, found


def test_a_long_file_is_found():
    assert list(files_are_short(planted("x = 1\n" * 400))) == []
    assert list(files_are_short(planted("x = 1\n" * 401))) == [f"{PACKAGE}/attention/new.py:1: 401 lines; at most 400"]


def test_a_long_function_is_found():
    method = "class C:\n    @property\n    def f(self):\n" + "        x = 1\n"
    assert list(functions_are_short(planted(method + "        x = 1\n" * 58))) == []
    found = list(functions_are_short(planted(method + "        x = 1\n" * 59)))
    assert found == [f"{PACKAGE}/attention/new.py:3: f has 61 lines; at most 60"]


def test_too_many_parameters_are_found():
    assert list(functions_take_few_parameters(planted("def f(self, a, b, /, c, d, *e, g, h, **i): ..."))) == []
    found = list(functions_take_few_parameters(planted("async def f(a, b, /, c, d, *e, g, h, i, **j): ...")))
    assert found == [f"{PACKAGE}/attention/new.py:1: f takes 9 parameters; at most 8"]


def test_a_command_may_take_a_few_more():
    commands = planted(
        "def new(a, b, c, d, e, f, g, h, i, j): ...\ndef other(a, b, c, d, e, f, g, h, i): ...", "cli/new.py"
    )
    assert list(functions_take_few_parameters(commands)) == [
        f"{PACKAGE}/cli/new.py:2: other takes 9 parameters; at most 8"
    ]


def test_long_cpp_is_found():
    name = f"{PACKAGE}/native/new.h"
    assert list(cpp_is_short(planted_cpp("int x;\n" * 400))) == []
    assert list(cpp_is_short(planted_cpp("int x;\n" * 401))) == [f"{name}:1: 401 lines; at most 400"]
    body = "\ntemplate <typename R>\nR f(R x) const {\n" + "  if (x) { return x; }  // {\n" * 78 + "}\n"
    assert list(cpp_is_short(planted_cpp(body))) == []
    longer = body.replace("{\n  if", "{\n\n  if", 1)
    assert list(cpp_is_short(planted_cpp(longer))) == [f"{name}:3: f has 81 lines; at most 80"]
    method = "struct S {\n  S(const A<int, int>& a)\n      : a_(a), b_(f(a)) {\n" + "    g();\n" * 78 + "  }\n};\n"
    assert list(cpp_is_short(planted_cpp(method))) == [f"{name}:2: S has 81 lines; at most 80"]


def test_too_many_cpp_parameters_are_found():
    ten = ", ".join(f"std::pair<int, int> p{number}" for number in range(10))
    assert list(cpp_is_short(planted_cpp(f"void f({ten}) {{}}\n"))) == []
    found = list(cpp_is_short(planted_cpp(f"void f({ten}, int more) {{}}\n")))
    assert found == [f"{PACKAGE}/native/new.h:1: f takes 11 parameters; at most 10"]
