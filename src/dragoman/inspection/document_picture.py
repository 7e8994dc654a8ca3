"""Draw the attention of a document classifier: words shaded by weight, and a bar for the weight of each sentence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import InputError
from dragoman.inspection.page import direction, document
from dragoman.inspection.rendering import COLOURS, elided, write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 9.0
"""Width of a PNG or SVG in inches."""
LEFT, BAR, LINE, GAP = 1.5, 0.8, 0.26, 0.07
"""In inches: left edge of the words, longest bar, line height, gap between words."""
FONT_SIZE = 10.0
"""Font size of the words in points."""
LABELS = 5
"""Number of most probable labels to show."""
KEY = "Bars show the weights of sentences; shades, those of words, times the root of their sentence's."
"""Caption of the picture."""


@dataclass(frozen=True)
class DocumentPicture:
    """Words and weights of each sentence of a document, the weights of the sentences, and labels with probabilities.

    The weights of the sentences sum to 1, and so do those of the words of each sentence. The most probable label is first.
    """

    sentences: Sequence[Sequence[str]]
    word_weights: Sequence[Sequence[float]]
    sentence_weights: Sequence[float]
    labels: Sequence[tuple[str, float]]

    def __post_init__(self) -> None:
        """Raise InputError if this cannot be drawn."""
        words, weights = ([len(row) for row in rows] for rows in (self.sentences, self.word_weights))
        if not words or words != weights or len(words) != len(self.sentence_weights):
            raise InputError("a picture of a document needs a weight for each sentence and each word, and a sentence")

    @property
    def title(self) -> str:
        """Return the most probable labels."""
        return ", ".join(f"{label} {probability:.2f}" for label, probability in self.labels[:LABELS])

    @property
    def shades(self) -> list[list[float]]:
        """Return the shade of each word from 0 to 1: sqrt(p_s) p_w (Yang et al. 2016, section 3.6), scaled to a maximum of 1.

        >>> DocumentPicture([["so", "good"], ["well"]], [[0.25, 0.75], [1.0]], [1.0, 0.0], []).shades
        [[0.3333333333333333, 1.0], [0.0]]
        """
        raw = [
            [math.sqrt(max(of_sentence, 0.0)) * weight for weight in weights]
            for of_sentence, weights in zip(self.sentence_weights, self.word_weights, strict=True)
        ]
        largest = max(shade for row in raw for shade in row) or 1.0
        return [[shade / largest for shade in row] for row in raw]


def draw_document(picture: DocumentPicture, path: Path) -> None:
    """Write `picture` as PNG, SVG or HTML, by the suffix of `path`. Raises InputError for any other suffix."""
    text = "".join([picture.title, *(word for words in picture.sentences for word in words)])
    write_picture(path, text, page=lambda: _page(picture), figure=lambda: _figure(picture))


def _page(picture: DocumentPicture) -> str:
    """Return a page with the picture."""
    items = "\n".join(
        f'<li><span class="bar" style="--w:{weight:.3f}"></span><span class="number">{weight:.2f}</span>'
        f'<p dir="{direction(sentence)}">{words}</p></li>'
        for weight, words, sentence in zip(picture.sentence_weights, _words(picture), picture.sentences, strict=True)
    )
    figure = f'<figure class="document">\n<ol>\n{items}\n</ol>\n</figure>'
    return document(
        picture.title, f'<header>\n<h1>{escape(picture.title)}</h1>\n<p class="lead">{KEY}</p>\n</header>\n{figure}'
    )


def _words(picture: DocumentPicture) -> list[str]:
    """Return the HTML of the words of each sentence; hovering over one shows its weight in the sentence."""
    rows = zip(picture.sentences, picture.word_weights, picture.shades, strict=True)
    return [
        " ".join(
            f'<span class="word" style="--w:{shade:.3f}" title="{weight:.3f}"><bdi>{escape(word)}</bdi></span>'
            for word, weight, shade in zip(*row, strict=True)
        )
        for row in rows
    ]


def _figure(picture: DocumentPicture) -> "Figure":
    """Lay out the words in lines, with a bar before each sentence."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(WIDTH, 1.0))
    canvas, inches = FigureCanvasAgg(figure), figure.dpi_scale_trans
    labels = [f"{elided(label)} {probability:.2f}" for label, probability in picture.labels[:LABELS]]
    bold: dict[str, Any] = {"size": FONT_SIZE + 2, "weight": "bold", "va": "center", "transform": inches}
    title = figure.text(0.2, -LINE, ", ".join(labels), **bold)
    shown, bars, down = [title], [], 2 * LINE
    if title.get_window_extent(canvas.get_renderer()).width / figure.dpi > WIDTH - 0.4:  # a line for each
        title.set_text(labels[0])
        for label in labels[1:]:
            shown.append(figure.text(0.2, -down, label, **bold))
            down += LINE
    for words, shades, weight in zip(picture.sentences, picture.shades, picture.sentence_weights, strict=True):
        bars.append(Rectangle((0.2, -down - 0.08), BAR * max(weight, 0.004), 0.16, transform=inches))
        shown.append(figure.text(LEFT - 0.4, -down, f"{weight:.2f}", size=8, va="center", transform=inches))
        across = LEFT
        for word, shade in zip(words, shades, strict=True):
            ink = "white" if shade > 0.6 else "black"
            text = figure.text(across, -down, elided(word), size=FONT_SIZE, va="center", color=ink, transform=inches)
            width = text.get_window_extent(canvas.get_renderer()).width / figure.dpi
            if across > LEFT and across + width > WIDTH - 0.2:
                across, down = LEFT, down + LINE
                text.set_position((across, -down))
            text.set_bbox({"facecolor": colormaps[COLOURS](0.9 * shade), "linewidth": 0, "pad": 1.5})
            across += width + GAP
            shown.append(text)
        down += 1.4 * LINE
    figure.set_size_inches(WIDTH, down)
    for text in shown:
        text.set_y(text.get_position()[1] + down)
    for bar in bars:
        bar.set(y=bar.get_y() + down, facecolor=colormaps[COLOURS](0.6), linewidth=0)
        figure.add_artist(bar)
    return figure
