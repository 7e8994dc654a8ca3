"""The page of an examination: findings with examples, and histograms of lengths and ratios."""

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from dragoman.atomic import write_output
from dragoman.data.findings import SEVERITIES, Example, Finding
from dragoman.doctor.examine import Corpus, Verdict
from dragoman.doctor.lengths import BINS, STEP, WORDS
from dragoman.inspection.page import document, section

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 150, 8, 26, 22
"""Size of a histogram with its margins."""
COLOURS = ("var(--accent, #1d5fae)", "var(--quiet, #5c6570)")
HEADINGS: Mapping[str, tuple[str, str]] = {
    "error": ("Errors", "Training stops at these."),
    "warning": ("Warnings", "Likely to do harm; training goes on."),
    "note": ("Notes", "Good to know. Most of these Dragoman handles by itself."),
}


def write_page(verdict: Verdict, path: Path) -> None:
    """Write a verdict as one self-contained HTML file. Raises InputError if it cannot be written."""
    title = "Data check"
    facts = "".join(
        f"<div><dt>{escape(f'{corpus.part}: {corpus.name}')}</dt><dd>{corpus.pairs:,} pairs</dd></div>"
        for corpus in verdict.corpora
    )
    lead = f'<p class="lead">{escape(verdict.summary())}.</p>'
    body = [
        f'<header>\n<h1>{title}</h1>\n{lead}\n<dl class="facts">{facts}</dl>\n</header>',
        *(section(*HEADINGS[one], _findings(verdict.of(one))) for one in SEVERITIES),
        *(_corpus(corpus) for corpus in verdict.corpora),
        "<footer>Made by Dragoman.</footer>",
    ]
    write_output(path, document(title, "\n".join(filter(None, body))).encode("utf-8", "backslashreplace"))


def _findings(findings: Sequence[Finding]) -> str:
    """Return the table of findings of one severity."""
    if not findings:
        return ""
    rows = "\n".join(
        f'<tr><th scope="row">{escape(one.name)}</th><td class="number">{one.count:,}</td>'
        f"<td><p>{escape(one.place)} {_with_code(one.what)}.</p><p>{_with_code(_capital(one.advice))}.</p>"
        f"{_examples(one.examples)}</td></tr>"
        for one in findings
    )
    heads = (
        '<th scope="col">Finding</th><th scope="col" class="number">Lines</th><th scope="col">What, and what to do</th>'
    )
    return f'<div class="scroll"><table class="list"><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'


def _with_code(sentence: str) -> str:
    """Return a sentence as HTML, what is between backticks as code.

    >>> _with_code("set `data.check` <")
    'set <code>data.check</code> &lt;'
    """
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(sentence))


def _examples(examples: Sequence[Example]) -> str:
    """Return examples as a list."""
    items = "".join(f"<li><bdi>{escape(str(example))}</bdi></li>" for example in examples)
    return f"<ul>{items}</ul>" if items else ""


def _corpus(corpus: Corpus) -> str:
    """Return the histograms of a corpus."""
    words = corpus.shape.words
    ratios = corpus.shape.ratios
    names = [f"{math.exp((at - BINS // 2) * STEP):.2g}" for at in range(BINS)]
    shown = slice(BINS // 2 - 40, BINS // 2 + 41)
    charts = [
        histogram("Words of a source", words[0].tolist(), [f"{at}" for at in range(WORDS)], colour=COLOURS[0]),
        histogram("Words of a target", words[1].tolist(), [f"{at}" for at in range(WORDS)], colour=COLOURS[1]),
        histogram(
            "Characters of a target for each of its source", ratios[shown].tolist(), names[shown], colour=COLOURS[0]
        ),
    ]
    hint = "How many pairs have a length, and a ratio of lengths. The last bar of words holds all that have more."
    heading = f"{_capital(corpus.part)}: {corpus.name}"
    return section(heading, hint, f'<div class="curves">\n{"".join(charts)}\n</div>' if corpus.pairs else "")


def histogram(title: str, counts: Sequence[int], names: Sequence[str], *, colour: str) -> str:
    """Draw a bar for each count, which shows its number and its name when it is pointed at; `names` label the axis."""
    most, step = max(*counts, 1), (WIDTH - 2 * LEFT) / len(counts)
    scale = (HEIGHT - TOP - BOTTOM) / most
    bars = "".join(
        f'<rect x="{LEFT + at * step:.1f}" y="{HEIGHT - BOTTOM - count * scale:.1f}" width="{max(step - 0.5, 0.5):.1f}" '
        f'height="{count * scale:.1f}" fill="{colour}"><title>{escape(name)}: {count:,}</title></rect>'
        for at, (count, name) in enumerate(zip(counts, names, strict=True))
        if count
    )
    ticks = "".join(
        f'<text x="{LEFT + (at + 0.5) * step:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(names[at])}</text>'
        for at in range(0, len(names), max(len(names) // 5, 1))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" fill="currentColor" font-size="11" '
        f'aria-label="{escape(title)}"><text x="0" y="14" font-size="13" font-weight="600">{escape(title)}</text>'
        f'{bars}<path d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - LEFT}" stroke="currentColor" stroke-opacity="0.4"/>{ticks}</svg>'
    )


def _capital(words: str) -> str:
    """Return words with a capital at the start."""
    return words[:1].upper() + words[1:]
