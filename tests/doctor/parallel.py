"""Generated parallel text, and ways to damage it."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Parallel:
    """Lines of two languages."""

    sources: list[str]
    targets: list[str]

    def without(self, sources: Iterable[int] = (), targets: Iterable[int] = ()) -> "Parallel":
        """Leave out some lines, counted from 0."""
        gone, lost = set(sources), set(targets)
        return Parallel(
            [line for number, line in enumerate(self.sources) if number not in gone],
            [line for number, line in enumerate(self.targets) if number not in lost],
        )

    def __add__(self, other: "Parallel") -> "Parallel":
        return Parallel(self.sources + other.sources, self.targets + other.targets)


def spelled(number: int, letters: str) -> str:
    """Return a word of its own for each number."""
    word = letters[number % len(letters)]
    return word if number < len(letters) else spelled(number // len(letters) - 1, letters) + word


def parallel(
    lines: int, seed: int = 1, *, words: int = 800, names: float = 0.1, length: tuple[int, int] = (3, 14)
) -> Parallel:
    """Generate sentences of words as frequent as those of languages are, and free translations in another order.

    Of a sentence's words, some are left out or replaced in the translation; a part of the sentences has a number in them.
    """
    chance = random.Random(seed)
    weights = [1 / (rank + 2) for rank in range(words)]
    meanings = list(range(words))
    random.Random(0).shuffle(meanings)
    sources, targets = [], []
    for _ in range(lines):
        drawn = chance.choices(range(words), weights, k=chance.randint(*length))
        translated = [meanings[word] if chance.random() < 0.8 else chance.randrange(words) for word in drawn]
        chance.shuffle(translated)
        source = [spelled(word, LETTERS) + "a" for word in drawn]
        target = [spelled(word, LETTERS[::-1]) + "o" for word in translated if chance.random() < 0.9]
        if chance.random() < names:
            number = str(chance.randrange(3000))
            source.insert(chance.randrange(len(source)), number)
            target.append(number)
        sources.append(" ".join(source).capitalize() + chance.choice(".....?!"))
        targets.append(" ".join(target).capitalize() + sources[-1][-1])
    return Parallel(sources, targets)
