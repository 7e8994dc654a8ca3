"""`dragoman score`, `evaluate` and `bleu`."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import note
from dragoman.cli.files import check_languages, read_aligned, write_lines
from dragoman.cli.translating import decoding_options
from dragoman.errors import InputError

if TYPE_CHECKING:
    from dragoman.inference.translator import Translator
    from dragoman.metrics.scores import Score

Documents = Annotated[
    Path | None,
    typer.Option(
        help="File whose line n begins with the name of line n's document, for a model of documents; by default blank lines "
        "separate documents."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def score(
    run: Annotated[Path, typer.Argument(help="A run.")],
    source: Annotated[Path, typer.Argument(help="Source sentences, one a line.")],
    target: Annotated[Path, typer.Argument(help="Their translations.")],
    per_token: Annotated[bool, typer.Option("--per-token", help="Divide by the tokens of the translation.")] = False,
    documents: Documents = None,
) -> None:
    """Print the log-probability that a run gives to each translation."""
    from dragoman.inference.translator import Translator

    translator = Translator.load(run)
    check_languages(translator.languages, source, target)
    sources, targets = read_aligned(source, target)
    for log_prob, tokens in translator.score(sources, targets, previous=_previous(translator, source, documents)):
        print(f"{log_prob / tokens if per_token else log_prob:.6f}")


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run.")],
    source: Annotated[Path, typer.Argument(help="Source sentences, one a line.")],
    references: Annotated[list[Path], typer.Argument(help="One or more files of reference translations.")],
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses followed side by side; 1 is greedy.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A=C", help="Change a setting of the recipe's decoding section."),
    ] = None,
    documents: Documents = None,
    output: Annotated[Path | None, typer.Option(help="Also write the translations to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Translate a test set and score it: BLEU, chrF and TER with their signatures."""
    from dragoman.inference.translator import Translator

    translator = Translator.load(run, **decoding_options(settings, beam=beam))
    check_languages(translator.languages, source, references[0])
    sources, *sets = read_aligned(source, *references)
    previous = _previous(translator, source, documents)
    begin = time.monotonic()
    hypotheses = [translation.text for translation in translator.translate(sources, previous=previous)]
    seconds = time.monotonic() - begin
    if output is not None:
        write_lines(output, hypotheses)
    scores = all_scores(hypotheses, sets)
    if as_json:
        print(json.dumps({**_tables(scores), "sentences": len(sources), "seconds": round(seconds, 3)}))
        return
    for score in scores:
        print(f"{score.name} {score.score:.2f}  {score.signature}")
    print(f"{len(sources)} sentences in {seconds:.1f} s, {len(sources) / max(seconds, 1e-9):.1f} a second")


def _previous(translator: "Translator", source: Path, documents: Path | None) -> list[list[str]] | None:
    """Return the sentences before each one in documents that a file names; None where no such file is given."""
    if documents is None:
        return None
    if not translator.previous:
        raise InputError("this run does not read previous sentences; leave out --documents")
    sentences, names = read_aligned(source, documents)
    return translator.preceding(sentences, [name.split()[0] if name.strip() else None for name in names])


def bleu(
    hypothesis: Annotated[Path, typer.Argument(help="Translations, one a line.")],
    references: Annotated[list[Path], typer.Argument(help="One or more files of reference translations.")],
    against: Annotated[
        Path | None, typer.Option(help="Another output; test which is better (paired bootstrap).")
    ] = None,
    tokenize: Annotated[
        str, typer.Option(help="sacreBLEU tokeniser; `none` for text that is tokenised already.")
    ] = "13a",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Fold case before counting.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show how the first line's BLEU comes about.")] = False,
    as_json: AsJson = False,
) -> None:
    """Score translations that stand in a file: BLEU, chrF and TER with their signatures."""
    if explain and (as_json or against is not None):
        raise InputError("--explain writes for people, about one output; leave out --json and --against, or --explain")
    hypotheses, *sets = read_aligned(hypothesis, *references)
    if explain:
        _explain(hypotheses, sets, tokenize, lowercase)
        return
    scores = all_scores(hypotheses, sets, tokenize=tokenize, lowercase=lowercase)
    table: dict[str, Any] = {**_tables(scores), "sentences": len(hypotheses)}
    if against is not None:
        table["comparison"] = _compare(read_aligned(against, hypothesis)[0], hypotheses, sets)
    if as_json:
        print(json.dumps(table))
        return
    for score in scores:
        print(f"{score.name} {score.score:.2f}  {score.signature}")
    if against is not None:
        found = table["comparison"]
        print(
            f"against {against}: BLEU {found['baseline']:.2f}, difference {found['difference']:+.2f}, "
            f"p = {found['p_value']:.4f}  {found['signature']}"
        )


def all_scores(
    hypotheses: list[str], references: list[list[str]], *, tokenize: str = "13a", lowercase: bool = False
) -> list["Score"]:
    """Return BLEU, chrF and TER, with a note where the translations look tokenised."""
    from dragoman.metrics import scores

    spaced = sum(hypothesis.endswith(" .") for hypothesis in hypotheses)
    if tokenize != "none" and 2 * spaced > len(hypotheses):
        note(
            f"{spaced} of {len(hypotheses)} translations end in a space and a full stop, as tokenised text does; compare these "
            "scores with scores of tokenised text only."
        )
    return [
        scores.bleu(hypotheses, references, tokenize=tokenize, lowercase=lowercase),
        scores.chrf(hypotheses, references),
        scores.ter(hypotheses, references),
    ]


def _explain(hypotheses: list[str], references: list[list[str]], tokenize: str, lowercase: bool) -> None:
    """Print how the BLEU of the first line comes about, and what sacreBLEU says of it."""
    from dragoman.metrics import explain, scores

    hypothesis, first = hypotheses[0], [one[0] for one in references]
    print(explain(hypothesis, first, tokenize=tokenize, lowercase=lowercase).render())
    check = scores.bleu([hypothesis], [[one] for one in first], tokenize=tokenize, lowercase=lowercase)
    print(f"sacreBLEU says {check.score:.2f}   ({check.signature})")
    if len(hypotheses) > 1:
        note(f"This is line 1 of {len(hypotheses)}; leave out --explain for the score of all lines together.")


def _compare(baseline: list[str], system: list[str], references: list[list[str]]) -> dict[str, Any]:
    """Test whether two outputs differ in BLEU."""
    from dragoman.metrics.significance import compare

    if len(baseline) != len(system):
        raise InputError("the two outputs must have one line each for every sentence")
    found = compare(baseline, system, references)
    return {
        "baseline": found.baseline.score,
        "difference": found.difference,
        "p_value": found.p_value,
        "signature": found.signature,
    }


def _tables(scores: list["Score"]) -> dict[str, Any]:
    """Return BLEU, chrF and TER ready for JSON."""
    named = zip(("bleu", "chrf", "ter"), scores, strict=True)
    return {name: {"score": round(score.score, 4), "signature": score.signature} for name, score in named}


COMMANDS: dict[str, Callable[..., None]] = {"score": score, "evaluate": evaluate, "bleu": bleu}
