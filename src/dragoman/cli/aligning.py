"""`dragoman align` and `aer`."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli.console import note
from dragoman.cli.files import check_languages, read_aligned
from dragoman.errors import InputError

if TYPE_CHECKING:
    from dragoman.inference.attention_map import HeadSelection
    from dragoman.inference.translator import Translator
    from dragoman.text.links import Links


def align(
    run: Annotated[Path, typer.Argument(help="A run.")],
    texts: Annotated[
        tuple[Path, Path],
        typer.Argument(metavar="SOURCE TARGET", help="Sentences and their translations, words between spaces."),
    ],
    layer: Annotated[int | None, typer.Option(min=1, help="Take this layer, from 1; else the mean of all.")] = None,
    head: Annotated[int | None, typer.Option(min=1, help="Take this head, from 1; else the mean of all.")] = None,
    shift: Annotated[
        bool, typer.Option("--shift", help="Take the step that reads a word, not the one that writes it.")
    ] = False,
    choose_on: Annotated[
        tuple[Path, Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET GOLD", help="Take the layer, head and step that fit these links best."),
    ] = None,
    reverse: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A run of the other direction; its links are joined in.")
    ] = None,
    symmetrise: Annotated[
        Literal["grow-diag-final-and", "intersection", "union"] | None,
        typer.Option(help="How two directions are joined; by default grow-diag-final-and."),
    ] = None,
) -> None:
    """Print word links i-j (source-target, from 0) for each pair: the source word most attended to by each target word.

    Without options, a run that was trained with `training.guided` takes the head that it taught.
    """
    from dragoman.inference.attention_map import HeadSelection
    from dragoman.inference.translator import Translator
    from dragoman.jobs.align import align_both_ways, check_reverse
    from dragoman.text.links import format_links

    requested = HeadSelection(layer, head, shift)
    if choose_on is not None and requested != HeadSelection():
        raise InputError("--choose-on chooses layer, head and step by itself; leave out --layer, --head and --shift")
    if symmetrise is not None and reverse is None:
        raise InputError("--symmetrise joins two directions, but there is one; give a run of the other with --reverse")
    forward = Translator.load(run)
    backward = Translator.load(reverse) if reverse is not None else None
    if backward is not None:
        check_reverse(forward, backward)
    source, target = texts
    check_languages(forward.languages, source, target)
    sources, targets = read_aligned(source, target)
    gold = _gold(*choose_on, forward.languages) if choose_on is not None else None
    links = _links(run, forward, (sources, targets), requested=requested, gold=gold)
    if backward is not None and reverse is not None:
        turned = gold and (gold[1], gold[0], [one.flipped() for one in gold[2]])
        turned_links = _links(reverse, backward, (targets, sources), requested=requested, gold=turned)
        links = align_both_ways(links, turned_links, symmetrise or "grow-diag-final-and")
    for one in links:
        print(format_links(one))


def aer(
    found: Annotated[Path, typer.Argument(help="Links of one pair a line, such as `dragoman align` prints.")],
    gold: Annotated[Path, typer.Argument(help="Links made by people: i-j is sure, ipj only possible.")],
    words_only: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET", help="Leave out words of these texts without letter or digit."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare word links with those made by people: alignment error rate (0 is best), precision and recall."""
    from dragoman.metrics.alignment import alignment_scores
    from dragoman.metrics.alignment import words_only as without_marks
    from dragoman.text.links import parse_links

    paths, texts = (found, gold), words_only or ()
    rows = read_aligned(*paths, *texts)
    ours, gold_links = (
        [parse_links(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1)]
        for path, lines in zip(paths, rows, strict=False)
    )
    if words_only is not None:
        _check(found, ours, rows[2], rows[3])
        _check(gold, gold_links, rows[2], rows[3])
        ours, gold_links = (
            [without_marks(*pair) for pair in zip(links, *_words(rows[2], rows[3]), strict=True)]
            for links in (ours, gold_links)
        )
    score = alignment_scores(ours, gold_links)
    if as_json:
        print(json.dumps({name: round(value, 4) for name, value in asdict(score).items()} | {"pairs": len(ours)}))
        return
    print(f"AER {score.error_rate:.4f}  precision {score.precision:.4f}  recall {score.recall:.4f}  {len(ours)} pairs")


def _links(
    run: Path,
    translator: "Translator",
    texts: tuple[list[str], list[str]],
    *,
    requested: "HeadSelection",
    gold: tuple[list[str], list[str], list["Links"]] | None,
) -> list["Links"]:
    """Return one direction's links, and say which layer, head and step were chosen where that was asked for."""
    from dragoman.inference.attention_map import HeadSelection
    from dragoman.jobs.align import choose_head
    from dragoman.metrics.alignment import alignment_error_rate

    view = translator.view if requested == HeadSelection() else requested
    if gold is not None:
        readings = translator.read(*gold[:2])
        view = choose_head(readings, gold[2])
        rate = alignment_error_rate([view.links(reading) for reading in readings], gold[2])
        note(f"{run}: {view} (alignment error rate {rate:.3f} where it was chosen)")
    return [view.links(reading) for reading in translator.read(*texts)]


def _gold(
    source: Path, target: Path, gold: Path, languages: tuple[str, str]
) -> tuple[list[str], list[str], list["Links"]]:
    """Read texts and the links that people gave them."""
    from dragoman.text.links import parse_links

    check_languages(languages, source, target)
    sources, targets, lines = read_aligned(source, target, gold)
    links = [parse_links(line, f"{gold}, line {number}") for number, line in enumerate(lines, start=1)]
    _check(gold, links, sources, targets)
    return sources, targets, links


def _check(path: Path, links: list["Links"], sources: list[str], targets: list[str]) -> None:
    """Refuse links that point beyond their sentences; InputError names file and line."""
    from dragoman.metrics.alignment import check_links

    for number, (one, source, target) in enumerate(zip(links, *_words(sources, targets), strict=True), start=1):
        check_links(one, len(source), len(target), f"{path}, line {number}")


def _words(*texts: list[str]) -> list[list[list[str]]]:
    """Cut every sentence where links count its words."""
    from dragoman.data.links import spaced

    return [[spaced(sentence) for sentence in sentences] for sentences in texts]


COMMANDS: dict[str, Callable[..., None]] = {"align": align, "aer": aer}
