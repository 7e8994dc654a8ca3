"""Every architecture, small: a new one gets all the laws by adding a line to ARCHITECTURES."""

from typing import Any, Literal, get_args

from dragoman.attention.scores import ScoreName
from dragoman.attention.settings import HardSettings, RelativeName, WindowSettings
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.models.build import ModelSettings
from dragoman.models.bytenet import ByteNetSettings
from dragoman.models.convs2s import ConvolutionalSettings
from dragoman.models.deep_att import DeepAttSettings
from dragoman.models.document import DocumentSettings
from dragoman.models.gnmt import GnmtSettings
from dragoman.models.moe import MoeSettings
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.transformer_settings import DecoderOnlySettings, TransformerSettings

Architecture = ModelSettings

SCORES: tuple[ScoreName, ...] = get_args(ScoreName)
MULTIPLYING = ("dot", "scaled_dot")
"""Scores that need queries and keys of one size."""


def recurrent(**settings: Any) -> RecurrentSettings:
    """A small recurrent model; encoder outputs are of another size than decoder states wherever the score allows it."""
    same_size = settings.get("score", "additive") in MULTIPLYING
    given = {"embedding": 6, "hidden": 8, "encoder_hidden": 4 if same_size else 3, "dropout": 0.3, "max_positions": 40}
    return RecurrentSettings(**{**given, **settings})


def transformer(**settings: Any) -> TransformerSettings:
    """A small Transformer."""
    given = {"encoder_layers": 2, "decoder_layers": 2, "width": 8, "feed_forward": 12, "heads": 2, "max_positions": 40}
    return TransformerSettings(**{**given, "dropout": 0.3, **settings})


def decoder_only(**settings: Any) -> DecoderOnlySettings:
    """A small causal language model."""
    given = {"decoder_layers": 2, "width": 8, "feed_forward": 12, "heads": 2, "max_positions": 40}
    return DecoderOnlySettings(**{**given, "dropout": 0.3, **settings})


def deep_att(**settings: Any) -> DeepAttSettings:
    """A small Deep-Att, whose columns end in different directions."""
    given = {"embedding": 6, "hidden": 4, "encoder_layers": 3, "decoder_layers": 3, "dropout": 0.3}
    return DeepAttSettings(**{**given, **settings})


def convolutional(**settings: Any) -> ConvolutionalSettings:
    """A small convolutional model with layers of different channels and widths, an even one among them."""
    given = {
        "embedding": 6,
        "output_embedding": 5,
        "encoder_layers": ((8, 3), (7, 2)),
        "decoder_layers": ((8, 3), (6, 1)),
    }
    return ConvolutionalSettings(**{**given, "max_positions": 40, "dropout": 0.3, **settings})


def bytenet(**settings: Any) -> ByteNetSettings:
    """A small ByteNet."""
    return ByteNetSettings(**{"channels": 4, "dilations": (1, 2), "dropout": 0.3, **settings})


def window(kind: Literal["monotonic", "predictive"]) -> WindowSettings:
    """A window so small that it hides some of the laws' sentences."""
    return WindowSettings(kind=kind, reach=1)


ARCHITECTURES: dict[str, Architecture] = {
    "plain gru": recurrent(decoder="plain"),
    "plain lstm": recurrent(decoder="plain", cell="lstm"),
    "plain, two layers, one direction": recurrent(decoder="plain", layers=2, bidirectional=False, encoder_hidden=8),
    **{
        f"bahdanau {cell} {score}": recurrent(cell=cell, score=score, deep_output=score != "general")
        for cell in ("gru", "lstm")
        for score in SCORES
    },
    "bahdanau, two gru layers": recurrent(layers=2),
    "bahdanau, two lstm layers, tied": recurrent(layers=2, cell="lstm", tied=True),
    "bahdanau, one direction": recurrent(bidirectional=False, deep_output=False, encoder_hidden=8),
    **{
        f"luong {score}{', input feeding' if feeding else ''}": recurrent(
            decoder="luong", score=score, input_feeding=feeding, cell="lstm" if feeding else "gru"
        )
        for score in SCORES
        for feeding in (False, True)
    },
    "luong, two gru layers, input feeding": recurrent(decoder="luong", layers=2, input_feeding=True),
    "luong, two lstm layers, one direction": recurrent(
        decoder="luong", layers=2, cell="lstm", bidirectional=False, encoder_hidden=8
    ),
    "bahdanau, sparsemax": recurrent(weights="sparsemax"),
    "luong, entmax": recurrent(decoder="luong", weights="entmax15", input_feeding=True),
    "luong, local-m": recurrent(decoder="luong", score="general", window=window("monotonic")),
    "luong, local-m, input feeding": recurrent(decoder="luong", window=window("monotonic"), input_feeding=True),
    "luong, local-p": recurrent(decoder="luong", score="general", window=window("predictive")),
    "bahdanau, local-p": recurrent(cell="lstm", window=window("predictive")),
    "bahdanau, hard, reinforced": recurrent(hard=HardSettings(training="reinforce")),
    "luong, hard, straight through": recurrent(decoder="luong", hard=HardSettings(training="gumbel")),
    "bahdanau, marginal": recurrent(marginal=True),
    "luong, marginal, tied": recurrent(decoder="luong", marginal=True, tied=True),
    "luong, marginal, input feeding": recurrent(decoder="luong", marginal=True, input_feeding=True),
    "posterior": recurrent(decoder="posterior"),
    "posterior, two lstm layers, tied": recurrent(decoder="posterior", layers=2, cell="lstm", tied=True),
    "luong, lexical": recurrent(decoder="luong", score="general", cell="lstm", tied=True, lexical=True),
    "luong, lexical, input feeding": recurrent(decoder="luong", input_feeding=True, tied=True, lexical=True),
    "bahdanau, lexical, hard": recurrent(cell="lstm", hard=HardSettings(training="gumbel"), tied=True, lexical=True),
    "luong, lexical, marginal": recurrent(decoder="luong", marginal=True, tied=True, lexical=True),
    "posterior, lexical": recurrent(decoder="posterior", cell="lstm", tied=True, lexical=True),
    "transformer, lexical": transformer(lexical=True),
    "transformer, lexical, not shared": transformer(lexical=True, tied="target", scaling="output", decoder_layers=3),
    **{
        f"transformer {norm}-norm, {positions}": transformer(norm=norm, positions=positions)
        for norm in ("pre", "post")
        for positions in ("sinusoidal", "learned")
    },
    **{f"transformer, {score} to itself": transformer(self_score=score) for score in SCORES if score != "scaled_dot"},
    **{
        f"transformer, {score} to the source": transformer(cross_score=score)
        for score in SCORES
        if score != "scaled_dot"
    },
    **{
        f"transformer, {relative}": transformer(
            relative=relative, positions="none" if relative == "rotary" else "sinusoidal"
        )
        for relative in get_args(RelativeName)
        if relative != "none"
    },
    "transformer, as marian": transformer(
        norm="post", positions="sinusoidal_halves", activation="swish", output_bias=True
    ),
    "transformer, ssru decoder": transformer(norm="post", positions="marian", autoregression="ssru"),
    "transformer, as m2m": transformer(positions="m2m", activation="relu"),
    "transformer, as bart": transformer(
        positions="bart", embedding_norm=True, activation="gelu", scaling="none", output_bias=True
    ),
    "transformer, as t5": transformer(
        norm_kind="rms",
        biases=False,
        head_size=3,
        positions="none",
        relative="t5_shared",
        self_score="dot",
        cross_score="dot",
        gated=True,
        activation="gelu_tanh",
        tied="embeddings",
        scaling="output",
        output_bias=True,
    ),
    "transformer, sparsemax to the source": transformer(cross_weights="sparsemax"),
    "transformer, entmax to itself": transformer(self_weights="entmax15"),
    "transformer, gated": transformer(gated=True),
    "transformer, local-m": transformer(window=window("monotonic")),
    "transformer, local-p, additive": transformer(window=window("predictive"), cross_score="additive"),
    "transformer, hard, reinforced": transformer(hard=HardSettings(training="reinforce")),
    "transformer, target tied": transformer(tied="target", norm="post"),
    "document, lexical": DocumentSettings(**dict(transformer(lexical=True), kind="document", previous=2)),
    "document": DocumentSettings(**dict(transformer(heads=4), kind="document", previous=3)),
    "document, rotary": DocumentSettings(
        **dict(transformer(relative="rotary", positions="none"), kind="document", previous=2)
    ),
    "document, post-norm": DocumentSettings(**dict(transformer(norm="post", tied="none"), kind="document", previous=2)),
    "decoder-only": decoder_only(),
    "decoder-only, rms, positions of marian": decoder_only(norm_kind="rms", positions="marian", biases=False),
    "decoder-only, post-norm, learned, rotary": decoder_only(norm="post", positions="learned", relative="rotary"),
    **{
        f"moe, {name}": MoeSettings(
            width=8, cells=10, expert_hidden=6, dropout=0.3, experts=ExpertSettings(**experts), **settings
        )
        for name, experts, settings in (
            ("noisy", {"experts": 4, "active": 2}, {}),
            ("balanced, tied", {"experts": 4, "active": 2, "gate": "balanced"}, {"tied": True}),
            ("two levels", {"experts": 6, "active": 1, "groups": 2}, {"score": "additive"}),
        )
    },
    "transformer, experts": transformer(experts=ExpertSettings(experts=4, active=2)),
    "transformer, experts in groups, balanced": transformer(
        norm="post", experts=ExpertSettings(experts=6, active=1, groups=3, gate="balanced")
    ),
    "document, experts": DocumentSettings(
        **dict(transformer(experts=ExpertSettings(experts=3, active=1)), kind="document", previous=2)
    ),
    "decoder-only, experts": decoder_only(experts=ExpertSettings(experts=3, active=2)),
    "gnmt": GnmtSettings(encoder_layers=4, decoder_layers=4, hidden=8, dropout=0.3),
    "gnmt, cosine, tied, fewer layers": GnmtSettings(
        encoder_layers=2, decoder_layers=2, hidden=8, score="cosine", tied=True, initial_range=None, dropout=0.3
    ),
    "deep-att": deep_att(),
    "deep-att, one layer, general, tied": deep_att(encoder_layers=1, decoder_layers=1, score="general", tied=True),
    **{f"convs2s {score}": convolutional(score=score) for score in SCORES},
    "bytenet": bytenet(),
    "bytenet, one set, joined side by side": bytenet(sets=1, join="concat", stretch=1.0, extra=2),
    "transformer, nothing tied": transformer(tied="none", attention_dropout=0.2, feed_forward_dropout=0.2),
}

FAMILIES = (
    "plain gru",
    "bahdanau, two gru layers",
    "bahdanau, two lstm layers, tied",
    "luong, two gru layers, input feeding",
    "luong additive",
    "gnmt",
    "moe, noisy",
    "transformer, experts",
    "moe, balanced, tied",
    "transformer pre-norm, sinusoidal",
    "transformer post-norm, learned",
    "transformer, as t5",
    "decoder-only",
    "deep-att",
    "convs2s dot",
    "bytenet",
)
"""One or two of each family, for laws of training, which know no architecture."""
