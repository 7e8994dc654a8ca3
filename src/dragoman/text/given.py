"""Texts that a program gives to a model, checked where they come in."""

from collections.abc import Iterable
from reprlib import repr as shortened

from dragoman.errors import InputError


def given_texts(texts: Iterable[str], name: str = "sentence", *, first: int = 1, count: int | None = None) -> list[str]:
    """Return texts as a list. `name` is what each is called, and `first` the number of the first.

    InputError for one text in place of several, whose letters would be taken for texts; for what is not text; and where there
    are not `count`.

    >>> given_texts(line for line in ["a", "b"])
    ['a', 'b']
    """
    if isinstance(texts, str | bytes):
        raise InputError(f"{shortened(texts)} is one text where a list of them is needed; write [{shortened(texts)}]")
    if not isinstance(texts, Iterable):
        raise InputError(f"{shortened(texts)} is not a list of texts; give one, also for a single text")
    found = list(texts)
    for number, text in enumerate(found, first):
        if not isinstance(text, str):
            raise InputError(
                f"{name} {number} is {shortened(text)}, which is not text (`str`); leave it out or convert it"
            )
    if count not in (None, len(found)):
        raise InputError(
            f"each sentence needs a {name} of its own, but there are {len(found):,} for {count:,}; give one for each"
        )
    return found
