"""Initialise a model from trained runs: their weights, and the vocabularies that these belong to."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from dragoman.data.checksums import Checksums, weights_digest
from dragoman.errors import RunError, SettingsError, TextError
from dragoman.models.build import ModelSettings, purpose_of
from dragoman.models.transformer_settings import BlockSettings
from dragoman.runs.folder import GROWN, Run, open_run
from dragoman.runs.recipe import Recipe, written_value
from dragoman.text.codec import Codec, learn_codec, learn_codecs
from dragoman.text.settings import TextSettings

Pairs = Callable[[], Iterable[tuple[str, str]]]
"""Iterates over a corpus from the start: source and target of each pair."""

FREE = frozenset(
    {"kind", "start_from", "adapters", "dropout", "attention_dropout", "feed_forward_dropout", "max_positions"}
)
"""Settings in which a model may differ from the one that it is initialised from."""

NOT_IN_PART = {
    "encoder": frozenset(
        {
            "tied",
            "lexical",
            "output_bias",
            "decoder_layers",
            "autoregression",
            "cross_score",
            "cross_weights",
            "window",
            "hard",
        }
    ),
    "decoder": frozenset({"tied", "encoder_layers", "previous"}),
    "whole": frozenset[str](),
}
"""Settings that do not affect a part; if attention to the source does not fit, a name or a shape shows it."""


OWN = frozenset({"sampling", "sampling_target", "sampling_epochs", "right_to_left", "glossary"})
"""Settings of text that belong to the run and not to its vocabularies: how text is read, and the direction of writing."""


def codecs_for(recipe: Recipe, pairs: Pairs) -> tuple[Codec, Codec]:
    """Return the codecs of a new run: those of the runs that it is initialised from; missing ones are learned.

    A part's weights belong to a vocabulary: the encoder's to the source's, the decoder's to the target's. With
    `text.joint`, and in language models, which have one language, one vocabulary serves both sides.
    """
    given, tags = _runs(recipe.model), recipe.tag_pieces
    source = next((run.source for part, run in given.items() if part != "decoder"), None)
    target = next((run.target for part, run in given.items() if part != "encoder"), None)
    if recipe.text.joint or purpose_of(recipe.model) != "translate":
        source, target = source or target, target or source
    apart = source is not None and target is not None and not source.shares(target)
    if apart and "whole" not in given and recipe.text.joint:
        raise SettingsError(
            f"{' and '.join(str(run.folder) for run in given.values())} have different vocabularies, so `text.joint: true` is "
            "impossible; set `text.joint: false` and `model.tied: target`"
        )
    _check_direction(recipe, given)
    if source is not None and target is not None:
        _check_text(recipe, given)
    if source is not None:
        try:
            source.check_tags(tags)
        except TextError as error:
            run = next(run for run in given.values() if source in (run.source, run.target))
            raise TextError(f"the vocabulary of {run.folder} does not suit this recipe: {error}") from None
    if source is None and target is None:
        return learn_codecs(recipe.text, pairs, tags)
    source = source or learn_codec(recipe.text, (source for source, _ in pairs()), tags)
    target = target or learn_codec(recipe.text, (target for _, target in pairs()))
    return source.directed(False), target.directed(recipe.text.right_to_left)


def check_rows(recipe: Recipe) -> None:
    """Raise SettingsError where rows that were added to a run's vocabularies would never be trained."""
    adapters = getattr(recipe.model, "adapters", None) is not None
    if not adapters and recipe.training.frozen != "embeddings":
        return
    for run in _runs(recipe.model).values():
        if GROWN in run.manifest:
            what = "`model.adapters` trains no embeddings" if adapters else "`training.frozen` keeps the embeddings"
            raise SettingsError(
                f"{what}, but {run.folder} has new characters or languages, whose embeddings must be learned first; train all "
                "weights (`dragoman adapt --method full`), then adapt that run"
            )


def checksums(recipe: Recipe) -> dict[str, dict[str, str]]:
    """Return the origin of a new run's initial weights: the folder of each part's run, and checksums of its weights.

    `weights` is that of the file, `content` that of the tensors, which is in the file's header and read in no time.
    """
    files = Checksums()
    return {
        part: {
            "run": str(run.folder),
            "weights": files.of(run.weights),
            "content": str(weights_digest(run.weights)),
        }
        for part, run in _runs(recipe.model).items()
    }


def base_of(recipe: Recipe) -> Run | None:
    """Return the run that all weights of a new run come from, if there is one."""
    start_from = recipe.model.start_from
    return None if start_from is None or start_from.whole is None else open_run(start_from.whole)


def text_given(recipe: Recipe) -> TextSettings | None:
    """Return the section `text` of the first of the runs that all vocabularies come from; None if a vocabulary is learned."""
    given = _runs(recipe.model)
    whole = "whole" in given or len(given) > 1 or recipe.text.joint
    return next((run.recipe.text for run in given.values()), None) if whole else None


def start(run: Run, model: nn.Module) -> None:
    """Copy into a new `model` the weights that the recipe initialises it from; the others keep their random values.

    SettingsError names the first setting in which the models differ. Raises RunError if the weights are not those in the
    run's manifest.
    """
    adapts = getattr(run.recipe.model, "adapters", None) is not None
    for part, other in ({"whole": run.base()} if adapts else _runs(run.recipe.model)).items():
        _check_settings(run.recipe.model, other, part)
        if Checksums().of(other.weights) != run.manifest["start_from"][part]["weights"]:
            raise RunError(
                f"{other.weights} has changed since {run.folder} was started; restore it, or start another run with --out"
            )
        given, own = _named(other.load_any(torch.device("cpu"))), _named(model)
        _copy(given, own, part, folder=other.folder)
        if adapts and (missing := sorted(set(own) - set(given))):
            raise SettingsError(
                f"`model.adapters` needs all weights of a model, but {other.folder} has no `{missing[0]}`; give `model` the "
                "settings of that run, or train without adapters"
            )


def _runs(settings: ModelSettings) -> dict[str, Run]:
    """Open the runs that a model is initialised from, by the part of each. Raises RunError if one has no weights yet."""
    runs = {part: open_run(folder) for part, folder in settings.start_from.runs.items()} if settings.start_from else {}
    for run in runs.values():
        if not run.weights.exists():
            raise RunError(f"{run.folder} has no model.safetensors yet, so nothing can start from it; train it first")
    return runs


def _check_direction(recipe: Recipe, given: Mapping[str, Run]) -> None:
    """Refuse to write in another direction than the decoder has learned."""
    own = recipe.text.right_to_left
    run = next((run for part, run in given.items() if part != "encoder"), None)
    if run is not None and run.target.right_to_left != own:
        raise SettingsError(
            f"`text.right_to_left: {_written(own)}` does not fit {run.folder}, whose decoder has learned to write in the "
            f"opposite direction; set `text.right_to_left: {_written(not own)}`, or start from another run"
        )


def _check_text(recipe: Recipe, given: Mapping[str, Run]) -> None:
    """Refuse a setting of text that has no effect because all vocabularies are those of runs; a default may stand there."""
    own, run = recipe.text, next(iter(given.values()))
    apart = OWN if "whole" in given else OWN | {"joint"}
    for name, field in type(own).model_fields.items():
        value = getattr(own, name)
        if name in apart or (name != "kind" and value == field.default):
            continue
        if all(getattr(one.recipe.text, name, None) != value for one in given.values()):
            raise SettingsError(
                f"`text.{name}: {_written(value)}` has no effect, because the vocabulary is that of {run.folder}; set "
                f"`text.{name}: {_written(getattr(run.recipe.text, name))}`, as that run has it"
            )


def _written(value: object) -> object:
    """Return a value as recipes write it."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else value


def _check_settings(own: ModelSettings, other: Run, part: str) -> None:
    """Raise SettingsError for a run whose model is of another family, or differs in size or layers."""
    given = other.recipe.model
    if isinstance(own, BlockSettings) != isinstance(given, BlockSettings):
        raise SettingsError(
            f"`model.start_from.{part}`: {other.folder} is of the kind `{given.kind}`, which has no part in common with "
            f"`{own.kind}`; choose a run of another kind"
        )
    if part == "whole" and purpose_of(own) != purpose_of(given):
        fits = {
            ("translate", "fill"): "encoder",
            ("translate", "generate"): "decoder",
            ("fill", "translate"): "encoder",
        }
        as_part = fits.get((purpose_of(own), purpose_of(given)))
        raise SettingsError(
            f"`model.start_from.whole`: {other.folder} is of the kind `{given.kind}`, so it is no whole `{own.kind}`; "
            + ("choose a run of another kind" if as_part is None else f"give it as `model.start_from.{as_part}`")
        )
    free = FREE - {"max_positions"} if isinstance(own, BlockSettings) and own.bound is not None else FREE
    for name in type(own).model_fields:
        if name in free | NOT_IN_PART[part] or name not in type(given).model_fields:
            continue
        requested, there = getattr(own, name), getattr(given, name)
        if requested != there:
            raise SettingsError(
                f"`model.{name}` is {written_value(requested)}, but {other.folder} was trained with {written_value(there)}; to "
                f"initialise from it, set `model.{name}: {written_value(there)}`"
            )


def _copy(given: Mapping[str, Tensor], own: Mapping[str, Tensor], part: str, *, folder: Path) -> None:
    """Copy the tensors of one part. Raises SettingsError if there are none, or one does not fit into the model."""
    taken = {name: tensor for name, tensor in given.items() if part == "whole" or name.startswith(f"{part}.")}
    if not taken:
        raise SettingsError(f"`model.start_from.{part}`: {folder} has no {part}; choose another run, or another part")
    for name, tensor in taken.items():
        if name not in own or own[name].shape != tensor.shape:
            raise SettingsError(
                f"`model.start_from.{part}`: the weights `{name}` of {folder} do not exist in this model; give `model` the "
                "settings of that run, or start from another part of it"
            )
    with torch.no_grad():
        for name, tensor in taken.items():
            own[name].copy_(tensor)


def _named(model: nn.Module) -> dict[str, Tensor]:
    """Return parameters and buffers by name, shared ones under each of their names."""
    return dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers(remove_duplicate=False))
