"""Arguments and options that several commands share, and what is made of them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

MBR_SAMPLES = 32
"""Samples that `--mbr` draws, unless a setting says how many."""
CHUNK = 1024
"""Maximum number of lines that are processed together."""


def number(words: str, works: Callable[[float], bool] = isfinite) -> Callable[[str], float]:
    """Return the parser of an option that is a number, of which `words` say what `works`. Typer's own lets nan pass any range.

    >>> number("a number above 0", lambda one: one > 0)("0.5")
    0.5
    """

    def parse(text: str) -> float:
        with suppress(ValueError):
            if isfinite(found := float(text)) and works(found):
                return found
        raise typer.BadParameter(f"{text} is not {words}")

    return parse


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
        help="Rerank the beam with another run: one of the opposite direction, or a language model; may be repeated.",
    ),
]
Ensemble = Annotated[
    list[Path] | None,
    typer.Option(
        "--ensemble",
        metavar="RUN",
        help="Translate with this run too, as an ensemble with the first; may be repeated.",
    ),
]
GlossaryFiles = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Translate terms as a glossary says (.tsv, .csv, .tbx); a term alone on its line is kept as it is; may be repeated.",
    ),
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="LANGUAGE", help="Language of the source, for a run of several languages."),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="LANGUAGE", help="Language to translate into; needed for a run of several languages."),
]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="WORKERS",
        help="Share the work among this many processes of a Ray cluster, or give a range such as 1:8 to use as many as fit.",
    ),
]
JsonObject = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
ResumeWork = Annotated[bool, typer.Option("--resume", help="Resume the work in the output folder.")]
Documents = Annotated[
    Path | None,
    typer.Option(
        help="For a document model: file whose line n begins with the name of the document of sentence n. "
        "[default: blank lines separate documents]"
    ),
]


@dataclass(frozen=True)
class Languages:
    """Between which languages to translate."""

    source_language: From = None
    to: To = None


@dataclass(frozen=True)
class Search:
    """How to search."""

    beam: Beam = None
    mbr: Mbr = False
    rerank: Rerank = None
    glossary: GlossaryFiles = None
    settings: SearchSettings = None

    def options(self, n_best: int | None = None) -> dict[str, Any]:
        """Return settings of the decoding section."""
        chosen = decoding_options(self.settings, beam=self.beam, n_best=n_best, mbr=self.mbr, rerank=self.rerank)
        return chosen | ({"glossary": [str(path) for path in self.glossary]} if self.glossary else {})


@dataclass(frozen=True)
class Trust:
    """What to say of how far a translation can be trusted, and whether to try again."""

    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence", help="Append the probability that a translation is good, after `dragoman calibrate`."
        ),
    ] = False
    alarms: Annotated[
        bool,
        typer.Option(
            "--alarms",
            help="Append what looks wrong: repetitions, omissions, translations detached from their source ...",
        ),
    ] = False
    rescue: Annotated[
        bool,
        typer.Option("--rescue", help="Translate again, by sampling, sentences with an alarm or a low confidence."),
    ] = False
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Also write a page with all alarms and the confidence of each word."),
    ] = None


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which each parameter that is a group of options, a class above, is spread out into these options."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind) and isinstance(kind, type)}
    if not groups:
        return command
    options: list[Parameter] = []
    for name, own in signature(command).parameters.items():
        if name in groups:
            inside = get_type_hints(groups[name], include_extras=True)
            options += [
                Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=inside[one.name])
                for one in fields(groups[name])
            ]
        else:
            options.append(own.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**values: Any) -> None:
        made = {name: kind(**{one.name: values.pop(one.name) for one in fields(kind)}) for name, kind in groups.items()}
        command(**values, **made)

    run.__signature__ = signature(command).replace(parameters=options)  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {one.name: one.annotation for one in options}
    return run


def decoding_options(
    settings: list[str] | None,
    *,
    beam: int | None,
    n_best: int | None = None,
    mbr: bool = False,
    rerank: list[Path] | None = None,
) -> dict[str, Any]:
    """Turn options into settings of the decoding section; --beam 1 with nothing else is greedy search."""
    from dragoman.errors import SettingsError
    from dragoman.settings import override

    options: dict[str, Any] = override({}, settings or [])
    if beam is not None:
        options["beam"] = beam
        options.setdefault("method", "beam")
    if n_best is not None and n_best > 1:
        options["n_best"] = n_best
    if mbr and options.get("mbr_samples") is None:
        options["mbr_samples"] = MBR_SAMPLES
    elif mbr and options["mbr_samples"] == 0:
        raise SettingsError("--mbr chooses with samples, but `mbr_samples` is 0; remove one of the two")
    if rerank:
        options["rerank"] = [str(run) for run in rerank]
    return options
