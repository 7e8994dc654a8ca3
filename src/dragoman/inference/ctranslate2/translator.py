"""An export as a translator: text in, text out."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.data.directions import Languages
from dragoman.decoding.hypotheses import different
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError
from dragoman.inference.batching import check_memory
from dragoman.inference.checks import lay_over
from dragoman.inference.ctranslate2.folder import Export
from dragoman.inference.ctranslate2.search import Engine, obstacle
from dragoman.inference.spelling import Speller
from dragoman.inference.translation import Translation
from dragoman.settings import parse
from dragoman.text.codec import encode_within
from dragoman.text.given import given_texts

DICTIONARY = "dictionary.tsv"
"""File of an export that holds translations of single words, as in a run."""
LIMIT = "tokens that an export takes; split it, or use the run itself (`--engine torch RUN`)"
"""What an error says of the length of a sentence."""


class ExportedTranslator:
    """Translates text with an export; like `Translator`, but without attention and sampling."""

    previous = 0
    """No export reads the sentences before each one."""
    view = None
    attends = False
    """No export provides attention."""

    def __init__(self, export: Export, settings: DecodingSettings | None = None, *, threads: int | None = None) -> None:
        """Load the model. Raises InputError if CTranslate2 does not support what `settings` ask for."""
        self.source, self.target, self.directions = export.source, export.target, export.directions
        self.settings = settings or export.decoding
        require_supported(self.settings)
        self.positions = export.positions
        self._folder = export.folder
        self._speller = Speller(export.source, export.target, export.folder / DICTIONARY)
        self.engine = Engine(export.folder, self.source, self.target, positions=export.positions, threads=threads)

    def preceding(self, sentences: Sequence[str], documents: Sequence[str | None] | None = None) -> list[list[str]]:
        """Return the sentences before each one that are read: none."""
        return [[] for _ in sentences]

    def remarks(self, sentences: Sequence[str], *, first: int = 1) -> list[str]:
        """Return nothing: an export does not record what it was trained on."""
        return []

    def encode(self, sentences: Sequence[str], *, first: int = 1, to: Languages = None) -> list[list[int]]:
        """Return the ids of sources. InputError names one that is longer than an export takes, counted from `first`."""
        languages = self.directions.frames(to, len(sentences))
        options: dict[str, Any] = {"name": "source sentence", "first": first, "languages": languages, "limit": LIMIT}
        return encode_within(self.source, sentences, self.positions, **options)

    def translate(
        self,
        sentences: Iterable[str],
        *,
        settings: DecodingSettings | None = None,
        attention: bool = False,
        replace_unknowns: bool = False,
        first: int = 1,
        previous: Any = None,
        to: Languages = None,
        **decoding: Any,
    ) -> list[Translation]:
        """Translate sentences, in their order, as `Translator.translate` does. Raises InputError if attention is needed."""
        if attention or replace_unknowns:
            raise InputError(
                "CTranslate2 does not provide attention by layer and head; translate with `--engine torch RUN`"
            )
        chosen = lay_over(settings or self.settings, decoding)
        require_supported(chosen)
        check_memory(chosen, len(self.target))
        texts = given_texts(sentences, first=first)
        encoded = self.encode(texts, first=first, to=to)
        todo = [row for row, ids in enumerate(encoded) if ids]
        hypotheses = self.engine.search([encoded[row] for row in todo], *chosen.searches)
        found = {
            row: different(some, self.target.decode, chosen.n_best) for row, some in zip(todo, hypotheses, strict=True)
        }
        return [
            self._speller.translation(
                sentence, found.get(row, []), dictionary=chosen.dictionary, readings=None, replaces=False
            )
            for row, sentence in enumerate(texts)
        ]


def require_supported(settings: DecodingSettings) -> None:
    """Raise InputError, which names the first, for settings that CTranslate2 does not support with the same meaning."""
    missing = obstacle(settings)
    if missing is not None:
        raise InputError(
            f"CTranslate2 does not support {missing} with the same meaning; translate with `--engine torch RUN`"
        )


def load_export(
    export: Export, decoding: Mapping[str, Any], base: DecodingSettings | None = None
) -> ExportedTranslator:
    """Load an export; `decoding` changes its decoding settings, or those of `base`. Raises SettingsError if they do not fit."""
    before = base or export.decoding
    settings = lay_over(before, decoding)
    if settings.precision not in (before.precision, "auto"):
        raise InputError(
            f"`precision: {settings.precision}` has no effect on an export, whose precision is fixed; choose it with "
            "`dragoman export --quantization`, or translate with `--engine torch RUN`"
        )
    if settings.dictionary != before.dictionary and not export.target.positional:
        raise InputError(
            "`dictionary` has no effect: an export keeps unknown words; translate with `--engine torch RUN`"
        )
    return ExportedTranslator(export, settings)


def can_be_used() -> bool:
    """Return whether CTranslate2 is installed."""
    from importlib.util import find_spec

    return find_spec("ctranslate2") is not None


def run_settings(run: Path, decoding: Mapping[str, Any]) -> DecodingSettings:
    """Return the decoding settings of a run's recipe, overridden by `decoding`, without reading the rest of it."""
    from dragoman.settings import read_yaml

    table = read_yaml(run / "recipe.yaml").get("decoding") or {}
    return lay_over(parse(DecodingSettings, table, "the decoding section"), decoding)
