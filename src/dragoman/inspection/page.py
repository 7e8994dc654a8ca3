"""Self-contained pages: one file, no network; for light and dark mode, print, keyboard and screen reader.

Each attention picture is a plain table of its mean weights; `page.js` lets the reader choose a layer and a head, read
individual weights, and see what a word attends to or is attended by. Words are escaped and appear only as text; the script
reads only numbers.
"""

import json
import unicodedata
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from dragoman.inspection.picture import AttentionPicture

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""Forbids the browser to load anything."""
ROTATE_ABOVE = 5
"""Column words with more letters are written vertically."""


def document(title: str, body: str) -> str:
    """Wrap `body`, which is HTML, in a page titled `title`."""
    folder = files("dragoman.inspection")
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
<script>
{script}</script>
</body>
</html>
"""


def section(heading: str, hint: str, content: str) -> str:
    """Return a section with a heading, or nothing without content; `content` is HTML, the rest is text."""
    if not content:
        return ""
    explained = f'<p class="hint">{escape(hint)}</p>\n' if hint else ""
    return f"<section>\n<h2>{escape(heading)}</h2>\n{explained}{content}\n</section>"


def direction(words: Sequence[str]) -> str:
    """Return how a sentence is read, as an attribute `dir`: as most of its letters are.

    >>> direction(["a", "cat"]), direction(["שלום", "ABC", "עולם"])
    ('ltr', 'rtl')
    """
    kinds = [unicodedata.bidirectional(letter) for word in words for letter in word]
    return "rtl" if kinds.count("R") + kinds.count("AL") > kinds.count("L") else "ltr"


def attention_page(pictures: Sequence[AttentionPicture], title: str = "Attention") -> str:
    """Return a page that shows `pictures`, one at a time."""
    return document(title, f"<header>\n<h1>{escape(title)}</h1>\n</header>\n{attention_view(pictures)}")


def attention_view(pictures: Sequence[AttentionPicture]) -> str:
    """Return the HTML of `pictures`, for a page made by `document`."""
    figures = "\n".join(_figure(picture) for picture in pictures)
    names = [f"{number}. {' '.join(picture.source_words)}" for number, picture in enumerate(pictures, start=1)]
    chooser = f'<p class="chooser" hidden>{_select("Sentence", names)}</p>\n' if len(pictures) > 1 else ""
    return f'<div class="attention">\n{chooser}{figures}\n</div>'


def _figure(picture: AttentionPicture) -> str:
    """Return one picture: caption, choices, the two sentences, the table and its scale, the weights."""
    parts = (f"<bdi>{escape(part)}</bdi>" for part in picture.title.split("  →  "))
    caption = f"<figcaption>{'  →  '.join(parts)}</figcaption>\n" if picture.title else ""
    return f"""<figure>
{caption}<div class="controls" hidden>
{_choices("Layer", picture.layers)}{_choices("Head", picture.heads)}<label><input type="checkbox"> Numbers</label>
</div>
<div class="sentences" hidden>
{_sentence("source", picture.axes[0], picture.source_words)}
{_sentence("target", picture.axes[1], picture.target_words)}
</div>
<div class="views">
{_table(picture)}
<div class="overview" role="group" aria-label="every head: layers downwards, heads across" hidden></div>
</div>
{_scale(picture)}
<script type="application/json">{_thousandths(picture)}</script>
</figure>"""


def _choices(name: str, count: int) -> str:
    """Return a choice between the mean and each of `count` layers or heads, if there is more than one."""
    if count == 1:
        return ""
    return _select(name, [f"mean of {count}", *(f"{number}" for number in range(1, count + 1))]) + "\n"


def _select(name: str, options: Sequence[str]) -> str:
    """Return a labelled list to choose one of `options` from; their values count from 0."""
    items = "".join(f'<option value="{value}">{escape(option)}</option>' for value, option in enumerate(options))
    return f'<label>{name} <select name="{name.lower()}" autocomplete="off">{items}</select></label>'


def _sentence(side: str, name: str, words: Sequence[str]) -> str:
    """Return a sentence whose words are buttons, with its name before it."""
    buttons = " ".join(
        f'<button type="button" aria-pressed="false"><bdi>{escape(word)}</bdi></button>' for word in words
    )
    return f'<p class="{side}"><span>{name}</span> <span dir="{direction(words)}">{buttons}</span></p>'


def _table(picture: AttentionPicture) -> str:
    """Return the mean weights as a table: source words on top, target words on the left."""
    upright = all(len(word) <= ROTATE_ABOVE for word in picture.source_words)
    heads = "".join(f'<th scope="col"><span><bdi>{escape(word)}</bdi></span></th>' for word in picture.source_words)
    rows = "\n".join(
        f'<tr><th scope="row"><bdi>{escape(word)}</bdi></th>{"".join(map(_cell, weights))}</tr>'
        for word, weights in zip(picture.target_words, picture.mean, strict=True)
    )
    return f"""<div class="scroll">
<table class="matrix{" upright" if upright else ""}" style="--columns:{len(picture.source_words)}">
<thead><tr><td class="corner">{picture.axes[0]} →<br>{picture.axes[1]} ↓</td>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>"""


def _cell(weight: float) -> str:
    """Return one weight: a colour, and a number for readers who cannot see it."""
    return f'<td style="--w:{weight:.3f}">{weight:.2f}</td>'


def _scale(picture: AttentionPicture) -> str:
    """Return the colour scale."""
    counts = {"layers": picture.layers, "heads": picture.heads}
    shown = ", ".join(f"mean of {count} {name}" for name, count in counts.items() if count > 1)
    return (
        '<p class="scale"><span>0</span><span class="ramp"></span><span>1</span><span>attention weight</span>'
        f'<span class="shown">{shown}</span></p>'
    )


def _thousandths(picture: AttentionPicture) -> str:
    """Return the weights in thousandths, as JSON: four nested lists of integers."""
    whole = [
        [[[round(1000 * weight) for weight in row] for row in matrix] for matrix in heads] for heads in picture.weights
    ]
    return json.dumps(whole, separators=(",", ":"))
