"""Weights of runs that rerank, tuned on a dev set."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tiny import Trained, with_decoding

from dragoman.errors import InputError, SettingsError
from dragoman.inference.translator import Translator
from dragoman.jobs.tune import GRID, MOST, STATISTICS, best_weights, tune
from dragoman.metrics.scores import bleu, bleu_statistics

SENTENCES = ["I love cats.", "", "This is a book.", "She will go to school tomorrow.", "The cat sleeps."]
REFERENCES = ["Tôi yêu mèo.", "", "Đây là một quyển sách.", "Ngày mai cô ấy sẽ đi học.", "Con mèo ngủ."]
REVERSE = ("data.source=vi", "data.target=en")


def test_the_best_weights_are_those_of_trying_every_combination_with_corpus_bleu() -> None:
    rng = np.random.default_rng(3)
    words = ["the", "cat", "sat", "on", "a", "mat", "dog"]
    texts = [[" ".join(rng.choice(words, 6)) for _ in range(3)] for _ in range(8)]
    references = [" ".join(rng.choice(words, 6)) for _ in range(8)]
    scores = rng.normal(size=(8, 3, 3))
    scores[0, 2] = -np.inf  # a sentence with two hypotheses
    counts = np.array(
        [[bleu_statistics(text, [ref]) for text in some] for some, ref in zip(texts, references, strict=True)]
    )
    assert counts.shape[2] == STATISTICS
    found = best_weights(scores, counts)
    results: dict[tuple[float, float], float] = {}
    for one, two in product(GRID, GRID):
        chosen = []
        for row, some in enumerate(texts):
            there = range(2 if row == 0 else 3)
            ranked = [scores[row, at, 0] + one * scores[row, at, 1] + two * scores[row, at, 2] for at in there]
            chosen.append(some[ranked.index(max(ranked))])
        results[one, two] = bleu(chosen, [references]).score
    best = max(results.values())
    assert found.bleu == pytest.approx(best) and best > results[0.0, 0.0]
    assert found.weights == next(weights for weights, score in results.items() if score == pytest.approx(best))
    assert found.before == pytest.approx(bleu([some[0] for some in texts], [references]).score)


def test_translating_with_the_weights_reaches_what_was_promised(trained: Trained) -> None:
    run, others = (
        trained("rnn"),
        [trained("rnn", *REVERSE), trained("decoder_only", "data.source=vi", "data.target=vi")],
    )
    found = tune([run], others, SENTENCES, references=[REFERENCES], decoding={"beam": 4})
    translator = Translator.load(run, beam=4)
    plain = [one.text for one in translator.translate(SENTENCES)]
    assert found.before == pytest.approx(bleu(plain, [REFERENCES]).score)
    settings = {"rerank": others, "rerank_weights": found.weights}
    ranked = [one.text for one in translator.translate(SENTENCES, **settings)]
    assert found.bleu == pytest.approx(bleu(ranked, [REFERENCES]).score)


def test_an_ensemble_is_tuned_as_it_translates(trained: Trained) -> None:
    runs, others = [trained("rnn"), trained("transformer")], [trained("rnn", *REVERSE)]
    found = tune(runs, others, SENTENCES, references=[REFERENCES], decoding={"beam": 4})
    translator = Translator.load(*runs, beam=4)
    plain, ranked = (
        [one.text for one in translator.translate(SENTENCES, **settings)]
        for settings in ({}, {"rerank": others, "rerank_weights": found.weights})
    )
    assert plain != [one.text for one in Translator.load(runs[0], beam=4).translate(SENTENCES)]
    assert found.before == pytest.approx(bleu(plain, [REFERENCES]).score)
    assert found.bleu == pytest.approx(bleu(ranked, [REFERENCES]).score)


def test_of_equal_weights_the_smallest_are_taken() -> None:
    counts = np.array([[bleu_statistics("the cat sat on", ["the cat sat on"])]])
    found = best_weights(np.zeros((1, 1, 3)), counts)
    assert found.weights == (0.0, 0.0) and found.bleu == found.before == pytest.approx(100)


def test_what_cannot_be_tuned_is_refused(trained: Trained) -> None:
    run, other = trained("rnn"), trained("rnn", *REVERSE)
    with pytest.raises(InputError, match=f"at most {MOST}"):
        tune([run], [other] * (MOST + 1), SENTENCES, references=[REFERENCES], decoding={})
    with pytest.raises(SettingsError, match=r"`decoding\.rerank: .*several hypotheses"):
        tune([run], [other], SENTENCES, references=[REFERENCES], decoding={"method": "greedy"})
    with pytest.raises(SettingsError, match=r"`decoding\.glossary` changes translations after .*tune without it"):
        tune([run], [other], SENTENCES, references=[REFERENCES], decoding={"glossary": ["terms.tsv"]})
    for name, value in (("rerank_weights", [0.1]), ("rerank", [str(other)])):
        with pytest.raises(SettingsError, match=rf"`decoding\.{name}` is what `dragoman tune`.*remove it"):
            tune([run], [other], SENTENCES, references=[REFERENCES], decoding={name: value})


def test_several_languages_into_one_are_refused(trained: Trained) -> None:
    train = "data.train=[{phrasebook: train, pairs: 9, languages: [en, vi]}, {phrasebook: train, pairs: 9, languages: [fr, vi]}]"
    dev = "data.dev=[{phrasebook: dev, pairs: 9, languages: [en, vi]}]"
    run = trained("rnn", "data.languages=[en, vi, fr]", train.replace("[fr, vi]", "[vi, vi]"), dev, "data.test=[]")
    with pytest.raises(InputError, match="translates in several directions"):
        tune([run], [trained("rnn", *REVERSE)], SENTENCES, references=[REFERENCES], decoding={"beam": 4})


@pytest.mark.parametrize("same", [True, False])
def test_reranking_and_glossary_of_the_recipe_take_no_part(same: bool, trained: Trained, tmp_path: Path) -> None:
    run, other = trained("rnn"), trained("rnn", *REVERSE)
    own = [str(other)] if same else ["gone", "too"]
    reranked = with_decoding(run, tmp_path / "run", rerank=own, rerank_weights=[9.0] * len(own))
    expected, found = (
        tune([one], [other], SENTENCES, references=[REFERENCES], decoding={"beam": 4}) for one in (run, reranked)
    )
    assert found == expected
    (tmp_path / "terms.tsv").write_text("cats\tsách\n", "utf-8")
    with_terms = with_decoding(run, tmp_path / "terms", glossary=[str(tmp_path / "terms.tsv")], glossary_beam=6)
    texts = [[one.text for one in Translator.load(each, beam=4).translate(SENTENCES)] for each in (run, with_terms)]
    assert texts[0] != texts[1]
    assert tune([with_terms], [other], SENTENCES, references=[REFERENCES], decoding={"beam": 4}) == expected
    greedy: dict[str, Any] = {"method": "greedy"}
    with pytest.raises(SettingsError, match=r"`decoding\.rerank: .*several hypotheses"):
        tune([reranked], [other], SENTENCES, references=[REFERENCES], decoding=greedy)
