"""Data diversification: runs of both directions translate their own training corpus, and a new model learns from everything."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.atomic import write_text
from dragoman.data.corpus import Pair, corpus_files
from dragoman.data.corpus_settings import CorpusSettings
from dragoman.data.settings import DataSettings
from dragoman.errors import InputError, RunError
from dragoman.inference.checks import refuse_documents
from dragoman.jobs.checks import check_recipe, check_rerank
from dragoman.jobs.translate_corpus import (
    CorpusTranslation,
    Report,
    best_translator,
    check_begun,
    check_files,
    check_lengths,
    count,
    kept_of,
    only_best,
    origin,
    remember,
    sentences,
    translate_corpora,
)
from dragoman.machine.processes import for_one_process
from dragoman.models.capabilities import capabilities_of
from dragoman.runs.folder import Run, open_run
from dragoman.runs.lock import run_lock
from dragoman.runs.recipe import Recipe
from dragoman.settings import dump, parse

RECIPE = "recipe.yaml"
"""File of the folder that holds the recipe of the new model."""


@dataclass(frozen=True)
class Diversified:
    """What was made: the recipe of the new model, and a sentence about each file of translations."""

    recipe: Path
    files: list[str]


@for_one_process
def diversify(
    runs: Sequence[Path],
    folder: Path,
    *,
    original: Path | None = None,
    decoding: Mapping[str, Any] | None = None,
    device: str = "auto",
    resume: bool = False,
    report: Report | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> Diversified:
    """Translate the training corpora of the run `original` with all `runs`, and write a recipe that learns from everything.

    Runs of the direction of the first one translate the sources, those of the opposite direction the targets; both give pairs
    for both directions. `original` is the first run unless given, as in a second round, whose runs were trained on the recipe
    of the first. Source: Nguyen et al. 2020, "Data diversification: a simple strategy for neural machine translation",
    algorithm 1; k is the number of runs of each direction, N the number of rounds. Duplicates are left out when the recipe is
    trained. Raises RunError if the folder is in use or was begun without `resume`, InputError for runs that do not fit; nothing
    is translated before all runs are checked.
    """
    opened = [open_run(run) for run in runs]
    _check(opened)
    first = opened[0] if original is None else open_run(original)
    first.directions.require_one(str(first.folder))
    first.require_corpora()
    data = first.recipe.data
    if (data.source, data.target) != opened[0].languages:
        wanted = " to ".join(opened[0].languages)
        raise InputError(
            f"{original} does not translate from {wanted}, as {runs[0]} does; give one that does with --original"
        )
    plans = [_corpora(run, number, data, folder=folder) for number, run in enumerate(opened, 1)]
    recipe = _recipe(opened[0], [corpus for plan in plans for corpus in plan], data)
    _check_folder(folder, resume=resume)
    check_files((*recipe.data.dev, *recipe.data.test), recipe.data)
    if remark := one_way(opened):
        say(remark)
    work = list(zip(opened, plans, strict=True))
    files = [path for corpus in data.train for path in corpus_files(corpus, data)]
    with run_lock(folder):
        known = [_check_plan(run, plan, decoding, device=device, files=files) for run, plan in work]
        for number, about in enumerate(known, 1):
            remember(folder / _origin(number), about | kept_of(data, data.train), resume=resume)
        for run, plan in work:
            translator = best_translator(run, decoding, device=device, command="diversify")
            translate_corpora(translator, plan, only_best, report=report)
        write_text(folder / RECIPE, dump(recipe))
    return Diversified(folder / RECIPE, [count(corpus.path) for plan in plans for corpus in plan])


def one_way(runs: Sequence[Run]) -> str | None:
    """Say that all runs translate in one direction, so that half of what the paper gains from is missing."""
    source, target = runs[0].languages
    if any(run.languages != (source, target) for run in runs):
        return None
    return (
        f"All runs translate from {source} to {target}, so only sources are translated. A run from {target} to {source} "
        "would add translations of the targets."
    )


def _check_folder(folder: Path, *, resume: bool) -> None:
    """Raise RunError for a folder that holds anything but translations to continue, InputError if there are none to resume."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; choose a folder with --out")
    found = sorted(path.name for path in folder.glob("[!.]*"))
    if found and _origin(1) not in found:
        raise RunError(
            f"{folder} contains files that this did not make (such as `{found[0]}`); choose another folder with --out"
        )
    if found and not resume:
        raise RunError(
            f"{folder} already contains translations; add --resume to continue, or choose another folder with --out"
        )
    check_begun(folder, bool(found), resume=resume)


def _origin(number: int) -> str:
    """Return the name of the file that says what the translations by a run depend on; that of the first one comes first."""
    return f"{number}.origin.json"


def _check(runs: Sequence[Run]) -> None:
    """Raise InputError for a run that cannot translate the corpora of the first one, in either direction, or is given twice."""
    for number, run in enumerate(runs):
        if run.folder.resolve() in [other.folder.resolve() for other in runs[:number]]:
            raise InputError(f"{run.folder} is given twice, but would translate the same twice; give each run once")
        run.require("translate")
        run.directions.require_one(str(run.folder))
        if run.languages not in (runs[0].languages, runs[0].languages[::-1]):
            raise InputError(
                f"{run.folder} translates from {' to '.join(run.languages)} but {runs[0].folder} from "
                f"{' to '.join(runs[0].languages)}; give runs between the same two languages"
            )
        refuse_documents(run.folder, capabilities_of(run.recipe.model), "corpora are translated sentence by sentence")


def _corpora(run: Run, number: int, data: DataSettings, *, folder: Path) -> list[CorpusTranslation]:
    """Return what a run translates: the sources of each training corpus, or its targets, with the files for them."""
    swapped = run.languages != (data.source, data.target)
    return [
        CorpusTranslation(
            partial(_sentences, corpus, data, swapped), folder.absolute() / f"{number}-{part}.jsonl", run.languages
        )
        for part, corpus in enumerate(data.pairs, 1)
    ]


def _sentences(corpus: CorpusSettings, data: DataSettings, swapped: bool) -> Iterator[Pair]:
    """Yield the pairs of a corpus, with their sides swapped for a run of the opposite direction."""
    for pair in sentences(corpus, data):
        yield Pair(pair.target, pair.source, pair.place) if swapped else pair


def _recipe(run: Run, made: Sequence[CorpusTranslation], data: DataSettings) -> Recipe:
    """Return the recipe of a run with the translations among its training corpora, and without duplicates.

    Noised text is left out, because it is of one language, and the recipe is for both directions.
    """
    table = run.recipe.model_dump(mode="json")
    repeats = [corpus.repeat for corpus in data.pairs]
    own = zip(table["data"]["train"], run.recipe.data.train, strict=True)
    table["data"]["train"] = [given for given, corpus in own if not corpus.is_noised] + [
        {"jsonl": str(corpus.path), "repeat": repeats[number % len(repeats)]} for number, corpus in enumerate(made)
    ]
    del table["data"]["noise"]
    table["data"]["filters"]["drop_duplicates"] = True
    recipe = parse(Recipe, table)
    check_recipe(recipe)
    check_rerank(recipe)
    return recipe


def _check_plan(
    run: Run,
    plan: Sequence[CorpusTranslation],
    decoding: Mapping[str, Any] | None,
    *,
    device: str,
    files: Sequence[Path],
) -> dict[str, Any]:
    """Load a run to see that it can translate its corpora; return what its translations depend on, ready for JSON.

    It is loaded again when its turn comes, so that only one is in memory.
    """
    translator = best_translator(run, decoding, device=device, command="diversify")
    check_lengths(translator, plan)
    return origin([run.folder], translator, files)
