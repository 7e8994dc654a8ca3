"""The passes, against plain loops over the definitions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.tiny import MODELS, Trained

from dragoman.data.collate import collate
from dragoman.errors import InputError
from dragoman.inference.confidence.evidence import Evidence, PassSettings, gather, without_word
from dragoman.inference.translator import Translator
from dragoman.layers.dropout import dropout_rates, switch_dropout
from dragoman.metrics.scores import sentence_chrf

SOURCES = ["I love cats.", "The cat sits on the mat - near the old school.", "No."]
TARGETS = ["Tôi yêu mèo.", "Con mèo ngồi trên tấm thảm.", "Không."]


def observed(run: Path, passes: PassSettings, **decoding: object) -> tuple[Translator, list[Evidence]]:
    """Gather the evidence of the given translations."""
    translator = Translator.load(run, **decoding)
    return translator, gather(translator, translator.requests(SOURCES, TARGETS), passes)


@pytest.mark.parametrize("model", MODELS)
def test_log_probabilities_and_entropies_are_those_of_the_distributions(trained: Trained, model: str) -> None:
    translator, found = observed(trained(model), PassSettings(erasure=False))
    for source, target, one in zip(SOURCES, TARGETS, found, strict=True):
        batch = collate([(translator.source.encode(source), translator.target.encode(target))])
        with torch.inference_mode():
            logits = translator.models[0](batch.source, batch.inputs).logits[0].double()
        probabilities = (logits.exp() / logits.exp().sum(-1, keepdim=True)).numpy()
        labels = batch.labels[0].tolist()
        assert one.log_probs == pytest.approx(
            [np.log(row[label]) for row, label in zip(probabilities, labels, strict=True)], abs=1e-3
        )
        assert one.entropies == pytest.approx([-(row * np.log(row)).sum() for row in probabilities], abs=1e-3)
        assert (one.erased, one.dropped, one.agreement, one.reverse) == (None, None, None, None)
        assert one.attention is not None and one.attention.shape == (len(labels), len(source.split()))
        (seen,) = translator.attention_maps([source], [target])
        assert one.attention.sum(1) == pytest.approx(1 - seen.mean()[:, -1].numpy(), abs=1e-4), "the rest is on </s>"


def test_words_of_the_translation_are_those_given_also_where_the_vocabulary_lacks_them(trained: Trained) -> None:
    translator = Translator.load(trained("transformer"))
    (found,) = gather(
        translator, translator.requests(["I love cats."], ["Tôi yêu 12000 ☃."]), PassSettings(erasure=False)
    )
    assert "12000" not in translator.target.decode(translator.target.encode("12000"))
    assert found.target == ("Tôi", "yêu", "12000", "☃.")


@pytest.mark.parametrize("model", MODELS)
def test_erasure_scores_the_translation_without_each_word(trained: Trained, model: str) -> None:
    translator, found = observed(trained(model), PassSettings())
    (one,) = (found[number] for number, source in enumerate(SOURCES) if " - " in source)
    words, target = SOURCES[1].split(), TARGETS[1]
    assert one.erased is not None and one.source == tuple(words)
    for number, word in enumerate(words):
        if word == "-":
            assert np.isnan(one.erased[number]).all()
            continue
        rest = [other for place, other in enumerate(words) if place != number]
        left = " ".join(rest) + "." if word == "school." else " ".join(rest)
        if translator.source.encode(left) != without_word(translator.source, SOURCES[1], number):
            continue  # cut otherwise, as a text of its own
        without, whole = translator.score_tokens([left, SOURCES[1]], [target, target])
        expected = np.array(whole.token_log_probs) - np.array(without.token_log_probs)
        assert one.erased[number] == pytest.approx(expected, abs=1e-3)
    assert one.gains[0] == pytest.approx(one.erased[0].sum())
    bare = without_word(translator.source, SOURCES[1], None)
    assert bare is not None
    known = [index for index in bare if index != translator.source.special.unk]
    assert not any(sign.isalnum() for sign in translator.source.decode(known))
    (request,) = translator.requests(SOURCES[1:2], [target])
    (empty,) = translator.engine.score([replace(request, sources=(bare,))], translator.settings)
    (whole,) = translator.engine.score([request], translator.settings)
    assert one.emptied == pytest.approx(np.array(whole.token_log_probs) - np.array(empty.token_log_probs), abs=1e-3)
    assert one.support.min() >= 0 and one.support.max() == pytest.approx(max(np.nanmax(one.erased), 0))


def test_only_letters_and_digits_of_a_word_are_erased(trained: Trained) -> None:
    codec = Translator.load(trained("transformer")).source
    ids = without_word(codec, "I love cats.", 2)
    assert ids is not None and codec.decode(ids).replace(" ", "") == "Ilove."
    assert without_word(codec, "a - b", 1) is None


def test_dropout_passes_differ_and_depend_on_the_pair_alone(trained: Trained) -> None:
    run = trained("transformer")
    translator, found = observed(run, PassSettings(erasure=False, dropout=4))
    torch.manual_seed(99)
    before = torch.get_rng_state()
    alone = gather(translator, translator.requests(SOURCES[1:2], TARGETS[1:2]), PassSettings(erasure=False, dropout=4))
    assert torch.equal(before, torch.get_rng_state())
    assert found[1].dropped is not None and alone[0].dropped is not None
    assert len(set(found[1].dropped.tolist())) == 4
    assert alone[0].dropped == pytest.approx(found[1].dropped, abs=1e-4)
    assert not any(module.training for model in translator.models for module in model.modules())


@pytest.mark.parametrize("models", [1, 2])
def test_where_nothing_is_dropped_each_pass_gives_the_mean_log_probability(trained: Trained, models: int) -> None:
    translator = Translator.load(*[trained("transformer")] * models)
    for model in translator.models:
        switch_dropout(dropout_rates(model), on=False)
    passes = PassSettings(erasure=False, dropout=2)
    (one,) = gather(translator, translator.requests(SOURCES[1:2], TARGETS[1:2]), passes)
    assert one.dropped == pytest.approx(np.full(2, one.log_probs.mean()), abs=1e-4)


def test_agreement_is_the_mean_chrf_with_samples(trained: Trained) -> None:
    run = trained("rnn")
    _, found = observed(run, PassSettings(erasure=False, samples=3))
    (drawn,) = Translator.load(run, method="sample", n_best=3).translate(SOURCES[:1])
    scores = [sentence_chrf(TARGETS[0], one.text) / 100 for one in (drawn, *drawn.alternatives)]
    assert found[0].agreement == pytest.approx(sum(scores) / 3, abs=1e-3)


@pytest.mark.parametrize("models", [("rnn",), ("transformer", "rnn")])
def test_other_sources_score_the_translation_and_the_own_one_is_not_among_them(
    trained: Trained, models: tuple[str]
) -> None:
    translator = Translator.load(*(trained(model) for model in models))
    requests = translator.requests(SOURCES, TARGETS)
    found = gather(translator, requests, PassSettings(erasure=False), others=[SOURCES[2], SOURCES[0]])
    for row, others in enumerate([SOURCES[2:], [SOURCES[2], SOURCES[0]], SOURCES[:1]]):
        expected = [one.token_log_probs for one in translator.score_tokens(others, [TARGETS[row]] * len(others))]
        foreign = found[row].foreign
        assert foreign is not None and foreign == pytest.approx(np.array(expected), abs=1e-3)
    (alone,) = gather(translator, requests[:1], PassSettings(erasure=False), others=SOURCES[:1])
    assert alone.foreign is None


def test_the_reverse_run_scores_the_source(trained: Trained) -> None:
    back = Translator.load(trained("transformer", "data.source=vi", "data.target=en"))
    translator = Translator.load(trained("transformer"))
    requests = translator.requests(SOURCES, TARGETS)
    found = gather(translator, requests, PassSettings(erasure=False), reverse=back)
    expected = [total / length for total, length in back.score(TARGETS, SOURCES)]
    assert [one.reverse for one in found] == pytest.approx(expected, abs=1e-4)


def test_a_pair_that_the_reverse_run_cannot_read_is_quoted_with_its_name(trained: Trained) -> None:
    short = ("model.positions=learned", "model.max_positions=40")
    back = Translator.load(run := trained("transformer", "data.source=vi", "data.target=en", *short))
    translator = Translator.load(trained("transformer"))
    requests = translator.requests([*SOURCES, "cats " * 60], [*TARGETS, "Mèo."])
    said = rf"{run.name} cannot score `Mèo\.` as a translation of `cats cats.*`: target sentence 1 .*40 positions"
    with pytest.raises(InputError, match=said):
        gather(translator, requests, PassSettings(erasure=False), reverse=back)


@pytest.mark.parametrize("model", MODELS)
def test_company_does_not_change_evidence(trained: Trained, model: str) -> None:
    passes = PassSettings(samples=2, dropout=2)
    translator, together = observed(trained(model), passes)
    requests = translator.requests(SOURCES, TARGETS)
    for request, one in zip(requests, together, strict=True):
        (alone,) = gather(translator, [request], passes)
        assert alone.log_probs == pytest.approx(one.log_probs, abs=1e-4)
        assert alone.gains == pytest.approx(one.gains, abs=1e-3, nan_ok=True)
        assert alone.agreement == pytest.approx(one.agreement, abs=1e-6)


def test_an_ensemble_erases_a_word_from_each_models_source(trained: Trained) -> None:
    runs = [trained("transformer"), trained("rnn")]
    translator = Translator.load(*runs)
    (one,) = gather(translator, translator.requests(SOURCES[:1], TARGETS[:1]), PassSettings())
    assert one.erased is not None and not np.isnan(one.erased).any()
    assert one.entropies.min() > 0
