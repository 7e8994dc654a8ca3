"""Back-translation: sentences of the target language alone become training pairs, by a run of the opposite direction."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from dragoman.atomic import replacing_output
from dragoman.data.corpus import Pair, read_pairs
from dragoman.data.corpus_settings import MonolingualSettings
from dragoman.data.filters import FilterSummary, PairFilter
from dragoman.errors import InputError, RunError, SettingsError
from dragoman.inference.checks import refuse_documents
from dragoman.jobs.translate_corpus import (
    ORIGIN,
    CorpusTranslation,
    Report,
    best_translator,
    check_begun,
    check_plain,
    kept_of,
    only_best,
    origin,
    remember,
    translate_corpora,
)
from dragoman.json_files import parse_json
from dragoman.machine.processes import for_one_process
from dragoman.models.capabilities import capabilities_of
from dragoman.runs.folder import Run, open_run
from dragoman.runs.lock import run_lock
from dragoman.text.frames import Between
from dragoman.text.normalize import normalize


@dataclass(frozen=True)
class BacktranslationSettings:
    """How sentences are translated back, and which of the pairs are kept."""

    keep_best: float = 1.0
    """Share of the pairs to keep, those of the highest log-probability per token."""
    minimum_score: float | None = None
    """Minimum log-probability per token, </s> included."""
    decoding: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the search that differ from those of the run's recipe."""

    def __post_init__(self) -> None:
        """Raise SettingsError for what keeps no pair, or is not a number."""
        if not 0 < self.keep_best <= 1:
            raise SettingsError(f"`keep_best` is {self.keep_best}, but it must be a share above 0 and at most 1")
        if self.minimum_score is not None and not isfinite(self.minimum_score):
            raise SettingsError(f"`minimum_score` is {self.minimum_score}, but it must be a finite number")


@dataclass(frozen=True)
class Backtranslated:
    """What became of the lines of a text."""

    lines: FilterSummary
    """The lines that were translated, and those left out before."""
    empty: int
    """Lines whose translation is empty."""
    low: int
    """Pairs whose score is too low."""
    pairs: int
    """Pairs that were written."""

    def __str__(self) -> str:
        dropped = "".join(f"; {count:,} {_REASONS.get(why, why)}" for why, count in self.lines.dropped.most_common())
        said = f"{self.lines.kept + self.lines.dropped.total():,} lines{dropped}; {self.lines.kept:,} translated"
        return f"{said}; {self.empty:,} with an empty translation; {self.low:,} with a low score; {self.pairs:,} pairs written."


_REASONS = {"with an empty side": "empty", "seen before": "repeated"}
"""What the reasons of a filter of pairs are called where there is one side."""


def folder_of(out: Path) -> Path:
    """Return the folder with all translations, beside the file of those that are kept."""
    return out.parent / f"{out.name}.translations"


@for_one_process
def backtranslate(
    folder: Path,
    text: Path,
    out: Path,
    *,
    settings: BacktranslationSettings,
    to: Between | None = None,
    device: str = "auto",
    resume: bool = False,
    report: Report | None = None,
) -> Backtranslated:
    """Translate each line of `text` with the run in `folder`, and write `out`: translation, tab, line, tab, score.

    The pairs are for a run of the opposite direction (Sennrich et al. 2016, "Improving neural machine translation models with
    monolingual data"). Empty, repeated and too long lines are left out; they are too long where they exceed the run's
    `data.filters` or positions. The score is the log-probability per token. All translations stay in the folder
    `folder_of(out)`, where a stopped job resumes, and from which other shares can be kept. A run of several target languages
    needs `to`. Raises RunError if `out` exists without `resume`, InputError where the run cannot translate single sentences.
    """
    run, work = open_run(folder), folder_of(out)
    run.require("translate")
    between = run.directions.choose(*(to or ()))
    refuse_documents(folder, capabilities_of(run.recipe.model), "lines of monolingual text are translated one by one")
    translator = best_translator(run, settings.decoding, device=device, command="backtranslate")
    check_plain(out)
    _check_new(out, resume=resume)
    framed = between if run.directions.tagged else None
    lines = partial(_lines, run, text, between=framed, bound=translator.models[0].source_positions)
    if next(lines(summary=FilterSummary()), None) is None:
        raise InputError(f"{text} has no line that can be translated; give a text with one sentence per line")
    with run_lock(work):
        about = origin([folder], translator, [text]) | kept_of(run.recipe.data) | {"languages": list(between)}
        remember(work / ORIGIN, about, resume=resume)
        corpus = CorpusTranslation(lambda: lines(summary=FilterSummary()), work / "1.jsonl", to=framed)
        translate_corpora(translator, [corpus], only_best, report=report)
        summary = FilterSummary()
        translated = sum(1 for _ in lines(summary=summary))
        scores = [row["score"] for row in _rows(corpus.path)]
        kept = _chosen(scores, settings)
        with replacing_output(out) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_line(row) for at, row in enumerate(_rows(corpus.path)) if at in kept)
    return Backtranslated(summary, translated - len(scores), len(scores) - len(kept), len(kept))


def _check_new(out: Path, *, resume: bool) -> None:
    """Raise RunError for what is there already without `resume`, InputError for a folder or if there is nothing to resume."""
    if out.is_dir():
        raise InputError(f"{out} is a directory; give the path of a file with --out")
    work = folder_of(out)
    check_begun(out, work.exists(), resume=resume)
    if not resume and (out.exists() or work.exists()):
        hint = "add --resume to continue, or " if work.exists() else ""
        raise RunError(f"{out if out.exists() else work} already exists; {hint}choose another file with --out")


def _lines(
    run: Run, text: Path, *, between: Between | None, bound: int | None, summary: FilterSummary
) -> Iterator[Pair]:
    """Yield the lines to translate, each as a pair with itself; count them, and those left out, in `summary`."""
    data = run.recipe.data.model_copy(
        update={"languages": (), "train": ()}
    )  # these lines are in none of its directions
    pair_filter = PairFilter(data.filters.model_copy(update={"drop_duplicates": True}), summary)
    for pair in pair_filter.keep(read_pairs(MonolingualSettings(text=text.absolute()), data)):
        if bound is not None and len(run.source.special.ended(run.source.framed(pair.source, between))) > bound:
            summary.kept -= 1
            summary.drop(f"with more tokens than the {bound} positions of the run", pair.place)
        else:
            yield pair


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read the translations that are not empty. Raises RunError if their file is damaged."""
    with path.open(encoding="utf-8") as file:
        try:
            for line in file:
                row = parse_json(line)
                if row["target"].strip():
                    yield {name: row[name] for name in ("source", "target", "score")}
        except (ValueError, KeyError, TypeError):
            raise RunError(f"{path} is damaged; remove {path.parent} to translate again") from None


def _chosen(scores: list[float], settings: BacktranslationSettings) -> set[int]:
    """Return the numbers of the pairs to keep. Raises InputError if none is left.

    >>> sorted(_chosen([-1.0, -0.5, -2.0, -0.5], BacktranslationSettings(keep_best=0.75, minimum_score=-0.5)))
    [1, 3]
    """
    best = sorted(range(len(scores)), key=lambda at: -scores[at])[: round(settings.keep_best * len(scores))]
    kept = {at for at in best if settings.minimum_score is None or scores[at] >= settings.minimum_score}
    if not scores:
        raise InputError(
            "no pair is left: no line has a translation; give a run that was trained longer, or other text"
        )
    if not kept:
        more = "" if settings.keep_best == 1 else "raise --keep-best, "
        raise InputError(
            f"no pair is left: the highest of {len(scores):,} scores is {max(scores):.2f}; lower --minimum-score, {more}or give "
            "more text"
        )
    return kept


def _line(row: Mapping[str, Any]) -> str:
    """Return a pair as a line of a table: its source is what the run wrote."""
    return f"{row['target']}\t{normalize(row['source'])}\t{row['score']:.4f}\n"
