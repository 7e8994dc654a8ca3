"""`dragoman plan`."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import ConsoleListener, clock
from dragoman.cli.options import JsonObject, RecipeSettings
from dragoman.errors import number_of

if TYPE_CHECKING:
    from dragoman.jobs.plan import Plan, Probe


def plan(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe file, or a name from `dragoman recipes`.")],
    settings: RecipeSettings = None,
    no_probe: Annotated[
        bool, typer.Option("--no-probe", help="Take no steps; speed, time and the memory of batches are then left out.")
    ] = False,
    as_json: JsonObject = False,
) -> None:
    """Estimate what a training will take: memory, time, disk.

    It takes a few real training steps, for about 20 seconds, and writes nothing.
    """
    from dragoman.jobs.plan import make_plan
    from dragoman.runs.recipe import load_recipe

    listener = ConsoleListener()
    try:
        made = make_plan(load_recipe(recipe, settings or []), probe=not no_probe, listener=listener)
    finally:
        listener.close()
    if as_json:
        print(json.dumps(table_of(made), ensure_ascii=False))
        return
    for line in lines_of(made):
        print(line)


def table_of(made: "Plan") -> dict[str, Any]:
    """Return a plan as JSON has it: sizes in bytes, times in seconds."""
    table = asdict(made)
    table["recipe"] = made.recipe.model_dump(mode="json")
    table["memory"]["total"], table["disk"]["total"] = made.memory.total, made.disk.total
    table["estimated_memory"] = made.estimated_memory
    return table


def lines_of(made: "Plan") -> Iterator[str]:
    """Yield the lines of a plan."""
    yield f"Machine  {made.machine}; training on {made.device}"
    yield from _chosen(made)
    yield from (
        "",
        f"{'Parameters':26} {sum(made.parameters.values()):>14,}   {made.trained_parameters:,} of them are trained",
    )
    for part, count in made.parameters.items():
        yield f"  {part:24} {count:>14,}"
    yield from _memory(made)
    yield from _time(made)
    disk = made.disk
    yield from ("", f"{'Disk':26} {size(disk.total):>14}")
    for name, amount in (
        ("best weights", disk.weights),
        ("kept for averaging", disk.kept),
        ("to resume", disk.resume),
        ("vocabularies and others", disk.other),
        ("encoded corpus", disk.store),
    ):
        yield f"  {name:24} {size(amount):>14}"


def size(count: float) -> str:
    """Format a number of bytes.

    >>> size(3_400_000_000), size(25_300_000), size(1_200)
    ('3.40 GB', '25.3 MB', '1.2 kB')
    """
    for unit, scale, decimals in (("GB", 1e9, 2), ("MB", 1e6, 1)):
        if count >= scale:
            return f"{count / scale:,.{decimals}f} {unit}"
    return f"{count / 1e3:,.1f} kB"


def _chosen(made: "Plan") -> Iterator[str]:
    """Yield what `auto` has chosen."""
    from dragoman.runs.recipe import written_value

    if made.chosen:
        yield from ("", "Chosen by `auto`")
    for choice in made.chosen:
        value = choice.value
        text = f"layer {value['layer']}, head {value['head']}" if isinstance(value, dict) else written_value(value)
        yield f"  {choice.path:28} {text:16} {choice.reason}".rstrip()


def _memory(made: "Plan") -> Iterator[str]:
    """Yield the memory by part."""
    memory, probe = made.memory, made.probe
    known = (
        "peak in the probe, which had the largest batch" if probe else "without batches, which --no-probe leaves out"
    )
    free = "" if made.free_memory is None else f"; {size(made.free_memory)} are free"
    yield from ("", f"{'Memory':26} {size(made.estimated_memory or 0):>14}   {known}{free}")
    parts = (
        ("weights", memory.weights),
        ("gradients", memory.gradients),
        ("optimiser", memory.optimizer),
        ("average of weights", memory.average),
        ("gradients of replicas", memory.replicas),
        ("largest batch", probe.activations if probe else None),
        ("process without model", made.process),
    )
    for name, amount in parts:
        if amount:
            yield f"  {name:24} {size(amount):>14}"


def _time(made: "Plan") -> Iterator[str]:
    """Yield what an epoch is, how fast training is, and how far the budget goes."""
    epoch, probe, work = made.epoch, made.probe, made.work
    yield from (
        "",
        f"{'Epoch':26} {epoch.tokens:>14,}   target tokens of {number_of(epoch.pairs, 'pair')}, "
        f"in {number_of(epoch.batches, 'batch', 'batches')}",
    )
    if probe is not None:
        yield from _speed(probe)
    if work is None:
        yield "The budget is not one of steps, epochs or tokens; how far it goes is known with a probe only."
        return
    yield from (
        "",
        f"{'Steps':26} {work.steps:>14,}   {float(f'{work.epochs:.3g}'):,g} epochs; `training.{work.limited_by}` ends training",
    )
    if work.seconds is not None:
        early = ", or less with `training.patience`" if made.recipe.training.patience else ""
        yield f"{'Time to finish':26} {clock(work.seconds):>14}   with {number_of(work.validations, 'validation')}{early}"
        if made.recipe.training.phases:
            yield "Time and memory are those of the first phase; a later one (`training.phases`) may take more, as with `reward`."


def _speed(probe: "Probe") -> Iterator[str]:
    """Yield what was measured."""
    seconds = probe.seconds_per_step * probe.steps_per_epoch
    copies = f", {probe.replicas} replicas" if probe.replicas > 1 else ""
    yield f"  {'FLOPs of an epoch':24} {probe.flops_per_epoch:>14.3g}"
    yield f"  {'time of an epoch':24} {clock(seconds):>14}   {probe.steps_per_epoch:,.0f} steps of {probe.seconds_per_step:.3g} s"
    yield (
        f"  {'tokens per second':24} {probe.tokens_per_second:>14,.0f}   measured in {probe.steps} steps, {probe.precision}, "
        f"{number_of(probe.threads, 'thread')}{copies}"
    )
    yield f"  {'time of a validation':24} {probe.validation_seconds:>12.1f} s"
