"""Draw everything that can be drawn, each choice once, instead of one thing at random."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

Drawn = TypeVar("Drawn")
Option = TypeVar("Option")


class _Odometer(Random):
    """A source of choices that makes the first ones first and turns over to the next ones."""

    def __init__(self) -> None:
        super().__init__(0)
        self._taken: list[int] = []
        self._offered: list[int] = []
        self._made = 0

    def choice(self, seq: Sequence[Option]) -> Option:  # type: ignore[override]
        """Return the option whose turn it is; what is offered several times counts once."""
        options = tuple(dict.fromkeys(seq))
        if self._made == len(self._taken):
            self._taken.append(0)
            self._offered.append(len(options))
        self._made += 1
        return options[self._taken[self._made - 1]]

    def turn(self) -> bool:
        """Move to the next sequence of choices; False after the last."""
        self._made = 0
        while self._taken and self._taken[-1] + 1 == self._offered[-1]:
            self._taken.pop()
            self._offered.pop()
        if self._taken:
            self._taken[-1] += 1
        return bool(self._taken)


def every(draw: Callable[[Random], Drawn]) -> Iterator[Drawn]:
    """Yield what `draw` returns for every sequence of choices that it can make.

    >>> list(every(lambda random: random.choice("ab") + random.choice("xy")))
    ['ax', 'ay', 'bx', 'by']
    """
    odometer = _Odometer()
    yield draw(odometer)
    while odometer.turn():
        yield draw(odometer)
