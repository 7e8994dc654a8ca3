"""Ranking translations by several models; the sum itself is in tests/reference/test_noisy_channel.py."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.tiny import Trained, dragoman, refusal, with_decoding

from dragoman.decoding.hypotheses import Hypothesis
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import RunError, SettingsError
from dragoman.inference.ctranslate2.search import obstacle
from dragoman.inference.noisy_channel import features, rerank
from dragoman.inference.translator import Translator

SENTENCES = ["I love cats.", "", "This is a book."]
REVERSE = ("data.source=vi", "data.target=en")


def test_texts_are_scored_once_with_their_own_source() -> None:
    asked: list[tuple[str, str]] = []

    def score(sources: Sequence[str], texts: Sequence[str]) -> list[float]:
        asked.extend(zip(sources, texts, strict=True))
        return [float(len(source) * 10 + len(text)) for source, text in zip(sources, texts, strict=True)]

    found = features(["a", "bb", "c"], [["x", "yy", "x"], ["x"], []], [score])
    assert found == [[[11.0], [12.0], [11.0]], [[21.0]], []]
    assert sorted(asked) == [("a", "x"), ("a", "yy"), ("bb", "x")]


def test_the_score_is_per_token_and_of_equal_ones_the_first_stays_first() -> None:
    found = [Hypothesis([7, 8, 9], -4.0, 0.0), Hypothesis([7], -2.0, 0.0), Hypothesis([8], -3.0, 0.0)]
    ranked = rerank(found, [[-2.0], [-2.0], [-1.0]], [0.5], n_best=3)
    assert [(one.ids, one.score) for one in ranked] == [([7, 8, 9], -2.0), ([7], -2.0), ([8], -2.0)]
    assert [one.ids for one in rerank(found, [[-2.0], [-2.0], [-1.0]], [2.0], n_best=1)] == [[8]]


def test_without_weight_the_log_probability_per_token_ranks(trained: Trained) -> None:
    translator = Translator.load(trained("rnn"), beam=4, n_best=4)
    found = translator.translate(SENTENCES, rerank=[trained("rnn", *REVERSE)], rerank_weights=[0])
    for best, plain in zip(found, translator.translate(SENTENCES), strict=True):
        whole = [plain, *plain.alternatives]
        assert [one.text for one in (best, *best.alternatives)] == [
            one.text for one in sorted(whole, key=lambda one: -one.per_token)
        ]


def test_a_sentence_does_not_depend_on_the_others(trained: Trained) -> None:
    translator = Translator.load(trained("rnn"), rerank=[trained("rnn", *REVERSE)])
    together = translator.translate(SENTENCES)
    alone = [translator.translate([text])[0] for text in SENTENCES]
    assert [one.text for one in together] == [one.text for one in alone]
    assert [one.score for one in together] == pytest.approx([one.score for one in alone], abs=1e-5)


def test_what_it_does_not_work_with_is_refused(trained: Trained) -> None:
    run, other = trained("rnn"), trained("rnn", *REVERSE)
    for changes, named in (
        ({"method": "greedy"}, r"`decoding\.rerank: .*several hypotheses"),
        ({"method": "sample"}, r"`decoding\.rerank: .*several hypotheses"),
        ({"beam": 1}, r"`decoding\.rerank: .*several hypotheses"),
        ({"mbr_samples": 4}, "`rerank` and `mbr_samples` both choose"),
        ({"coverage_penalty": 0.2}, "`rerank` and `coverage_penalty` both choose"),
        ({"rerank_weights": [1, 2]}, "`rerank_weights` has 2 numbers, but `rerank` has 1 runs"),
        ({"rerank_weights": [-1]}, "at least 0"),
    ):
        with pytest.raises(SettingsError, match=named) as refused:
            Translator.load(run, rerank=[other], **changes)  # type: ignore[arg-type]  # many kinds of values
        assert "PosixPath" not in str(refused.value)
    with pytest.raises(SettingsError, match="`rerank_weights` has 1 numbers, but `rerank` has 0 runs"):
        Translator.load(run, rerank_weights=[1])
    assert "`decoding.rerank` works only for translation models" in refusal(
        "generate", trained("decoder_only"), "I", "--set", f"rerank=[{other}]"
    )
    assert obstacle(DecodingSettings(rerank=(Path("run"),))) == "`decoding.rerank`"


def test_a_command_may_search_in_a_way_that_a_recipe_s_runs_do_not_rerank(trained: Trained, tmp_path: Path) -> None:
    run = trained("rnn")
    reranked = with_decoding(run, tmp_path / "run", rerank=["gone"])
    searches: tuple[dict[str, Any], ...] = ({"method": "sample", "n_best": 7}, {"method": "greedy"}, {"beam": 1})
    for search in searches:
        found, plain = (Translator.load(one, **search).translate(SENTENCES) for one in (reranked, run))
        assert found == plain
    with pytest.raises(RunError, match="no run folder gone"):
        Translator.load(reranked)


def test_what_would_be_overruled_by_a_recipe_s_runs_is_refused(trained: Trained, tmp_path: Path) -> None:
    reranked = with_decoding(trained("rnn"), tmp_path / "run", rerank=[str(trained("rnn", *REVERSE))])
    for options in (("--mbr",), ("--set", "coverage_penalty=0.2")):
        assert "set `rerank: []` or" in refusal("translate", reranked, *options, stdin="Yes.\n")
    assert dragoman("translate", reranked, "--mbr", "--set", "rerank=[]", stdin="Yes.\n").code == 0
