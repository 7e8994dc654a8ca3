"""The demo: train on the phrasebook, evaluate on both of its test sets, and write the report."""

import json
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from dragoman.data.corpus_settings import PhrasebookSettings
from dragoman.data.ledger import record, write_recorded
from dragoman.data.phrasebook import Example, derive, split_words
from dragoman.errors import DragomanError, RunError, SettingsError
from dragoman.inference.attention_map import AttentionMap, with_words
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Translator
from dragoman.inspection import Report, Sample, Score, links_from_weights, merge_pieces, write_report
from dragoman.jobs.train import fit
from dragoman.machine.processes import for_one_process
from dragoman.metrics.alignment import alignment_error_rate
from dragoman.metrics.scores import bleu, chrf
from dragoman.runs.folder import open_run
from dragoman.runs.lock import check_unlocked
from dragoman.runs.recipe import Recipe
from dragoman.settings import dump
from dragoman.text.links import Links
from dragoman.training.contracts import Listener
from dragoman.training.reports import MetricsFile

SENTENCES = ("This is a book.", "I study at school.", "I love cats.", "The cat sits on the mat.")
"""Sentences that every demo translates and draws."""
DEMO = "demo"
"""Entry of the manifest of a demo, which the next demo may replace; complete ones of release 0.1.0 have their numbers alone."""
NUMBERS = "report.json"
"""File with the scores of a demo."""


def remove_previous_demo(folder: Path) -> None:
    """Remove an earlier demo. Raises RunError if the folder holds anything else, such as another run on the phrasebook."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    check_unlocked(folder)
    try:
        ours = DEMO in open_run(folder).manifest or (folder / NUMBERS).exists()
    except DragomanError:
        ours = False
    if not ours:
        raise RunError(f"{folder} contains something that is not a demo; choose another folder with --out")
    shutil.rmtree(folder)


@for_one_process
def run_demo(recipe: Recipe, folder: Path, *, instructions: str, listener: Listener) -> Report | signal.Signals:
    """Train, measure and write report.html and report.json; return the report, or the signal that stopped training."""
    directions = recipe.data.directions
    source, target = directions.trained[0]
    if directions.tagged or source != "en":
        own = f"in several directions ({directions})" if directions.tagged else f"from `{source}`"
        raise SettingsError(
            f"the demo translates from `en`, not {own}; use `dragoman train phrasebook-en-vi` with these settings"
        )
    progress = fit(recipe, folder, listener=listener, about={DEMO: True})
    if not progress.finished:
        return signal.Signals(progress.stopped_by or signal.SIGINT)
    listener.say("Evaluating on both test sets.")
    translator = Translator.load(folder)
    scores: dict[str, list[Score]] = {}
    numbers: dict[str, object] = {}
    samples: list[Sample] = []
    for corpus in recipe.data.test:
        if not isinstance(corpus, PhrasebookSettings):
            continue
        examples = derive(target, corpus.phrasebook, corpus.pairs, seed=corpus.seed)
        translations = translator.translate([example.source for example in examples])
        scores[corpus.phrasebook] = measure(translator, examples, translations)
        numbers[corpus.phrasebook] = {_key(score): score.value for score in scores[corpus.phrasebook]}
        samples += _samples(examples, translations)
    known = translator.translate(SENTENCES, attention=translator.attends)
    pictures = [
        one.reading.picture(f"{source}  →  {one.text}")
        for source, one in zip(SENTENCES, known, strict=True)
        if one.reading is not None and one.text
    ]
    shown = [Sample(source, one.text) for source, one in zip(SENTENCES, known, strict=True)]
    report = Report(
        title=f"Dragoman demo: {source} to {target}",
        summary="A translator trained on the built-in phrasebook, measured on sentences it has never seen.",
        facts={
            "Training pairs": f"{sum(getattr(c, 'pairs', 0) for c in recipe.data.train):,}",
            "Parameters": f"{sum(p.numel() for p in translator.models[0].parameters()):,}",
            "Steps": f"{progress.step:,}",
            "Training time": f"{progress.seconds:.0f} s",
        },
        scores=scores,
        records=MetricsFile(folder / "metrics.jsonl").read(),
        pictures=pictures,
        samples=[*shown, *samples],
        settings=dump(recipe),
        instructions=instructions,
    )
    write_report(report, folder / "report.html")
    table = {**numbers, "seconds": round(progress.seconds, 3)}
    write_recorded(folder, folder / NUMBERS, json.dumps(table, indent=2) + "\n")
    record(folder, [folder / "report.html"])
    return report


def measure(translator: Translator, examples: Sequence[Example], translations: Sequence[Translation]) -> list[Score]:
    """Score translations, and what the model attends to, if anything, when it reads the reference translations."""
    hypotheses = [translation.text for translation in translations]
    references = [[example.target for example in examples]]
    scores = [bleu(hypotheses, references), chrf(hypotheses, references)]
    better = "0 to 100, higher is better"
    found = [Score(s.name, s.score, better, s.signature, 1) for s in scores]
    if not translator.attends:
        return found
    readings = translator.attention_maps(
        [example.source for example in examples], [example.target for example in examples]
    )
    links = [_links(translator, reading, example) for reading, example in zip(readings, examples, strict=True)]
    gold = [Links(frozenset(example.links)) for example in examples]
    error = alignment_error_rate(links, gold)
    found.append(Score("AER", error, "alignment error rate, 0 to 1, lower is better", "", 3))
    return found


def _links(translator: Translator, reading: AttentionMap, example: Example) -> Links:
    """Link words as the phrasebook segments them."""
    source = with_words(translator.source, example.source, split_words(example.source))
    target = with_words(translator.target, example.target, split_words(example.target))
    weights = merge_pieces(reading.mean(), source.owners, target.owners)
    return Links(frozenset(links_from_weights(weights)))


def _samples(examples: Sequence[Example], translations: Sequence[Translation]) -> list[Sample]:
    """Return the first few sentences of a test, and the first few wrong ones of the others."""
    pairs = [Sample(e.source, t.text, e.target) for e, t in zip(examples, translations, strict=True)]
    wrong = [pair for pair in pairs[6:] if pair.translation != pair.reference]
    return [*pairs[:6], *wrong[:4]]


def _key(score: Score) -> str:
    """Return the name of a score in report.json."""
    return "alignment_error_rate" if score.metric == "AER" else score.metric.lower()
