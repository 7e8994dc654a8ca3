"""What the model that some settings describe is for and can do, known before any model is made."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from dragoman.attention.settings import WindowSettings

Purpose = Literal["translate", "fill", "generate", "classify"]
"""What a model is for, by the name of the command that uses it."""


@dataclass(frozen=True)
class Capabilities:
    """What a model can do. Everything that checks, plans or assembles asks this, never which class the settings are."""

    purpose: Purpose = "translate"
    source_heads: tuple[int, int] | None = None
    """How many layers and heads attend to the source; None for a model that does not attend to it."""
    mixes: bool = False
    """Whether the output adds up predictions from each source position, and so needs the attention weights."""
    drops_attention: bool = False
    """Whether `attention_dropout` reaches anything."""
    native: bool = False
    """Whether recurrent loops can run as one operation in C++ (`training.recurrence`)."""
    one_program: bool = False
    """Whether torch can compile the whole model as one program."""
    stepwise: bool = False
    """Whether the decoder is a loop over positions, which can be recorded as CUDA graphs."""
    data_dependent: tuple[str, ...] = ()
    """Settings in use by which what is computed depends on the data or on chance, so that it cannot be compiled."""
    packs: bool = False
    """Whether some attention can leave padding out (`training.padding`)."""
    source_positions: int | None = None
    """Most tokens of a source, </s> included; None for no bound."""
    target_positions: int | None = None
    """Most tokens of a target, </s> included; None for no bound."""
    window: WindowSettings | None = None
    """The window of local attention to the source; None where all of it is seen."""
    previous: int = 0
    """How many source sentences before each one are read, which needs corpora with documents."""

    @property
    def translates(self) -> bool:
        """Whether the model makes translations."""
        return self.purpose == "translate"

    @property
    def attends(self) -> bool:
        """Whether the model attends to a source."""
        return self.source_heads is not None


@runtime_checkable
class Capable(Protocol):
    """Settings of a model that say what the model can do."""

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        ...


def capabilities_of(settings: object) -> Capabilities:
    """Return what the model that `settings` describe can do; those of a plugin that do not say it translate, and no more.

    >>> capabilities_of(object()).purpose
    'translate'
    """
    return settings.capabilities if isinstance(settings, Capable) else Capabilities()
