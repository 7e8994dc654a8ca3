"""Minimum Bayes risk: the candidate most similar to all others is chosen."""

import json
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from tests.tiny import Trained, dragoman, refusal

from dragoman.decoding.hypotheses import Hypothesis
from dragoman.errors import InputError, SettingsError
from dragoman.inference.ctranslate2.search import obstacle
from dragoman.inference.minimum_risk import least_risk
from dragoman.inference.translator import Translator

SENTENCES = ["I love cats.", "", "This is a book.", "She will go to school tomorrow."]
METRICS = {"chrf": CHRF(), "bleu": BLEU(effective_order=True)}


def test_the_most_similar_comes_first_and_texts_are_not_repeated() -> None:
    words = {1: "the cat", 2: "the cat", 3: "a dog", 4: "the cap"}
    candidates = [Hypothesis([number], -float(number), 0.0) for number in (3, 1, 2, 4)]
    found = least_risk(candidates, lambda ids: words[ids[0]], utility="chrf", n_best=5)
    assert [one.ids for one in found] == [[1], [4], [3]]
    assert found[0].log_prob == -1.0 and 1 >= found[0].score > found[1].score > found[2].score > 0


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_it_is_the_best_of_beam_and_samples_by_sacrebleu(trained: Trained, kind: str, utility: str) -> None:
    translator = Translator.load(trained(kind), beam=3)
    found = translator.translate(SENTENCES, mbr_samples=6, mbr_utility=utility, n_best=2, seed=5)
    beams = translator.translate(SENTENCES, n_best=3)
    drawn = translator.translate(SENTENCES, method="sample", n_best=6, seed=5)
    for one, beam, samples in zip(found, beams, drawn, strict=True):
        texts = [other.text for best in (beam, samples) for other in (best, *best.alternatives) if best.text]
        if not texts:
            assert one.text == ""
            continue
        scores = {
            text: sum(METRICS[utility].sentence_score(text, [other]).score for other in texts) / len(texts)
            for text in texts
        }
        assert scores[one.text] == pytest.approx(max(scores.values()))
        assert one.score == pytest.approx(max(scores.values()) / 100)
        assert [other.score for other in one.alternatives] == sorted((o.score for o in one.alternatives), reverse=True)


def test_a_sentence_does_not_depend_on_the_others(trained: Trained) -> None:
    translator = Translator.load(trained("transformer"), mbr_samples=4)
    together = translator.translate(SENTENCES)
    alone = [translator.translate([text], first=number)[0] for number, text in enumerate(SENTENCES, 1)]
    assert [one.text for one in together] == [one.text for one in alone]


def test_commands_offer_it(trained: Trained, tmp_path: Path) -> None:
    text = "".join(f"{sentence}\n" for sentence in SENTENCES)
    run = trained("rnn")
    lines = [json.loads(line) for line in dragoman("translate", run, "--mbr", "--json", stdin=text.encode()).lines]
    expected = Translator.load(run, mbr_samples=32).translate(SENTENCES)
    assert [line["translation"] for line in lines] == [one.text for one in expected]
    assert all(0 <= line["score"] <= 1 for line in lines)
    for side in ("en", "vi"):
        (tmp_path / f"a.{side}").write_text(text, encoding="utf-8")
    options = ("--mbr", "--set", "mbr_samples=3", "--output", tmp_path / "out")
    assert dragoman("evaluate", run, tmp_path / "a.en", tmp_path / "a.vi", *options).code == 0
    few = Translator.load(run, mbr_samples=3).translate(SENTENCES)
    assert (tmp_path / "out").read_text(encoding="utf-8").split("\n")[:-1] == [one.text for one in few]


def test_what_does_not_apply_is_refused(trained: Trained) -> None:
    run = trained("rnn")
    assert "`decoding.mbr_samples` does not work with `decoding.method: sample`" in refusal(
        "translate", run, "--set", "method=sample", "--mbr"
    ).replace(": 32", "")
    with pytest.raises(SettingsError, match="mbr_utility"):
        Translator.load(run, mbr_utility="bleu")
    with pytest.raises(InputError, match="lower `decoding"):
        Translator.load(run, mbr_samples=10**12)
    assert obstacle(Translator.load(run, mbr_samples=2).settings) == "`decoding.mbr_samples`"
