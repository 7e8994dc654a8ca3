"""Conditions under which each setting of a recipe has an effect: one table for `jobs/checks.py`."""

from collections.abc import Callable, Sequence
from typing import Any

from dragoman.jobs.adapting_rules import ADAPTING
from dragoman.jobs.link_rules import LINKS
from dragoman.jobs.parts import model_of, replicable
from dragoman.models.build import NAMES, PARTS, plugged
from dragoman.plugins import PluginKind, is_provided
from dragoman.runs.rules import Rule
from dragoman.training.consistency_settings import SimCutSettings
from dragoman.training.settings import OptimisationSettings

ADAPTIVE = ("adam", "adamw", "muon")
"""Optimisers that use `betas` and `epsilon`; muon does so except for the matrices of layers."""
SCORES = ("score", "self_score", "cross_score")
"""Settings of a model that name a score."""
MOMENTUM = ("sgd", "nesterov")
"""Optimisers that use `momentum`."""
CHOSEN = ("adamw", "muon")
"""Optimisers that `auto` may choose."""

Works = Callable[[Any, Any], bool]


def _can(name: str) -> Works:
    """Return a condition: the model has a capability."""
    return lambda recipe, _: bool(getattr(model_of(recipe), name))


def _optimised_by(optimizers: Sequence[str], setting: str) -> Works:
    """Return a condition: one of these optimisers is ever used with `training`'s value of the setting, or may be by `auto`."""

    def works(recipe: Any, training: OptimisationSettings) -> bool:
        named = [None, *(phase.optimizer for phase in training.phases)]
        free = CHOSEN if "training.optimizer" in getattr(recipe, "auto", ()) else ()
        phases = [(training.in_phase(number), () if own else free) for number, own in enumerate(named)]
        used = [one for one, others in phases if not {one.optimizer, *others}.isdisjoint(optimizers)]
        return any(getattr(one, setting) == getattr(training, setting) for one in used)

    return works


def _compiles(way: str, works: Works) -> Works:
    """Return a condition that applies to one value of `training.compile` only."""
    return lambda recipe, training: training.compile != way or works(recipe, training)


def drops_between_layers(_: Any, model: Any) -> bool:
    """Tell whether there are places where `dropout` applies: not if others have a rate of their own and there is one layer."""
    return getattr(model, "outer_dropout", None) is None or model.layers > 1


def _passes_differ(recipe: Any, training: Any) -> bool:
    """Tell whether two passes over a batch differ by dropout of any kind; nothing is known of the model of a plugin."""
    unread = () if drops_between_layers(recipe, recipe.model) else ("dropout",)
    rates = [value for name, value in recipe.model if "dropout" in name and name not in unread]
    return any(rates) or not rates or training.word_dropout > 0


def _tells_languages_apart(recipe: Any, _: Any) -> bool:
    """Tell whether the model translates sentence by sentence, so that a tag at the start of each says into what."""
    return model_of(recipe).translates and not model_of(recipe).previous


def _tags_are_known(recipe: Any, training: Any) -> bool:
    """Tell whether the model knows which source tokens are tags: it knows those of the target's vocabulary."""
    return not getattr(recipe.data, "tag_pieces", ()) or recipe.text.joint


def _one_step_a_batch(recipe: Any, training: Any) -> bool:
    """Tell whether each step uses only the likelihood of one batch."""
    others = (training.guided, training.consistency, training.tokens_per_step)
    return not training.rewards and all(one is None for one in others)


def _names_one(kind: PluginKind, name: str) -> Works:
    """Return a condition: the value of the setting `name` is not both built in and that of a plugin."""

    def works(_: Any, own: Any) -> bool:
        value = getattr(own, name)
        return value not in NAMES[kind] or not is_provided(kind, value)

    return works


def _bounded(recipe: Any, _: Any) -> bool:
    """Tell whether the model limits the length of sentences, or a plugin may do so."""
    model = model_of(recipe)
    return plugged(recipe.model) or model.source_positions is not None or model.target_positions is not None


OPTIMISATION = (
    Rule(
        "training.embedding_rate",
        _optimised_by(("muon",), "embedding_rate"),
        "works only with `training.optimizer: muon`, not {own.optimizer}",
    ),
    Rule(
        "training.momentum",
        _optimised_by(MOMENTUM, "momentum"),
        "works only with `training.optimizer` sgd or nesterov, not {own.optimizer}",
    ),
    Rule(
        "training.phases.*.momentum",
        lambda recipe, phase: (phase.optimizer or recipe.training.optimizer) in MOMENTUM,
        "works only in a phase whose `optimizer` is sgd or nesterov",
    ),
    *(
        Rule(
            f"training.{name}",
            _optimised_by(ADAPTIVE, name),
            "works only with `training.optimizer` adam, adamw or muon, not {own.optimizer}",
        )
        for name in ("betas", "epsilon")
    ),
)
"""Rules on the optimiser, for every task."""

OBJECTIVE = (
    Rule(
        "training.metric",
        lambda recipe, training: training.metric != "bleu" or model_of(recipe).translates,
        "measures translations, which a model of the kind `{whole.model.kind}` does not make",
        remedy="set `training.metric: loss`",
        even_default=True,
    ),
    *(
        Rule(setting, _can("translates"), "works only for translation models, not for `model.kind: {whole.model.kind}`")
        for setting in ("training.reward", "training.phases.*.reward")
    ),
    Rule(
        "training.objective",
        lambda recipe, _: model_of(recipe).purpose != "fill",
        "cannot replace the loss of `model.kind: {whole.model.kind}`",
    ),
    *(
        Rule(
            f"training.{name}",
            lambda recipe, training: model_of(recipe).purpose != "fill" and training.objective == "translation",
            "works only with `training.objective: translation`, and not for `model.kind: masked_lm`",
        )
        for name in ("consistency", "word_dropout")
    ),
    *(
        Rule(
            setting,
            lambda recipe, _: recipe.training.objective == "translation",
            "works only with `training.objective: translation`",
        )
        for setting in ("training.guided", "training.reward", "training.phases.*.reward")
    ),
    Rule(
        "training.consistency",
        lambda recipe, training: isinstance(training.consistency, SimCutSettings) or _passes_differ(recipe, training),
        "compares two passes that differ by dropout alone, but neither this `model` nor `training.word_dropout` drops anything",
        remedy="set `model.dropout`, or `training.consistency.kind: simcut`",
    ),
    *(
        Rule(
            f"training.{name}",
            _tags_are_known,
            "would drop tags of sources, because the two sides have vocabularies of their own",
            remedy="set `text.joint: true`, or remove it",
        )
        for name in ("consistency", "word_dropout")
    ),
)
"""Rules on objectives and metrics."""

COMPUTING = (
    Rule(
        "training.replicas",
        lambda recipe, _: replicable(recipe),
        "splits batches, which works only for a Transformer that translates, without experts, hard attention, attention dropout, "
        "word dropout, plugins, `training.consistency` and rewards",
    ),
    Rule(
        "training.replicas",
        lambda _, training: training.compile == "none",
        "does not work with `training.compile`",
    ),
    Rule(
        "training.shard",
        lambda recipe, _: not plugged(recipe.model) and recipe.training.objective == "translation",
        "divides the weights of built-in models with their own objective, and nothing is known of those of plugins",
    ),
    Rule(
        "training.shard",
        lambda recipe, _: getattr(recipe.model, "adapters", None) is None,
        "does not work with `model.adapters`, which train few weights",
    ),
    Rule(
        "training.shard",
        lambda recipe, _: "cosine" not in (getattr(recipe.model, name, None) for name in SCORES),
        "cannot divide the strength of the score `cosine`, which is a single number",
        remedy="choose another score, or remove it",
    ),
    *(
        Rule("training.shard", works, f"does not work with `training.{name}`")
        for name, works in (
            ("compile", lambda _, training: training.compile == "none"),
            ("replicas", lambda _, training: training.replicas in (None, 1)),
        )
    ),
    Rule(
        "training.recurrence",
        _can("native"),
        "is for `model.kind` rnn, gnmt, deep_att and moe, not for {whole.model.kind}",
    ),
    Rule(
        "training.padding",
        _can("packs"),
        "needs multi-head attention by dot products or cosines and softmax, without attention dropout and with no relative "
        "positions but rotary, which this `model` does not have",
    ),
    Rule(
        "training.compile",
        _compiles("model", _can("one_program")),
        "is for `model.kind` transformer, masked_lm and decoder_only, not for {whole.model.kind}",
    ),
    Rule(
        "training.compile",
        _compiles("graphs", _can("stepwise")),
        "is for decoders that run position by position: bahdanau and posterior, luong with input feeding, and gnmt",
    ),
    Rule(
        "training.compile",
        lambda recipe, _: not model_of(recipe).data_dependent,
        "does not support `{whole.model.capabilities.data_dependent[0]}`, which makes the computation depend on data or chance",
    ),
    Rule(
        "training.compile",
        lambda _, training: not isinstance(training.consistency, SimCutSettings),
        "does not support `training.consistency.kind: simcut`, which changes what an embedding gives",
    ),
    Rule(
        "training.compile",
        _compiles("graphs", _one_step_a_batch),
        "does not support `training.guided`, `training.consistency`, `training.tokens_per_step` or any `reward`",
    ),
)
"""Rules on computation."""

TEXT = (
    *(
        Rule(
            f"text.{name}",
            lambda recipe, _: model_of(recipe).purpose != "classify",
            "does not work for classifiers, whose segmentation is deterministic",
        )
        for name in ("sampling", "sampling_epochs")
    ),
    Rule(
        "text.sampling_target",
        _can("translates"),
        "needs a source and a target, but this model reads one text",
    ),
    Rule(
        "text.sampling_epochs",
        lambda _, text: bool(text.sampling or text.sampling_target),
        "ends sampling, but `text.sampling` is 0",
    ),
    Rule(
        "data.joined",
        lambda recipe, _: not model_of(recipe).previous,
        "does not work for `model.kind: {whole.model.kind}`, which reads sentences in the order of their documents",
    ),
    Rule(
        "data.joined",
        lambda recipe, _: not recipe.data.tag_pieces,
        "does not work where sources begin with a tag, of their language or for being synthetic or noised",
    ),
    Rule(
        "data.joined",
        lambda recipe, _: getattr(recipe.text, "unknown", "plain") == "plain" and not recipe.text.right_to_left,
        "does not work with `text.right_to_left` or `text.unknown: positional`, which depend on where a sentence ends",
    ),
    Rule(
        "decoding.rerank",
        lambda recipe, _: not getattr(recipe.data, "tagged", False),
        "does not work where sources begin with a tag of their target language",
    ),
    Rule("text.joint", lambda recipe, _: model_of(recipe).purpose != "classify", "needs two languages"),
    Rule("text.unknown", _can("translates"), "works only for translation models"),
    Rule("text.right_to_left", _can("translates"), "works only for translation models"),
    Rule(
        "text.right_to_left",
        lambda _, text: getattr(text, "unknown", "plain") == "plain",
        "does not work with `text.unknown: positional`, which counts from left to right",
    ),
    Rule("text.glossary", _can("translates"), "works only for translation models, which read a source"),
    Rule(
        "text.glossary",
        lambda _, text: text.joint and getattr(text, "unknown", "plain") == "plain",
        "needs one vocabulary for both languages (`text.joint: true`), and does not work with `text.unknown: positional`",
    ),
    Rule("text.reach", lambda _, text: text.unknown == "positional", "works only with `text.unknown: positional`"),
    *(
        Rule(f"data.{part}.*.{name}", lambda *_: False, "works only for training corpora")
        for part in ("dev", "test")
        for name in ("repeat", "tagged", "noised")
    ),
    *(
        rule
        for name in ("tagged", "noised")
        for rule in (
            Rule(f"data.train.*.{name}", _can("translates"), "works only for translation models, which read a source"),
            Rule(
                f"data.train.*.{name}",
                lambda recipe, _: getattr(recipe.text, "unknown", "plain") == "plain",
                "would move the source words that `text.unknown: positional` counts",
            ),
        )
    ),
    Rule(
        "data.noise",
        lambda recipe, _: recipe.data.is_noised,
        "works only with a training corpus of text that is `noised: true`",
    ),
    Rule(
        "text.unknown",
        lambda recipe, text: text.unknown == "plain" or not getattr(recipe.data, "tagged", False),
        "needs one dictionary, and so one direction and no tags of languages",
    ),
    *(
        Rule(
            setting,
            _tells_languages_apart,
            "needs a model that translates sentence by sentence, not {whole.model.kind}",
        )
        for setting in ("data.languages", "data.train.*.both_ways")
    ),
)
"""Rules on data and text."""

MODELS = (
    Rule("model.max_positions", _bounded, "works only with learned or fixed positions or the score `location`"),
    Rule(
        "model.deep_output",
        lambda _, model: model.decoder == "bahdanau",
        "works only with `model.decoder: bahdanau`, not {own.decoder}",
    ),
    Rule(
        "model.score",
        lambda _, model: getattr(model, "decoder", None) != "plain",
        "needs attention, but `model.decoder: plain` has none",
    ),
    Rule(
        "model.marginal",
        lambda _, model: model.decoder != "posterior",
        "adds nothing to `model.decoder: posterior`, which predicts from each source position anyway",
    ),
    Rule("model.attention_dropout", _can("drops_attention"), "works only with attention that averages over the source"),
    Rule(
        "model.dropout",
        drops_between_layers,
        "applies only between layers if `model.outer_dropout` is set, but `model.layers` is 1",
    ),
    *(
        Rule(f"model.{name}", lambda _, model: model.experts is None, "does not work with `model.experts`")
        for name in ("gated", "activation")
    ),
    Rule(
        "model.hard.temperature",
        lambda _, hard: hard.training == "gumbel",
        "works only with `model.hard.training: gumbel`",
    ),
    *(
        Rule(
            f"model.hard.{name}",
            lambda _, hard: hard.training == "reinforce",
            "works only with `model.hard.training: reinforce`",
        )
        for name in ("soft_share", "entropy_bonus", "reward_scale", "baseline_decay")
    ),
    Rule(
        "model.experts.load", lambda _, experts: experts.gate == "noisy", "works only with `model.experts.gate: noisy`"
    ),
)
"""Rules on the parts of a model."""

PLUGINS = tuple(
    Rule(
        f"{section}.{name}",
        _names_one(kind, name),
        f"is the name of a plugin too, whose {kind} would not be used, for Dragoman has one of that name",
        remedy="rename the plugin, or uninstall its package",
        even_default=True,
    )
    for section, name, kind in (
        *(("model", name, kind) for name, kind in PARTS.items()),
        ("training", "objective", "objective"),
    )
)
"""Rules on names that plugins share with what is built in."""

RULES = (*OPTIMISATION, *OBJECTIVE, *COMPUTING, *TEXT, *MODELS, *LINKS, *ADAPTING, *PLUGINS)
