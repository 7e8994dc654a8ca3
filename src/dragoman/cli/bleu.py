"""`dragoman bleu`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.cli.console import note
from dragoman.cli.files import read_aligned
from dragoman.cli.options import JsonObject
from dragoman.cli.quality import all_scores, print_scores, score_tables
from dragoman.errors import InputError


def bleu(
    hypothesis: Annotated[
        Path, typer.Argument(metavar="HYPOTHESIS", help="Translations, one per line; - is standard input.")
    ],
    references: Annotated[
        list[Path], typer.Argument(metavar="REFERENCE", help="One or more files of reference translations.")
    ],
    against: Annotated[
        Path | None,
        typer.Option(help="Translations of another system; test which system is better (paired bootstrap)."),
    ] = None,
    tokenize: Annotated[
        str | None,
        typer.Option(
            help="sacreBLEU tokeniser; `none` for text that is already tokenised. [default: 13a; for scripts without spaces "
            "`zh` or `char`]"
        ),
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show step by step how the BLEU of the first line is computed.")
    ] = False,
    as_json: JsonObject = False,
) -> None:
    """Print BLEU, chrF and TER of translations in a file."""
    if explain and (as_json or against is not None):
        raise InputError("--explain shows the BLEU of one output to people; remove --json and --against, or --explain")
    others = [*references, *([] if against is None else [against])]
    hypotheses, *sets = read_aligned(hypothesis, *others)
    baseline = sets.pop() if against is not None else None
    if explain:
        _explain(hypotheses, sets, tokenize, lowercase=lowercase)
        return
    scores = all_scores(hypotheses, sets, tokenize=tokenize, lowercase=lowercase)
    table: dict[str, Any] = {**score_tables(scores), "sentences": len(hypotheses)}
    if baseline is not None:
        table["comparison"] = _compare(baseline, hypotheses, sets, tokenize=tokenize, lowercase=lowercase)
    if as_json:
        print(json.dumps(table))
        return
    print_scores(scores)
    if against is not None:
        found = table["comparison"]
        print(
            f"against {against}: BLEU {found['baseline']:.2f}, difference {found['difference']:+z.2f}, "
            f"p = {found['p_value']:.4f}  {found['signature']}"
        )


def _explain(hypotheses: list[str], references: list[list[str]], tokenize: str | None, *, lowercase: bool) -> None:
    """Print how the BLEU of the first line is computed, and what sacreBLEU computes."""
    from dragoman.metrics import explain, scores

    hypothesis, first = hypotheses[0], [lines[0] for lines in references]
    print(explain(hypothesis, first, tokenize=tokenize, lowercase=lowercase).render())
    check = scores.bleu([hypothesis], [[line] for line in first], tokenize=tokenize, lowercase=lowercase)
    print(f"sacreBLEU says {check.score:.2f}   ({check.signature})")
    if len(hypotheses) > 1:
        note(f"This is line 1 of {len(hypotheses)}; remove --explain to score all lines together.")


def _compare(
    baseline: list[str], system: list[str], references: list[list[str]], *, tokenize: str | None, lowercase: bool
) -> dict[str, Any]:
    """Test whether two outputs differ in BLEU."""
    from dragoman.metrics.significance import compare

    found = compare(baseline, system, references, tokenize=tokenize, lowercase=lowercase)
    return {
        "baseline": found.baseline.score,
        "difference": found.difference,
        "p_value": found.p_value,
        "signature": found.signature,
    }
