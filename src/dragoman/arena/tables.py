"""The table of an arena as Markdown and as CSV."""

import csv
import io
from collections.abc import Iterator, Mapping

from dragoman.arena.results import Outcome, SystemResult
from dragoman.errors import number_of

COLUMNS = (
    "system", "seed", "parameters", "flops", "tokens", "seconds", "bleu", "bleu_low", "bleu_high", "chrf", "status",
    "flops_by_rule", "memory",
)  # fmt: skip
"""Columns of table.csv, in this order."""
SIGNIFICANT = 0.05
"""A difference with a lower p-value is called significant."""
HEADS: Mapping[str, str] = {
    "system": "system",
    "bleu": "BLEU",
    "chrf": "chrF",
    "against": "against the best",
    "parameters": "parameters",
    "flops": "training FLOPs",
    "flops_by_rule": "FLOPs by time",
    "tokens": "tokens",
    "seconds": "seconds",
    "memory": "memory, MB",
    "factor": "rate",
    "status": "status",
}
"""Column headings of the table for readers."""


def csv_table(outcome: Outcome) -> str:
    """Return a line for each system and seed, with empty cells for missing numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in outcome.rows:
        known = {"system": row.system, "seed": row.seed, "status": row.status, **row.numbers}
        known["status"] = row.status
        writer.writerow([_exact(known.get(column)) for column in COLUMNS])
    return text.getvalue()


def markdown(outcome: Outcome) -> str:
    """Return the page: description, table, meaning of its columns, and samples."""
    parts = [
        "# Systems compared",
        outcome.plan.arena.about.strip(),
        "![BLEU against training FLOPs](bleu-flops.png)",
        _rows(outcome),
        "\n".join(f"- {line}" for line in explanations(outcome)),
        "![Learning curves](curves.png)",
        "\n\n".join(_samples(outcome)),
        "Curves, attention and samples are in [table.html](table.html), the numbers of each seed in [table.csv](table.csv), and "
        "everything needed to reproduce the comparison in [manifest.json](manifest.json).",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def ranked(outcome: Outcome) -> list[SystemResult]:
    """Return the systems from best to worst, those without numbers last."""
    return sorted(outcome.standings, key=lambda one: one.mean("bleu") or -float(not one.done), reverse=True)


def cells(standing: SystemResult, outcome: Outcome) -> dict[str, str]:
    """Return the cells of a row of the table, by column."""
    found = {name: _rounded(standing.mean(name)) for name in ("parameters", "tokens", "seconds", "memory")}
    found |= {name: powers(standing.mean(name)) for name in ("flops", "flops_by_rule")}
    chrf = standing.mean("chrf")
    factor = "" if standing.factor is None else f"× {standing.factor:g}"
    found |= {"system": standing.system, "bleu": bleu(standing), "chrf": "–" if chrf is None else f"{chrf:.1f}"}
    found |= {"against": verdict(standing, outcome), "factor": factor or "–"}
    found["status"] = "; ".join(filter(None, [standing.status, *standing.notes]))
    return found


def bleu(standing: SystemResult) -> str:
    """Format BLEU with its 95% interval."""
    mean, interval = standing.mean("bleu"), standing.interval
    if mean is None or interval is None:
        return "–"
    if len(standing.done) > 1:
        return f"{mean:.1f} ± {(interval[1] - interval[0]) / 2:.1f}"
    return f"{mean:.1f} [{interval[0]:.1f}, {interval[1]:.1f}]"


def verdict(standing: SystemResult, outcome: Outcome) -> str:
    """Describe whether a system is significantly worse than the best."""
    if outcome.best is not None and standing.system == outcome.best.system:
        return "**best**"
    if standing.p_value is None:
        return "–"
    p = "p < 0.01" if standing.p_value < 0.01 else f"p = {standing.p_value:.2f}"
    return f"worse, {p}" if standing.p_value < SIGNIFICANT else f"may be chance, {p}"


def powers(number: float | None) -> str:
    """Format a large number in powers of ten.

    >>> powers(3.14e15), powers(None)
    ('3.1·10¹⁵', '–')
    """
    if not number:
        return "–"
    digits, _, power = f"{number:.1e}".partition("e")
    return f"{digits}·10{str(int(power)).translate(str.maketrans('0123456789-', '⁰¹²³⁴⁵⁶⁷⁸⁹⁻'))}"


def explanations(outcome: Outcome) -> Iterator[str]:
    """Yield the meaning of the columns and how the comparison was made."""
    arena = outcome.plan.arena
    amount = arena.budget.amount()
    budget = {
        "minutes": f"{amount:g} minutes",
        "flops": f"{powers(float(amount))} FLOPs",
        "tokens": f"{amount:,} target tokens",
    }
    yield (
        f"Each training had {budget[arena.budget.kind]} with {number_of(arena.threads, 'thread')} (or one GPU), "
        f"{number_of(len(arena.seeds), 'seed')}, the same data and decoding, unless the status says that a system has its own "
        "vocabulary or search."
    )
    if arena.search is not None:
        factors = ", ".join(f"{factor:g}" for factor in arena.search.learning_rates)
        spent = sum((one.search.get("flops", 0.0) for one in outcome.standings), 0.0)
        yield (
            f"Rate: the factor of the recipe's own learning rate, the best of {factors} by dev loss in trials of "
            f"{arena.search.share:.0%} of the budget with the first seed; all trials took {powers(spent)} FLOPs in total, which "
            "the rows do not include."
        )
    several = {len(one.done) > 1 for one in outcome.standings if one.done}
    kinds = {
        True: "mean over seeds ± half of its 95% interval (Student's t)",
        False: "of one seed, in brackets the 95% interval of 1,000 bootstrap samples",
    }
    yield f"BLEU: {'; '.join(kinds[kind] for kind in (True, False) if kind in several) or 'not measured yet'}."
    yield (
        "Against the best: paired bootstrap on the same test sentences, seed by seed; the largest p-value counts, which is 1 if "
        f"the best is not ahead with every seed; below {SIGNIFICANT} a difference is called significant."
    )
    yield (
        "Training FLOPs are counted, forward and backward; FLOPs by time are the Transformer paper's rule, seconds x rate x "
        "devices, with the rate that this machine sustains in matrix products. For an ensemble, costs "
        "are summed over its members."
    )
    signatures = {one for row in outcome.rows for one in row.numbers.get("signatures", {}).values()}
    yield "Signatures: " + "; ".join(f"`{one}`" for one in filter(None, [*sorted(signatures), outcome.signature]))
    circumstances = [
        f"{row.numbers['machine']}, commit {row.numbers['commit']}" for row in outcome.rows if "machine" in row.numbers
    ]
    yield "Machine: " + "; ".join(dict.fromkeys(circumstances))


def shown_samples(outcome: Outcome) -> list[int]:
    """Return the indices of the test sentences to show, evenly spaced."""
    count = min(outcome.plan.arena.samples, len(outcome.sources))
    return [number * len(outcome.sources) // count for number in range(count)]


def _rows(outcome: Outcome) -> str:
    """Return the table."""
    lines = [
        "| " + " | ".join(HEADS.values()) + " |",
        "|" + " --- |" + " ---: |" * 2 + " --- |" + " ---: |" * 7 + " --- |",
    ]
    for standing in ranked(outcome):
        found = cells(standing, outcome)
        found |= {column: plain(found[column]) for column in ("system", "status")}
        lines.append("| " + " | ".join(found[column] for column in HEADS) + " |")
    return "\n".join(lines)


def _samples(outcome: Outcome) -> Iterator[str]:
    """Yield the samples as lists."""
    for number in shown_samples(outcome):
        lines = [f"**{plain(outcome.sources[number])}**", f"- reference: {plain(outcome.references[number])}"]
        lines += [
            f"- {plain(one.system)}: {plain(one.done[0].hypotheses[number])}" for one in ranked(outcome) if one.done
        ]
        yield lines[0] + "\n\n" + "\n".join(lines[1:])


def plain(text: str) -> str:
    """Escape text so that Markdown shows it literally, on one line.

    >>> print(plain("<b>*x*</b> | a\\\\b &lt;"))
    &lt;b&gt;\\*x\\*&lt;/b&gt; \\| a\\\\b &amp;lt;
    """
    return " ".join(text.split()).translate(_ESCAPES)


_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "\\*_`[]|"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def _rounded(number: float | None) -> str:
    """Format a number without decimals."""
    return "–" if number is None else f"{number:,.0f}"


def _exact(value: object) -> object:
    """Format a number for the CSV."""
    return round(value, 4) if isinstance(value, float) else "" if value is None else value
