"""`dragoman score`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import announced
from dragoman.cli.files import check_languages, previous_sentences, read_aligned
from dragoman.cli.loading import choose_languages, load_alone
from dragoman.cli.options import Device, Documents, Languages, Run
from dragoman.errors import number_of


def score(
    run: Run,
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Source sentences, one per line.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Their translations, one per line.")],
    languages: Languages,
    per_token: Annotated[
        bool, typer.Option("--per-token", help="Divide by the number of tokens of the translation.")
    ] = False,
    documents: Documents = None,
    device: Device = "auto",
) -> None:
    """Print the log-probability of each translation."""
    translator = load_alone(run, device=device)
    direction = choose_languages(translator, languages)
    check_languages(direction, source, target, known=translator.directions.languages)
    sources, targets = read_aligned(source, target)
    previous = previous_sentences(translator, source, documents)
    with announced(f"Scoring {number_of(len(sources), 'translation')}"):
        scores = translator.score(sources, targets, previous=previous, to=direction)
    for log_prob, tokens in scores:
        print(f"{log_prob / tokens if per_token else log_prob:.6f}")
