"""Which settings of decoding a command reads, with which model; what is given and would be ignored is refused."""

from collections.abc import Collection
from dataclasses import dataclass

from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import SettingsError
from dragoman.models.capabilities import Capabilities
from dragoman.runs.rules import Rule, refusals

TRANSLATING = ("precision", "shortlist", "coverage_penalty", "dictionary")
"""Settings of decoding that translating reads and continuing text does not."""


@dataclass(frozen=True)
class Use:
    """Settings of decoding and the model that they are used with."""

    decoding: DecodingSettings | None
    model: Capabilities


def _searches(_: Use, own: DecodingSettings) -> bool:
    """Tell whether several hypotheses are followed."""
    return own.method == "beam"


def _draws(_: Use, own: DecodingSettings) -> bool:
    """Tell whether translations are drawn."""
    return own.method == "sample"


MODEL = (
    *(
        Rule(f"decoding.{name}", lambda use, _: use.model.purpose != "fill", "is not read by `dragoman fill`")
        for name in DecodingSettings.model_fields
    ),
    *(
        Rule(f"decoding.{name}", lambda use, _: use.model.translates, "works only for translation models")
        for name in TRANSLATING
    ),
    Rule(
        "decoding.coverage_penalty",
        lambda use, _: use.model.attends,
        "needs attention over the source, which this model does not have",
    ),
    Rule(
        "decoding.shortlist",
        lambda use, _: not use.model.mixes,
        "does not work where the output adds up predictions from each source position (`model.marginal`, posterior attention)",
    ),
)
"""What depends on the model alone: no later command could use such a setting."""

SEARCH = (
    Rule("decoding.beam", _searches, "works only with `decoding.method: beam`, not {own.method}"),
    Rule("decoding.stopping", _searches, "works only with `decoding.method: beam`, not {own.method}"),
    *(
        Rule(f"decoding.{name}", _draws, "works only with `decoding.method: sample`, not {own.method}")
        for name in ("temperature", "top_k", "top_p", "seed")
    ),
    Rule(
        "decoding.coverage_penalty",
        lambda _, own: own.method != "sample",
        "does not work with `decoding.method: sample`, which ranks nothing again",
    ),
    Rule(
        "decoding.length_penalty",
        lambda _, own: own.length_normalisation != "none",
        "does not work with `decoding.length_normalisation: none`",
    ),
)
"""What depends on how a search goes, which each command may change."""


def check_decoding(settings: DecodingSettings, given: Collection[str], model: Capabilities) -> None:
    """Refuse (SettingsError) one of the settings named in `given` that a search with `settings` would not read.

    What a run's recipe says by itself is never refused here.
    """
    for sentence in refusals((*MODEL, *SEARCH), Use(settings, model)):
        if any(sentence.startswith((f"`decoding.{name}:", f"`decoding.{name}`")) for name in given):
            raise SettingsError(sentence)
