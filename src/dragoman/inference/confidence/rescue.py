"""Translate again what an assessment flags: sample, assess the samples too, and keep the best (Guerreiro et al. 2023, section 5).

Deviation: samples are drawn from the model without dropout, and are ranked by the same assessment that flags.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dragoman.data.directions import Languages
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError
from dragoman.inference.confidence.assessor import Assessor
from dragoman.inference.confidence.evidence import NO_RERANKING
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Previous

SAMPLES = 16
"""Samples drawn for a flagged sentence."""
NUCLEUS = 0.9
"""Share of the probability that they are drawn from."""

LESS = 0.5
"""How much lower the mean token log-probability of a sample may be than that of what it replaces; by 1 more for each alarm less.
A calibration learns from translations, which are probable, so that it says little of samples that are not."""


@dataclass(frozen=True)
class Rescued:
    """Translations after a rescue."""

    translations: list[Translation]
    flagged: int
    """How many were flagged before."""
    cured: int
    """How many of these are not flagged any more."""


def rescue(
    assessor: Assessor,
    sentences: Sequence[str],
    translations: Sequence[Translation],
    *,
    first: int = 1,
    previous: Previous = None,
    to: Languages = None,
    settings: DecodingSettings | None = None,
    **options: Any,
) -> Rescued:
    """Replace each flagged translation by the best of itself and its samples with no more alarms, where one is better.

    No sample is taken that is much less probable (`LESS`). `translations` have assessments; the other arguments are those of
    `Assessor.translate`, without single decoding settings. A replaced one keeps the text before the rescue in its assessment.
    InputError for several translations of a sentence.
    """
    if any(one.alternatives for one in translations):
        raise InputError("a rescue chooses one translation of each sentence; ask for one alone (`n_best` of 1)")
    translator = assessor.translator
    before = translator.preceding(sentences) if previous is None else previous
    drawing = (settings or translator.settings).model_copy(
        update={"method": "sample", "n_best": SAMPLES, "top_p": NUCLEUS, **NO_RERANKING}
    )
    languages = translator.directions.frames(to, len(sentences))
    results, flagged, cured = list(translations), 0, 0
    for row, own in enumerate(translations):
        if not own.assessment.flagged:
            continue
        flagged += 1
        (drawn,) = assessor.translate(
            [sentences[row]],
            settings=drawing,
            first=first + row,
            previous=[before[row]],
            to=[languages[row]],
            **options,
        )
        drawings = (replace(drawn, alternatives=()), *drawn.alternatives)
        best = max((own, *(one for one in drawings if _may_replace(own, one))), key=_rank)
        if best is not own:
            cured += not best.assessment.flagged
            results[row] = replace(best, assessment=replace(best.assessment, replaced=own.text))
    return Rescued(results, flagged, cured)


def _may_replace(own: Translation, sample: Translation) -> bool:
    """Tell whether a sample has another text than a translation, no more alarms, and is not much less probable."""
    fewer = len(own.assessment.alarms) - len(sample.assessment.alarms)
    return sample.text != own.text and fewer >= 0 and sample.per_token >= own.per_token - LESS - fewer


def _rank(translation: Translation) -> float:
    """Rate a translation: the log-odds of its confidence, or the mean token log-probability without one; less for alarms.

    One alarm costs as much as a drop in confidence from 0.73 to 0.5 (1 in log-odds), or in log-probability per token by 1.
    """
    assessment = translation.assessment
    rating = translation.per_token
    if assessment.confidence is not None:
        sure = min(max(assessment.confidence, 1e-9), 1 - 1e-9)
        rating = math.log(sure / (1 - sure))
    return rating - len(assessment.alarms)
