"""`dragoman adapt`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.console import announced, clock, note, print_path, watch_translation_and_training
from dragoman.cli.options import RecipeSettings, ResumeWork, Run, TrainingDevice, number

Data = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER",
        help="Pairs from the domain: train.SOURCE and train.TARGET, dev.SOURCE and dev.TARGET, and test.* if there are any.",
    ),
]
Minutes = Annotated[
    float | None,
    typer.Option(
        parser=number("a number above 0", lambda one: one > 0),
        metavar="N",
        help="Maximum training time in minutes. [default: 30; with --resume, as before]",
    ),
]
Method = Annotated[
    Literal["full", "frozen-embeddings", "adapters"],
    typer.Option(
        help="What to train: all weights, all but token embeddings, or low-rank adapters (a file of a few MB)."
    ),
]
General = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="General dev files, and perhaps train and test. [default: the run's own corpora]"
    ),
]
Mix = Annotated[
    float | None,
    typer.Option(
        parser=number("a share from 0 to 0.9", lambda one: 0 <= one <= 0.9),
        metavar="SHARE",
        help="Share of general pairs in the training data, so that nothing is forgotten. [default: 0.75 to 0.9 if they are of a "
        "corpus, as time allows; 0.5 if the run translates them]",
    ),
]


def adapt(
    run: Run,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder of the new run.")],
    minutes: Minutes = None,
    method: Method = "full",
    general: General = None,
    mix: Mix = None,
    settings: RecipeSettings = None,
    resume: ResumeWork = False,
    device: TrainingDevice = None,
) -> None:
    """Continue training a run on pairs from your domain.

    So that the run forgets nothing, pairs from its own corpus are mixed in, or its own translations. The weights that are best on
    dev text of both kinds are kept. At the end the old and the new run translate test sets of both kinds, and a verdict says what
    has changed, and whether to keep the new run. Ctrl-C saves at any time; --resume continues from there.
    """
    with announced(f"Loading {run}"):
        from dragoman.jobs.adapt import AdaptationSettings, adapt
        from dragoman.jobs.mixing import FOLDER
        from dragoman.jobs.verdict import judge

    assignments = [*(settings or []), *([f"training.device={device}"] if device is not None else [])]
    chosen = AdaptationSettings(minutes, method, mix, general, assignments)
    progress = watch_translation_and_training(
        lambda listener, report: adapt(
            run, data, out, settings=chosen, resume=resume, listener=listener, report=report
        ),
        out,
        resume,
        texts=FOLDER,
    )
    note(f"Done: {progress.step:,} steps in {clock(progress.seconds)}. Translating test sets with both runs.")
    note(str(judge(out, device=device or "auto")))
    print_path(out)
