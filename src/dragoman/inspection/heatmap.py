"""Draw attention as in figure 3 of Bahdanau et al. (2015): a row per target word, a column per source word."""

import textwrap
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.inspection.page import attention_page
from dragoman.inspection.picture import AttentionPicture, Matrix
from dragoman.inspection.rendering import COLOURS, elided, write_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure

CELL = 0.34
"""Size of a cell in inches, if there is room."""
SIDE = 18.0
"""Maximum size of all cells together in inches, along either side; cells shrink to fit."""
POINTS = 72
"""Points per inch."""
TITLE_LINES = 5
"""Lines of a title, beyond which its middle is elided."""
TITLE_LETTER = 0.7
"""Width of a bold letter in a line of wide ones, over the size of its font."""


def draw(picture: AttentionPicture, path: Path) -> None:
    """Write `picture` as PNG, SVG or HTML, by the suffix of `path`. Raises InputError for any other suffix.

    PNG and SVG show several heads or layers as a grid, with a row for each layer and a column for each head; HTML lets the
    reader choose. The same picture gives the same bytes. Text in an SVG stays text.
    """
    text = "".join([picture.title, *picture.source_words, *picture.target_words])
    write_picture(path, text, page=lambda: attention_page([picture]), figure=lambda: _figure(picture))


def _figure(picture: AttentionPicture) -> "Figure":
    """Lay out the panels, the title and the scale."""
    from matplotlib.figure import Figure

    source_words, target_words = (
        [elided(word) for word in words] for words in (picture.source_words, picture.target_words)
    )
    rows, columns = len(target_words), len(source_words)
    cell = min(CELL, SIDE / (columns * picture.heads), SIDE / (rows * picture.layers))
    font = min(11.0, 0.72 * cell * POINTS)
    width = max(2.2, cell * columns * picture.heads + _margin(target_words, font)) + 1.2
    small = 7 + width / 4
    title = _lines(picture.title, int(width * POINTS / (TITLE_LETTER * (small + 3))))
    height = max(1.8, cell * rows * picture.layers + _margin(source_words, font)) + 0.4
    height += 1.2 * len(title) * (small + 3) / POINTS
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(picture.layers, picture.heads, squeeze=False)
    for layer, heads in enumerate(picture.weights):
        for head, matrix in enumerate(heads):
            image = _panel(panels[layer, head], matrix)
            panels[layer, head].tick_params(length=0, labelsize=font)
            if picture.layers * picture.heads > 1:
                panels[layer, head].set_xlabel(
                    f"layer {layer + 1}, head {head + 1}", fontsize=max(font, 7), color="0.35"
                )
    for panel in panels[0]:
        _name_columns(panel, source_words, cell * POINTS / font)
    for panel in panels[:, 0]:
        panel.set_yticks(range(rows), target_words)
    _scale(figure.colorbar(image, ax=panels, shrink=min(1.0, (1.2 + height / 10) / height), aspect=14, pad=0.02), small)
    if title:
        figure.suptitle("\n".join(map(_from_the_left, title)), fontsize=small + 3, fontweight="bold")
    return figure


def _lines(title: str, width: int) -> list[str]:
    """Divide a title into lines of so many letters, a few at most; matplotlib would take dollars for mathematics to do so.

    >>> _lines("one two three", 7)
    ['one two', 'three']
    """
    return textwrap.wrap(elided(title, (TITLE_LINES - 1) * width), max(width, 10))


def _from_the_left(line: str) -> str:
    """Return a line that is laid out from left to right, as its arrow points, whatever its first letter."""
    return f"\u200e{line}" if any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in line) else line


def _panel(panel: "Axes", matrix: Matrix) -> Any:
    """Draw one head: square cells, 0 light and 1 dark, with hairlines between them."""
    image = panel.imshow(matrix, cmap=COLOURS, vmin=0, vmax=1, interpolation="none")
    panel.set_xticks([])
    panel.set_yticks([])
    for edge in range(1, len(matrix)):
        panel.axhline(edge - 0.5, color="white", linewidth=0.6)
    for edge in range(1, len(matrix[0])):
        panel.axvline(edge - 0.5, color="white", linewidth=0.6)
    panel.spines[:].set(color="0.7", linewidth=0.6)
    return image


def _scale(bar: "Colorbar", font: float) -> None:
    """Label the colour bar."""
    bar.set_ticks([0, 0.5, 1], labels=["0", "0.5", "1"])
    bar.ax.tick_params(labelsize=font, length=2)
    bar.set_label("attention weight", fontsize=font)
    bar.outline.set_linewidth(0.4)


def _name_columns(panel: "Axes", words: Sequence[str], room: float) -> None:
    """Write the source words on top, horizontally if each fits into `room` (a cell's width, in letter heights)."""
    level = max(len(word) for word in words) * 0.65 <= room
    panel.xaxis.tick_top()
    panel.set_xticks(range(len(words)), words, rotation=0 if level else 90)


def _margin(words: Sequence[str], font: float) -> float:
    """Estimate the width of the longest word in inches."""
    return 0.65 * font * max(len(word) for word in words) / POINTS + 0.1
