"""Settings of the corpora that a run reads."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field, WrapValidator, model_validator

from dragoman.settings import Settings
from dragoman.text.tags import SYNTHETIC


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

    @property
    @abstractmethod
    def paths(self) -> list[Path]:
        """Files that the corpus is read from; those below `data.root` are relative."""

    @property
    def name(self) -> str:
        """Name of the corpus for messages."""
        return str(self.paths[0])

    @property
    def has_documents(self) -> bool:
        """Return whether the corpus has documents."""
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


class MonolingualSettings(BaseCorpusSettings):
    """Sentences of one language, one per line, for language models; each is its own translation."""

    text: Path
    """The file: plain text, .gz, .xz or .zst."""

    @property
    def paths(self) -> list[Path]:
        """The one file."""
        return [self.text]


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
        f"a corpus is given by `source` and `target`, by `tsv`, by `jsonl`, by `text` or by `phrasebook`, but one has {given}"
    )


CorpusSettings = Annotated[
    LinesSettings | TsvSettings | JsonSettings | MonolingualSettings | PhrasebookSettings, WrapValidator(_choose)
]
"""One corpus; its keys name its kind."""


def tag_of(corpus: BaseCorpusSettings) -> str | None:
    """Return the tag at the start of each source of a corpus, if it has one."""
    return SYNTHETIC if corpus.tagged else None


def tags_of(corpora: Iterable[BaseCorpusSettings]) -> tuple[str, ...]:
    """Return the tags of several corpora, each once."""
    return tuple(sorted({tag for tag in map(tag_of, corpora) if tag is not None}))


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

    source: str = Field(min_length=1)
    """Code of the source language, such as `en`."""
    target: str = Field(min_length=1)
    """Code of the target language."""
    root: Path = Path(".")
    """Folder that paths of corpora are relative to. In paths, {source} and {target} are replaced by the language codes."""
    train: tuple[CorpusSettings, ...] = Field(min_length=1)
    """Training corpora."""
    dev: tuple[CorpusSettings, ...] = Field(min_length=1)
    """Development corpora, which choose the best checkpoint."""
    test: tuple[CorpusSettings, ...] = ()
    """Test corpora, which are measured at the end."""
    filters: FilterSettings = FilterSettings()
    """Which training pairs are excluded."""

    @model_validator(mode="after")
    def _check(self) -> "DataSettings":
        languages = {self.source, self.target}
        corpora = (*self.train, *self.dev, *self.test)
        reads_phrasebook = any(isinstance(corpus, PhrasebookSettings) for corpus in corpora)
        if reads_phrasebook and not (languages <= {"en", "vi"} or languages <= {"en", "fr"}):
            raise ValueError(
                f"the phrasebook is between `en` and `vi` or `fr`, or one of them alone, but `data.source` is "
                f"`{self.source}` and `data.target` is `{self.target}`"
            )
        return self

    def place(self, path: Path) -> Path:
        """Return where a corpus file is: below `root`, with the codes of the languages in it filled in.

        >>> data = DataSettings(source="en", target="vi", root="texts", train=[{"tsv": "a"}], dev=[{"tsv": "b"}])
        >>> data.place(Path("train.{target}")).as_posix()
        'texts/train.vi'
        """
        name = str(self.root / path)
        return Path(name.replace("{source}", self.source).replace("{target}", self.target))
