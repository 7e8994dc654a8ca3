"""Writes the tables of settings in docs/recipes.md and docs/classify.md from schemas: `python -m tools.settings_tables`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.classification.settings import ClassifierRecipe
from dragoman.runs.recipe import Recipe
from dragoman.settings import Settings

DOCS = Path(__file__).parents[1] / "docs"
BEGIN = "<!-- settings: written by tools/settings_tables.py, not by hand -->"
END = "<!-- end of settings -->"
SECTIONS: Mapping[str, str] = {
    "Recipe": "The recipe itself",
    "DataSettings": "`data`",
    "LinesSettings": "A corpus of two files: `source` and `target`",
    "TsvSettings": "A corpus of one table: `tsv`",
    "JsonSettings": "A corpus of JSON lines: `jsonl`",
    "TmxSettings": "A translation memory: `tmx`",
    "MonolingualSettings": "A corpus of one file: `text`",
    "PhrasebookSettings": "The built-in corpus: `phrasebook`",
    "HoldOutSettings": "`hold_out`, in any corpus",
    "FilterSettings": "`data.filters`",
    "SentencePieceSettings": "`text`, where `kind: sentencepiece`",
    "WordsSettings": "`text`, where `kind: words`",
    "CharactersSettings": "`text`, where `kind: characters`",
    "ImportedSettings": "`text`, where `kind: imported`",
    "GlossarySettings": "`text.glossary`",
    "RecurrentSettings": "`model`, where `kind: rnn`",
    "GnmtSettings": "`model`, where `kind: gnmt`",
    "ConvolutionalSettings": "`model`, where `kind: convs2s`",
    "ByteNetSettings": "`model`, where `kind: bytenet`",
    "MoeSettings": "`model`, where `kind: moe`",
    "TransformerSettings": "`model`, where `kind: transformer`",
    "DeepAttSettings": "`model`, where `kind: deep_att`",
    "DocumentSettings": "`model`, where `kind: document`",
    "MaskedSettings": "`model`, where `kind: masked_lm`",
    "DecoderOnlySettings": "`model`, where `kind: decoder_only`",
    "ExpertSettings": "`model.experts`",
    "WindowSettings": "`model.window`",
    "HardSettings": "`model.hard`",
    "StartSettings": "`model.start_from`",
    "AdapterSettings": "`model.adapters`",
    "TrainingSettings": "`training`",
    "PhaseSettings": "`training.phases`, each of them",
    "RewardSettings": "`training.reward`",
    "RDropSettings": "`training.consistency`, where `kind: r_drop`",
    "SimCutSettings": "`training.consistency`, where `kind: simcut`",
    "GuidedSettings": "`training.guided`",
    "DecodingSettings": "`decoding`",
}
"""Classes of settings, in the order of the page, and their headings."""

CLASSIFIER_SECTIONS: Mapping[str, str] = {
    "ClassifierRecipe": "All sections",
    "LabelledSettings": "`data`, which the command fills in",
    "ClassifierSettings": "`model`",
    "ClassifierTrainingSettings": "`training`",
    "OptimisationPhase": "`training.phases`, each of them",
}
"""Classes of a classifier's settings; those of `text` are on the other page."""

Schema = Mapping[str, Any]
Tables = tuple[type[Settings], Mapping[str, str]]
PAGES: Mapping[Path, Tables] = {
    DOCS / "recipes.md": (Recipe, SECTIONS),
    DOCS / "classify.md": (ClassifierRecipe, CLASSIFIER_SECTIONS),
}
"""The pages, and the settings that each lists."""


def tables(recipe: type[Settings], sections: Mapping[str, str]) -> str:
    """Return a table for every class of settings in `sections`. KeyError where a recipe has a class that no page shows."""
    schema = recipe.model_json_schema()
    classes: dict[str, Schema] = {recipe.__name__: schema, **schema["$defs"]}
    if odd := (set(classes) - {*SECTIONS, *CLASSIFIER_SECTIONS}) | (set(sections) - set(classes)):
        raise KeyError(f"the tables and the schema differ in {sorted(odd)}")
    return "\n\n".join("\n".join(_section(heading, classes[name])) for name, heading in sections.items())


def page(path: Path) -> str:
    """Return the text of the page with fresh tables between the two marks."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables(*PAGES[path])}\n\n{END}{after}"


def _section(heading: str, settings: Schema) -> Iterator[str]:
    """Return heading, description and table of one class."""
    yield f"### {heading}\n"
    yield f"{settings['description']}\n"
    yield "| setting | default | values | meaning |\n| --- | --- | --- | --- |"
    for name, field in settings["properties"].items():
        meaning = _prose(field.get("description", "Chooses this table."))
        yield f"| `{name}` | {_default(name, field, settings)} | {_values(field)} | {meaning} |"


def _default(name: str, field: Schema, settings: Schema) -> str:
    """Return the default as YAML writes it. The kind of a section must always be said."""
    if name == "kind" or name in settings.get("required", ()):
        return "required"
    if isinstance(field["default"], dict):
        return "below"
    return f"`{json.dumps(field['default'])}`"


def _values(field: Schema) -> str:
    """Say what a setting may be."""
    if "anyOf" in field:
        values = [_values(one) for one in field["anyOf"] if one != {"type": "null"}]
        return " or ".join(values) + (", or `null`" if {"type": "null"} in field["anyOf"] else "")
    if "const" in field or "enum" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    match field.get("type"):
        case "integer" | "number" as kind:
            return ("whole number" if kind == "integer" else "number") + _bounds(field)
        case "null":
            return "`null`"
        case "boolean":
            return "`true`, `false`"
        case "array" if "prefixItems" in field:
            return f"list of two ({_values(field['prefixItems'][0])})"
        case "array" if "type" in field["items"]:
            return f"list of ({_values(field['items'])})"
        case "array" if field["items"].get("$ref", "").endswith(("/PhaseSettings", "/OptimisationPhase")):
            return "list of phases"
        case "array":
            return "list of corpora"
        case "string":
            return "path" if field.get("format") == "path" else "text"
    return "table"


def _bounds(field: Schema) -> str:
    """Say which numbers are allowed."""
    names = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    found = [f"{words} {field[name]:,.12g}" for name, words in names.items() if name in field]
    return ", ".join(["", *found])


def _prose(text: str) -> str:
    """Put a description on one line of a table, with names of special tokens kept from looking like HTML."""
    return " ".join(text.split()).replace("<unk>", "`<unk>`").replace("|", "\\|")


if __name__ == "__main__":
    for place in PAGES:
        place.write_text(page(place), encoding="utf-8")
