"""What a model is for and what it supports, known from its settings before it is built."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from dragoman.attention.settings import WindowSettings

Purpose = Literal["translate", "fill", "generate", "classify"]
"""What a model is for, named after the command that uses it."""


@dataclass(frozen=True)
class Capabilities:
    """What a model supports. All code that checks, plans or assembles uses this instead of the class of the settings."""

    purpose: Purpose = "translate"
    source_heads: tuple[int, int] | None = None
    """Number of layers and heads that attend to the source; None for a model without attention to it."""
    mixes: bool = False
    """Whether the output sums predictions over source positions, and so needs the attention weights."""
    lexicon: bool = False
    """Whether the output layer reads source embeddings that are not the target's, so that they may start from a lexicon."""
    drops_attention: bool = False
    """Whether `attention_dropout` has any effect."""
    native: bool = False
    """Whether recurrent loops can run as one operation in C++ (`training.recurrence`)."""
    one_program: bool = False
    """Whether torch can compile the whole model as one program."""
    stepwise: bool = False
    """Whether the decoder is a loop over positions, which can be recorded as CUDA graphs."""
    data_dependent: tuple[str, ...] = ()
    """Settings in use that make the computation depend on the data or on chance, so that it cannot be compiled."""
    packs: bool = False
    """Whether some attention can skip padding (`training.padding`)."""
    source_positions: int | None = None
    """Maximum number of source tokens, including </s>; None for no limit."""
    target_positions: int | None = None
    """Maximum number of target tokens, including </s>; None for no limit."""
    window: WindowSettings | None = None
    """The window of local attention to the source; None for global attention."""
    previous: int = 0
    """Number of previous source sentences that are read; needs corpora with documents."""

    @property
    def translates(self) -> bool:
        """Whether the model translates."""
        return self.purpose == "translate"

    @property
    def attends(self) -> bool:
        """Whether the model attends to a source."""
        return self.source_heads is not None


@runtime_checkable
class Capable(Protocol):
    """Model settings that declare what the model supports."""

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        ...


def capabilities_of(settings: object) -> Capabilities:
    """Return what the model of `settings` supports; a plugin that does not declare it is assumed to translate, no more.

    >>> capabilities_of(object()).purpose
    'translate'
    """
    return settings.capabilities if isinstance(settings, Capable) else Capabilities()
