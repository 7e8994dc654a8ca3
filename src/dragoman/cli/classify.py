"""`dragoman classify`: train, use and evaluate a document classifier, and draw its attention."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import announced, clock, note, print_path, watch_training
from dragoman.cli.files import standard_input
from dragoman.cli.options import CHUNK, Device, JsonObject, RecipeSettings
from dragoman.errors import number_of, shell_path

if TYPE_CHECKING:
    from dragoman.classification.classifier import Classifier

classify = typer.Typer(
    help="Classify documents with attention to words and sentences.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of a classifier.")]
Labelled = Annotated[Path, typer.Argument(metavar="TSV", help="Text file: a label, a tab and a text on each line.")]


@classify.command()
def train(
    labelled: Labelled,
    dev: Annotated[
        Path | None, typer.Option(help="Labelled documents for choosing the best weights. [default: one in ten of TSV]")
    ] = None,
    settings: RecipeSettings = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run. [default: runs/NAME]")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in the output folder.")] = False,
) -> None:
    """Train a classifier on labelled documents.

    Ctrl-C saves; --resume continues from there."""
    from dragoman.classification.fitting import fit_classifier
    from dragoman.classification.settings import classifier_recipe

    recipe = classifier_recipe(labelled, dev, settings or [])
    folder = out or Path("runs") / labelled.name.split(".")[0]
    progress = watch_training(
        lambda listener: fit_classifier(recipe, folder, resume=resume, listener=listener), folder, resume
    )
    note(
        f"Done: {progress.step:,} steps in {clock(progress.seconds)}, lowest dev loss at step {progress.best_step:,}. "
        f"Classify with: dragoman classify predict {shell_path(folder)} < FILE"
    )
    print_path(folder)


@classify.command()
def predict(
    run: Run,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object per line, from line 1, with the probabilities of all labels."
        ),
    ] = False,
    device: Device = "auto",
) -> None:
    """Label each line of standard input.

    The label, a tab and its probability are printed; an empty line for an empty one."""
    from dragoman.text.sentences import split_sentences

    classifier, number = _load(run, device), 0
    for chunk in standard_input(CHUNK):
        written = [text for text in chunk if split_sentences(text)]
        labels = dict(zip(written, classifier.classify(written), strict=True))
        for text in chunk:
            number += 1
            found = labels.get(text)
            if as_json:
                numbers = {"probability": found.probability, "probabilities": found.probabilities} if found else {}
                print(json.dumps({"line": number, "label": found and found.label, **numbers}, ensure_ascii=False))
            else:
                print(f"{found.label}\t{found.probability:.4f}" if found else "")
        print(end="", flush=True)


@classify.command()
def evaluate(
    run: Run,
    labelled: Labelled,
    as_json: JsonObject = False,
    device: Device = "auto",
) -> None:
    """Compare predicted with true labels.

    Accuracy, macro-averaged F1 and the confusion matrix are printed."""
    from dragoman.data.labelled import read_labelled

    found = _load(run, device).evaluate(read_labelled(labelled))
    if as_json:
        scores = {
            label: {"precision": found.precision(label), "recall": found.recall(label), "f1": found.f1(label)}
            for label in found.labels
        }
        summary = {"accuracy": found.accuracy, "macro_f1": found.macro_f1, "majority": found.majority}
        counts = {"documents": found.total, "confusion": [list(row) for row in found.counts]}
        print(json.dumps({**summary, **counts, "labels": scores}, ensure_ascii=False))
        return
    print(f"accuracy {found.accuracy:.4f}  (always the most frequent label: {found.majority:.4f})")
    print(f"macro F1 {found.macro_f1:.4f}")
    print(number_of(found.total, "document"))
    print(found.render())


@classify.command()
def explain(
    run: Run,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Document.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write: .png, .svg or .html.")],
    device: Device = "auto",
) -> None:
    """Draw the attention weights behind a label.

    Words are shaded, and each sentence has a bar."""
    from dragoman.inspection.document_picture import draw_document
    from dragoman.inspection.rendering import check_picture

    check_picture(output)
    picture = _load(run, device).explain(text)
    draw_document(picture, output)
    note(picture.title)
    print_path(output)


def _load(run: Path, device: str) -> "Classifier":
    """Load a classifier."""
    with announced(f"Loading {run}"):
        from dragoman.classification.classifier import Classifier

        return Classifier.load(run, device)
