"""Pictures of what a model does: heat maps of attention, training curves, the report of a run, word alignments."""

from dragoman.inspection.alignments import links_from_weights, merge_pieces
from dragoman.inspection.curves import draw_curves
from dragoman.inspection.heatmap import draw
from dragoman.inspection.picture import AttentionPicture
from dragoman.inspection.report import Report, Sample, Score, write_report

__all__ = [
    "AttentionPicture",
    "Report",
    "Sample",
    "Score",
    "draw",
    "draw_curves",
    "links_from_weights",
    "merge_pieces",
    "write_report",
]
