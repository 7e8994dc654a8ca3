"""From which languages into which ones a model translates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, permutations

from dragoman.errors import InputError
from dragoman.text.codec import Codec
from dragoman.text.frames import Between, near, shortened
from dragoman.text.tags import language_of

Direction = tuple[str, str]
"""Codes of the source and the target language."""

MANY = 100
"""Directions that are no longer listed one by one."""

Languages = str | Between | Sequence[str | Between | None] | None
"""The target language of all sentences, or of each, with that of the source where a model needs it."""


@dataclass(frozen=True)
class Directions:
    """The directions that a model was trained on: one, or several, between which the tags of target languages choose."""

    trained: tuple[Direction, ...]
    tagged: bool = False
    """Whether sources begin with the tag of their target language, or have another frame (`text/frames.py`)."""
    by_source: bool = False
    """Whether the frame of a source depends on its own language."""
    usual: Direction | None = None
    """The direction if none is asked for, of a model that was adapted to one."""

    @property
    def first(self) -> Direction:
        """Return the usual direction, or else the first."""
        return self.usual or self.trained[0]

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Return all languages, in the order in which they first occur."""
        return tuple(dict.fromkeys(chain.from_iterable(self.trained)))

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """Return the languages that the model was trained to translate into."""
        return tuple(dict.fromkeys(target for _, target in self.trained))

    def __str__(self) -> str:
        """Name the directions, of very many only the languages.

        >>> str(Directions((("en", "fr"), ("fr", "en")), tagged=True))
        'en-fr, fr-en'
        >>> str(Directions((("en", "fr"),)))
        'from en to fr'
        """
        if not self.tagged:
            return "from {} to {}".format(*self.trained[0])
        if len(self.trained) > MANY:
            return f"between {shortened(self.languages)}"
        return ", ".join("-".join(direction) for direction in self.trained)

    def require_one(self, what: str) -> Direction:
        """Return the only direction of a model without tags, or the usual one of a model with tags.

        InputError, which begins with `what` it is, for others.
        """
        if self.usual is not None:
            return self.usual
        if self.tagged and len(self.trained) == 1:
            raise InputError(
                f"{what} was trained with a tag of its target language ({self}), which does not work here; give a run trained "
                "without `data.languages`"
            )
        if self.tagged:
            raise InputError(f"{what} translates in several directions ({self}); give a run of one direction here")
        return self.trained[0]

    def choose(self, source: str | None = None, to: str | None = None, *, both: bool = False) -> Between:
        """Return the languages to translate between; that of the source is None if it is neither given nor needed.

        It is needed by some models, and for `both`: it is then the only one from which the model translates so. InputError where
        the model cannot translate so, or where it knows several languages and a needed one is not given.
        """
        if not self.tagged:
            ((own, target),) = self.trained
            if source not in (None, own) or to not in (None, target):
                wanted = f"from `{own if source is None else source}` to `{target if to is None else to}`"
                raise InputError(f"this run translates from `{own}` to `{target}`, not {wanted}; give a run that does")
            return Between(own, target)
        if self.usual is not None and to in (None, self.usual[1]) and source in (None, self.usual[0]):
            return Between(*self.usual)
        if to is None and len(self.targets) > 1:
            raise InputError(
                f"this run translates into several languages ({shortened(self.targets)}); say which one with `--to`, in Python "
                "with `to=`"
            )
        to = self.targets[0] if to is None else to
        if to not in self.targets:
            raise InputError(f"this run does not translate into `{to}`{near(to, self.targets)}")
        if source is not None and source not in self.languages:
            raise InputError(f"this run does not translate from `{source}`{near(source, self.languages)}")
        if source == to and (source, to) not in self.trained:
            raise InputError(f"source and target language are both `{to}`; give two different ones")
        if source is None and (self.by_source or both):
            source = self._only_source(to)
        return Between(source, to)

    def _only_source(self, to: str) -> str:
        """Return the only language that the model translates from into another. Raises InputError if there are several."""
        sources = dict.fromkeys(source for source, target in self.trained if target == to != source)
        if len(sources) > 1:
            raise InputError(
                f"this needs the language of the source ({shortened([*sources])}); say which one with `--from`, in "
                f'Python with `to=Between("{next(iter(sources))}", "{to}")`'
            )
        return next(iter(sources))

    def frames(self, to: Languages, sentences: int) -> list[Between | None]:
        """Return the languages that the frame of each of some sentences depends on; all None for a model without tags.

        `to` is the target language of all, or of each, or both languages.
        """
        each = [to] * sentences if to is None or isinstance(to, str | Between) else list(to)
        if len(each) != sentences:
            raise InputError(f"`to` names {len(each)} languages for {sentences} sentences; name one, or one for each")
        known = {one: self.choose(*(one if isinstance(one, Between) else (None, one))) for one in dict.fromkeys(each)}
        return [known[one] if self.tagged else None for one in each]

    def remark(self, direction: tuple[str | None, str | None]) -> str | None:
        """Return a sentence about a direction without training pairs (Johnson et al. 2017, section 4.6: zero-shot)."""
        source, target = direction
        if source is None or (source, target) in self.trained:
            return None
        seen = set(self.trained)
        between = [one for one in self.languages if {(source, one), (one, target)} <= seen]
        through = f"; translating to `{between[0]}`, and that to `{target}`, may be much better" if between else ""
        return (
            f"Translating from `{source}` to `{target}`, for which this run saw no training pairs (zero-shot): expect less than "
            f"between the languages that it did ({self}){through}."
        )


@lru_cache(maxsize=4)
def imported_directions(source: Codec, target: Codec, own: Directions, *, new: tuple[str, ...] = ()) -> Directions:
    """Return all directions in which an imported model translates, as its vocabularies tell; `own` if they do not.

    A model with tags has the directions to and from its `new` languages too, and all where its recipe names no corpora. The only
    direction of `own`, those of a recipe, is the usual one.
    """
    frames, starts = source.frames, target.starts
    if not frames and not starts:
        tags = source.tokenizer.vocabulary.tags
        known = [language for piece in tags if (language := language_of(piece)) is not None]
        new = new if own.trained else tuple(known)
        more = (way for way in permutations(dict.fromkeys((*own.languages, *new)), 2) if {*way} & {*new})
        return replace(own, trained=(*own.trained, *more)) if new else own
    both = [(rule.source, rule.target) for rule in frames.rules if rule.source is not None and rule.target is not None]
    sources = frames.languages("source") or tuple(source for source, _ in own.trained[:1]) or ("source",)
    targets = starts.languages("target") or frames.languages("target") or sources
    trained = both or [(one, other) for one in sources for other in targets if one != other]
    usual = own.trained[0] if len(own.trained) == 1 and own.trained[0] in trained else None
    return Directions(tuple(trained), tagged=True, by_source=bool(frames.languages("source")), usual=usual)
