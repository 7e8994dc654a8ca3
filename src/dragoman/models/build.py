"""The only place that chooses among architectures."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, get_args

import torch
from pydantic import Field, SerializeAsAny, ValidationError, WrapValidator

from dragoman.attention.scores import ScoreName
from dragoman.attention.settings import RelativeName
from dragoman.errors import SettingsError, notice_once
from dragoman.layers.embedding import OutputLayer, TokenEmbedding, move_padding
from dragoman.layers.outline import undrawn
from dragoman.layers.positions import PositionsName
from dragoman.machine.torch_state import random_numbers_restored
from dragoman.models.bytenet import ByteNetSettings, build_bytenet
from dragoman.models.capabilities import Purpose, capabilities_of
from dragoman.models.convs2s import ConvolutionalSettings, build_convolutional
from dragoman.models.decoder_only import build_decoder_only
from dragoman.models.deep_att import DeepAttSettings, build_deep_att
from dragoman.models.document import DocumentSettings, build_document
from dragoman.models.gnmt import GnmtSettings, build_gnmt
from dragoman.models.masked_lm import MaskedLanguageModel, build_masked
from dragoman.models.moe import MoeSettings, build_moe
from dragoman.models.rnn import build_rnn
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.transformer import build_transformer
from dragoman.models.transformer_settings import DecoderOnlySettings, MaskedSettings, TransformerSettings
from dragoman.models.unregistered import plain_tensors, unregistered
from dragoman.plugins import PluginKind, find, get, or_of_a_plugin
from dragoman.settings import Settings, kinds_of, parse
from dragoman.special_ids import SpecialIds

ModelSettings = Annotated[
    RecurrentSettings
    | GnmtSettings
    | MoeSettings
    | ConvolutionalSettings
    | ByteNetSettings
    | TransformerSettings
    | DeepAttSettings
    | DocumentSettings
    | MaskedSettings
    | DecoderOnlySettings,
    Field(discriminator="kind"),
]


def _or_plugin(table: Any, check: Callable[[Any], Any]) -> Any:
    """Validate a `model` section; if a plugin provides its kind, with that plugin's settings."""
    kind = table.get("kind") if isinstance(table, dict) else getattr(table, "kind", None)
    plugin = find("model", kind) if isinstance(kind, str) and kind not in BUILT_IN else None
    if plugin is None or plugin.settings is None:
        try:
            return check(table)
        except ValidationError as error:
            raise or_of_a_plugin(error, "model") from None
    return table if isinstance(table, plugin.settings) else parse(plugin.settings, table, "section `model`")


ModelChoice = Annotated[SerializeAsAny[ModelSettings], WrapValidator(_or_plugin)]
"""The section `model`: a built-in architecture, or one from a plugin."""

BUILT_IN = frozenset(kind for settings in get_args(get_args(ModelSettings)[0]) for kind in kinds_of(settings))
"""The built-in kinds."""
NAMES: Mapping[PluginKind, Collection[str]] = {
    "score": get_args(ScoreName),
    "relative": get_args(RelativeName),
    "positions": get_args(PositionsName),
    "model": BUILT_IN,
    "objective": ("translation",),
}
"""Built-in names of what plugins provide too."""
PARTS: Mapping[str, PluginKind] = {
    "kind": "model",
    "positions": "positions",
    "relative": "relative",
    "score": "score",
    "self_score": "score",
    "cross_score": "score",
}
"""Settings of a model with such names."""

Model = Seq2Seq | MaskedLanguageModel


def build_model(settings: Settings, vocabularies: Vocabularies) -> Model:
    """Build the model that `settings` describe, with weights initialised from torch's random state.

    Raises SettingsError if it has weights that torch does not know of, as a module of a plugin may.
    """
    model, special = _build(settings, vocabularies), vocabularies.special
    for place in unregistered(model):
        raise SettingsError(
            f"the weights `{place}` of this model are hidden from torch, so they would be neither trained nor saved; keep them "
            "in an nn.Parameter, nn.ParameterList, nn.ModuleList or nn.ModuleDict, not in a plain tensor, list or dictionary"
        )
    for place in plain_tensors(model) if plugged(settings) else ():
        notice_once(
            f"`{place}` of this model is a plain tensor, which is neither trained nor saved, and does not follow the model to a "
            "GPU; keep it in an nn.Parameter if it is to be trained, or else in a buffer (`register_buffer`)."
        )
    for module in model.modules():
        if isinstance(module, TokenEmbedding):
            move_padding(module, special.pad)
        if isinstance(module, OutputLayer) and special.bos == special.pad:
            module.start = special.bos
        if isinstance(getattr(module, "special", None), SpecialIds):
            setattr(module, "special", special)  # noqa: B010
    return model


def _build(settings: Settings, vocabularies: Vocabularies) -> Model:
    """Build the model for Dragoman's own special ids. Settings of a plugin may extend built-in ones, so it is asked first."""
    kind = str(getattr(settings, "kind", ""))
    if kind not in BUILT_IN:
        model: Seq2Seq = get("model", kind).make(settings, vocabularies)
        return model
    match settings:
        case RecurrentSettings():
            return build_rnn(settings, vocabularies)
        case GnmtSettings():
            return build_gnmt(settings, vocabularies)
        case MoeSettings():
            return build_moe(settings, vocabularies)
        case DeepAttSettings():
            return build_deep_att(settings, vocabularies)
        case ConvolutionalSettings():
            return build_convolutional(settings, vocabularies)
        case ByteNetSettings():
            return build_bytenet(settings, vocabularies)
        case DocumentSettings():
            return build_document(settings, vocabularies)
        case TransformerSettings():
            return build_transformer(settings, vocabularies)
        case MaskedSettings():
            return build_masked(settings, vocabularies)
        case DecoderOnlySettings():
            return build_decoder_only(settings, vocabularies)
        case _:
            raise AssertionError(f"no function builds the built-in kind {kind}")


def plugged(settings: object) -> bool:
    """Tell whether a model, or a part of it, comes from a plugin, of which nothing is known."""
    return any(getattr(settings, name, None) not in (None, *NAMES[kind]) for name, kind in PARTS.items())


@contextmanager
def filled_next(settings: object, seed: int) -> Iterator[None]:
    """Build models within whose weights are filled next; the caller's random numbers stay as they are.

    A plugin may draw in ways of its own: its random numbers are those of the `seed`, and are put back.
    """
    if not plugged(settings):
        with undrawn():
            yield
        return
    with random_numbers_restored():
        torch.default_generator.manual_seed(seed)
        yield


def purpose_of(settings: ModelSettings) -> Purpose:
    """Return the purpose of the model that `settings` describe."""
    return capabilities_of(settings).purpose
