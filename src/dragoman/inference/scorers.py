"""Runs that score the translations of another run, which are given and taken as text: vocabularies may differ."""

from collections.abc import Callable, Sequence
from pathlib import Path

from dragoman.decoding.settings import ALONE
from dragoman.errors import InputError, shorten
from dragoman.inference.checks import refuse_documents
from dragoman.inference.generator import TextGenerator
from dragoman.inference.noisy_channel import Scorer
from dragoman.inference.translator import Translator
from dragoman.models.build import purpose_of
from dragoman.models.capabilities import capabilities_of
from dragoman.runs.folder import open_run

Score = Callable[[Sequence[str], Sequence[str]], list[tuple[float, int]]]
"""Returns the log-probability of each pair of a source and a translation, and its number of tokens."""


def load_scorers(runs: Sequence[Path], languages: tuple[str, str], device: str = "auto") -> list[Scorer]:
    """Load the runs that rerank translations between `languages`; what a run is says what it scores.

    A run of the opposite direction scores the source given the translation, one of the same direction the translation given
    the source, and a decoder-only language model the translation alone. InputError names a run that does none of these.
    """
    return [_scorer(run, languages, device) for run in runs]


def _scorer(folder: Path, languages: tuple[str, str], device: str) -> Scorer:
    """Load one run."""
    run = open_run(folder)
    run.directions.require_one(str(folder))
    if purpose_of(run.recipe.model) == "generate" and run.languages[1] == languages[1]:
        generator = TextGenerator.load(folder, device=device)
        return scorer_of(folder, lambda _, texts: generator.score(texts))
    if purpose_of(run.recipe.model) != "translate" or run.languages not in (languages, languages[::-1]):
        raise InputError(
            f"{folder} cannot rerank translations from `{languages[0]}` to `{languages[1]}`; give a run between these two "
            f"languages, in either direction, or a decoder-only language model of `{languages[1]}`"
        )
    translator = Translator.load(folder, device=device, **ALONE)
    refuse_documents(folder, capabilities_of(run.recipe.model), "reranking scores sentences one by one")
    if run.languages == languages[::-1]:
        return scorer_of(folder, lambda sources, texts: translator.score(texts, sources))
    return scorer_of(folder, translator.score)


def scorer_of(run: Path | str, score: Score) -> Scorer:
    """Return what scores pairs with a run; where it cannot read one, an InputError names the run and quotes the pair."""

    def per_token(sources: Sequence[str], texts: Sequence[str]) -> list[float]:
        try:
            return [log_prob / tokens for log_prob, tokens in score(sources, texts)]
        except InputError as error:
            if len(sources) == 1:
                pair = f"`{shorten(texts[0])}` as a translation of `{shorten(sources[0])}`"
                raise InputError(f"{run} cannot score {pair}: {error}") from None
            half = len(sources) // 2
            return [*per_token(sources[:half], texts[:half]), *per_token(sources[half:], texts[half:])]

    return per_token
