"""From a model's next-token probabilities to whole translations: search, sampling, constraints, ensembles, scoring.

Names are fetched when they are first used: settings and hypotheses are needed where torch is not. `sample` and `rerank` are
functions of modules of their own name, so they are imported from there.
"""

from typing import TYPE_CHECKING

from dragoman.lazy import importer as _importer

if TYPE_CHECKING:
    from dragoman.decoding.beam import beam_search, search_steps
    from dragoman.decoding.constraints import Constraint, forbid, forced_prefix, minimum_length, no_repeated_ngram
    from dragoman.decoding.hypotheses import Hypotheses, Hypothesis, SearchStep
    from dragoman.decoding.rerank import coverage
    from dragoman.decoding.score import TargetScores, score_target
    from dragoman.decoding.settings import DecodingSettings, SearchSettings
    from dragoman.decoding.step import EnsembleState, ensemble, step_of
    from dragoman.decoding.unknown import replace_positional, replace_unknown

__all__ = [
    "Constraint",
    "DecodingSettings",
    "EnsembleState",
    "Hypotheses",
    "Hypothesis",
    "SearchSettings",
    "SearchStep",
    "TargetScores",
    "beam_search",
    "coverage",
    "ensemble",
    "forbid",
    "forced_prefix",
    "minimum_length",
    "no_repeated_ngram",
    "replace_positional",
    "replace_unknown",
    "score_target",
    "search_steps",
    "step_of",
]

_PLACES = {
    "Constraint": "constraints",
    "DecodingSettings": "settings",
    "SearchSettings": "settings",
    "EnsembleState": "step",
    "TargetScores": "score",
    "Hypotheses": "hypotheses",
    "Hypothesis": "hypotheses",
    "SearchStep": "hypotheses",
    "beam_search": "beam",
    "coverage": "rerank",
    "ensemble": "step",
    "forbid": "constraints",
    "score_target": "score",
    "search_steps": "beam",
    "forced_prefix": "constraints",
    "minimum_length": "constraints",
    "no_repeated_ngram": "constraints",
    "replace_positional": "unknown",
    "replace_unknown": "unknown",
    "step_of": "step",
}

__getattr__ = _importer(__name__, _PLACES)
