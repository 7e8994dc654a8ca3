"""What can go wrong because of what the user gave: one sentence each, saying what, where and what to do.

DragomanError
├── SettingsError    a recipe or an override that does not fit
├── CorpusError      a corpus that is missing, unreadable or not parallel
├── TextError        a tokeniser or vocabulary that cannot be made or read
├── InputError       a sentence, file or option that this model or command cannot take
├── RunError         a run folder that is missing, incomplete, damaged or newer than this program
└── TrainingError    training that cannot go on (a loss that is not a number, a full disk)

The command line prints the sentence and leaves with exit code 2. Any other exception is a defect of Dragoman.
"""


class DragomanError(Exception):
    """A mistake that the user can mend; its text is one clear sentence."""


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


class TrainingError(DragomanError):
    """Training that cannot go on."""
