"""`dragoman diversify`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import announced, note, print_path, watching_translation
from dragoman.cli.options import Beam, Device, ResumeWork, SearchSettings, decoding_options
from dragoman.errors import shell_path


def diversify(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN", help="Runs of both directions; the first has the direction of the model to train."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the translations and of the recipe.")],
    original: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Run whose training corpora are translated. [default: the first]"),
    ] = None,
    beam: Beam = None,
    settings: SearchSettings = None,
    resume: ResumeWork = False,
    device: Device = "auto",
) -> None:
    """Translate a corpus with runs trained on it.

    This is data diversification: runs of both directions translate their training corpus, and a better model learns from
    everything. The folder gets all translations and recipe.yaml: that of the first run, with the translations added to its
    corpora. Ctrl-C keeps what is translated; --resume continues.
    """
    options = decoding_options(settings, beam=beam)
    with announced(f"Loading {', '.join(map(str, runs))}"):
        from dragoman.jobs.diversify import diversify
    with watching_translation() as report:
        made = diversify(
            runs, out, original=original, decoding=options, device=device, resume=resume, report=report, say=note
        )
    for sentence in made.files:
        note(sentence)
    note(f"Train the new model with: dragoman train {shell_path(made.recipe)} --out RUN")
    print_path(made.recipe)
