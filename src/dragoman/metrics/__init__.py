"""Metrics for translations and alignments: sacreBLEU behind one interface, and BLEU and AER step by step."""

from dragoman.metrics.alignment import (
    AlignmentScore,
    alignment_error_rate,
    alignment_scores,
    check_links,
    words_only,
)
from dragoman.metrics.explain import Explanation, d2l_bleu, explain
from dragoman.metrics.scores import Score, bleu, chrf, ter
from dragoman.metrics.significance import Comparison, compare, interval
from dragoman.metrics.symmetrisation import symmetrise
from dragoman.text.links import Links, format_links, parse_links

__all__ = [
    "AlignmentScore",
    "Comparison",
    "Explanation",
    "Links",
    "Score",
    "alignment_error_rate",
    "alignment_scores",
    "bleu",
    "check_links",
    "chrf",
    "compare",
    "d2l_bleu",
    "explain",
    "format_links",
    "interval",
    "parse_links",
    "symmetrise",
    "ter",
    "words_only",
]
