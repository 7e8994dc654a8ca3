"""`dragoman calibrate`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import announced, note, print_path
from dragoman.cli.files import check_languages, read_aligned
from dragoman.cli.options import Device, number
from dragoman.errors import InputError, shell_path

if TYPE_CHECKING:
    from dragoman.data.corpus import Pair
    from dragoman.inference.confidence.calibration import Calibration
    from dragoman.runs.folder import Run as OpenedRun

SENTENCES = 1000
"""Maximum number of sentences that are learned from, unless --sentences says another."""

FAR = 5
"""An alarm whose limit is so many times the usual one is hardly ever raised."""

Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="CHRF",
        parser=number("a chrF above 0 and at most 100", lambda score: 0 < score <= 100),
        help="Minimum sentence chrF of a translation that counts as good. [default: 50, or the median]",
    ),
]


def calibrate(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="A run, or several runs that translate as an ensemble.")
    ],
    on: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            help="Source sentences and their references to learn from. [default: the dev corpora of the first RUN]"
        ),
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option(
            help="Learn from human judgements: lines of source, translation and 0 (bad) to 1 (good), separated by tabs."
        ),
    ] = None,
    sentences: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of sentences to learn from. [default: 1000]")
    ] = None,
    threshold: Threshold = None,
    dropout: Annotated[int, typer.Option(min=0, max=1000, help="Passes with dropout, as another feature.")] = 0,
    samples: Annotated[int, typer.Option(min=0, max=1000, help="Samples to compare with, as another feature.")] = 0,
    others: Annotated[
        int,
        typer.Option(
            min=0, max=1000, help="Number of other sources to compare a sentence's own source with, as another feature."
        ),
    ] = 0,
    reverse: Annotated[
        Path | None, typer.Option(help="Run of the opposite direction, which scores the source, as another feature.")
    ] = None,
    device: Device = "auto",
) -> None:
    """Learn from a dev set how far to trust translations.

    Confidence 0.8 then says: of 100 such translations, about 80 are good. What good means, how reliable the confidence is and
    how often alarms are false are printed and kept in RUN/calibration.json; RUN/calibration.svg shows the reliability curve.
    Those of an ensemble are in the folder of its first RUN too, under the names of the others: calibration+OTHER.json.
    """
    if judgements is not None and (on is not None or threshold is not None or sentences is not None):
        raise InputError(
            "--judgements already provides the texts and their labels; remove --on and --threshold and --sentences, or "
            "--judgements"
        )
    with announced(f"Loading {', '.join(map(str, runs))}"):
        from dragoman.inference.confidence.evidence import PassSettings
        from dragoman.jobs import calibrate as job

        opened = _opened(runs)
    if judgements is not None:
        learn_from = job.from_judgements(judgements, others=others)
    else:
        pairs = job.dev_pairs(*runs) if on is None else _read_pairs(opened, *on)
        learn_from = job.from_corpus(pairs, most=sentences or SENTENCES, threshold=threshold, say=note, others=others)
    passes = PassSettings(dropout=dropout, samples=samples)
    made = job.calibrate(*runs, passes=passes, learn_from=learn_from, reverse=reverse, device=device)
    report(made, runs)
    print_path(job.picture_of(*runs))


def _opened(runs: Sequence[Path]) -> list["OpenedRun"]:
    """Open runs, each of which must translate in one direction."""
    from dragoman.runs.folder import open_run

    opened = [open_run(run) for run in runs]
    for one in opened:
        one.require("translate")
        one.directions.require_one(str(one.folder))
    return opened


def _read_pairs(runs: "Sequence[OpenedRun]", source: Path, reference: Path) -> list["Pair"]:
    """Read sentences and references, from which something can be learned about runs."""
    from dragoman.data.corpus import Pair
    from dragoman.jobs.calibrate import check_unseen

    check_languages(runs[0].languages, source, reference)
    sources, references = read_aligned(source, reference)
    if sources == references:
        raise InputError(f"{source} and {reference} have the same text; give source sentences and their references")
    for run in runs:
        check_unseen(run, source)
    return [Pair(*pair, "") for pair in zip(sources, references, strict=True)]


def report(made: "Calibration", runs: Sequence[Path]) -> None:
    """Say what was learned, on standard error."""
    from dragoman.inference.confidence.alarms import AlarmLimits
    from dragoman.jobs.calibrate import FALSE_ALARMS

    for name, known in (("sentences", made.reliability), ("words", made.word_reliability)):
        if known is None:
            continue
        ranks = "" if known.auroc is None else f"; AUROC {known.auroc:.3f}, log-probability alone {known.alone:.3f}"
        note(
            f"{known.labels:,} {name}, {known.good:.0%} good: expected calibration error {known.error:.3f} on unseen ones "
            f"({known.chance:.3f} would be chance){ranks}"
        )
    note(f"Confidence is the probability of: {made.good}.")
    alarms = ", ".join(f"{name} {share:.1%}" for name, share in made.false_alarms.items() if share)
    note(f"Alarms raised on good translations: {alarms or 'none'}.")
    for name in ("copied", "detached"):
        if getattr(made.limits, name) >= 1 and not (name == "detached" and made.others):
            note(
                f"The alarm `{name}` is switched off: more than {FALSE_ALARMS:.0%} of the good translations would raise it."
            )
    usual = AlarmLimits().omission
    if made.limits.omission > FAR * usual:
        note(
            f"The alarm `omission` is hardly ever raised: good translations reach {made.limits.omission:.0f}, where {usual:g} is "
            "usual."
        )
    names = " ".join(map(shell_path, runs))
    note(f"Use it with: dragoman translate {names} --confidence --json < FILE")
