"""`dragoman backtranslate`."""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import announced, note, print_path, watching_translation
from dragoman.cli.files import check_languages
from dragoman.cli.options import Beam, Device, Languages, SearchSettings, decoding_options, number

if TYPE_CHECKING:
    from dragoman.data.settings import DataSettings
    from dragoman.text.frames import Between

KeepBest = Annotated[
    float,
    typer.Option(
        metavar="SHARE",
        parser=number("a share above 0 and at most 1", lambda share: 0 < share <= 1),
        help="Share of the pairs to keep, those of the highest score.",
    ),
]
MinimumScore = Annotated[
    float | None,
    typer.Option(
        metavar="SCORE",
        parser=number("a number"),
        help="Minimum score: the log-probability per token. [default: none]",
    ),
]


@dataclass(frozen=True)
class Kept:
    """Which pairs are kept."""

    keep_best: KeepBest = 1.0
    minimum_score: MinimumScore = None


def backtranslate(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run that translates from the language of the text to the other one."),
    ],
    text: Annotated[
        Path,
        typer.Argument(
            metavar="MONOLINGUAL", help="Sentences in the target language of the model to train, one per line."
        ),
    ],
    out: Annotated[Path, typer.Option(help="File of the pairs: translation, tab, sentence, tab, score.")],
    languages: Languages,
    kept: Kept,
    beam: Beam = None,
    sampling: Annotated[
        bool, typer.Option("--sample", help="Sample the translations, which teaches more where there are many pairs.")
    ] = False,
    settings: SearchSettings = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue, or choose other pairs from translations that are complete.")
    ] = False,
    device: Device = "auto",
) -> None:
    """Make training pairs from monolingual text.

    This is back-translation: to improve a translator from English to Vietnamese, translate Vietnamese text with a run from
    Vietnamese to English. The pairs have a synthetic English source and a real Vietnamese target; train on them and on your
    real pairs. A run of several languages needs --to, and --from where it translates so from several.

    Empty, repeated and too long lines are left out. Ctrl-C keeps what is translated; --resume continues.
    """
    options = decoding_options(settings, beam=beam) | ({"method": "sample"} if sampling else {})
    with announced(f"Loading {run}"):
        from dragoman.jobs.backtranslate import BacktranslationSettings, backtranslate, folder_of
        from dragoman.runs.folder import open_run

        opened = open_run(run)
        to = opened.directions.choose(languages.source_language, languages.to, both=True)
        check_languages(to, text, known=opened.directions.languages)
    if remark := opened.directions.remark(to):
        note(remark)
    with watching_translation() as report:
        made = backtranslate(
            run,
            text,
            out,
            settings=BacktranslationSettings(kept.keep_best, kept.minimum_score, options),
            to=to,
            device=device,
            resume=resume,
            report=report,
        )
    note(str(made))
    note(f"Train on them with this line in `data.train`:  - {_corpus(out, opened.recipe.data, to)}")
    note(f"All translations are in {folder_of(out)}: --resume keeps others of them, for example with --keep-best 0.5.")
    print_path(out)


def _corpus(out: Path, data: "DataSettings", to: "Between") -> str:
    """Return the pairs as a corpus of a recipe; `to` says between which languages the run with such `data` translated."""
    import yaml

    corpus: dict[str, Any] = {"tsv": str(out.absolute()), "tagged": True}
    if data.tagged and None not in to and to[::-1] != (data.source, data.target):
        corpus["languages"] = list(to[::-1])
    return yaml.safe_dump(corpus, default_flow_style=True, sort_keys=False, allow_unicode=True, width=inf).strip()
