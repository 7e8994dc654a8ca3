"""Check which decoding settings a command reads with a model; refuse settings that would be ignored.

Does not import torch.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, TypeVar

from dragoman.decoding.settings import DecodingSettings, SearchSettings
from dragoman.errors import InputError, SettingsError
from dragoman.models.capabilities import Capabilities
from dragoman.runs.rules import Rule, refusals
from dragoman.settings import parse

TRANSLATING = tuple(name for name in DecodingSettings.model_fields if name not in SearchSettings.model_fields)
"""Decoding settings that translation reads and text generation does not."""


@dataclass(frozen=True)
class Use:
    """Decoding settings and the model that they are used with."""

    decoding: SearchSettings | None
    model: Capabilities


def _searches(_: Use, own: SearchSettings) -> bool:
    """Tell whether this is beam search."""
    return own.method == "beam"


def _draws(_: Use, own: SearchSettings) -> bool:
    """Tell whether translations are sampled."""
    return own.method == "sample" or _chooses(_, own)


def _chooses(_: Use, own: SearchSettings) -> bool:
    """Tell whether the translation of least Bayes risk is chosen."""
    return isinstance(own, DecodingSettings) and own.mbr_samples > 0


def _has_terms(_: Use, own: SearchSettings) -> bool:
    """Tell whether there is a glossary."""
    return isinstance(own, DecodingSettings) and bool(own.glossary)


MODEL = (
    *(
        Rule(f"decoding.{name}", lambda use, _: use.model.purpose != "fill", "is not read by `dragoman fill`")
        for name in DecodingSettings.model_fields
    ),
    *(
        Rule(f"decoding.{name}", lambda use, _: use.model.translates, "works only for translation models")
        for name in TRANSLATING
    ),
    Rule(
        "decoding.coverage_penalty",
        lambda use, _: use.model.attends,
        "needs attention over the source, which this model does not have",
    ),
    Rule(
        "decoding.shortlist",
        lambda use, _: not use.model.mixes,
        "does not work if the output sums predictions over source positions (`model.marginal`, posterior attention)",
    ),
)
"""Rules that depend on the model only: no later command could use such a setting."""

SEARCH = (
    Rule("decoding.beam", _searches, "works only with `decoding.method: beam`, not {own.method}"),
    Rule("decoding.stopping", _searches, "works only with `decoding.method: beam`, not {own.method}"),
    Rule("decoding.stopping", lambda _, own: own.size > 1, "works only with a `decoding.beam` of more than 1"),
    *(
        Rule(
            f"decoding.{name}",
            _draws,
            "works only with `decoding.method: sample` (not {own.method}) or `decoding.mbr_samples`",
        )
        for name in ("temperature", "top_k", "top_p", "seed")
    ),
    Rule(
        "decoding.coverage_penalty",
        lambda _, own: own.method != "sample",
        "does not work with `decoding.method: sample`, which does not rerank",
    ),
    Rule(
        "decoding.coverage_penalty",
        lambda use, own: not _chooses(use, own),
        "has no effect with `decoding.mbr_samples`, which chooses among the hypotheses",
    ),
    Rule(
        "decoding.mbr_samples",
        lambda _, own: own.method != "sample",
        "does not work with `decoding.method: sample`, which has no beam to choose from",
    ),
    Rule(
        "decoding.mbr_utility",
        _chooses,
        "works only with `decoding.mbr_samples`",
    ),
    *(
        Rule(
            f"decoding.{name}",
            lambda _, own: own.method != "sample",
            "does not work with `decoding.method: sample`, which leaves translations as they are drawn",
        )
        for name in ("glossary", "glossary_beam")
    ),
    Rule("decoding.glossary_beam", _has_terms, "works only with `decoding.glossary`"),
    Rule(
        "decoding.rerank",
        lambda _, own: own.method == "beam" and own.size > 1,
        "needs several hypotheses to choose from: `decoding.method: beam` and a `decoding.beam` of more than 1",
    ),
    Rule(
        "decoding.length_penalty",
        lambda _, own: own.length_normalisation != "none",
        "does not work with `decoding.length_normalisation: none`",
    ),
)
"""Rules that depend on the search, which each command may change."""


Chosen = TypeVar("Chosen", bound=SearchSettings)


def lay_over(base: Chosen, changes: Mapping[str, Any], model: Capabilities | None = None) -> Chosen:
    """Return `base`, the settings of a run, with some changed; None means no change, unless it is a value (`maximum_length`).

    SettingsError for a setting that does not exist, or that a search would not read with the others and the `model`, where that
    is known: a run's recipe may hold such a setting, but what is requested must have an effect. SettingsError for a `base` that
    is no settings, such as a dictionary that a program gives as them.

    >>> lay_over(SearchSettings(), {"beam": 3, "n_best": None}).beam
    3
    """
    if not isinstance(base, SearchSettings):
        raise SettingsError(
            f"`settings` is {shortened(base)}, but it must be decoding settings, such as those of a translator; give single "
            "settings by their names, for example `beam=3`"
        )
    fields = type(base).model_fields
    given = {
        name: value
        for name, value in changes.items()
        if value is not None or (name in fields and fields[name].default is None)
    }
    if not given:
        return base
    for name in given:
        if name in TRANSLATING and name not in fields:
            raise SettingsError(f"`decoding.{name}` works only for translation models; remove it")
    if "rerank" in given:
        given.setdefault("rerank_weights", ())  # weights of a recipe belong to its own runs
    chosen = parse(type(base), base.model_dump() | given, "the decoding section")
    check_decoding(chosen, [name for name in given if getattr(chosen, name) != getattr(base, name)], model)
    return chosen


def given_paths(runs: Iterable[str | Path]) -> list[Path]:
    """Return the folders of runs. InputError for what is not a path, such as a list of them."""
    given = list(runs)
    for run in given:
        if not isinstance(run, str | PathLike):
            raise InputError(f"{shortened(run)} is not the path of a run; give each path as an argument of its own")
    return [Path(run) for run in given]


def refuse_alternatives(options: Mapping[str, Any], command: str) -> None:
    """Refuse (SettingsError) options that ask for several translations of a sentence where a command reads the best alone."""
    if options.get("n_best", 1) != 1:
        raise SettingsError(
            f"`decoding.n_best` has no effect on `dragoman {command}`, which reads the best translation alone; remove it, or "
            "use `dragoman translate`"
        )


def check_decoding(settings: SearchSettings, given: Collection[str], model: Capabilities | None = None) -> None:
    """Raise SettingsError if a search with `settings` would not read one of the settings named in `given`.

    Settings of a run's recipe are never refused here.
    """
    rules = SEARCH if model is None else (*MODEL, *SEARCH)
    for sentence in refusals(rules, Use(settings, model or Capabilities())):
        if any(sentence.startswith((f"`decoding.{name}:", f"`decoding.{name}`")) for name in given):
            raise SettingsError(sentence)


def refuse_documents(folder: Path, model: Capabilities, why: str) -> None:
    """Raise InputError for the run in `folder` if its model reads documents; `why` says why it cannot be used here."""
    if model.previous:
        raise InputError(f"{folder} reads documents, but {why}; give another run")
