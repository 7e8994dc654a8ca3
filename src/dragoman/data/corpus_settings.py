"""Settings of one corpus: its kind, which part of it is taken, and how often."""

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field, WrapValidator

from dragoman.settings import Settings
from dragoman.text.tags import NOISED, SYNTHETIC


class HoldOutSettings(Settings):
    """Splits a corpus that has no dev part: some source sentences are held out, each with all its translations.

    If the corpus has documents, whole documents are held out.
    """

    modulo: int = Field(default=50, ge=2)
    """One in N source sentences (or documents) is held out, chosen by a hash of the sentence (or of the document's name)."""
    keep: Literal["rest", "held"]
    """Which part to use: `rest` for training, `held` for dev or test."""


class BaseCorpusSettings(Settings):
    """What all corpora have in common: which part is taken, and how often."""

    documents_hint: ClassVar[str] = "a corpus that has documents"
    """What to set in `data` for a corpus with documents."""

    repeat: int = Field(default=1, ge=1)
    """How many times each pair is seen in an epoch."""
    hold_out: HoldOutSettings | None = None
    """Use only a part of the corpus."""
    first: int | None = Field(default=None, ge=1)
    """Use only the first N pairs (after `hold_out`); by default all."""
    tagged: bool = False
    """Put a reserved token at the start of each source, which tells the model that a machine wrote it, as after
    `dragoman backtranslate` (Caswell et al. 2019). Translation never uses it."""
    languages: tuple[str, str] | None = None
    """Source and target language, of those in `data.languages`; by default `data.source` and `data.target`, and of noised text
    `data.target` twice."""
    both_ways: bool = False
    """Use every pair in both directions: first the whole corpus as it is, then with its sides swapped."""

    @property
    def what(self) -> dict[str, Any]:
        """Return what determines the pairs besides the files, ready for JSON; as before there were several languages."""
        added = {name for name in ("languages", "both_ways", "tagged", "noised") if not getattr(self, name, None)}
        return self.model_dump(mode="json", exclude=added)

    @property
    @abstractmethod
    def paths(self) -> list[Path]:
        """Files that the corpus is read from; those below `data.root` are relative."""

    @property
    def has_documents(self) -> bool:
        """Return whether the corpus has documents."""
        return False

    @property
    def is_noised(self) -> bool:
        """Return whether its pairs are sentences of one language, to be restored from noised ones, and no translations."""
        return False


class LinesSettings(BaseCorpusSettings):
    """Two files, aligned line by line."""

    documents_hint = "`documents: blank lines`, or `documents:` with a file of names"

    source: Path
    """Source sentences: plain text, .gz, .xz or .zst."""
    target: Path
    """Target sentences."""
    documents: Literal["blank lines"] | Path | None = None
    """Where documents begin: after `blank lines` (blank in both files), or given by a third file whose line n begins with
    the name of the document of pair n."""
    links: Path | None = None
    """Word alignments: a third file of links `i-j` or `ipj` (source-target, counted from 0)."""

    @property
    def paths(self) -> list[Path]:
        """Source, target and, where the corpus has them, documents and links."""
        documents = None if self.documents == "blank lines" else self.documents
        return [path for path in (self.source, self.target, documents, self.links) if path is not None]

    @property
    def has_documents(self) -> bool:
        """Return whether the corpus has documents."""
        return self.documents is not None


class TsvSettings(BaseCorpusSettings):
    """A file with tab-separated columns."""

    documents_hint = "`document:` with the number of a column"

    tsv: Path
    """The file: plain text, .gz, .xz or .zst."""
    columns: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] = (0, 1)
    """Columns of source and target, counted from 0."""
    document: int | None = Field(default=None, ge=0)
    """Column with the name of the document that a pair is from."""

    @property
    def paths(self) -> list[Path]:
        """The one file."""
        return [self.tsv]

    @property
    def has_documents(self) -> bool:
        """Return whether the corpus has documents."""
        return self.document is not None


class JsonSettings(BaseCorpusSettings):
    """A file with one JSON object per line; the object, or the one in its field `translation`, holds both sentences."""

    documents_hint = "`document:` with the name of a field"

    jsonl: Path = Field(validation_alias=AliasChoices("jsonl", "json"))
    """The file: plain text, .gz, .xz or .zst."""
    fields: tuple[str, str] | None = None
    """Fields of source and target; by default the codes of the languages."""
    document: str | None = None
    """Field with the name of the document that a pair is from."""

    @property
    def paths(self) -> list[Path]:
        """The one file."""
        return [self.jsonl]

    @property
    def has_documents(self) -> bool:
        """Return whether the corpus has documents."""
        return self.document is not None


class TmxSettings(BaseCorpusSettings):
    """A translation memory in TMX: its units that have both languages."""

    tmx: Path
    """The file: plain, .gz, .xz or .zst."""

    @property
    def paths(self) -> list[Path]:
        """The one file."""
        return [self.tmx]


class MonolingualSettings(BaseCorpusSettings):
    """Sentences of one language, one per line, for language models, or `noised` beside pairs; each is its own translation."""

    text: Path
    """The file: plain text, .gz, .xz or .zst."""
    noised: bool = False
    """Teach a translator to restore these sentences, of its target language, from sources in which words are missing, other ones
    in each epoch (`data.noise`). Their sources begin with a tag, so that the model tells them from sources to translate."""

    @property
    def paths(self) -> list[Path]:
        """The one file."""
        return [self.text]

    @property
    def is_noised(self) -> bool:
        """Return whether the sentences are restored from noised ones."""
        return self.noised


class PhrasebookSettings(BaseCorpusSettings):
    """The built-in corpus: English with Vietnamese or French, or one of them alone."""

    phrasebook: Literal["train", "dev", "test", "compositional"]
    """The split."""
    pairs: int = Field(ge=1)
    """Number of sentence pairs."""
    seed: int = 1
    """Random seed that selects the sentences."""

    @property
    def paths(self) -> list[Path]:
        """Its words and its grammar, which come with the program."""
        return sorted(path for path in (Path(__file__).parent / "phrasebook").iterdir() if path.is_file())

    @property
    def name(self) -> str:
        """Name of the corpus for messages."""
        return f"phrasebook {self.phrasebook}"


KINDS: dict[str, type[BaseCorpusSettings]] = {
    "tsv": TsvSettings,
    "jsonl": JsonSettings,
    "json": JsonSettings,
    "tmx": TmxSettings,
    "phrasebook": PhrasebookSettings,
    "text": MonolingualSettings,
    "source": LinesSettings,
    "target": LinesSettings,
}
"""The setting by which each kind of corpus is recognised."""


def _choose(value: Any, handler: Callable[[Any], Any]) -> Any:
    """Validate a corpus as the kind that its keys name, so that what is wrong with it is said in the terms of that kind."""
    if not isinstance(value, dict):
        return handler(value)
    for key, kind in KINDS.items():
        if key in value:
            return kind.model_validate(value)
    given = f"`{'`, `'.join(map(str, value))}`" if value else "nothing"
    raise ValueError(
        "a corpus is given by `source` and `target`, by `tsv`, by `jsonl`, by `tmx`, by `text` or by `phrasebook`, but one has "
        f"{given}"
    )


CorpusSettings = Annotated[
    LinesSettings | TsvSettings | JsonSettings | TmxSettings | MonolingualSettings | PhrasebookSettings,
    WrapValidator(_choose),
]
"""One corpus; its keys name its kind."""


def corpus_tags(corpus: BaseCorpusSettings) -> tuple[str, ...]:
    """Return the tags of the sources of a corpus, besides that of a language."""
    return (*([SYNTHETIC] if corpus.tagged else []), *([NOISED] if corpus.is_noised else []))
