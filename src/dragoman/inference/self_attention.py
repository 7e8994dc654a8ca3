"""What the tokens of one sentence attend to among themselves: the Transformer's self-attention, on either side."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.attention.multi_head import MultiHead
from dragoman.data.collate import collate
from dragoman.errors import InputError, RunError
from dragoman.inference.attention_map import AttentionMap, Side, side
from dragoman.interfaces import Attended
from dragoman.machine.torch_state import undisturbed
from dragoman.models.seq2seq import Seq2Seq
from dragoman.text.codec import Codec

SelfAttentionSide = Literal["encoder", "decoder"]
"""Whose self-attention: that of the encoder over the source, or of the decoder over what it has written."""

ATTENTIONS = {"encoder": "attention", "decoder": "self_attention"}
"""The attribute of a layer with its self-attention."""

_seen: ContextVar[list[Tensor] | None] = ContextVar("seen", default=None)
"""The weights seen so far by the call that asked for them; other calls, in other threads, are left alone."""


def map_self_attention(
    model: Seq2Seq,
    codecs: tuple[Codec, Codec],
    pair: tuple[Sequence[int], Sequence[int]],
    *,
    of: SelfAttentionSide,
    begun: int = 0,
) -> AttentionMap:
    """Run a pair through a model and return the weights of its self-attention; `begun` tokens of the target are given to it.

    Row t is what token t attends to; in the decoder, whose first token is the one that it starts with, to none after itself.
    Raises InputError for a model without self-attention there, or one that reads documents.
    """
    layers = list(getattr(getattr(model, of), "layers", ()))
    attentions = [getattr(layer, ATTENTIONS[of], None) for layer in layers]
    if model.previous or not layers or not all(isinstance(one, MultiHead) for one in attentions):
        raise InputError(
            f"the {of} of this model has no self-attention that can be drawn; choose a Transformer of sentences, or leave out "
            "`--attention`"
        )
    with torch.inference_mode(), undisturbed(), _watching(attentions) as seen:
        batch = collate([pair], special=codecs[1].special).to(next(model.parameters()).device)
        model(batch.source, batch.inputs)
    weights = torch.cat([one.float().cpu() for one in seen])
    if not weights.isfinite().all():
        raise RunError("the model's attention weights are NaN; its weights are damaged, use another checkpoint")
    one = _source_side(codecs[0], pair[0]) if of == "encoder" else _written_side(codecs[1], pair[1], begun)
    return AttentionMap(one, one, weights[..., : len(one.pieces), : len(one.pieces)])


@contextmanager
def _watching(attentions: Sequence[Any]) -> Iterator[list[Float[Tensor, "1 head query key"]]]:
    """Collect the weights of attentions, in the order in which they are computed, in this thread."""
    seen: list[Tensor] = []
    token = _seen.set(seen)
    handles = [
        handle
        for one in attentions
        for handle in (
            one.register_forward_pre_hook(_ask, with_kwargs=True),
            one.register_forward_hook(_note),
        )
    ]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
        _seen.reset(token)


def _ask(_: nn.Module, given: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Ask an attention for its weights, if this call wants them."""
    return given, options if _seen.get() is None else {**options, "need_weights": True}


def _note(_: nn.Module, __: tuple[Any, ...], attended: Attended) -> None:
    """Keep the weights of an attention, if this call wants them."""
    seen = _seen.get()
    if seen is not None and attended.weights is not None:
        seen.append(attended.weights)


def _source_side(codec: Codec, ids: Sequence[int]) -> Side:
    """Describe a source as the encoder reads it."""
    return side(codec, ids, codec.frame_of(ids))


def _written_side(codec: Codec, ids: Sequence[int], begun: int) -> Side:
    """Describe a target as the decoder reads it: the token that it starts with, those that it is given, and the text."""
    owners: list[int | None] = [owner if owner >= 0 else None for owner in codec.piece_words(ids[begun:])]
    pieces = codec.pieces([codec.special.bos, *ids])
    return Side(pieces, codec.words(codec.decode(ids[begun:])), [*[None] * (1 + begun), *owners], 1 + begun, 0)
