"""Verify that an export gives the same translations: run both engines on the same sentences."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.data.corpus import Pair
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import ExportError
from dragoman.inference.ctranslate2.search import Engine
from dragoman.inference.ctranslate2.translator import ExportedTranslator
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Translator

SEARCHES = (DecodingSettings(method="greedy"), DecodingSettings(beam=5, n_best=2, stopping="full"))
"""Searches whose results must agree: greedy, and a beam with CTranslate2's own stopping criterion."""
ROUNDING = 1e-3
"""Maximum difference in the log-probability of a token in float32, and of a translation per token."""
TIES = 0.05
"""Maximum share of sentences whose beam may differ: the last hypothesis kept in a beam can be a tie up to rounding."""
INT8_MEAN = 0.15
"""Maximum mean difference in the log-probability of a token in int8, over the sample."""
BUG = "this is a bug, please report it"
UNLEARNED = (
    "tokens and greedy search agree: a run that has learned little expects <s> and the like, which CTranslate2 keeps in a beam "
    f"where Dragoman does not, so train the run longer; if it was trained for long, {BUG}"
)
"""What to do where a beam alone differs."""


@dataclass(frozen=True)
class Agreement:
    """How well two engines agree on a sample."""

    sentences: int
    equal_greedy: float
    """Share of sentences whose greedy translation is the same."""
    equal_beam: float
    """Share of sentences with the same two best translations in a beam."""
    mean_difference: float
    """Mean difference in the log-probability of a token of given translations."""
    largest_difference: float
    """Largest difference in the log-probability of a token of given translations."""

    def table(self) -> dict[str, Any]:
        """Return the numbers for a manifest."""
        return {name: round(value, 9) for name, value in asdict(self).items()}


def compare(own: Translator, other: ExportedTranslator, sample: Sequence[Pair]) -> tuple[Agreement, list[str]]:
    """Translate a sample with both engines and score its targets; return the agreement, and differences beyond rounding, each
    with what to do.

    Two translations may differ if both models score them the same up to rounding: a tie can be broken either way.
    """
    sources, to = [pair.source for pair in sample], [pair.between for pair in sample]
    differences = token_differences(own, other.engine, sample)
    largest = max(differences, default=0.0)
    beyond = [f"the log-probability of a token differs by {largest:.2g}; {BUG}"] if largest > ROUNDING else []
    shares = []
    for settings in SEARCHES:
        found = [one.translate(sources, settings=settings, to=to) for one in (own, other)]
        pairs = list(zip(*found, strict=True))
        shares.append(sum(_texts(one) == _texts(two) for one, two in pairs) / max(len(pairs), 1))
        differing = [
            f"`{one.text}` of {one.log_prob:.4f} became `{two.text}` of {two.log_prob:.4f}"
            for one, two in pairs
            if not _close(one, two)
        ]
        if len(differing) > (TIES if settings.size > 1 else 0) * len(pairs):
            reason = UNLEARNED if settings.size > 1 and not beyond else BUG
            beyond += [f"{one}; {reason}" for one in differing]
    mean = sum(differences) / max(len(differences), 1)
    return Agreement(len(sources), shares[0], shares[1], mean, largest), beyond


def require(agreement: Agreement, beyond: Sequence[str], quantization: str) -> None:
    """Raise ExportError for an export that does not translate like the run."""
    if quantization == "float32" and beyond:
        raise ExportError(f"the export does not translate like the run, so it was not kept: {beyond[0]}")
    if agreement.mean_difference > INT8_MEAN:
        raise ExportError(
            f"in {quantization} the log-probability of a token changes by {agreement.mean_difference:.2f} on average, more "
            f"than {INT8_MEAN}, so the export was not kept; export with `--quantization float32`"
        )


def token_differences(own: Translator, engine: Engine, sample: Sequence[Pair]) -> list[float]:
    """Return the difference in log-probability of each token of the targets, including </s>."""
    from dragoman.data.collate import collate
    from dragoman.decoding.score import score_target

    differences: list[float] = []
    for first in range(0, len(sample), 16):
        chunk = [pair for pair in sample[first : first + 16] if own.source.normalize(pair.source)]
        pairs = [(own.source.framed(pair.source, pair.between), own.target.encode(pair.target)) for pair in chunk]
        batch = collate(pairs, special=own.target.special).to(own.device)
        model = own.models[0]
        tokens = score_target(model.decoder, model.encoder(batch.source), batch.target).tokens.tolist()
        given = [(own.source.pieces(source), target) for source, target in pairs]
        for row, scores in zip(tokens, engine.score(given), strict=True):
            differences += [abs(one - two) for one, two in zip(row, scores, strict=False)]
    return differences


def _texts(translation: Translation) -> list[str]:
    """Return the texts of a translation and its alternatives."""
    return [translation.text, *(one.text for one in translation.alternatives)]


def _close(one: Translation, two: Translation) -> bool:
    """Tell whether two engines' translations of a sentence are the same up to rounding, including alternatives."""
    pairs = list(zip((one, *one.alternatives), (two, *two.alternatives), strict=False))
    same_number = len(one.alternatives) == len(two.alternatives)
    return same_number and all(abs(a.score - b.score) <= ROUNDING * (1 + abs(a.score)) for a, b in pairs)
