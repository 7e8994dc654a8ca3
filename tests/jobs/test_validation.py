"""What the dev corpora say of a language model; of a translator, `tests/end_to_end/test_validation.py` tells."""

import math
from dataclasses import replace

import pytest
import torch
from tests.tiny import Trained, recipe

from dragoman.data.corpus import Pair
from dragoman.errors import CorpusError, InputError
from dragoman.interfaces import BOS, EOS
from dragoman.jobs.validation import LanguageModelValidation, dev_pairs
from dragoman.models.seq2seq import Seq2Seq
from dragoman.runs.folder import open_run
from dragoman.special_ids import SpecialIds
from dragoman.text.codec import Codec
from dragoman.text.vocabulary import Vocabulary
from dragoman.text.words import Words
from dragoman.training.reports import MetricsFile

CPU = torch.device("cpu")
SENTENCES = ["I love cats.", "No.", "This is a book."]
PAIRS = [Pair(text, text, "here") for text in SENTENCES]


def test_the_loss_of_a_decoder_only_model_is_the_mean_over_all_tokens(trained: Trained) -> None:
    run = open_run(trained("decoder_only"))
    model = run.load_any(CPU)
    assert isinstance(model, Seq2Seq)
    total, count = 0.0, 0
    for text in SENTENCES:
        ids = torch.tensor([[BOS, *run.target.encode(text), EOS]])
        state = model.decoder.start(model.encoder(LanguageModelValidation(run, model, PAIRS[:1]).batches[0].source))
        with torch.no_grad():
            logits = model.decoder(ids[:, :-1], state)[0].logits
        total += torch.nn.functional.cross_entropy(logits[0], ids[0, 1:], reduction="sum").item()
        count += ids.shape[1] - 1
    found = LanguageModelValidation(run, model, PAIRS)(model)
    assert found == {"dev_loss": pytest.approx(total / count, rel=1e-4)}


def test_a_masked_language_model_meets_the_same_blanks_at_every_call(trained: Trained) -> None:
    run = open_run(trained("masked_lm"))
    model = run.load_any(CPU)
    first, second = LanguageModelValidation(run, model, PAIRS), LanguageModelValidation(run, model, PAIRS)
    state = torch.get_rng_state()
    assert first(model) == first(model) == second(model)
    assert torch.equal(torch.get_rng_state(), state)
    assert 0 < first(model)["dev_loss"] < 2 * math.log(len(run.source))


def test_language_models_learn(trained: Trained) -> None:
    for kind in ("masked_lm", "decoder_only"):
        losses = [row["dev_loss"] for row in MetricsFile(trained(kind) / "metrics.jsonl").read() if "dev_loss" in row]
        assert losses[-1] < losses[0]


@pytest.mark.parametrize("kind", ["masked_lm", "decoder_only"])
def test_a_dev_sentence_longer_than_the_positions_is_refused(trained: Trained, kind: str) -> None:
    run = open_run(trained(kind, "model.positions=learned", "model.max_positions=60"))
    long = Pair("cats " * 70, "cats " * 70, "here")
    with pytest.raises(InputError, match=r"dev sentence 2 has \d+ tokens \(with </s>\), more than the 60 positions"):
        LanguageModelValidation(run, run.load_any(CPU), [PAIRS[0], long])


@pytest.mark.parametrize("kind", ["masked_lm", "decoder_only"])
def test_dev_batches_are_padded_as_the_vocabulary_says(trained: Trained, kind: str) -> None:
    run = open_run(trained(kind))
    pieces = ["<s>", "</s>", "<unk>", "I", "love", "cats", "<pad>"]
    codec = Codec(Words(Vocabulary(pieces, SpecialIds(pad=6, bos=0, eos=1, unk=2, mask=0))))
    other = LanguageModelValidation(replace(run, source=codec, target=codec), run.load_any(CPU), PAIRS)
    (batch,) = other.batches
    ends = (batch.source.ids == 1).int().argmax(1)
    after = torch.arange(batch.source.ids.shape[1]) > ends[:, None]
    assert after.any() and (batch.source.ids[after] == 6).all() and (batch.target.ids[:, 0] == 0).all()


def test_a_dev_corpus_that_has_no_part_in_validation_is_named() -> None:
    heard: list[str] = []
    corpora = "data.dev=[{phrasebook: dev, pairs: 30}, {phrasebook: test, pairs: 30}]"
    assert len(dev_pairs(recipe("rnn", corpora, "training.validate_sentences=31"), heard.append)) == 31 and not heard
    dev_pairs(recipe("rnn", corpora, "training.validate_sentences=30"), heard.append)
    (said,) = heard
    assert "uses no pair of phrasebook test" in said and "all 30" in said and "training.validate_sentences" in said


def test_a_dev_corpus_of_which_nothing_is_held_out_is_refused() -> None:
    held = "data.dev=[{phrasebook: dev, pairs: 20, hold_out: {modulo: 1000000000, keep: held}}]"
    with pytest.raises(CorpusError, match=r"the dev corpus has no pairs; .* a smaller `hold_out.modulo`"):
        dev_pairs(recipe("rnn", held))
