"""Run the laws on plugins: `dragoman laws MODULE`."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any

import torch

from dragoman.errors import DragomanError, InputError
from dragoman.laws import of_models, of_training
from dragoman.laws.examples import Architecture
from dragoman.models.build import NAMES
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.transformer_settings import DecoderOnlySettings, TransformerSettings
from dragoman.plugins import Plugin, register
from dragoman.settings import parse
from dragoman.training.settings import TrainingSettings

RECURRENT: Mapping[str, Any] = {"embedding": 6, "hidden": 8, "encoder_hidden": 4, "dropout": 0.3, "max_positions": 40}
BLOCKS: Mapping[str, Any] = {"width": 8, "feed_forward": 12, "heads": 2, "dropout": 0.3, "max_positions": 40}
LAYERS: Mapping[str, Any] = {"encoder_layers": 2, "decoder_layers": 2, **BLOCKS}

NOT_THEIRS = (str(Path(__file__).parents[1]), str(Path(torch.__file__).parent), contextlib.__file__)
"""Where no plugin is: the folders of Dragoman and torch, and what decorates their functions."""
SIZES = "; the plugin gives no `example=` of a small model, and rounding alone may differ that much in a large one"
"""What may be wrong with a model rather than its logits."""

Law = Callable[[Architecture, Path], None]


@dataclass(frozen=True)
class Verdict:
    """The result of one law for a plugin."""

    plugin: str
    architecture: str
    law: str
    failure: str | None
    """Why the law is broken; None if it holds."""


def load_plugins(module: str) -> tuple[Plugin, ...]:
    """Import a module and register its `PLUGINS` (or `PLUGIN`). Raises a DragomanError if that fails."""
    try:
        imported = import_module(module)
    except DragomanError:
        raise
    except Exception as error:  # a foreign module may raise anything
        raise InputError(
            f"the module `{module}` cannot be imported ({type(error).__name__}: {error}); give its name, such as "
            "my_package.plugins, and run the command where Python finds it"
        ) from error
    found = getattr(imported, "PLUGINS", None) or getattr(imported, "PLUGIN", None)
    plugins = (found,) if isinstance(found, Plugin) else found
    if not isinstance(plugins, tuple | list) or not all(isinstance(plugin, Plugin) for plugin in plugins):
        raise InputError(f"the module `{module}` has no plugin; assign a tuple of dragoman.plugins.Plugin to `PLUGINS`")
    for plugin in plugins:
        if plugin.name in NAMES[plugin.kind]:
            raise InputError(
                f"the {plugin.kind} `{plugin.name}` of `{module}` would never be used, for Dragoman has one of that name; "
                "rename it"
            )
    register(*plugins)
    return tuple(plugins)


def check(plugins: Iterable[Plugin], folder: Path) -> Iterator[Verdict]:
    """Test every law that applies to a plugin, in every architecture that can use it; `folder` is for trainings."""
    for plugin in plugins:
        for name, architecture in architectures_of(plugin).items():
            for title, law in laws_of(plugin, architecture).items():
                place = folder / f"{plugin.kind}-{plugin.name}" / name / title
                failure = _failure(law, architecture, place)
                if failure and "not close" in failure and plugin.kind == "model" and plugin.example is None:
                    failure += SIZES
                yield Verdict(f"{plugin.kind} {plugin.name}", name, title, failure)


def architectures_of(plugin: Plugin) -> dict[str, Architecture]:
    """Return small architectures that use a plugin, by name. Raises SettingsError if the plugin's example is wrong."""
    name: Any = plugin.name
    match plugin.kind:
        case "score":
            return {
                "bahdanau": RecurrentSettings(score=name, **RECURRENT),
                "luong, input feeding": RecurrentSettings(decoder="luong", input_feeding=True, score=name, **RECURRENT),
                "transformer, to itself": TransformerSettings(self_score=name, **LAYERS),
                "transformer, to the source": TransformerSettings(cross_score=name, **LAYERS),
            }
        case "relative" | "positions":
            return {
                "transformer": TransformerSettings(**{plugin.kind: name}, **LAYERS),
                "decoder-only": DecoderOnlySettings(**{plugin.kind: name}, decoder_layers=2, **BLOCKS),
            }
        case "objective":
            return {
                "bahdanau": RecurrentSettings(**RECURRENT),
                "transformer": TransformerSettings(**LAYERS),
            }
        case "model":
            assert plugin.settings is not None
            table = {"kind": name, **(plugin.example or {})}
            return {name: parse(plugin.settings, table, f"the example of the plugin `{name}`")}


def laws_of(plugin: Plugin, architecture: Architecture) -> dict[str, Law]:
    """Return the laws that apply to a plugin in an architecture, by their names."""
    objective = plugin.name if plugin.kind == "objective" else "translation"

    def resumes(architecture: Architecture, folder: Path) -> None:
        budget = {"steps": 3, "objective": objective}
        of_training.law_10_a_resumed_run_equals_an_unbroken_one(architecture, folder, budget=budget, stops=[1])

    resumed = {"10 a resumed run equals an uninterrupted one": resumes}
    if plugin.kind == "objective":
        built = plugin.make(parse(TrainingSettings, {"steps": 1, "objective": plugin.name}))
        return {
            "9 uneven batches add up": lambda one, _: of_training.law_9_an_objective_adds_up(built, one),
            **resumed,
        }
    laws: dict[str, Callable[[Architecture], None]] = {
        "1 any chunking gives the same logits": of_models.law_1_chunks_do_not_matter,
        "2 the future does not matter": of_models.law_2_the_future_does_not_matter,
        "3 padding does not matter": of_models.law_3_padding_does_not_matter,
        "4 rows follow hypotheses": of_models.law_4_rows_follow_hypotheses,
        "6 asking for weights changes nothing": of_models.law_6_asking_for_weights_changes_nothing,
        "8 a wide beam finds the best": of_models.law_8_a_wide_beam_finds_the_best,
        "9 uneven batches add up": of_training.law_9_uneven_batches_add_up,
        "13 every weight is trained": of_training.law_13_every_weight_is_trained,
        "14 saved weights are all there is": of_training.law_14_saved_weights_are_all_there_is,
    }
    if of_models.attends(architecture):
        laws["5 weights are a distribution"] = of_models.law_5_weights_are_a_distribution
        if plugin.kind != "model" and not of_models.knows_order(architecture):
            laws["7 the order of keys does not matter"] = of_models.law_7_the_order_of_keys_does_not_matter
    without_folder = {title: _without_folder(one) for title, one in laws.items()}
    return dict(sorted({**without_folder, **resumed}.items(), key=lambda item: int(item[0].split()[0])))


def _without_folder(law: Callable[[Architecture], None]) -> Law:
    """Wrap a law that needs no folder."""
    return lambda architecture, _: law(architecture)


def _failure(law: Law, architecture: Architecture, folder: Path) -> str | None:
    """Test a law; return why it is broken, or None if it holds."""
    try:
        law(architecture, folder)
    except Exception as error:  # a plugin may raise anything
        said = " ".join(str(error).split())
        return (f"{type(error).__name__}: {said}" if said else type(error).__name__) + _place(error)
    return None


def _place(error: Exception) -> str:
    """Say in which line of a plugin an error arose, if it arose there."""
    theirs = [frame for frame in extract_tb(error.__traceback__) if not frame.filename.startswith(NOT_THEIRS)]
    return f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
