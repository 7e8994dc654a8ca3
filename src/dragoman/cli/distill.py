"""`dragoman distill`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import clock, note, print_path, use_of, watch_translation_and_training
from dragoman.cli.options import ResumeWork, TrainingDevice
from dragoman.cli.quality import note_test_scores

TEACHER = "teacher."
"""Prefix of settings of the teacher's search."""

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.NAME=VALUE",
        help="Change a setting of the student's recipe or, as in teacher.beam=2, of the teacher's search; may be repeated.",
    ),
]


def distill(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="The teacher: a run, or several runs as an ensemble.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the student's run.")],
    recipe: Annotated[str, typer.Option(help="Recipe of the student: its model, training and decoding.")] = "student",
    n_best: Annotated[
        int, typer.Option(min=1, help="Maximum number of translations of each sentence to learn from.")
    ] = 1,
    nearest: Annotated[
        bool,
        typer.Option(
            "--nearest", help="Take the hypotheses of the beam that are closest to the reference (sentence BLEU)."
        ),
    ] = False,
    original: Annotated[bool, typer.Option("--original", help="Also train on the original corpus.")] = False,
    settings: Settings = None,
    resume: ResumeWork = False,
    device: TrainingDevice = None,
) -> None:
    """Train a small, fast student on a run's translations.

    It learns from the teacher's translations of the teacher's own training corpus (sequence-level knowledge distillation).
    Vocabularies and data are the teacher's. Ctrl-C saves at any time; --resume continues from there.
    """
    from dragoman.jobs.distill import FOLDER, DistillationSettings, distill
    from dragoman.runs.recipe import load_recipe
    from dragoman.settings import override

    search = [setting.removeprefix(TEACHER) for setting in settings or [] if setting.startswith(TEACHER)]
    assignments = [setting for setting in settings or [] if not setting.startswith(TEACHER)]
    assignments += [f"training.device={device}"] if device is not None else []
    progress = watch_translation_and_training(
        lambda listener, report: distill(
            runs,
            recipe,
            out,
            teaching=DistillationSettings(n_best, nearest, original, override({}, search)),
            assignments=assignments,
            resume=resume,
            listener=listener,
            report=report,
        ),
        out,
        resume,
        texts=FOLDER,
    )
    use = use_of("translate", out, len(load_recipe(out / "recipe.yaml").data.directions.targets))
    note(f"Done: {progress.step:,} steps in {clock(progress.seconds)}. Translate with: {use}")
    note_test_scores(out)
    print_path(out)
