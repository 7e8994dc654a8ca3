"""`dragoman classify`: train a document classifier, use it, measure it, see what it looks at."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import clock, note, watch_training
from dragoman.cli.files import standard_input

CHUNK = 1024
"""Most documents that are classified together."""

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="A classifier's run.")]


def train(
    labelled: Annotated[Path, typer.Argument(metavar="TSV", help="A label, a tab and a text on each line.")],
    dev: Annotated[
        Path | None, typer.Option(help="Documents to choose the best weights by. [default: one in ten of TSV]")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change a setting, such as training.epochs=20; may be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run. [default: runs/NAME]")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in that folder.")] = False,
) -> None:
    """Train a classifier with word- and sentence-level attention. Ctrl-C saves; --resume goes on where it stopped."""
    from dragoman.classification.fitting import fit_classifier
    from dragoman.classification.settings import classifier_recipe

    recipe = classifier_recipe(labelled, dev, settings or [])
    folder = out or Path("runs") / labelled.name.split(".")[0]
    progress = watch_training(
        lambda listener: fit_classifier(recipe, folder, resume=resume, listener=listener), folder, resume
    )
    note(
        f"Done: {progress.step:,} steps in {clock(progress.seconds)}, least dev loss at step {progress.best_step:,}. "
        f"Classify with: dragoman classify predict {folder} < FILE"
    )
    print(folder)


def predict(
    run: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with all labels.")] = False,
) -> None:
    """Print label, tab and probability for each line of standard input; an empty line gives an empty line."""
    from dragoman.classification.classifier import Classifier
    from dragoman.text.sentences import split_sentences

    classifier, number = Classifier.load(run), 0
    for chunk in standard_input(CHUNK):
        written = [text for text in chunk if split_sentences(text)]
        found = dict(zip(written, classifier.classify(written), strict=True))
        for text in chunk:
            number += 1
            one = found.get(text)
            if as_json:
                about = {} if one is None else {"probability": one.probability, "probabilities": one.probabilities}
                print(json.dumps({"line": number, "label": one and one.label, **about}, ensure_ascii=False))
            else:
                print(f"{one.label}\t{one.probability:.4f}" if one is not None else "")
        print(end="", flush=True)


def evaluate(
    run: Folder,
    labelled: Annotated[Path, typer.Argument(metavar="TSV", help="A label, a tab and a text on each line.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare predicted with true labels: accuracy, F1 averaged over labels, and which label is taken for which."""
    from dragoman.classification.classifier import Classifier
    from dragoman.data.labelled import read_labelled

    classifier = Classifier.load(run)
    found = classifier.evaluate(read_labelled(labelled))
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
    print(f"{found.total} documents")
    print(found.render())


def explain(
    run: Folder,
    text: Annotated[str, typer.Argument(help="A document.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write: .png, .svg or .html.")],
) -> None:
    """Draw what a classifier looks at: the words of a document shaded, and a bar for each sentence."""
    from dragoman.classification.classifier import Classifier
    from dragoman.inspection.document_picture import draw_document

    picture = Classifier.load(run).explain(text)
    draw_document(picture, output)
    note(picture.title)
    print(output)


COMMANDS: dict[str, Callable[..., None]] = {
    "train": train,
    "predict": predict,
    "evaluate": evaluate,
    "explain": explain,
}
