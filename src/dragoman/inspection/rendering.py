"""Write pictures to files: HTML as it is, PNG and SVG with matplotlib; the same picture gives the same bytes."""

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.atomic import check_output, write_output
from dragoman.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT = "DejaVu Sans"
"""Comes with matplotlib and covers every European language and Vietnamese."""
PLACEHOLDERS = "lastresort"
"""In the names of fonts that have a box for every character: matplotlib's own since 3.11, and that of macOS."""
COLOURS = "Blues"
"""Colours of weights from 0 to 1."""
LONGEST_WORD = 60
"""Maximum characters of a word in a PNG or SVG."""
FORMATS = (".png", ".svg", ".html")
"""How the path of a picture may end."""


def check_picture(path: Path) -> None:
    """Raise InputError for a path to which no picture can be written, before a model is loaded for one."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"{path} ends in `{path.suffix.lower()}`, but pictures are written as .png, .svg or .html; name one of them"
        )
    check_output(path)


def write_picture(path: Path, text: str, *, page: Callable[[], str], figure: Callable[[], "Figure"]) -> None:
    """Write a picture as PNG, SVG or HTML, by the suffix of `path`. Raises InputError for any other suffix.

    `text` contains every character that will be drawn; `page` makes the HTML, and `figure` what PNG and SVG show.
    """
    check_picture(path)
    kind = path.suffix.lower().removeprefix(".")
    write_output(path, page().encode() if kind == "html" else render(figure, text, kind))


def render(figure: Callable[[], "Figure"], text: str, kind: str, *, transparent: bool = False) -> bytes:
    """Draw as png or svg with matplotlib, which is slow to import; `transparent` is for a page with its own colours."""
    import matplotlib

    settings: dict[Any, Any] = {
        "font.family": [FONT, *_fallbacks(text)] if kind == "png" else [FONT],
        "text.parse_math": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "dragoman",
    }
    metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    content = io.BytesIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # readers of an SVG bring their own
        figure().savefig(content, format=kind, dpi=160, metadata=metadata, transparent=transparent)
    return content.getvalue()


def elided(text: str, longest: int = LONGEST_WORD) -> str:
    """Return a text as it is drawn, with its middle elided if it is too long.

    >>> elided("a" * 9, 5)
    'aa…aa'
    """
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def _fallbacks(text: str) -> list[str]:
    """Name installed fonts for characters that FONT lacks. Raises InputError if no font has one of them."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

    def lacking(letters: set[str], file: str) -> set[str]:
        known = get_font(file).get_charmap()
        return {letter for letter in letters if ord(letter) not in known}

    missing = lacking({letter for letter in text if letter.isprintable()}, findfont(FontProperties(family=FONT)))
    fonts = []
    real = [font for font in fontManager.ttflist if PLACEHOLDERS not in font.name.lower().replace(" ", "")]
    for font in sorted(real, key=lambda font: font.name):
        if missing and (left := lacking(missing, font.fname)) != missing:
            fonts.append(font.name)
            missing = left
    if missing:
        raise InputError(
            f"no font on this machine has the character {min(missing)} (U+{ord(min(missing)):04X}) for a PNG;"
            " write .svg or .html, which use the reader's fonts"
        )
    return fonts
