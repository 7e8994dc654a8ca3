"""Settings of the corpora that a run reads."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from dragoman.data.corpus_settings import (
    BaseCorpusSettings,
    CorpusSettings,
    MonolingualSettings,
    PhrasebookSettings,
    corpus_tags,
)
from dragoman.data.directions import Direction, Directions
from dragoman.settings import Settings
from dragoman.text.frames import near, shortened
from dragoman.text.tags import tag_pieces

Language = Annotated[str, Field(min_length=1)]


class FilterSettings(Settings):
    """Which pairs are excluded from training. Pairs with an empty side always are."""

    max_words: int | None = Field(default=250, ge=1)
    """Maximum number of space-separated words per side; null for no limit."""
    max_characters: int | None = Field(default=2000, ge=1)
    """Maximum number of characters per side; null for no limit."""
    max_ratio: float | None = Field(default=None, gt=1)
    """Maximum ratio of the longer to the shorter side, in characters, with 10 added to both; null for no limit."""
    drop_duplicates: bool = False
    """Keep only the first of identical pairs; needs 16 to 32 bytes of memory per pair."""


class DataSettings(Settings):
    """The corpora of a run."""

    source: Language | None = None
    """Code of the source language, such as `en`; needed unless every corpus names its `languages`."""
    target: Language | None = None
    """Code of the target language."""
    languages: tuple[Language, ...] = ()
    """All languages of one model for several directions, where corpora name theirs: each source sentence then begins with the
    tag of its target language (Johnson et al. 2017). A corpus used in `both_ways` needs no more than `source` and `target`."""
    root: Path = Path(".")
    """Folder that paths of corpora are relative to. In paths, {source} and {target} are replaced by the corpus's languages."""
    train: tuple[CorpusSettings, ...] = ()
    """Training corpora; needed, unless a run was imported."""
    dev: tuple[CorpusSettings, ...] = ()
    """Development corpora, which choose the best checkpoint; needed like those for training."""
    test: tuple[CorpusSettings, ...] = ()
    """Test corpora, which are measured at the end."""
    filters: FilterSettings = FilterSettings()
    """Which training pairs are excluded."""
    check: bool = True
    """Examine the corpora before a new run is trained, as `dragoman check` does: errors stop it, warnings are printed."""
    joined: float = Field(default=0.0, ge=0, le=1)
    """Share of the training pairs that are joined with another, drawn anew in every epoch: two sources, and their targets, one
    after the other (Nguyen et al. 2021; Kondo et al. 2021). Teaches a model of short sentences to translate longer ones."""

    noise: float = Field(default=0.35, gt=0, lt=1)
    """Share of the tokens that the sources of corpora with `noised: true` lack: stretches of them are replaced by one token each,
    drawn anew in every epoch (text infilling: Lewis et al. 2020; the share is that of Liu et al. 2020)."""

    @model_validator(mode="after")
    def _check(self) -> "DataSettings":
        for name in ("source", "target"):
            if getattr(self, name) is None and not self.languages:
                raise ValueError(f"`data.{name}` is missing; add it, or `data.languages` for several languages")
        self._check_tags()
        for place, corpus in self._places():
            self._check_corpus(f"data.{place}", corpus)
        return self

    @property
    def tagged(self) -> bool:
        """Whether sources begin with the tag of their target language: languages are listed, or a corpus is used both ways."""
        return bool(self.languages) or any(corpus.both_ways for corpus in self.train)

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the languages that have tags."""
        both = (language for language in (self.source, self.target) if language is not None)
        return (self.languages or tuple(both)) if self.tagged else ()

    @property
    def tag_pieces(self) -> tuple[str, ...]:
        """Return all tags that training sources may begin with."""
        return (*tag_pieces(self.tags), *dict.fromkeys(tag for corpus in self.train for tag in corpus_tags(corpus)))

    @property
    def directions(self) -> Directions:
        """Return the directions of the training corpora."""
        every = [direction for corpus in self.pairs for direction in self.directions_of(corpus)]
        if not self.train and self.source is not None:
            targets = self.languages if self.target is None else (self.target,)
            every = [(self.source, target) for target in targets if target != self.source]
        return Directions(tuple(dict.fromkeys(every)), self.tagged)

    @property
    def pairs(self) -> tuple[CorpusSettings, ...]:
        """Return the training corpora that have translations."""
        return tuple(corpus for corpus in self.train if not corpus.is_noised)

    @property
    def is_noised(self) -> bool:
        """Return whether any training corpus is text to be restored from noised sources."""
        return len(self.pairs) < len(self.train)

    def direction(self, corpus: BaseCorpusSettings) -> Direction:
        """Return the languages of a corpus, source first; those of a noised one are both that of its text."""
        source, target = self.source or "", self.target or ""
        return corpus.languages or (target if corpus.is_noised else source, target)

    def directions_of(self, corpus: BaseCorpusSettings) -> list[Direction]:
        """Return the directions in which a corpus is used: its own, and the opposite one if it is used in both."""
        source, target = self.direction(corpus)
        return [(source, target), (target, source)] if corpus.both_ways else [(source, target)]

    def place(self, path: Path, corpus: BaseCorpusSettings) -> Path:
        """Return where a file of a corpus is: below `root`, with the codes of its languages filled in.

        >>> data = DataSettings(source="en", target="vi", root="texts", train=[{"tsv": "a"}], dev=[{"tsv": "b"}])
        >>> data.place(Path("train.{target}"), data.train[0]).as_posix()
        'texts/train.vi'
        """
        name = str(self.root / path)
        source, target = self.direction(corpus)
        return Path(name.replace("{source}", source).replace("{target}", target))

    def _places(self) -> Iterator[tuple[str, BaseCorpusSettings]]:
        """Yield all corpora, training corpora first, each with its place."""
        for part in ("train", "dev", "test"):
            for number, corpus in enumerate(getattr(self, part)):
                yield f"{part}.{number}", corpus

    def _check_tags(self) -> None:
        """Raise ValueError for languages that cannot have tags."""
        if len(self.languages) == 1 or len(set(self.languages)) < len(self.languages):
            raise ValueError(
                f"`data.languages` is {list(self.languages)}, but it must name at least two different ones"
            )
        for name in ("source", "target"):
            own = getattr(self, name)
            if self.languages and own not in (None, *self.languages):
                raise ValueError(
                    f"`data.{name}` is `{own}`, which is not one of `data.languages`{near(own, self.languages)}"
                )
        for language in self.tags:
            if re.fullmatch(r"\w[\w-]*", language) is None:
                raise ValueError(f"the language `{language}` cannot have a tag; use letters, digits, `_` and `-` only")

    def _check_corpus(self, place: str, corpus: BaseCorpusSettings) -> None:
        """Raise ValueError for a corpus whose languages are missing, unknown, or not those of any training corpus."""
        source, target = self.direction(corpus)
        if corpus.languages is not None and not self.tags:
            raise ValueError(f"`{place}.languages` needs `data.languages`, a list of all languages; add it")
        if not source or not target:
            raise ValueError(
                f"`{place}` does not say which languages it has; add `languages: [SOURCE, TARGET]`{self._known}"
            )
        for language in corpus.languages or ():
            if language not in self.tags:
                raise ValueError(f"`{place}.languages` names `{language}`, not one of `data.languages`{self._known}")
        if corpus.both_ways and source == target:
            raise ValueError(f"`{place}.both_ways` needs two languages, but both sides are `{source}`; remove it")
        if corpus.both_ways and corpus.tagged:
            raise ValueError(
                f"`{place}.tagged` says that a machine wrote the sources, but `both_ways` makes them targets too; "
                "name the direction with `languages` in place of `both_ways`"
            )
        self._check_phrasebook(place, corpus)
        if corpus.is_noised and not self.pairs:
            raise ValueError(
                f"`{place}.noised` works only in translators, beside a training corpus of pairs; add one, or remove it"
            )
        if (self.tagged or corpus.is_noised) and isinstance(corpus, MonolingualSettings) and source != target:
            one = target if corpus.is_noised else source
            raise ValueError(f"`{place}` has text of one language; name it twice, such as `languages: [{one}, {one}]`")
        self._check_trained(place, corpus)

    def _check_phrasebook(self, place: str, corpus: BaseCorpusSettings) -> None:
        """Raise ValueError for languages that the phrasebook does not have."""
        languages = set(self.direction(corpus))
        if isinstance(corpus, PhrasebookSettings) and not (languages <= {"en", "vi"} or languages <= {"en", "fr"}):
            own = f"`{place}.languages` is {list(corpus.languages or ())}"
            both = f"`data.source` is `{self.source}` and `data.target` is `{self.target}`"
            raise ValueError(
                "the phrasebook is between `en` and `vi` or `fr`, or one of them alone, but "
                f"{both if corpus.languages is None else own}"
            )

    def _check_trained(self, place: str, corpus: BaseCorpusSettings) -> None:
        """Raise ValueError for a corpus with a language that no training corpus has, or into one that none is into."""
        trained = self.directions
        for source, target in self.directions_of(corpus):
            if not self.tagged and corpus.both_ways:
                raise ValueError(
                    f"`{place}.both_ways` needs a training corpus that is used in both directions; set it there too, or remove it"
                )
            lacks = [f"has `{one}`" for one in (source, target) if one not in trained.languages]
            if target not in trained.targets:
                lacks.append(f"is into `{target}`")
            if lacks:
                raise ValueError(
                    f"`{place}` is from `{source}` to `{target}`, but no corpus in `data.train` {lacks[0]}; add one, or remove it"
                )

    @property
    def _known(self) -> str:
        """Return the list of languages to end a message with."""
        return f" ({shortened(self.tags)})" if self.tags else ""
