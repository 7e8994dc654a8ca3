"""Arguments and options that several commands share, and what is made of them."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

MBR_SAMPLES = 32
"""Samples that `--mbr` draws, unless a setting says how many."""
CHUNK = 1024
"""Maximum number of lines that are processed together."""

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")]
Device = Annotated[
    Literal["auto", "cpu", "cuda"], typer.Option(help="Where to compute; auto uses a GPU if there is one.")
]
TrainingDevice = Annotated[
    Literal["auto", "cpu", "cuda"] | None,
    typer.Option(help="Where to translate and to train, as training.device. [default: the recipe's]"),
]
Beam = Annotated[int | None, typer.Option(min=1, help="Beam size; 1 is greedy search. [default: the recipe's]")]
SearchSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting of the recipe's decoding section, such as length_penalty=0.6; may be repeated.",
    ),
]
RecipeSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.NAME=VALUE",
        help="Change a setting of the recipe, such as training.minutes=10; may be repeated.",
    ),
]
Mbr = Annotated[
    bool,
    typer.Option(
        "--mbr", help="Choose the translation most similar to the beam and to samples (minimum Bayes risk); slower."
    ),
]
Rerank = Annotated[
    list[Path] | None,
    typer.Option(
        "--rerank",
        metavar="RUN",
        help="Let another run rank the beam too: one of the opposite direction, or a language model; may be repeated.",
    ),
]
JsonObject = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Documents = Annotated[
    Path | None,
    typer.Option(
        help="For a document model: file whose line n begins with the name of the document of sentence n. "
        "[default: blank lines separate documents]"
    ),
]


def decoding_options(
    settings: list[str] | None,
    *,
    beam: int | None,
    n_best: int | None = None,
    mbr: bool = False,
    rerank: list[Path] | None = None,
) -> dict[str, Any]:
    """Turn options into settings of the decoding section; --beam 1 with nothing else is greedy search."""
    from dragoman.settings import override

    options: dict[str, Any] = override({}, settings or [])
    if beam is not None:
        options["beam"] = beam
        options.setdefault("method", "beam")
    if n_best is not None and n_best > 1:
        options["n_best"] = n_best
    if mbr:
        options.setdefault("mbr_samples", MBR_SAMPLES)
    if rerank:
        options["rerank"] = [str(run) for run in rerank]
    return options
