"""Scores of a finished run on the test corpora of its recipe."""

import json
import math
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from dragoman.data.corpus import Pair, corpus_files, read_pairs
from dragoman.data.corpus_settings import PhrasebookSettings
from dragoman.data.ledger import write_recorded
from dragoman.inference.translator import Translator
from dragoman.jobs.validation import LanguageModelValidation
from dragoman.machine.devices import choose_device
from dragoman.machine.memory import return_freed_memory
from dragoman.metrics.scores import Score, bleu, chrf
from dragoman.models.build import purpose_of
from dragoman.runs.folder import Run, open_run

Measure = Callable[[list[Pair]], list[Score]]
"""Scores the pairs of one corpus."""


def measure_tests(folder: Path) -> dict[str, list[Score]]:
    """Measure a run on its `data.test`; return the scores by corpus, and write test.json.

    A translator uses its decoding section, and gets the same BLEU and chrF as with `dragoman evaluate` on the same files;
    pairs with an empty side count like all others. A corpus used in both directions has scores of each; a further one of the
    same file, such as one with other references, is named by its number in `data.test` too. A language model is
    measured by its perplexity per predicted token.
    """
    return_freed_memory()
    run = open_run(folder)
    data = run.recipe.data
    measure = _translating(folder) if purpose_of(run.recipe.model) == "translate" else _perplexity(run)
    scores: dict[str, list[Score]] = {}
    for number, corpus in enumerate(data.test, 1):
        files = corpus_files(corpus, data)
        name = f"phrasebook {corpus.phrasebook}" if isinstance(corpus, PhrasebookSettings) else str(files[0])
        for languages, group in groupby(read_pairs(corpus, data), lambda pair: pair.languages):
            place = name if languages is None else f"{name} ({'-'.join(languages)})"
            place = f"{place}, corpus {number}" if place in scores else place
            scores[place] = measure(list(group))
    if scores:
        table = {
            name: {score.name.lower(): {"score": score.score, "signature": score.signature} for score in found}
            for name, found in scores.items()
        }
        write_recorded(folder, folder / "test.json", json.dumps(table, indent=2) + "\n")
    return scores


def _translating(folder: Path) -> Measure:
    """Return a function that translates pairs and scores the translations."""
    translator = Translator.load(folder)

    def measure(pairs: list[Pair]) -> list[Score]:
        sources = [pair.source for pair in pairs]
        previous = translator.preceding(sources, [pair.document for pair in pairs])
        to = [pair.between for pair in pairs]
        hypotheses = [one.text for one in translator.translate(sources, previous=previous, to=to)]
        references = [[pair.target for pair in pairs]]
        return [bleu(hypotheses, references), chrf(hypotheses, references)]

    return measure


def _perplexity(run: Run) -> Measure:
    """Return a function that measures the perplexity of a language model; the signature has the vocabulary size."""
    model = run.load_any(choose_device("auto"))

    def measure(pairs: list[Pair]) -> list[Score]:
        given = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
        loss = LanguageModelValidation(run, model, given)(model)["dev_loss"]
        return [Score("perplexity", math.exp(loss), f"kind:{run.recipe.model.kind}|pieces:{len(run.target)}")]

    return measure
