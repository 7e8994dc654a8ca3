"""What can go wrong because of what the user gave."""

import pytest

from dragoman import errors

KINDS = [
    errors.SettingsError,
    errors.CorpusError,
    errors.TextError,
    errors.InputError,
    errors.RunError,
    errors.DamagedError,
    errors.ExportError,
    errors.ImportModelError,
    errors.TrainingError,
    errors.LostProcessError,
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_mistake_of_the_user_is_a_dragoman_error(kind: type[Exception]) -> None:
    assert issubclass(kind, errors.DragomanError)
    assert str(kind("one sentence")) == "one sentence"


def test_a_sentence_stays_on_its_line_and_sends_nothing_to_a_terminal() -> None:
    quoted = errors.SettingsError("`kind` cannot be `a\nb\r\x1b[31m\u2028`")
    assert str(quoted) == "`kind` cannot be `a\\nb\\r\\x1b[31m\\u2028`"


def test_the_page_names_every_kind() -> None:
    own = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert own == {kind.__name__ for kind in KINDS} | {"DragomanError"}
    assert all(name in str(errors.__doc__) for name in own)
