"""Translate whole corpora into JSON Lines files, chunk by chunk, so that it can be stopped and resumed."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from dragoman.atomic import write_text
from dragoman.data.checksums import Checksums
from dragoman.data.corpus import Pair, corpus_files, read_pairs
from dragoman.data.corpus_settings import CorpusSettings
from dragoman.data.filters import PairFilter
from dragoman.data.lines import COMPRESSED
from dragoman.data.settings import DataSettings
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError, RunError, SettingsError
from dragoman.inference.checks import lay_over, refuse_alternatives
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Translator
from dragoman.json_files import load_json, parse_json
from dragoman.machine.processes import for_one_process
from dragoman.models.capabilities import capabilities_of
from dragoman.runs.folder import Run, check_new
from dragoman.settings import parse
from dragoman.text.frames import Between

CHUNK = 1024
"""Number of sentences translated and written together; a resumed job continues after the last chunk."""

ORIGIN = "origin.json"
"""File of a folder of translations that says what they depend on."""

FIELDS = ("source", "target")
"""Fields of a row that hold a sentence and its translation, unless a corpus names others."""

NOT_ALWAYS_REMEMBERED = frozenset({"filters", "corpora", "languages"})
"""What translations depend on that earlier releases did not write down: there, it is taken to be the same."""

MAY_CHANGE = "minutes"
"""What is remembered although translations do not depend on it."""

Choose = Callable[[Translation, Pair], list[Translation]]
"""Returns what to keep from the translation of a pair's source and its alternatives."""


def only_best(found: Translation, pair: Pair) -> list[Translation]:
    """Keep the best translation of a sentence."""
    return [found]


@dataclass(frozen=True)
class TranslationProgress:
    """The progress of translation."""

    sentences: int
    total: int
    rate: float
    """Sentences per second since the job was started or resumed."""

    @property
    def seconds_left(self) -> float:
        """Return the remaining time at this rate."""
        return (self.total - self.sentences) / self.rate


Report = Callable[[TranslationProgress], None]
"""Is called after every chunk."""


def json_line(row: dict[str, Any]) -> str:
    """Return a row as a JSON object."""
    return json.dumps(row, ensure_ascii=False)


@dataclass(frozen=True)
class CorpusTranslation:
    """A corpus, and the file of its translations: one JSON object per line, unless `line` writes another.

    It has `sentence`, the number of the sentence, the two `fields`, and `score`, the log-probability per token with </s>.
    """

    pairs: Callable[[], Iterable[Pair]]
    """Iterates over the corpus from the start."""
    path: Path
    """The file; until it is complete, its translations are in the file `partial`."""
    fields: tuple[str, str] = FIELDS
    """Names of the fields that hold a sentence and its translation, such as the codes of their languages."""
    line: Callable[[dict[str, Any]], str] = json_line
    """Returns the line that stands for a row."""
    to: Between | None = None
    """Between which languages, where the pairs do not say."""

    @property
    def partial(self) -> Path:
        """Return the path of incomplete translations."""
        return self.path.with_name(f"{self.path.name}.partial")

    @property
    def note(self) -> Path:
        """Return the path of the note that says how far incomplete translations go."""
        return self.path.with_suffix(".place")


@dataclass(frozen=True)
class Chunk:
    """Neighbouring pairs of a corpus, which are translated together."""

    number: int
    pairs: Sequence[Pair]
    before: Sequence[Pair]
    """As many pairs before them as a document model reads."""
    end: int
    """Number of pairs of the corpus up to the end of the chunk."""


Translated = tuple[list[dict[str, Any]], int]
"""The rows of a chunk, and the number of pairs of its corpus up to its end."""

TranslateRest = Callable[[CorpusTranslation, int], Iterator[Translated]]
"""Translates what follows so many pairs of a corpus; yields every chunk once, in order."""


def sentences(corpus: CorpusSettings, data: DataSettings) -> Iterator[Pair]:
    """Yield the pairs of a training corpus that its filters keep."""
    return PairFilter(data.filters).keep(read_pairs(corpus, data))


def load_translator(*runs: Path, settings: DecodingSettings, device: str) -> Translator:
    """Load runs to translate corpora. Raises the errors of the first sentence already now, before work begins."""
    translator = Translator.load(*runs, device=device, settings=settings)
    translator.check_dictionary(settings)
    return translator


def best_translator(run: Run, decoding: Mapping[str, Any] | None = None, *, device: str, command: str) -> Translator:
    """Load a run for `command` so that it returns the best translation of each sentence, or one sample.

    `decoding` has settings of the search that differ from those of its recipe. Raises SettingsError for one that asks for more.
    """
    refuse_alternatives(decoding or {}, command)
    chosen = lay_over(run.recipe.decoding, decoding or {}, capabilities_of(run.recipe.model))
    return load_translator(run.folder, device=device, settings=chosen.model_copy(update={"n_best": 1}))


def check_lengths(translator: Translator, corpora: Sequence[CorpusTranslation]) -> None:
    """Raise InputError for the first sentence that is too long for the models, before hours of work rather than after."""
    if all(model.source_positions is None for model in translator.models):
        return
    for pair, to in ((pair, pair.between or corpus.to) for corpus in corpora for pair in corpus.pairs()):
        try:
            translator.requests([pair.source], previous=[[]], to=to)
        except InputError as error:
            runs = " and ".join(str(run.folder) for run in translator.engine.runs) or "this run"
            raise InputError(f"{runs} cannot translate {pair.place}: {error}") from None


def check_files(corpora: Sequence[CorpusSettings], data: DataSettings) -> None:
    """Raise CorpusError for the first missing file, before hours of work rather than after."""
    files = Checksums()
    for corpus in corpora:
        for path in corpus_files(corpus, data):
            files.of(path)


def check_plain(out: Path) -> None:
    """Raise InputError for the name of a compressed file: translations are written as plain text."""
    if out.suffix.lower() in COMPRESSED:
        raise InputError(
            f"{out} would not be what its name says, for translations are written as plain text; leave {out.suffix} out of --out"
        )


@for_one_process
def translate_corpora(
    translator: Translator,
    corpora: Sequence[CorpusTranslation],
    choose: Choose,
    *,
    report: Report | None = None,
    rest: TranslateRest | None = None,
) -> None:
    """Translate every corpus that has no file yet, and report the progress after each chunk, if it is asked for.

    `rest` translates elsewhere than in this process. Raises RunError if the files of an unfinished job are inconsistent.
    """
    translate = rest or partial(_translate_rest, translator, choose=choose)
    counts = [sum(1 for _ in corpus.pairs()) for corpus in corpora]
    begin, already = time.monotonic(), 0
    for number, corpus in enumerate(corpora):
        earlier = sum(counts[:number])
        if corpus.path.exists():
            already += counts[number]
            continue
        resumed = ResumePoint.read(corpus)
        already += resumed.sentences
        with corpus.partial.open("ab") as file:
            file.truncate(resumed.end)
            for rows, sentences in translate(corpus, resumed.sentences):
                _append(file, corpus, rows, sentences=sentences)
                rate = (earlier + sentences - already) / (time.monotonic() - begin)
                if report is not None:
                    report(TranslationProgress(earlier + sentences, sum(counts), rate))
        os.replace(corpus.partial, corpus.path)
        corpus.note.unlink(missing_ok=True)


def _append(file: BinaryIO, corpus: CorpusTranslation, rows: Iterable[dict[str, Any]], *, sentences: int) -> None:
    """Write the rows of a chunk, and that so many sentences are done. RunError if they cannot be written."""
    try:
        file.write("".join(f"{corpus.line(row)}\n" for row in rows).encode())
        file.flush()
        os.fsync(file.fileno())
        ResumePoint(sentences, file.tell()).write(corpus)
    except OSError as error:
        with suppress(OSError):  # it would write once more
            file.close()
        raise RunError(
            f"{corpus.partial} cannot be written ({error.strerror}); free some disk space, and continue with --resume"
        ) from None


def origin(runs: Sequence[Path], translator: Translator, files: Iterable[Path]) -> dict[str, Any]:
    """Return what translations of corpus `files` depend on, ready for JSON."""
    checksums, settings = Checksums(), translator.settings
    read = [*files, *settings.glossary, *([] if settings.dictionary is None else [settings.dictionary])]
    return {
        "runs": [str(run) for run in runs],
        "weights": [checksums.of(run / "model.safetensors") for run in (*runs, *settings.rerank)],
        "data": {str(path): checksums.of(path) for path in read},
        "decoding": settings.model_dump(mode="json"),
    }


def kept_of(data: DataSettings, corpora: Sequence[CorpusSettings] = ()) -> dict[str, Any]:
    """Return what decides which sentences of their files are translated, and in which order, ready for JSON.

    It is part of what translations depend on: a job that is resumed counts sentences.
    """
    return {
        "filters": data.filters.model_dump(mode="json", exclude_defaults=True),
        "corpora": [corpus.model_dump(mode="json", exclude_defaults=True) for corpus in corpora],
    }


def check_run_to_be(folder: Path, texts: str, what: str, *, resume: bool) -> None:
    """Raise RunError for the folder of a new run that is not empty, unless this command has begun in it and may `resume`.

    It began there if the folder has one named `texts`, which holds the `what` that the command makes first.
    """
    begun = (folder / texts).exists()
    if not (begun and resume):
        check_new(folder, resumable=begun)
    if begun and not resume:
        raise RunError(
            f"{folder} already contains {what} for a run; add --resume to continue it, or choose another folder with --out"
        )


def check_begun(out: Path, begun: bool, *, resume: bool) -> None:
    """Raise InputError if there is nothing to resume for an output."""
    if resume and not begun:
        raise InputError(f"there is nothing to resume for {out}; remove --resume to start")


def remember(path: Path, about: dict[str, Any], *, resume: bool) -> None:
    """Write into the folder of translations what they depend on, ready for JSON; what is there already must be the same.

    Raises InputError if it is not, RunError if the file is damaged, cannot be written, or is there without `resume`.
    """
    if path.exists() and not resume:
        raise RunError(
            f"{path.parent} already contains translations; add --resume to continue, or choose another place with --out"
        )
    if path.exists():
        try:
            known = {name: about[name] for name in NOT_ALWAYS_REMEMBERED & about.keys()} | dict(load_json(path))
            known["decoding"] = _with_new_settings(known.get("decoding"))
        except (ValueError, TypeError, SettingsError):
            raise RunError(f"{path} is damaged; remove {path.parent} to translate again") from None
        changed = next((name for name in about if name != MAY_CHANGE and known.get(name) != about[name]), None)
        if changed is not None:
            raise InputError(
                f"{path.parent} contains translations made with other settings or files (`{changed}` differs); use the same ones "
                "to continue, or choose another place with --out"
            )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise RunError(f"{path.parent} cannot be written ({error.strerror}); choose another place with --out") from None


def _with_new_settings(decoding: Any) -> dict[str, Any]:
    """Return remembered decoding settings with the defaults of those that an earlier release did not have."""
    return parse(DecodingSettings, decoding).model_dump(mode="json")


def count(path: Path) -> str:
    """Describe how many translations of how many sentences a file contains."""
    translations, sentences, last = 0, 0, -1
    with path.open("rb") as file:
        for line in file:
            number = parse_json(line)["sentence"]
            translations, sentences, last = translations + 1, sentences + (number != last), number
    share = translations / max(sentences, 1)
    return f"{path}: {translations:,} translations of {sentences:,} sentences ({share:.2f} per sentence)."


@dataclass(frozen=True)
class ResumePoint:
    """The number of translated sentences of a corpus, and their size in bytes in its unfinished file."""

    sentences: int = 0
    end: int = 0

    @classmethod
    def read(cls, corpus: CorpusTranslation) -> "ResumePoint":
        """Return where a job was stopped, or the start. Raises RunError if its files are inconsistent."""
        partial, note = corpus.partial, corpus.note
        if not partial.exists() or not note.exists():
            return cls()
        try:
            sentences, end = map(int, note.read_text(encoding="utf-8").split())
        except ValueError:
            sentences, end = 0, -1
        if not 0 <= end <= partial.stat().st_size:
            raise RunError(f"{partial} and {note} are inconsistent; delete both to translate again")
        return cls(sentences, end)

    def write(self, corpus: CorpusTranslation) -> None:
        """Record the position of the job."""
        write_text(corpus.note, f"{self.sentences} {self.end}\n")


def chunks_of(corpus: CorpusTranslation, previous: int, *, size: int | None = None) -> Iterator[Chunk]:
    """Yield the chunks of a corpus, of so many pairs (by default CHUNK), each with the `previous` pairs before it."""
    pairs = iter(corpus.pairs())
    before: list[Pair] = []
    end = 0
    for number, chunk in enumerate(iter(lambda: list(islice(pairs, size or CHUNK)), [])):
        end += len(chunk)
        yield Chunk(number, chunk, before, end)
        known = [*before, *chunk]
        before = known[max(0, len(known) - previous) :]


def translate_chunk(
    translator: Translator, corpus: CorpusTranslation, chunk: Chunk, *, choose: Choose
) -> list[dict[str, Any]]:
    """Translate a chunk, and return its rows. A document model reads the sentences before each one."""
    known, first = [*chunk.before, *chunk.pairs], chunk.end - len(chunk.pairs)
    given, made = corpus.fields
    previous = translator.preceding([pair.source for pair in known], [pair.document for pair in known])
    found = translator.translate(
        [pair.source for pair in chunk.pairs],
        first=first + 1,
        previous=previous[-len(chunk.pairs) :],
        to=[pair.between or corpus.to for pair in chunk.pairs],
    )
    return [
        {"sentence": at, given: pair.source, made: kept.text, "score": round(kept.per_token, 4)}
        for at, (pair, one) in enumerate(zip(chunk.pairs, found, strict=True), first)
        for kept in choose(one, pair)
    ]


def _translate_rest(
    translator: Translator, corpus: CorpusTranslation, done: int, *, choose: Choose
) -> Iterator[Translated]:
    """Translate in this process what follows the first `done` pairs."""
    for chunk in chunks_of(corpus, translator.previous):
        if chunk.end > done:
            yield translate_chunk(translator, corpus, chunk, choose=choose), chunk.end
