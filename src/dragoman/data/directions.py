"""From which languages into which ones a model translates."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from dragoman.errors import InputError

Direction = tuple[str, str]
"""Codes of the source and the target language."""


@dataclass(frozen=True)
class Directions:
    """The directions that a model was trained on: one, or several, between which the tags of target languages choose."""

    trained: tuple[Direction, ...]
    tagged: bool = False
    """Whether sources begin with the tag of their target language."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Return all languages, in the order in which they first occur."""
        return tuple(dict.fromkeys(chain.from_iterable(self.trained)))

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the languages that the model was trained to translate into."""
        return tuple(dict.fromkeys(target for _, target in self.trained))

    def __str__(self) -> str:
        """Name the directions.

        >>> str(Directions((("en", "fr"), ("fr", "en")), tagged=True))
        'en-fr, fr-en'
        >>> str(Directions((("en", "fr"),)))
        'from en to fr'
        """
        if not self.tagged:
            return "from {} to {}".format(*self.trained[0])
        return ", ".join("-".join(direction) for direction in self.trained)

    def require_one(self, what: str) -> Direction:
        """Return the only direction of a model without tags. InputError, which begins with `what` it is, for one with tags."""
        if self.tagged and len(self.trained) == 1:
            raise InputError(
                f"{what} was trained with a tag of its target language ({self}), which does not work here; give a run trained "
                "without `data.languages`"
            )
        if self.tagged:
            raise InputError(f"{what} translates in several directions ({self}); give a run of one direction here")
        return self.trained[0]

    def choose(self, source: str | None = None, to: str | None = None) -> tuple[str | None, str]:
        """Return the languages to translate between; that of the source is None if it is neither given nor certain.

        InputError where the model cannot translate so, or where it knows several target languages and none is given.
        """
        if not self.tagged:
            ((own, target),) = self.trained
            if source not in (None, own) or to not in (None, target):
                wanted = f"from `{source or own}` to `{to or target}`"
                raise InputError(f"this run translates from `{own}` to `{target}`, not {wanted}; give a run that does")
            return own, target
        if to is None and len(self.targets) > 1:
            raise InputError(
                f"this run translates into several languages ({', '.join(self.targets)}); say which one with `--to`, in Python "
                "with `to=`"
            )
        to = self.targets[0] if to is None else to
        if to not in self.targets:
            raise InputError(f"this run does not translate into `{to}`; it knows {', '.join(self.targets)}")
        if source is not None and source not in self.languages:
            raise InputError(f"this run does not translate from `{source}`; it knows {', '.join(self.languages)}")
        if source == to and (source, to) not in self.trained:
            raise InputError(f"source and target language are both `{to}`; give two different ones")
        return source, to

    def tags(self, to: str | Sequence[str | None] | None, sentences: int) -> list[str | None]:
        """Return the language whose tag each of some sentences begins with; all None for a model without tags.

        `to` is the target language of all, or of each.
        """
        each = [to] * sentences if to is None or isinstance(to, str) else list(to)
        if len(each) != sentences:
            raise InputError(f"`to` names {len(each)} languages for {sentences} sentences; name one, or one for each")
        known = {language: self.choose(to=language)[1] for language in dict.fromkeys(each)}
        return [known[language] if self.tagged else None for language in each]

    def remark(self, direction: tuple[str | None, str]) -> str | None:
        """Return a sentence about a direction without training pairs (Johnson et al. 2017, section 4.6: zero-shot)."""
        source, target = direction
        if source is None or (source, target) in self.trained:
            return None
        return (
            f"Translating from `{source}` to `{target}`, for which this run saw no training pairs (zero-shot): expect less than "
            f"between the languages that it did ({self})."
        )
