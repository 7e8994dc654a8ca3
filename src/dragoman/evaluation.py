"""Scores of a finished run on the test corpora of its recipe."""

import json
from pathlib import Path

from dragoman.data.corpus import corpus_files, read_pairs
from dragoman.data.settings import PhrasebookSettings
from dragoman.metrics.scores import Score, bleu, chrf
from dragoman.run import open_run, write_text
from dragoman.translator import Translator


def measure_tests(folder: Path) -> dict[str, list[Score]]:
    """Translate `data.test` of a run as its decoding section says; return BLEU and chrF by corpus, and write test.json.

    The numbers are those of `dragoman evaluate` on the same files. Pairs with an empty side count like all others.
    """
    data = open_run(folder).recipe.data
    translator = Translator.load(folder)
    scores: dict[str, list[Score]] = {}
    for corpus in data.test:
        pairs = list(read_pairs(corpus, data))
        sources = [pair.source for pair in pairs]
        previous = translator.preceding(sources, [pair.document for pair in pairs])
        hypotheses = [one.text for one in translator.translate(sources, previous=previous)]
        references = [[pair.target for pair in pairs]]
        files = corpus_files(corpus, data)
        name = f"phrasebook {corpus.phrasebook}" if isinstance(corpus, PhrasebookSettings) else str(files[0])
        scores[name] = [bleu(hypotheses, references), chrf(hypotheses, references)]
    if scores:
        table = {
            name: {score.name.lower(): {"score": score.score, "signature": score.signature} for score in found}
            for name, found in scores.items()
        }
        write_text(folder / "test.json", json.dumps(table, indent=2) + "\n")
    return scores
