"""`dragoman tune`, and what reranks with what it finds."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.texts import SOURCES
from tests.tiny import Trained, dragoman, refusal

from dragoman.jobs.tune import Tuned, tune

REVERSE = ("data.source=vi", "data.target=en")


def test_the_setting_is_the_only_result_and_translating_takes_it(
    trained: Trained, source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tune_and_gain(*given: Any, **settings: Any) -> Tuned:
        """Tune runs that have learned too little to gain anything."""
        tuned = tune(*given, **settings)
        return replace(tuned, before=tuned.bleu - 1)

    monkeypatch.setattr("dragoman.jobs.tune.tune", tune_and_gain)
    monkeypatch.setattr("dragoman.jobs.tune.GRID", (0.5, 1.0))
    run, reverse = trained("rnn"), trained("rnn", *REVERSE)
    found = dragoman("tune", run, source, target, "--rerank", reverse, "--beam", 4)
    assert found.code == 0 and "without reranking" in found.errors
    (setting,) = found.lines
    assert setting.startswith("rerank_weights=[")
    text = "".join(f"{sentence}\n" for sentence in SOURCES)
    ranked = dragoman("translate", run, "--beam", 4, "--rerank", reverse, "--set", setting, stdin=text)
    assert ranked.code == 0 and len(ranked.lines) == len(SOURCES)
    scores = dragoman("evaluate", run, source, target, "--beam", 4, "--rerank", reverse, "--set", setting, "--json")
    assert f", {json.loads(scores.output)['bleu']['score']:.2f}"[:-1] in found.errors


@pytest.mark.parametrize(("weight", "reached", "helps"), [(0.1, 2.1, True), (0.1, 2.0, False), (0, 2.1, False)])
def test_reranking_that_does_not_help_is_not_advised(
    weight: float,
    reached: float,
    helps: bool,
    trained: Trained,
    source: Path,
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.jobs.tune.tune", lambda *_, **__: Tuned((weight,), reached, 2.0))
    search = ("--beam", 6, "--set", "length_penalty=0.5")
    found = dragoman("tune", trained("rnn"), source, target, "--rerank", "an other", *search)
    assert found.lines == (["rerank_weights=[0.1]"] if helps else [])
    assert ("length normalisation" in found.errors) == (not weight)
    assert (
        ("--rerank 'an other' --beam 6 --set length_penalty=0.5 --set 'rerank" in found.errors)
        == helps
        != ("without --rerank" in found.errors)
    )


def test_several_runs_rerank_together(trained: Trained) -> None:
    run, reverse = trained("rnn"), trained("rnn", *REVERSE)
    language = trained("decoder_only", "data.source=vi", "data.target=vi")
    both = ("--rerank", reverse, "--rerank", language)
    one, two = (
        json.loads(dragoman("translate", run, *options, "--json", stdin="I love cats.\n").output)["score"]
        for options in (both[:2], both)
    )
    assert two < one  # another log-probability is added


def test_what_does_not_fit_is_refused(trained: Trained, source: Path, target: Path) -> None:
    run = trained("rnn")
    assert "cannot rerank translations from `en` to `vi`" in refusal(
        "tune", run, source, target, "--rerank", trained("decoder_only")
    )
    assert "looks like `vi`" in refusal("tune", run, target, source, "--rerank", trained("rnn", *REVERSE))
    several = trained("rnn", "data.train.0.both_ways=true")
    assert "in several directions (en-vi, vi-en); give a run of one direction" in refusal(
        "tune", several, source, target, "--rerank", run
    )
    assert "`decoding.n_best` has no effect on `dragoman tune`" in refusal(
        "tune", run, source, target, "--rerank", run, "--set", "n_best=2"
    )
    sentence = refusal("translate", run, "--rerank", run, "--mbr", stdin="I\n")
    assert "`rerank` and `mbr_samples` both choose" in sentence
