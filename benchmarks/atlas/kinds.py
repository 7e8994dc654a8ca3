"""The kinds of attention that the atlas compares: what is written about each by hand, and the settings that give it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from benchmarks.atlas.agreed import HERE

from dragoman.errors import InputError
from dragoman.settings import merge, nearest


@dataclass(frozen=True)
class Kind:
    """One kind of attention in one architecture, with the words of its page."""

    name: str
    """Of its page and pictures."""
    title: str
    family: str
    """recurrent, transformer, or other for a kind that is no translator of single sentences and so has no row."""
    model: Mapping[str, Any]
    """Settings of `model` by which it differs from its family."""
    training: Mapping[str, Any]
    """Settings of `training` by which it differs."""
    formula: str
    shapes: str
    source: str
    """Paper and section."""
    use: str
    """When to use it."""
    cost: str
    """Operations for each target token."""


@cache
def kinds() -> tuple[Kind, ...]:
    """Read all kinds, in the order of the table."""
    found = []
    for family in ("recurrent", "transformer", "other"):
        table = yaml.safe_load((HERE / "words" / f"{family}.yaml").read_text(encoding="utf-8"))
        found += [_kind(name, family, entry) for name, entry in table.items()]
    return tuple(found)


def _kind(name: str, family: str, entry: Mapping[str, Any]) -> Kind:
    """Make a kind from its entry; settings may be left out where there is nothing to set."""
    words = {key: " ".join(entry[key].split()) for key in ("title", "shapes", "source", "use", "cost")}
    model, training = entry.get("model", {}), entry.get("training", {})
    return Kind(name=name, family=family, model=model, training=training, formula=entry["formula"].strip(), **words)


def chosen(names: Sequence[str]) -> tuple[Kind, ...]:
    """Return the kinds of these names, or all. InputError for a name that is none."""
    known = {kind.name: kind for kind in kinds()}
    for name in names:
        if name not in known:
            raise InputError(f"the atlas has no kind `{name}`{nearest(name, list(known))}")
    return tuple(known[name] for name in names) or kinds()


@cache
def plan() -> dict[str, Any]:
    """Read what the trainings have in common."""
    return dict(yaml.safe_load((HERE / "plan.yaml").read_text(encoding="utf-8")))


def takes_part(kind: Kind, corpus: str) -> bool:
    """Tell whether a kind is trained on a corpus."""
    left_out = plan()["corpora"][corpus].get("left_out", {"kinds": []})
    return kind.family != "other" and kind.name not in left_out["kinds"]


def recipe_of(kind: Kind, corpus: str, data: Mapping[str, Any], seed: int, steps: int | None) -> dict[str, Any]:
    """Lay the settings of a kind over those of its family, and those over what the corpus asks for.

    What the corpus changes of a family or a kind comes right after it.
    """
    own = plan()["corpora"][corpus]
    table = merge(own["recipe"], plan()["families"][kind.family])
    table = merge(table, own.get("families", {}).get(kind.family, {}))
    table = merge(table, {"seed": seed, "data": data, "model": kind.model, "training": kind.training})
    table = merge(table, own.get("kinds", {}).get(kind.name, {}))
    if steps is None:
        return table
    log_every = min(table["training"]["log_every"], max(1, steps // 4))
    return merge(table, {"training": {"steps": steps, "log_every": log_every}})
