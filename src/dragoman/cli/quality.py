"""BLEU, chrF and TER as commands print them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import is_normalized

from dragoman.cli.console import note

if TYPE_CHECKING:
    from dragoman.metrics.scores import Score


HARDLY_ANY = 1.0
"""BLEU below which files are more likely to be wrong than translations."""
MANY = 20
"""In a part of the lines above one in so many, another way to write accents changes the scores."""
ENOUGH = 50
"""Minimum number of sentences for this check."""


def all_scores(
    hypotheses: list[str], references: list[list[str]], *, tokenize: str | None = None, lowercase: bool = False
) -> list["Score"]:
    """Return BLEU, chrF and TER, with a note if the files look wrong: tokenised, decomposed, the same, or unrelated."""
    from dragoman.metrics import scores

    tokenised = sum(hypothesis.endswith(" .") for hypothesis in hypotheses)
    if tokenize != "none" and 2 * tokenised > len(hypotheses):
        note(
            f"{tokenised} of {len(hypotheses)} translations end in a space and a full stop, so they look tokenised; compare "
            "these scores only with scores of tokenised text."
        )
    uncomposed = [sum(not is_normalized("NFC", line) for line in lines) for lines in (hypotheses, *references)]
    if (max(uncomposed) - min(uncomposed)) * MANY > len(hypotheses):
        note(
            f"{max(uncomposed)} of {len(hypotheses)} lines of one file have accents apart from their letters (Unicode NFD), so "
            "their words count as different; write all files in the same form, best in NFC."
        )
    if hypotheses in references:
        note("The translations are the same as the references; is that the file you meant?")
    bleu = scores.bleu(hypotheses, references, tokenize=tokenize, lowercase=lowercase)
    if bleu.score < HARDLY_ANY and len(hypotheses) >= ENOUGH:
        note("BLEU is almost 0: are the files in the right order and the right languages, and do their lines match?")
    return [bleu, scores.chrf(hypotheses, references, lowercase=lowercase), scores.ter(hypotheses, references)]


def score_tables(scores: list["Score"]) -> dict[str, Any]:
    """Return BLEU, chrF and TER ready for JSON."""
    named = zip(("bleu", "chrf", "ter"), scores, strict=True)
    return {name: {"score": round(score.score, 4), "signature": score.signature} for name, score in named}


def print_scores(scores: list["Score"]) -> None:
    """Print each score on a line with its signature."""
    for score in scores:
        print(f"{score.name} {score.score:.2f}  {score.signature}")


def note_test_scores(run: Path) -> None:
    """Measure a run on the test corpora of its recipe, and note the scores on standard error."""
    from dragoman.jobs.evaluate import measure_tests

    for corpus, scores in measure_tests(run).items():
        note(f"{corpus}: " + "   ".join(f"{score.name} {score.score:.1f} ({score.signature})" for score in scores))
