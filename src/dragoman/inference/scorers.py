"""Runs that score the translations of another run, which are given and taken as text: vocabularies may differ."""

from collections.abc import Callable, Sequence
from pathlib import Path

from dragoman.decoding.settings import ALONE
from dragoman.errors import InputError
from dragoman.inference.generator import TextGenerator
from dragoman.inference.noisy_channel import Scorer
from dragoman.inference.translator import Translator
from dragoman.models.build import purpose_of
from dragoman.runs.folder import open_run


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
        return lambda sources, texts: _each(folder, lambda: generator.score(texts))
    if purpose_of(run.recipe.model) != "translate" or run.languages not in (languages, languages[::-1]):
        raise InputError(
            f"{folder} cannot rerank translations from `{languages[0]}` to `{languages[1]}`; give a run between these two "
            f"languages, in either direction, or a decoder-only language model of `{languages[1]}`"
        )
    translator = Translator.load(folder, device=device, **ALONE)
    if translator.previous:
        raise InputError(f"{folder} reads documents, but reranking scores sentences one by one; give another run")
    if run.languages == languages[::-1]:
        return lambda sources, texts: _each(folder, lambda: translator.score(texts, sources))
    return lambda sources, texts: _each(folder, lambda: translator.score(sources, texts))


def _each(folder: Path, score: Callable[[], list[tuple[float, int]]]) -> list[float]:
    """Return log-probabilities per token. InputError says which run cannot read a sentence."""
    try:
        return [log_prob / tokens for log_prob, tokens in score()]
    except InputError as error:
        raise InputError(f"{folder} cannot rerank this: {error}") from None
