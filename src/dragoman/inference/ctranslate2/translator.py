"""Text in, text out: an export as a translator."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.decoding.hypotheses import Hypothesis
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError
from dragoman.inference.ctranslate2.folder import Export
from dragoman.inference.ctranslate2.search import Engine, obstacle
from dragoman.inference.translation import Translation
from dragoman.settings import parse
from dragoman.text.codec import encode_within
from dragoman.text.vocabulary import UNK

DICTIONARY = "dictionary.tsv"
"""File of an export that holds translations of single words, as in a run."""


class ExportedTranslator:
    """Translates text with an export; it does what `Translator` does, but shows no attention and draws no samples."""

    previous = 0
    """No export reads the sentences before each one."""
    view = None

    def __init__(self, export: Export, settings: DecodingSettings | None = None, *, threads: int | None = None) -> None:
        """Load the model. InputError where CTranslate2 has not all that `settings` ask for."""
        self.source, self.target, self.languages = export.source, export.target, export.languages
        self.settings = settings or export.decoding
        missing = obstacle(self.settings)
        if missing is not None:
            raise InputError(
                f"CTranslate2 has no `{missing}` as Dragoman means it; translate with `--engine torch RUN`"
            )
        self.positions = export.positions
        self._folder = export.folder
        self._dictionaries: dict[Path | None, Mapping[str, str]] = {}
        self.engine = Engine(export.folder, self.source, self.target, positions=export.positions, threads=threads)

    def searched(self, settings: DecodingSettings) -> "ExportedTranslator":
        """Return this translator with other settings of search; the model is loaded once."""
        other = copy.copy(self)
        other.settings = settings
        return other

    def preceding(self, sentences: Sequence[str], documents: Sequence[str | None] | None = None) -> list[list[str]]:
        """Return the sentences before each one that are read: none."""
        return [[] for _ in sentences]

    def translate(
        self,
        sentences: Sequence[str],
        *,
        attention: bool = False,
        replace_unknowns: bool = False,
        first: int = 1,
        previous: Any = None,
    ) -> list[Translation]:
        """Translate sentences, in their order, as `Translator.translate` does. InputError where attention is needed."""
        if attention or replace_unknowns:
            raise InputError("CTranslate2 shows no attention as Dragoman means it; translate with `--engine torch RUN`")
        encoded = encode_within(self.source, sentences, self.positions, name="source sentence", first=first)
        todo = [row for row, ids in enumerate(encoded) if ids]
        found = self.engine.search([encoded[row] for row in todo], self.settings)
        results = [Translation("", 0.0, 0.0)] * len(sentences)
        for row, hypotheses in zip(todo, found, strict=True):
            made = [Translation(self._text(sentences[row], one), one.score, one.log_prob) for one in hypotheses]
            results[row] = Translation(made[0].text, made[0].score, made[0].log_prob, tuple(made[1:]))
        return results

    def _text(self, source: str, hypothesis: Hypothesis) -> str:
        """Spell a translation, with source words in place of unknown ones that tell where they come from."""
        if not self.target.positional:
            return self.target.decode(hypothesis.ids)
        from dragoman.decoding.unknown import replace_positional

        words, unknown = self.target.pieces(hypothesis.ids), self.target.pieces([UNK])[0]
        replaced = replace_positional(words, self.source.split(source), unknown=unknown, dictionary=self._dictionary())
        return self.target.join(replaced)

    def _dictionary(self) -> Mapping[str, str]:
        """Return translations of single words: the export's own, and those that the settings name."""
        from dragoman.data.unknown import read_dictionary

        given = self.settings.dictionary
        if given not in self._dictionaries:
            own = self._folder / DICTIONARY
            paths = [path for path in (own if own.exists() else None, given) if path is not None]
            self._dictionaries[given] = {word: other for path in paths for word, other in read_dictionary(path).items()}
        return self._dictionaries[given]


def load_export(
    export: Export, decoding: Mapping[str, Any], base: DecodingSettings | None = None
) -> ExportedTranslator:
    """Load an export; `decoding` changes its decoding settings, or those of `base`. SettingsError where they do not fit."""
    given = {name: value for name, value in decoding.items() if value is not None}
    settings = parse(DecodingSettings, (base or export.decoding).model_dump() | given, "the decoding section")
    return ExportedTranslator(export, settings)


def can_be_used() -> bool:
    """Tell whether CTranslate2 is installed."""
    from importlib.util import find_spec

    return find_spec("ctranslate2") is not None


def run_settings(run: Path, decoding: Mapping[str, Any]) -> DecodingSettings:
    """Return the decoding settings of a run's recipe with `decoding` laid over them, without reading the rest of it."""
    from dragoman.settings import read_yaml

    given = {name: value for name, value in decoding.items() if value is not None}
    table = read_yaml(run / "recipe.yaml").get("decoding") or {}
    return parse(DecodingSettings, {**table, **given}, "the decoding section")
