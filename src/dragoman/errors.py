"""User errors: one sentence each, saying what is wrong, where, and what to do.

DragomanError
├── SettingsError    a recipe or an override that does not fit
├── CorpusError      a corpus that is missing, unreadable or not parallel
├── TextError        a tokeniser or vocabulary that cannot be made or read
├── InputError       a sentence, file or option that this model or command cannot take
│   ├── ExportError       an export that cannot be made, or does not translate as its run does
│   └── ImportModelError  a pretrained model that cannot be imported
├── RunError         a run folder that is missing, incomplete, damaged or newer than this program
│   └── DamagedError      a file of a run whose content is not what was written
└── TrainingError    training that cannot continue (a loss that is not a number, a full disk)
    └── LostProcessError  one of several processes that train together has ended, so the others must start again

The command line prints the sentence and exits with code 2. Any other exception is a bug in Dragoman.
"""

import logging
import re
import reprlib
import shlex
from functools import cache

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What would end or change the line on which a sentence is printed."""
LONGEST_QUOTE = 80
"""Maximum characters of a value that an error quotes."""


class DragomanError(Exception):
    """An error that the user can correct; its text is one clear sentence, on one line whatever it quotes.

    >>> print(DragomanError("there is no file a\\nb"))
    there is no file a\\nb
    """

    def __str__(self) -> str:
        return _CONTROL.sub(lambda found: repr(found[0])[1:-1], super().__str__())


class SettingsError(DragomanError):
    """A recipe or an override that does not fit."""


class CorpusError(DragomanError):
    """A corpus that is missing, unreadable or not parallel."""


class TextError(DragomanError):
    """A tokeniser or vocabulary that cannot be made or read."""


class InputError(DragomanError):
    """A sentence, file or option that this model or command cannot take."""


class RunError(DragomanError):
    """A run folder that is missing, incomplete, damaged or newer than this program."""


class DamagedError(RunError):
    """A file of a run whose content is not what was written; a copy may replace it."""


class ExportError(InputError):
    """An export that cannot be made, or does not translate as its run does."""


class ImportModelError(InputError):
    """A pretrained model that cannot be imported."""


class TrainingError(DragomanError):
    """Training that cannot continue."""


class LostProcessError(TrainingError):
    """One of several processes that train together has ended, so the others must start again."""


def number_of(count: int, one: str, more: str | None = None) -> str:
    """Return a number of things in words.

    >>> number_of(1, "pair"), number_of(2000, "pair")
    ('1 pair', '2,000 pairs')
    """
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def shell_path(path: object) -> str:
    """Return a path as a shell reads it, for the commands that messages advise.

    >>> shell_path("runs/mine"), shell_path("my runs/mine")
    ('runs/mine', "'my runs/mine'")
    """
    return shlex.quote(str(path))


def shorten(value: object, limit: int = LONGEST_QUOTE) -> str:
    """Return a value as an error quotes it: text truncated to `limit` characters; anything else as its repr.

    >>> shorten("x" * 100, 10), shorten([1, "a"])
    ('xxxxxxx...', "[1, 'a']")
    """
    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = brief.maxlong = limit
    text = value[: limit + 1] if isinstance(value, str) else brief.repr(value)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


@cache
def notice_once(sentence: str) -> None:
    """Report something once: on standard error, or in the log of a program that uses Dragoman."""
    logging.getLogger("dragoman").warning(sentence)
