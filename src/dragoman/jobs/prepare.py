"""Prepare a run for training: everything checked, what is `auto` chosen, codecs learned; or one opened to be resumed."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from dragoman.data.checksums import Checksums
from dragoman.data.corpus import corpus_files, read_pairs, require_documents
from dragoman.data.corpus_settings import CorpusSettings
from dragoman.data.unknown import learn_dictionary
from dragoman.errors import RunError, SettingsError
from dragoman.jobs.auto import settle, settle_as, tokens_learned
from dragoman.jobs.checks import (
    check_corpora,
    check_recipe,
    check_rerank,
    check_tests,
    check_tied,
    remarks,
)
from dragoman.jobs.examination import check_data, check_vocabularies
from dragoman.machine.devices import choose_device
from dragoman.models.capabilities import capabilities_of
from dragoman.runs.folder import GROWN, Run, check_new, new_run, open_run, read_sealed
from dragoman.runs.integrity import TOKENS_BEFORE
from dragoman.runs.recipe import Recipe, with_own_texts
from dragoman.runs.warm_start import base_of, check_rows, checksums, codecs_for
from dragoman.settings import parse
from dragoman.text.codec import Codec
from dragoman.text.frames import Between
from dragoman.training.contracts import Listener
from dragoman.training.native import choose_loss, choose_recurrence
from dragoman.training.resuming import check_same_files, check_same_recipe, with_changes


def _files(recipe: Recipe) -> list[Path]:
    """Return the files of all corpora in their order, with those that several corpora have in common as often."""
    data = recipe.data
    return [path for corpus in (*data.train, *data.dev, *data.test) for path in corpus_files(corpus, data)]


def _checksums(recipe: Recipe) -> dict[str, str]:
    """Return the SHA-256 of every corpus file."""
    checksums = Checksums()
    return {str(path): checksums.of(path) for path in _files(recipe)}


def _check_codecs(recipe: Recipe, codecs: tuple[Codec, Codec]) -> None:
    """Raise TextError or SettingsError for what the vocabularies of another run lack, or do not support."""
    codecs[0].check_tags(recipe.tag_pieces)
    if codecs[0].frames or codecs[1].starts:
        for direction in map(Between._make, recipe.data.directions.trained):
            codecs[0].frame(direction)
            codecs[1].start(direction)
        if recipe.data.joined:
            raise SettingsError(
                "`data.joined` does not work where sources or targets begin with their language; remove it"
            )
        if codecs[1].starts and recipe.training.rewards:
            raise SettingsError("a `reward` does not work where targets begin with their language; remove it")


def prepare(
    recipe: Recipe, folder: Path, listener: Listener, *, codecs: tuple[Codec, Codec] | None, lasts: bool = True
) -> Run:
    """Choose what is `auto`, and learn the codecs of a new run unless given; nothing is written yet.

    A folder that does not last is not named to the user.
    """
    check_recipe(recipe)
    check_corpora(recipe)
    if codecs is None:
        check_tied(recipe)
    check_rerank(recipe)
    check_new(folder)
    check_rows(recipe)
    if capabilities_of(recipe.model).previous:
        require_documents(recipe.data, f"`model.kind: {recipe.model.kind}`")
    examined = check_data(recipe, folder, listener.say, lasts=lasts)

    def learn(recipe: Recipe) -> tuple[Codec, Codec]:
        return codecs if codecs is not None else learn_both(recipe, listener)

    sized = codecs is None and "text.size" not in recipe.auto and recipe.model.start_from is None
    if recipe.auto:
        chosen = settle(recipe, learn, device=choose_device(recipe.training.device), say=listener.say)
        recipe, codecs = chosen.recipe, chosen.codecs
        check_recipe(recipe)
    for sentence in remarks(recipe):
        listener.say(sentence)
    codecs = learn(recipe)
    _check_codecs(recipe, codecs)
    check_tests(recipe, codecs)
    check_vocabularies(recipe, codecs, examined, sized=sized, say=listener.say)
    metadata: dict[str, Any] = {"data": _checksums(recipe)}
    device = choose_device(recipe.training.device)
    metadata["loss"] = choose_loss(device, listener.say)
    if capabilities_of(recipe.model).native:
        metadata["recurrence"] = choose_recurrence(recipe.training.recurrence, device, listener.say)
    if recipe.model.start_from is not None:
        metadata["start_from"] = checksums(recipe)
        listener.say(f"Starting from {' and '.join(str(folder) for folder in recipe.model.start_from.runs.values())}.")
    dictionary, before = _dictionary(recipe, codecs), base_of(recipe)
    if before is not None:
        learned = tokens_learned(before)
        metadata[TOKENS_BEFORE] = learned if math.isfinite(learned) else None
    return new_run(folder, recipe, codecs, metadata=metadata, dictionary=dictionary, before=before)


def learn_both(recipe: Recipe, listener: Listener) -> tuple[Codec, Codec]:
    """Learn the codecs of a recipe from its training corpora, unless they are those of the runs that it starts from."""
    say_once = cache(lambda: listener.say("Reading the corpus and learning the vocabulary."))

    def pairs() -> Iterator[tuple[str, str]]:
        say_once()
        return _pairs(recipe, recipe.data.train)

    return codecs_for(recipe, pairs)


def _dictionary(recipe: Recipe, codecs: tuple[Codec, Codec]) -> dict[str, str]:
    """Learn translations of words, if unknown words are positional."""
    if not codecs[1].positional:
        return {}
    pairs = (pair for corpus in recipe.data.train for pair in read_pairs(corpus, recipe.data))
    return learn_dictionary(((pair.source, pair.target, pair.links) for pair in pairs), codecs)


def reopen(recipe: Recipe, folder: Path, listener: Listener) -> Run:
    """Open a run to resume it. Its corpora must be unchanged, and its recipe too, except for a few settings."""
    run = open_run(folder)
    recipe = with_own_texts(settle_as(recipe, run.recipe), folder)[0]
    check_corpora(recipe)
    for sentence in check_recipe(recipe, begun=run.recipe):
        listener.say(f"Ignored, as when the run was started: {sentence}.")
    check_rerank(recipe)
    if "averaged" in run.manifest:
        raise RunError(
            f"{folder} is an average of checkpoints, which cannot be trained further; resume the run it is from"
        )
    if "merged" in run.manifest:
        raise RunError(
            f"{folder} was merged from adapters, so there is no training to resume; start a new run from it with "
            "`model.start_from.whole`"
        )
    if GROWN in run.manifest:
        raise RunError(
            f"{folder} was extended with new characters or languages, so there is no training to resume; adapt it with "
            "`dragoman adapt`"
        )
    written = read_sealed(folder)[1]  # of recipe.yaml, the user may have edited the corpora
    begun = run.recipe if written is None else with_own_texts(parse(Recipe, written), folder)[0]
    check_same_recipe(folder, begun.model_dump(mode="json"), recipe.model_dump(mode="json"))
    now, moved = _checksums(recipe), zip(map(str, _files(begun)), map(str, _files(recipe)), strict=True)
    check_same_files(folder, run.manifest.get("data", {}), now, moved=list(moved))
    resumed = with_changes(run.manifest, run.files, begun.training, now=recipe.training)
    return replace(run, recipe=recipe, manifest={**run.manifest, "data": now, **resumed})


def _pairs(recipe: Recipe, corpora: Iterable[CorpusSettings]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of several corpora as text."""
    for corpus in corpora:
        for pair in read_pairs(corpus, recipe.data):
            yield pair.source, pair.target
