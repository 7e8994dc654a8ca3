"""`dragoman align`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli.console import note
from dragoman.cli.files import check_languages, read_aligned
from dragoman.cli.loading import choose_languages, load_alone
from dragoman.cli.options import Device, Languages, Run
from dragoman.cli.word_links import check_lines, parse_lines
from dragoman.errors import InputError

if TYPE_CHECKING:
    from dragoman.inference.attention_map import HeadSelection
    from dragoman.inference.translator import Translator
    from dragoman.text.frames import Between
    from dragoman.text.links import Links


@dataclass(frozen=True)
class Aligned:
    """Sentence pairs with manual word alignments."""

    sources: list[str]
    targets: list[str]
    gold: list["Links"]

    def flipped(self) -> "Aligned":
        """Return the same for the other direction."""
        return Aligned(self.targets, self.sources, [links.flipped() for links in self.gold])


def align(
    run: Run,
    texts: Annotated[
        tuple[Path, Path],
        typer.Argument(metavar="SOURCE TARGET", help="Sentences and their translations, words separated by spaces."),
    ],
    languages: Languages,
    layer: Annotated[int | None, typer.Option(min=1, help="Use this layer, from 1. [default: mean of all]")] = None,
    head: Annotated[int | None, typer.Option(min=1, help="Use this head, from 1. [default: mean of all]")] = None,
    shift: Annotated[
        bool,
        typer.Option("--shift", help="Use the step that takes a word as input, not the one that predicts it."),
    ] = False,
    choose_on: Annotated[
        tuple[Path, Path, Path] | None,
        typer.Option(
            metavar="SOURCE TARGET GOLD", help="Use the layer, head and step that agree best with these manual links."
        ),
    ] = None,
    reverse: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Run for the opposite direction; both alignments are combined."),
    ] = None,
    symmetrise: Annotated[
        Literal["grow-diag-final-and", "intersection", "union"] | None,
        typer.Option(help="How to combine two directions. [default: grow-diag-final-and]"),
    ] = None,
    device: Device = "auto",
) -> None:
    """Print word alignments from attention.

    Links are i-j (source-target, counted from 0), one line per sentence pair. Each target word is linked to the source word
    it attends to most. Without options, a run that was trained with `training.guided` uses its supervised head.
    """
    from dragoman.inference.attention_map import HeadSelection
    from dragoman.jobs.align import align_both_ways, check_reverse
    from dragoman.text.links import format_links

    requested = HeadSelection(layer, head, shift)
    if choose_on is not None and requested != HeadSelection():
        raise InputError("--choose-on chooses layer, head and step itself; remove --layer, --head and --shift")
    if symmetrise is not None and reverse is None:
        raise InputError("--symmetrise combines two directions; add a run for the opposite direction with --reverse")
    forward = load_alone(run, device=device)
    backward = load_alone(reverse, device=device) if reverse is not None else None
    source, target = texts
    direction = choose_languages(forward, languages)
    if backward is not None:
        check_reverse(backward.directions, direction)
    check_languages(direction, source, target, known=forward.directions.languages)
    sources, targets = read_aligned(source, target)
    known = _read_gold(*choose_on, languages=direction) if choose_on is not None else None
    links = _links(run, forward, (sources, targets), to=direction, requested=requested, known=known)
    if backward is not None and reverse is not None:
        known = known and known.flipped()
        turned = (targets, sources)
        reverse_links = _links(reverse, backward, turned, to=direction.swapped(), requested=requested, known=known)
        links = align_both_ways(links, reverse_links, symmetrise or "grow-diag-final-and")
    for one_pair in links:
        print(format_links(one_pair))


def _links(
    run: Path,
    translator: "Translator",
    texts: tuple[list[str], list[str]],
    *,
    to: "Between",
    requested: "HeadSelection",
    known: Aligned | None,
) -> list["Links"]:
    """Return one direction's links; if layer, head and step were to be chosen, report the choice."""
    from dragoman.inference.attention_map import HeadSelection
    from dragoman.jobs.align import align_pairs, choose_head
    from dragoman.metrics.alignment import alignment_error_rate

    view = translator.view if requested == HeadSelection() else requested
    if known is not None:
        readings = translator.attention_maps(known.sources, known.targets, to=to)
        view = choose_head(readings, known.gold)
        rate = alignment_error_rate([view.links(reading) for reading in readings], known.gold)
        note(f"{run}: {view} (alignment error rate {rate:.3f} on the links it was chosen on)")
    return align_pairs(translator, *texts, view=view, to=to)


def _read_gold(source: Path, target: Path, gold: Path, *, languages: tuple[str | None, str | None]) -> Aligned:
    """Read texts and their manual word alignments."""
    check_languages(languages, source, target)
    sources, targets, lines = read_aligned(source, target, gold)
    links = parse_lines(gold, lines)
    check_lines(gold, links, sources, targets=targets)
    return Aligned(sources, targets, links)
