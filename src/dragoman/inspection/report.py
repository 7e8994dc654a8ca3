"""The report page of a training run: scores, curves, attention, translations, settings and what to do next."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from dragoman.atomic import write_output
from dragoman.inspection.curves import Record, draw_curves
from dragoman.inspection.page import attention_view, document, section
from dragoman.inspection.picture import AttentionPicture


@dataclass(frozen=True)
class Score:
    """One number in the table: the metric, how to read it, and its signature."""

    metric: str
    value: float
    note: str = ""
    """How to read the metric, such as "0 to 100, higher is better"."""
    signature: str = ""
    decimals: int = 1


@dataclass(frozen=True)
class Sample:
    """A source sentence, the model's translation, and the reference, if any."""

    source: str
    translation: str
    reference: str | None = None


@dataclass(frozen=True)
class Report:
    """Everything on the page. Empty parts are omitted."""

    title: str
    summary: str
    """A sentence or two below the title."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Facts by name, such as sentence pairs, parameters, seconds."""
    scores: Mapping[str, Sequence[Score]] = field(default_factory=dict)
    """By test set."""
    records: Sequence[Record] = ()
    """The lines of `metrics.jsonl`."""
    pictures: Sequence[AttentionPicture] = ()
    samples: Sequence[Sample] = ()
    settings: str = ""
    """The resolved recipe, as YAML."""
    instructions: str = ""
    """How to do the same with your own files, as plain text."""


def write_report(report: Report, path: Path) -> None:
    """Write `report` as one self-contained HTML file."""
    sections = [
        section("Scores", "", _scores(report.scores)),
        section("Training", "", _curves(report.records)),
        section(
            "Attention",
            "Each row is a word of the translation; the darker a cell, the more the model attended to that"
            " source word while generating it. Click a word to see what it attends to, or what attends to it.",
            attention_view(report.pictures) if report.pictures else "",
        ),
        section("Translations", "", _samples(report.samples)),
        section("Train on your own files", "", _text(report.instructions)),
        section("Settings", "", _folded("The recipe of this run", report.settings)),
    ]
    body = "\n".join([_header(report), *filter(None, sections), "<footer>Made by Dragoman.</footer>"])
    write_output(path, document(report.title, body).encode())


def _header(report: Report) -> str:
    """Return title, summary and facts."""
    facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(fact)}</dd></div>" for name, fact in report.facts.items())
    return (
        f'<header>\n<h1>{escape(report.title)}</h1>\n<p class="lead">{escape(report.summary)}</p>\n'
        + (f'<dl class="facts">{facts}</dl>\n' if facts else "")
        + "</header>"
    )


def _scores(scores: Mapping[str, Sequence[Score]]) -> str:
    """Return a row for each test set, a column for each metric, and the signatures below."""
    if not scores:
        return ""
    metrics = {score.metric: score for row in scores.values() for score in row}
    heads = "".join(
        f'<th scope="col" class="number">{escape(name)} <small>{escape(score.note)}</small></th>'
        for name, score in metrics.items()
    )
    rows = "\n".join(
        f'<tr><th scope="row">{escape(test_set)}</th>{_numbers({score.metric: score for score in row}, metrics)}</tr>'
        for test_set, row in scores.items()
    )
    signatures = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(score.signature)}</dd>"
        for name, score in metrics.items()
        if score.signature
    )
    return (
        f'<div class="scroll"><table class="list"><thead><tr><th scope="col">Test set</th>{heads}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>\n"
        + (f'<dl class="signatures">{signatures}</dl>' if signatures else "")
    )


def _numbers(row: Mapping[str, Score], names: Iterable[str]) -> str:
    """Return the cells of one test set; a dash where a metric was not measured."""
    texts = (f"{row[name].value:.{row[name].decimals}f}" if name in row else "–" for name in names)
    return "".join(f'<td class="number">{text}</td>' for text in texts)


def _curves(records: Sequence[Record]) -> str:
    """Return the curves next to each other."""
    panels = draw_curves(records)
    return f'<div class="curves">\n{"".join(panels)}\n</div>' if panels else ""


def _samples(samples: Sequence[Sample]) -> str:
    """Return the table of translations, with a mark if the model's output equals the reference."""
    if not samples:
        return ""
    rows = "\n".join(
        "<tr>"
        + _sentence("Source", sample.source)
        + _sentence("Translation", sample.translation)
        + _reference(sample)
        + "</tr>"
        for sample in samples
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Source", "Translation", "Reference"))
    return f'<table class="list samples"><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>'


def _sentence(column: str, text: str, *, same: bool = False) -> str:
    """Return one cell; `data-column` names it if a narrow screen stacks the columns."""
    mark = ' <span class="same">✓ same</span>' if same else ""
    return f'<td data-column="{column}"><bdi>{escape(text)}</bdi>{mark}</td>'


def _reference(sample: Sample) -> str:
    """Return the cell of the reference, or one that says there is none."""
    if sample.reference is None:
        return '<td data-column="Reference"><span class="none">no reference</span></td>'
    return _sentence("Reference", sample.reference, same=sample.translation == sample.reference)


def _text(text: str) -> str:
    """Return plain text unchanged."""
    return f"<pre>{escape(text)}</pre>" if text else ""


def _folded(summary: str, text: str) -> str:
    """Return plain text in a collapsible section."""
    return f"<details><summary>{escape(summary)}</summary>{_text(text)}</details>" if text else ""
