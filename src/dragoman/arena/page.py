"""The page of an arena: one self-contained file, for readers without prior knowledge."""

from collections.abc import Iterator, Mapping
from html import escape

from dragoman.arena.results import Outcome, SystemResult
from dragoman.arena.tables import HEADS, cells, explanations, ranked, shown_samples
from dragoman.inspection.page import attention_view, document, section
from dragoman.inspection.picture import AttentionPicture
from dragoman.settings import dump

STYLE = """<style>
main { max-width: 84rem; }
.plot svg { display: block; width: 100%; height: auto; max-width: 66rem; }
.arena { font-size: 0.88rem; line-height: 1.35; }
.arena td.number, .arena tbody .number { font-size: 0.88rem; font-weight: 400; white-space: nowrap; }
.arena .number, .arena .words { padding-inline: 0.8rem 0; }
.arena .words { min-width: 8.25rem; }
.arena .main { font-weight: 700 !important; }
.arena .best th, .arena .best td { background: color-mix(in srgb, var(--accent) 9%, transparent); }
.arena .best th { border-left: 3px solid var(--accent); }
.arena th:first-child { padding-inline: 0.6rem 0; white-space: nowrap; }
.arena .broken { color: var(--quiet); }
.side { margin: 0 0 1.75rem; }
.side dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.15rem 1rem; margin: 0.4rem 0 0; }
.side dt { color: var(--quiet); }
.side dd { margin: 0; }
.side .same { color: var(--accent); }
.explained { max-width: 56rem; padding-left: 1.2rem; color: var(--quiet); font-size: 0.88rem; overflow-wrap: anywhere; }
</style>"""
WORDY = ("against", "status")
"""Columns that contain text."""


def page(outcome: Outcome, plots: Mapping[str, str]) -> str:
    """Return the page; `plots` are SVGs by name."""
    sections = [
        section("BLEU against cost", "", f'<div class="plot">{plots["bleu-flops"]}</div>'),
        section("The table", "", _table(outcome)),
        section("Learning curves", "", f'<div class="plot">{plots["curves"]}</div>'),
        section("Translations of the same sentences", "", "\n".join(_samples(outcome))),
        section(
            "Attention of each system",
            "Each row is a word of a system's own translation; the darker a cell, the more the system attended to that "
            "source word while generating it.",
            _attention(outcome),
        ),
        section(
            "How it was made",
            "",
            f"<details><summary>The arena</summary><pre>{escape(dump(outcome.plan.arena))}</pre></details>",
        ),
    ]
    body = "\n".join([STYLE, _header(outcome), *filter(None, sections), "<footer>Made by Dragoman.</footer>"])
    return document("Systems compared", body)


def _header(outcome: Outcome) -> str:
    """Return title, description and facts."""
    arena, best = outcome.plan.arena, outcome.best
    facts = {
        "Systems": f"{len(outcome.standings)}",
        "Seeds": ", ".join(map(str, arena.seeds)),
        "Budget of each training": f"{arena.budget.amount():,g} {arena.budget.kind}",
        "Test sentences": f"{len(outcome.sources):,}",
        "Best": best.system if best is not None else "none yet",
    }
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(fact)}</dd></div>" for name, fact in facts.items())
    return (
        f'<header>\n<h1>Systems compared</h1>\n<p class="lead">{escape(arena.about.strip())}</p>\n'
        f'<dl class="facts">{items}</dl>\n</header>'
    )


def _table(outcome: Outcome) -> str:
    """Return the table, best system first, followed by the meaning of its columns."""
    heads = "".join(f'<th scope="col"{_kind(column)}>{escape(words)}</th>' for column, words in HEADS.items())
    rows = "\n".join(_row(standing, outcome) for standing in ranked(outcome))
    meant = "\n".join(f"<li>{escape(line).replace('`', '')}</li>" for line in explanations(outcome))
    return (
        f'<div class="scroll"><table class="list arena"><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>\n"
        f'<ul class="explained">\n{meant}\n</ul>'
    )


def _row(standing: SystemResult, outcome: Outcome) -> str:
    """Return the row of a system."""
    found = cells(standing, outcome)
    best = outcome.best is not None and outcome.best.system == standing.system
    others = "".join(
        f"<td{_kind(column)}>{escape(found[column].replace('**', ''))}</td>" for column in HEADS if column != "system"
    )
    kind = ' class="best"' if best else "" if standing.done else ' class="broken"'
    return f'<tr{kind}><th scope="row">{escape(standing.system)}</th>{others}</tr>'


def _kind(column: str) -> str:
    """Return the class of a column's cells."""
    if column == "system":
        return ""
    if column in WORDY:
        return ' class="words"'
    return ' class="number main"' if column == "bleu" else ' class="number"'


def _samples(outcome: Outcome) -> Iterator[str]:
    """Yield a block for each sentence: source, reference, and the translations of all systems."""
    for number in shown_samples(outcome):
        reference = outcome.references[number]
        lines = [("reference", reference, "")]
        for standing in ranked(outcome):
            if standing.done:
                text = standing.done[0].hypotheses[number]
                lines.append((standing.system, text, ' <span class="same">✓</span>' * (text == reference)))
        items = "".join(
            f"<dt>{escape(name)}</dt><dd><bdi>{escape(text)}</bdi>{mark}</dd>" for name, text, mark in lines
        )
        yield f'<div class="side"><strong><bdi>{escape(outcome.sources[number])}</bdi></strong><dl>{items}</dl></div>'


def _attention(outcome: Outcome) -> str:
    """Return the attention picture of each system that has one, and name the others."""
    pictures: list[AttentionPicture] = []
    without: list[str] = []
    empty: list[str] = []
    for standing in ranked(outcome):
        if not standing.done or standing.members:
            continue
        found = standing.done[0].numbers.get("attention")
        if found:
            pictures.append(AttentionPicture(found["source"], found["target"], found["weights"], standing.system))
        else:
            (without if found is None else empty).append(standing.system)
    blocks = [attention_view([picture]) for picture in pictures]
    reasons = {"Without attention over the source": without, "No picture, because the translation was empty": empty}
    blocks += [
        f'<p class="hint">{reason}: {escape(", ".join(names))}.</p>' for reason, names in reasons.items() if names
    ]
    return "\n".join(blocks)
