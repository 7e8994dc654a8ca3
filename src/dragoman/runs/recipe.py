"""A recipe: everything that defines a run, in one YAML file with the sections data, text, model, training and decoding."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, PrivateAttr, model_validator

from dragoman.data.corpus_settings import BaseCorpusSettings, JsonSettings
from dragoman.data.settings import DataSettings
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import SettingsError, shorten
from dragoman.models.build import ModelChoice
from dragoman.models.capabilities import capabilities_of
from dragoman.settings import AUTO, Settings, merge, nearest, override, parse, read_yaml
from dragoman.text.given import given_texts
from dragoman.text.settings import TextSettings
from dragoman.text.tags import MARKS
from dragoman.training.budgets import BUDGETS
from dragoman.training.settings import TrainingSettings

ARENA = "arena-"
"""Prefix of the names of shipped arenas, which are in the folder of the recipes."""

OWN_TEXTS = frozenset({"mixed", "distilled"})
"""Folders of a run with texts that were made for it, and go where it goes."""

LONGEST_PATH = 1000
"""Maximum characters of the path of a recipe that another one extends."""

CHOOSABLE: Mapping[str, tuple[str, ...]] = {
    "text": ("size", "sampling", "inline_casing"),
    "model": (
        "kind",
        "encoder_layers",
        "decoder_layers",
        "width",
        "feed_forward",
        "heads",
        "positions",
        "relative",
        "self_score",
        "cross_score",
        "zero_start",
        "dropout",
        "feed_forward_dropout",
    ),
    "training": (
        "epochs",
        "batch_tokens",
        "optimizer",
        "learning_rate",
        "embedding_rate",
        "schedule",
        "warmup",
        "weight_decay",
        "validate_every",
        "keep",
        "average",
        "guided",
    ),
    "decoding": ("no_repeat_ngram", "length_penalty"),
}
"""Settings that may be `auto`, by section; a section that is `auto` stands for all of its own."""


class Recipe(Settings):
    """Everything that defines a run."""

    about: str = ""
    """What the recipe is for, in a sentence or two."""
    seed: int = Field(1, ge=0)
    """Random seed: initial weights, order of batches, dropout, subword sampling."""
    data: DataSettings
    """The corpora."""
    text: TextSettings
    """Tokenisation."""
    model: ModelChoice
    """The architecture."""
    training: TrainingSettings
    """How the model is trained."""
    decoding: DecodingSettings = DecodingSettings()
    """Search for translations."""
    _auto: tuple[str, ...] = PrivateAttr(())

    @property
    def auto(self) -> tuple[str, ...]:
        """Return the settings to choose when training starts, as paths such as `model.width`; here they have placeholders."""
        return self._auto

    @property
    def tag_pieces(self) -> tuple[str, ...]:
        """Return all tags that training sources may have, marks of annotations among them."""
        return (*self.data.tag_pieces, *(MARKS if self.text.glossary is not None else ()))

    def with_model(self, model: ModelChoice, *, auto: Sequence[str] = ()) -> "Recipe":
        """Return the recipe with another model, of which only settings at the paths `auto` are still to be chosen."""
        changed = self.model_copy(update={"model": model})
        changed._auto = (*(path for path in self.auto if not path.startswith("model.")), *auto)
        return changed

    @model_validator(mode="wrap")
    @classmethod
    def _take_auto(cls, table: Any, check: Callable[[Any], "Recipe"]) -> "Recipe":
        """Replace what is `auto` by placeholders, and remember where it was; give language models the only metric they have."""
        if not isinstance(table, Mapping):
            return check(table)
        fixed, auto = without_auto(table)
        recipe = check(fixed)
        if not capabilities_of(recipe.model).translates and "metric" not in recipe.training.model_fields_set:
            training = recipe.training.model_copy(update={"metric": "loss"})
            recipe = recipe.model_copy(update={"training": training})
        recipe._auto = auto
        return recipe

    @model_validator(mode="after")
    def _check_corpora(self) -> "Recipe":
        """Raise ValueError for half of what training needs; an imported run, which was trained elsewhere, names no corpora."""
        for name in ("train", "dev"):
            if not getattr(self.data, name) and (self.data.train or self.data.dev):
                raise ValueError(f"`data.{name}` names no corpus; add one")
        return self


def with_runs_beside(recipe: Recipe, folder: Path) -> Recipe:
    """Return the recipe of the run `folder` with the runs that rerank where they are: where it says, or beside the run."""
    beside = [folder.resolve().parent / path.name for path in recipe.decoding.rerank]
    found = tuple(
        other if not path.exists() and other.exists() else path
        for path, other in zip(recipe.decoding.rerank, beside, strict=True)
    )
    if found == recipe.decoding.rerank:
        return recipe
    return recipe.model_copy(update={"decoding": recipe.decoding.model_copy(update={"rerank": found})})


def with_own_texts(recipe: Recipe, folder: Path) -> tuple[Recipe, dict[str, str]]:
    """Return the recipe of the run `folder` with the texts that this holds itself where they are after it was moved.

    The second value has their paths now, by those in the recipe. What is still where the recipe says stays so.
    """
    data, moved = recipe.data, dict[str, str]()

    def placed(corpus: BaseCorpusSettings) -> BaseCorpusSettings:
        """Return a corpus where it is now."""
        if not isinstance(corpus, JsonSettings):
            return corpus
        place = data.place(corpus.jsonl, corpus)
        own = folder.absolute() / place.parent.name / place.name
        if place.parent.name not in OWN_TEXTS or place.exists() or not own.exists():
            return corpus
        moved[str(place)] = str(own)
        return corpus.model_copy(update={"jsonl": own})

    parts = {name: tuple(map(placed, getattr(data, name))) for name in ("train", "dev", "test")}
    return (recipe.model_copy(update={"data": data.model_copy(update=parts)}) if moved else recipe), moved


def with_auto_sections(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of a recipe with each setting `auto` in a section that is `auto`, so that some can be changed.

    >>> with_auto_sections({"text": "auto"})
    {'text': {'size': 'auto', 'sampling': 'auto', 'inline_casing': 'auto'}}
    """
    return {
        name: dict.fromkeys(CHOOSABLE[name], AUTO) if section == AUTO and name in CHOOSABLE else section
        for name, section in table.items()
    }


def overridden(table: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """Return the table of a recipe with each `a.b=value` set; of a section that is set to `auto`, later ones change a part.

    >>> overridden({}, ["text=auto", "text.size=500"])
    {'text': {'size': 500, 'sampling': 'auto', 'inline_casing': 'auto'}}
    """
    result = dict(table)
    for assignment in assignments:
        result = with_auto_sections(override(result, [assignment]))
    return result


def without_auto(table: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the table of a recipe without the settings that are `auto`, and their paths.

    >>> without_auto({"model": {"kind": "transformer", "width": "auto"}, "training": {"minutes": 5}})
    ({'model': {'kind': 'transformer'}, 'training': {'minutes': 5}}, ('model.width',))
    """
    fixed, paths = with_auto_sections(table), []
    for section, names in CHOOSABLE.items():
        given = fixed.get(section)
        if not isinstance(given, Mapping):
            continue
        chosen = [name for name in names if given.get(name) == AUTO]
        paths += [f"{section}.{name}" for name in chosen]
        fixed[section] = {name: value for name, value in given.items() if name not in chosen}
    if "training.keep" in paths and type(average := fixed["training"].get("average")) is int and average > 0:
        fixed["training"]["keep"] = average  # which may be more than the default
    if "model.kind" in paths:
        fixed["model"] = {"kind": "transformer", **fixed["model"]}
    if "training.epochs" in paths and not any(fixed["training"].get(budget) for budget in BUDGETS):
        fixed["training"]["epochs"] = 1
    return fixed, tuple(paths)


def settled(recipe: Recipe, values: Mapping[str, Any]) -> Recipe:
    """Return `recipe` with the chosen `values`, given by path, in place of what was `auto`."""
    table = recipe.model_dump(mode="json")
    if values.get("model.kind", recipe.model.kind) != recipe.model.kind:
        table["model"] = {name: table["model"][name] for name in recipe.model.model_fields_set - {"kind"}}
    for path, value in values.items():
        section, name = path.split(".")
        table[section][name] = value
    return parse(Recipe, table)


def written_value(value: object) -> str:
    """Return a value as recipes and `--set` write it.

    >>> written_value(None), written_value(True), written_value(0.1)
    ('null', 'true', '0.1')
    """
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def written(recipe: Recipe) -> str:
    """Return `recipe` as YAML, with `auto` where settings will be chosen; read again, it leaves the same to be chosen."""
    table = recipe.model_dump(mode="json")
    if "model.kind" in recipe.auto:  # which a setting of one kind of model would decide
        table["model"] = {name: table["model"][name] for name in recipe.model.model_fields_set}
    for path in recipe.auto:
        section, name = path.split(".")
        table[section][name] = AUTO
    return yaml.safe_dump(table, sort_keys=False, allow_unicode=True)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of recipes as people write them: with `auto` where it may stand."""
    described = Recipe.model_json_schema()
    for section, names in CHOOSABLE.items():
        given = described["properties"][section]
        for kind in _referred(given):
            fields = described["$defs"][kind]["properties"]
            for name in set(names) & set(fields) - {"kind"}:
                fields[name] = _or_auto(fields[name])
        described["properties"][section] = _or_auto(given)
    return described


def _or_auto(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a value that may also be `auto`."""
    outside = {name: described[name] for name in ("title", "description", "default") if name in described}
    return {**outside, "anyOf": [{"const": AUTO}, {name: described[name] for name in described if name not in outside}]}


def _referred(described: Any) -> set[str]:
    """Return the names of the definitions that a schema refers to."""
    if isinstance(described, Mapping):
        own = {str(described["$ref"]).rpartition("/")[2]} if "$ref" in described else set()
        return own.union(*(_referred(inner) for inner in described.values()))
    return set[str]().union(*map(_referred, described)) if isinstance(described, list) else set()


def load_recipe(name: str | Path, assignments: Sequence[str] = ()) -> Recipe:
    """Read a recipe from a path, or by the name of a shipped one, with `a.b=value` overriding it.

    `extends: NAME` makes a recipe override another one: a shipped name, or a path relative to the recipe.
    """
    path = find_recipe(str(name))
    return parse(Recipe, overridden(_read(path), given_texts(assignments, "assignment")), where=str(path))


def find_recipe(name: str) -> Path:
    """Return the path of a recipe: `name` itself, or a shipped recipe of that name."""
    return _find(name, shipped(), "recipe", listed="dragoman recipes")


def find_arena(name: str) -> Path:
    """Return the path of an arena: `name` itself, or a shipped arena of that name."""
    return _find(name, shipped_arenas(), "arena")


def shipped() -> dict[str, Path]:
    """Return the recipes that come with Dragoman, by name."""
    return {name: path for name, path in _files().items() if not name.startswith(ARENA)}


def shipped_arenas() -> dict[str, Path]:
    """Return the arenas that come with Dragoman, by name."""
    return {name: path for name, path in _files().items() if name.startswith(ARENA)}


def tables_of(path: Path, seen: tuple[Path, ...] = ()) -> list[dict[str, Any]]:
    """Return the contents of a recipe file and of those that it extends, the base of all first."""
    if path in seen:
        raise SettingsError(f"{path} extends itself, through {', '.join(str(p) for p in seen)}; remove the cycle")
    table = with_auto_sections(read_yaml(path))
    if "systems" in table:
        raise SettingsError(f"{path} is an arena, not a recipe; use it with `dragoman compare`")
    base = table.pop("extends", None)
    if base is None:
        return [table]
    if not isinstance(base, str) or len(base) > LONGEST_PATH:
        raise SettingsError(f"{path}: `extends` is {shorten(base)}, but it must be the name or the path of a recipe")
    beside = path.parent / base
    parent = beside if _is_there(beside) else find_recipe(base)
    return [*tables_of(parent, (*seen, path)), table]


def _read(path: Path) -> dict[str, Any]:
    """Read a recipe file, merged with those that it extends."""
    return reduce(merge, tables_of(path))


def _find(name: str, known: Mapping[str, Path], what: str, *, listed: str | None = None) -> Path:
    """Return the path that `name` is, or the shipped file of that name."""
    path = Path(name)
    if _is_there(path) or path.suffix or len(path.parts) > 1:
        return path
    if name not in known:
        other = _files().get(name)
        if other is not None:
            return other  # reading it reports what it is
        raise SettingsError(
            f"there is no {what} `{shorten(name)}`, neither a file nor a shipped one{nearest(name, list(known), listed=listed)}"
        )
    return known[name]


def _is_there(path: Path) -> bool:
    """Tell whether there is a file; a name that the system does not allow is none."""
    try:
        return path.exists()
    except OSError:
        return False


def _files() -> dict[str, Path]:
    """Return the files that come with Dragoman, by name."""
    package = Path(__file__).resolve().parents[1]
    folder = next(place for place in (package / "recipes", package.parents[1] / "recipes", package) if place.is_dir())
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
