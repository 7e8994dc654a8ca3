"""Runs that score the translations of another one."""

from pathlib import Path

import pytest
from tests.tiny import Trained, with_decoding

from dragoman.errors import InputError
from dragoman.inference.generator import TextGenerator
from dragoman.inference.scorers import load_scorers
from dragoman.inference.translator import Translator

ENGLISH, VIETNAMESE = ["I love cats.", "No."], ["Tôi yêu mèo.", "Không."]
DIRECTION = ("en", "vi")
REVERSE = ("data.source=vi", "data.target=en")


def each(scored: list[tuple[float, int]]) -> list[float]:
    return [log_prob / tokens for log_prob, tokens in scored]


def test_what_a_run_is_says_what_it_scores(trained: Trained) -> None:
    same, reverse = trained("rnn"), trained("rnn", *REVERSE)
    language = trained("decoder_only", "data.source=vi", "data.target=vi")
    found = [score(ENGLISH, VIETNAMESE) for score in load_scorers([same, reverse, language], DIRECTION)]
    assert found == [
        pytest.approx(each(Translator.load(same).score(ENGLISH, VIETNAMESE))),
        pytest.approx(each(Translator.load(reverse).score(VIETNAMESE, ENGLISH))),
        pytest.approx(each(TextGenerator.load(language).score(VIETNAMESE))),
    ]


def test_runs_that_cannot_rerank_are_refused(trained: Trained) -> None:
    for run in (trained("rnn", "data.target=fr"), trained("decoder_only"), trained("masked_lm")):
        with pytest.raises(InputError, match=f"{run.name} cannot rerank translations from `en` to `vi`; give a run"):
            load_scorers([run], DIRECTION)


def test_a_sentence_that_is_too_long_for_a_run_is_quoted_with_its_name(trained: Trained) -> None:
    run = trained("transformer", "model.positions=learned", "model.max_positions=40", *REVERSE)
    (score,) = load_scorers([run], DIRECTION)
    assert len(score(ENGLISH, VIETNAMESE)) == 2
    said = rf"{run.name} cannot score `mèo mèo.*` as a translation of `No\.`: source sentence 1 .*40 positions"
    with pytest.raises(InputError, match=said):
        score(["I love cats.", "No.", "No."], ["Tôi yêu mèo.", "Không.", "mèo " * 60])


def test_a_missing_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="there is no run folder"):
        load_scorers([tmp_path / "none"], DIRECTION)


def test_a_run_that_scores_does_not_load_those_that_rerank_its_own_translations(
    trained: Trained, tmp_path: Path
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    with_decoding(trained("rnn"), one, rerank=[str(other)])
    with_decoding(trained("rnn", *REVERSE), other, rerank=[str(one)])
    assert len(Translator.load(one).translate(ENGLISH)) == 2
