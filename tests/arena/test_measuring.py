"""What an arena measures of a trained system."""

from pathlib import Path

import pytest
from tests.tiny import Trained, table

from dragoman.arena import measuring
from dragoman.metrics.scores import bleu, chrf
from dragoman.metrics.significance import interval
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse


def measured(trained: Trained, model: str, folder: Path, sentence: str | None = None) -> dict[str, object]:
    """Measure a tiny run."""
    return measuring.measure([trained(model)], table(model), folder, sentence=sentence)


@pytest.mark.parametrize("model", ["rnn", "transformer"])
def test_scores_and_interval_are_those_of_the_translations_written(
    trained: Trained, model: str, tmp_path: Path
) -> None:
    found = measured(trained, model, tmp_path)
    hypotheses = (tmp_path / "hypotheses.txt").read_text(encoding="utf-8").splitlines()
    pairs = measuring.tested_pairs(parse(Recipe, table(model)))
    references = [[pair.target for pair in pairs]]
    score, between = bleu(hypotheses, references), interval(hypotheses, references)
    assert (found["sentences"], len(hypotheses)) == (40, 40)
    assert (found["bleu"], found["chrf"]) == (score.score, chrf(hypotheses, references).score)
    assert (found["bleu_low"], found["bleu_high"]) == (between.low, between.high)
    assert found["signatures"]["BLEU"] == score.signature  # type: ignore[index]


def test_attention_is_read_on_the_sentence_asked_for_or_the_first(trained: Trained, tmp_path: Path) -> None:
    asked = measured(trained, "rnn", tmp_path, "I love cats.")["attention"]
    assert asked["source"][:3] == ["I", "love", "cats."]  # type: ignore[index]
    first = measured(trained, "rnn", tmp_path)["attention"]
    assert first["source"] != asked["source"]  # type: ignore[index]


def test_together_they_have_no_picture(trained: Trained, tmp_path: Path) -> None:
    runs = [trained("rnn"), trained("rnn", "seed=2")]
    assert measuring.measure(runs, table("rnn"), tmp_path, sentence=None)["attention"] is None
