"""From a model's next-token probabilities to whole translations: search, sampling, constraints, ensembles, scoring."""

from dragoman.decoding.beam import beam_search
from dragoman.decoding.constraints import Constraint, forbid, forced_prefix, minimum_length, no_repeated_ngram
from dragoman.decoding.hypotheses import Hypotheses, Hypothesis
from dragoman.decoding.rerank import coverage, rerank
from dragoman.decoding.sample import sample
from dragoman.decoding.score import Forced, force
from dragoman.decoding.settings import DecodingSettings
from dragoman.decoding.step import EnsembleState, ensemble, step_of
from dragoman.decoding.unknown import replace_positional, replace_unknown

__all__ = [
    "Constraint",
    "DecodingSettings",
    "EnsembleState",
    "Forced",
    "Hypotheses",
    "Hypothesis",
    "beam_search",
    "coverage",
    "ensemble",
    "forbid",
    "force",
    "forced_prefix",
    "minimum_length",
    "no_repeated_ngram",
    "replace_positional",
    "replace_unknown",
    "rerank",
    "sample",
    "step_of",
]
