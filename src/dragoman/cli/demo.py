"""`dragoman demo`: everything once, on the built-in phrasebook, without a network."""

import signal
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.console import ConsoleListener, note
from dragoman.cli.options import RecipeSettings

INSTRUCTIONS = """\
1. Put your sentence pairs into two files that match line by line, such as train.en and train.vi, and a few hundred more
   into dev.en and dev.vi. From one translation memory (.tmx) or table, `dragoman split` makes these files.
2. dragoman train own-files --set data.source=en --set data.target=vi --set data.root=YOUR_FOLDER --out runs/mine
3. dragoman translate runs/mine < new.en > new.vi"""


def demo(
    language: Annotated[Literal["vi", "fr"], typer.Option(help="Target language: Vietnamese or French.")] = "vi",
    out: Annotated[Path, typer.Option(help="Folder of the run; an earlier demo is replaced.")] = Path("runs/demo"),
    settings: RecipeSettings = None,
) -> None:
    """Train on the built-in phrasebook and write an HTML report.

    The report shows scores, training curves, translations, and what the model attends to."""
    from dragoman.jobs.demo import remove_previous_demo, run_demo
    from dragoman.runs.recipe import load_recipe

    recipe = load_recipe("phrasebook-en-vi", [f"data.target={language}", *(settings or [])])
    remove_previous_demo(out)
    listener = ConsoleListener()
    try:
        result = run_demo(recipe, out, instructions=INSTRUCTIONS, listener=listener)
    finally:
        listener.close()
    if isinstance(result, signal.Signals):
        note("Stopped before the end; `dragoman demo` starts over.")
        raise typer.Exit(128 + result)
    print()
    for name, scores in result.scores.items():
        print(f"{name:14}" + "   ".join(f"{score.metric} {score.value:.{score.decimals}f}" for score in scores))
    print()
    for sample in result.samples[:6]:
        print(f"  {sample.source}\n    {sample.translation}")
    print("\nTrain on your own files:")
    print(INSTRUCTIONS)
    print(f"\nReport: {(out / 'report.html').resolve()}")
