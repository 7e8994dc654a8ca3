"""`dragoman score`."""

from pathlib import Path

import pytest
from tests.cli.texts import SOURCES, TARGETS
from tests.tiny import Trained, dragoman, refusal, with_decoding

from dragoman.inference.translator import Translator


def test_score_prints_a_log_probability_for_each_pair(trained: Trained, source, target):
    run = trained("rnn")
    found = [float(line) for line in dragoman("score", run, source, target).lines]
    expected = Translator.load(run).score(SOURCES, TARGETS)
    assert found == pytest.approx([total for total, _ in expected], abs=1e-5)
    assert all(one < 0 for one in found)
    each = [float(line) for line in dragoman("score", run, source, target, "--per-token").lines]
    assert each == pytest.approx([total / tokens for total, tokens in expected], abs=1e-5)


def test_a_run_that_is_reranked_scores_without_those_that_rerank(trained: Trained, tmp_path: Path, source, target):
    run = trained("rnn")
    reranked = with_decoding(run, tmp_path / "run", rerank=["gone"])
    assert dragoman("score", reranked, source, target).lines == dragoman("score", run, source, target).lines


def test_standard_input_is_one_of_the_files_only(trained: Trained):
    for command in ("score", "align", "evaluate"):
        assert "only one of the files" in refusal(command, trained("rnn"), "-", "-", stdin=b"a\n")
