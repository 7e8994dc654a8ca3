"""Find the weights of the runs that rerank: those with the highest BLEU on a dev set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from dragoman.decoding.settings import ALONE, DecodingSettings
from dragoman.errors import InputError, SettingsError
from dragoman.inference.checks import lay_over
from dragoman.inference.noisy_channel import features
from dragoman.inference.scorers import load_scorers
from dragoman.inference.translator import Translator
from dragoman.machine.processes import for_one_process
from dragoman.metrics.scores import bleu_of_statistics, bleu_statistics, tokenizer_for
from dragoman.models.capabilities import capabilities_of
from dragoman.runs.folder import open_run

GRID = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5)
"""Weights that are tried for each run."""
MOST = 4
"""Maximum number of runs: every combination of weights is tried."""
STATISTICS = 10
"""Numbers that corpus BLEU needs of each sentence."""
WITHOUT: Mapping[str, Any] = {**ALONE, "glossary": (), "glossary_beam": DecodingSettings().glossary_beam}
"""Changes of decoding settings for the list of hypotheses: what reranks is tuned, and terms are required after reranking."""


@dataclass(frozen=True)
class Tuned:
    """The best weights, with BLEU on the dev set; of equally good ones, the first in the grid, which are the smallest."""

    weights: tuple[float, ...]
    bleu: float
    before: float
    """BLEU without reranking."""


@for_one_process
def tune(
    runs: Sequence[Path],
    others: Sequence[Path],
    sources: Sequence[str],
    *,
    references: Sequence[Sequence[str]],
    decoding: Mapping[str, Any],
    device: str = "auto",
) -> Tuned:
    """Translate `sources` once, score the whole beam with each of the `others`, and try all weights of the grid.

    Several `runs` translate as an ensemble, with the settings of the first. `references` are sets of reference translations,
    each as long as `sources`. Runs, weights and glossary of the recipe's own `decoding` do not take part. Raises SettingsError
    for a search without several hypotheses or with a glossary, InputError for runs that cannot rerank.
    """
    if len(others) > MOST:
        raise InputError(f"all combinations of weights are tried, too many for {len(others)} runs; give at most {MOST}")
    for name in ALONE:
        if name in decoding:
            raise SettingsError(
                f"`decoding.{name}` is what `dragoman tune` finds or is given with `--rerank`; remove it"
            )
    if decoding.get("glossary"):
        raise SettingsError(
            "`decoding.glossary` changes translations after they are reranked; tune without it, then translate with both"
        )
    own = open_run(runs[0])
    own.require("translate")
    own.directions.require_one(str(runs[0]))
    alone = own.recipe.decoding.model_copy(update=WITHOUT)
    changes = {**decoding, "rerank": [str(other) for other in others]}
    settings = lay_over(alone, changes, capabilities_of(own.recipe.model))
    (whole,) = settings.searches
    translator = Translator.load(*runs, device=device, settings=whole)
    scorers = load_scorers(settings.rerank, own.languages, device)
    found = [(best, *best.alternatives) for best in translator.translate(sources)]
    said = features(sources, [[one.text for one in some] for some in found], scorers)
    scores = np.full((len(found), whole.size, 1 + len(others)), -np.inf)
    counts = np.zeros((len(found), whole.size, STATISTICS), np.int64)
    tokenize = tokenizer_for(chain.from_iterable(references))
    for row, (some, rows) in enumerate(zip(found, zip(*references, strict=True), strict=True)):
        scores[row, : len(some)] = [[one.per_token, *others] for one, others in zip(some, said[row], strict=True)]
        counts[row, : len(some)] = [bleu_statistics(one.text, rows, tokenize=tokenize) for one in some]
    return best_weights(scores, counts)


def best_weights(
    scores: Float[np.ndarray, "sentences hypotheses models"], counts: Int[np.ndarray, "sentences hypotheses statistics"]
) -> Tuned:
    """Return the weights of all models but the first, whose choices have the highest corpus BLEU.

    `counts` are those of `bleu_statistics`. Hypotheses that do not exist have scores of minus infinity; the first of each
    sentence is the choice without reranking.
    """
    rows, best = np.arange(len(scores)), Tuned((), -1.0, bleu_of_statistics(counts[:, 0].sum(0).tolist()))
    for weights in product(GRID, repeat=scores.shape[2] - 1):
        ranked = scores[:, :, 0] + sum(weight * scores[:, :, 1 + at] for at, weight in enumerate(weights) if weight)
        reached = bleu_of_statistics(counts[rows, ranked.argmax(1)].sum(0).tolist())
        if reached > best.bleu:
            best = replace(best, weights=weights, bleu=reached)
    return best
