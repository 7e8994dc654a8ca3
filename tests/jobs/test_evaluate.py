"""Scores of a finished run on the test corpora of its recipe."""

import json
import math
from pathlib import Path
from shutil import copytree

import pytest
from tests.tiny import Trained

from dragoman.inference.translator import Translator
from dragoman.jobs.evaluate import measure_tests
from dragoman.metrics.scores import bleu, chrf

PAIRS = {"dev": "I love dogs.\tTôi yêu chó.\n", "test": "I love cats.\tTôi yêu mèo.\nNo.\tKhông.\n\tKhông.\n"}


@pytest.fixture
def run(trained: Trained, tmp_path: Path) -> Path:
    """Return a run of one's own, whose dev and test corpora are others."""
    for name, text in PAIRS.items():
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    corpora = [f"data.{name}=[{{tsv: {tmp_path / name}.tsv}}]" for name in PAIRS]
    return Path(copytree(trained("transformer", "training.steps=2", *corpora), tmp_path / "run"))


def test_the_test_corpora_are_translated_and_scored(run: Path, tmp_path: Path) -> None:
    scores = measure_tests(run)
    hypotheses = [one.text for one in Translator.load(run).translate(["I love cats.", "No.", ""])]
    references = [["Tôi yêu mèo.", "Không.", "Không."]]
    assert scores == {str(tmp_path / "test.tsv"): [bleu(hypotheses, references), chrf(hypotheses, references)]}


def test_two_test_corpora_of_one_file_have_scores_of_their_own(trained: Trained, tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("I love cats.\tTôi yêu mèo.\tTôi thích mèo.\nNo.\tKhông.\tKhông đâu.\n", encoding="utf-8")
    corpora = f"data.test=[{{tsv: {path}}}, {{tsv: {path}, columns: [0, 2]}}]"
    scores = measure_tests(Path(copytree(trained("transformer", "training.steps=2", corpora), tmp_path / "run")))
    assert list(scores) == [str(path), f"{path}, corpus 2"]


def test_the_scores_are_written_with_their_signatures(run: Path) -> None:
    ((name, scores),) = measure_tests(run).items()
    written = json.loads((run / "test.json").read_text(encoding="utf-8"))
    assert written == {name: {one.name.lower(): {"score": one.score, "signature": one.signature} for one in scores}}
    assert set(written[name]) == {"bleu", "chrf2"} or set(written[name]) == {"bleu", "chrf"}


def test_a_language_model_has_its_perplexity(trained: Trained, tmp_path: Path) -> None:
    run = Path(copytree(trained("decoder_only"), tmp_path / "run"))
    scores = measure_tests(run)
    assert set(scores) == {"phrasebook test", "phrasebook compositional"}
    for (one,) in scores.values():
        assert one.name == "perplexity" and 1 < one.score < 1000 and math.isfinite(one.score)
        assert "kind:decoder_only" in one.signature
