"""How good translations and alignments are: sacreBLEU behind one door, and BLEU and AER step by step."""

from dragoman.metrics.alignment import Links, alignment_error_rate, format_links, parse_links
from dragoman.metrics.explain import Explanation, d2l_bleu, explain
from dragoman.metrics.scores import Score, bleu, chrf, ter
from dragoman.metrics.significance import Comparison, compare, interval

__all__ = [
    "Comparison",
    "Explanation",
    "Links",
    "Score",
    "alignment_error_rate",
    "bleu",
    "chrf",
    "compare",
    "d2l_bleu",
    "explain",
    "format_links",
    "interval",
    "parse_links",
    "ter",
]
