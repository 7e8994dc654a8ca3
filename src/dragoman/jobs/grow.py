"""Let a run's vocabularies grow: make a run with rows for more characters and languages that computes all else as before."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.parametrize import is_parametrized

from dragoman.data.corpus import Pair
from dragoman.data.lines import read_lines
from dragoman.errors import InputError, number_of, shell_path
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.machine.processes import for_one_process
from dragoman.models.build import Model
from dragoman.runs.folder import GROWN, ORIGINAL, Run, check_new, new_run, open_run, replacing_run
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse
from dragoman.text.codec import Codec
from dragoman.text.growth import grow, origins, unknown_characters
from dragoman.text.words import Words
from dragoman.training.checkpoint import own_tensors

LEAST = 2
"""Lines in which a character must be, so that it can be learned."""
COUNTED = 20_000
"""Pairs that are read for a remark."""
SHOWN = 10
"""Characters that a remark names."""
RARE = 0.005
"""Share of the lines below which unknown characters are too rare to grow for."""


@dataclass(frozen=True)
class Grown:
    """What a run has got."""

    characters: tuple[str, ...]
    """Characters of either side that it did not have."""
    languages: tuple[str, ...]
    rows: tuple[int, int]
    """How many ids were added to the source and to the target."""


@for_one_process
def grow_run(
    folder: Path,
    out: Path,
    *,
    source: Sequence[Path] = (),
    target: Sequence[Path] = (),
    languages: Sequence[str] = (),
) -> Grown:
    """Make the run `out` of the run `folder` with the unknown characters of text files, and codes of new `languages`.

    A character counts if it is in two lines of a side. New rows of embeddings and output layers begin as in
    `text/growth.py::origins`; all ids, weights and logits that there were stay as they are. The new run has all of its weights,
    without adapters. Raises InputError if nothing is to be added, RunError if `out` holds anything.
    """
    run = open_run(folder)
    run.require("translate")
    sides = ((run.source, source), (run.target, target))
    if any(files and isinstance(codec.tokenizer, Words) for codec, files in sides):
        raise InputError(
            f"{folder} has a vocabulary of words, which grows by languages, not by characters; remove --source and --target, "
            "or train a new run with `text.kind: sentencepiece`"
        )
    characters = tuple(_frequent(codec, chain.from_iterable(map(read_lines, files))) for codec, files in sides)
    codecs = grow((run.source, run.target), (characters[0], characters[1]), languages)
    if codecs == (run.source, run.target):
        raise InputError(
            f"there is nothing to add to {folder}: its vocabularies have all characters that are in {LEAST} lines or more of a "
            "side; adapt it as it is, or name other files with --source and --target, or a --language"
        )
    added = Grown(
        tuple(dict.fromkeys(chain(*characters))),
        tuple(languages),
        (len(codecs[0]) - len(run.source), len(codecs[1]) - len(run.target)),
    )
    recipe = _recipe(run, languages)
    check_new(out, resumable=False)
    with replacing_run(out) as temporary:
        grown = new_run(
            temporary,
            recipe,
            codecs,
            metadata=_metadata(run, added),
            dictionary=run.dictionary,
            before=run,
        )
        before, after = run.load_any(torch.device("cpu")), grown.fresh_model()
        grow_rows(before, after, (origins(run.source, codecs[0]), origins(run.target, codecs[1])))
        grown.files.save_weights(grown.weights, after, {"grown": str(folder)})
        grown.save()
    return added


@torch.no_grad()
def grow_rows(before: Model, after: Model, rows: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]) -> None:
    """Copy the weights of a model into one with larger vocabularies, whose new rows are means of old ones.

    `rows` lists, for each new id of the source and of the target, the old ids of the mean.
    """
    old = own_tensors(before)
    for name, tensor in own_tensors(after).items():
        tensor[tuple(slice(size) for size in old[name].shape)] = old[name]
    for (name, module), other in zip(after.named_modules(), before.modules(), strict=True):
        if isinstance(module, TokenEmbedding | OutputLayer) and isinstance(other, TokenEmbedding | OutputLayer):
            means = rows[0 if name.startswith("encoder") else 1]
            _set_last(module, _means(other.weight, means))
            if isinstance(module, OutputLayer) and isinstance(other, OutputLayer) and other.bias is not None and means:
                assert module.bias is not None
                module.bias[-len(means) :] = _means(other.bias, means)


def remark(run: Run, pairs: Iterable[Pair], files: Sequence[Path]) -> str | None:
    """Return a sentence about characters of pairs that a run's vocabularies lack, if there are any, and what to do.

    `files` are those of the pairs, the source first. `grow_run` is named only where it would add a character.
    """
    counts, sides, lines, odd = Counter[str](), (Counter[str](), Counter[str]()), 0, 0
    seen = set[tuple[str, str]]()
    for pair in islice(pairs, COUNTED):
        if (pair.target, pair.source) in seen:  # a run of several languages reads a pair in both directions
            continue
        seen.add((pair.source, pair.target))
        for codec, text, side in ((run.source, pair.source, sides[0]), (run.target, pair.target, sides[1])):
            found = unknown_characters(codec, text)
            counts.update(found)
            side.update(set(found))
            lines, odd = lines + 1, odd + bool(found)
    if not counts:
        return None
    shown = " ".join(one for one, _ in counts.most_common(SHOWN)) + (" ..." if len(counts) > SHOWN else "")
    missing, (source, target) = number_of(len(counts), "character"), map(shell_path, files[:2])
    what = f"the vocabulary lacks {missing} of the new text ({shown}), in {odd:,} of its {lines:,} lines"
    if odd < RARE * lines or all(count < LEAST for side in sides for count in side.values()):
        return f"Note: {what}, too few to matter: they are read as <unk> and never written."
    return (
        f"Warning: {what}; to add what it lacks, let `dragoman grow {shell_path(run.folder)} --source {source} --target {target} "
        "--out NEW` make a larger run, and adapt that."
    )


def _frequent(codec: Codec, texts: Iterable[str]) -> list[str]:
    """Return the unknown characters that are in enough lines, the most frequent first."""
    counts = Counter(one for text in texts for one in dict.fromkeys(unknown_characters(codec, text)))
    return [one for one, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if count >= LEAST]


def _recipe(run: Run, languages: Sequence[str]) -> Recipe:
    """Return the recipe of a grown run: that of the run, with more languages, and with weights of its own."""
    table = run.recipe.model_dump(mode="json")
    table["model"] |= {name: None for name in ("adapters", "start_from") if name in table["model"]}
    if languages:
        table["data"]["languages"] = [*run.recipe.data.tags, *languages]
    return parse(Recipe, table, where=f"the recipe of {run.folder}")


def _metadata(run: Run, added: Grown) -> dict[str, Any]:
    """Return the entries of the manifest of a grown run; one that was imported says that it is no longer what it was."""
    about = {"run": str(run.folder), "characters": list(added.characters), "languages": list(added.languages)}
    kept = run.inherited("cost")
    if ORIGINAL in run.manifest:
        kept[ORIGINAL] = {**run.manifest[ORIGINAL], GROWN: True}
    return kept | {GROWN: about}


def _set_last(module: TokenEmbedding | OutputLayer, rows: Tensor) -> None:
    """Set the last rows of a matrix, which may be given by the lengths and the directions of its rows."""
    count = len(rows)
    if not count:
        return
    if is_parametrized(module, "weight"):
        parts: Any = module.get_submodule("parametrizations.weight")
        parts.original0[-count:], parts.original1[-count:] = rows.norm(dim=1, keepdim=True), rows
    else:
        module.weight[-count:] = rows


def _means(rows: Tensor, ids: Sequence[Sequence[int]]) -> Tensor:
    """Return the means of some rows."""
    return torch.stack([rows[list(one)].double().mean(0) for one in ids]).to(rows.dtype) if ids else rows[:0]
