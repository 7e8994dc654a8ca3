"""What all peers are given: pairs, pieces and batches are the same every time, and the work counted is the model's."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from benchmarks.speed.corpus import DEV_FILES, FILES, cut, folder_of, generated, prepare, read_pairs
from benchmarks.speed.parts.train import MODEL, cost, described
from benchmarks.speed.peers import hand

from dragoman.data.collate import collate
from dragoman.errors import InputError
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.training.flops import counting
from dragoman.training.objectives import translation_loss


def test_generated_pairs_are_the_same_every_time_and_as_long_as_captions() -> None:
    pairs = list(generated(500, seed=1))
    assert pairs == list(generated(500, seed=1)) != list(generated(500, seed=2))
    lengths = [len(source.split()) for source, _ in pairs]
    assert 11 < sum(lengths) / len(lengths) < 13 and min(lengths) >= 3


def test_a_corpus_is_prepared_once(tmp_path: Path) -> None:
    first = prepare(tmp_path, None, size=300, tokens=400, most=300)
    made = first.batches.stat().st_mtime_ns
    assert prepare(tmp_path, None, size=300, tokens=400, most=300) == first
    assert first.batches.stat().st_mtime_ns == made
    pieces = (first.folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert pieces[:4] == ["<pad>", "<s>", "</s>", "<unk>"] and len(pieces) == first.vocabulary == 300
    batches = first.read()
    assert all(3 < number < 300 for batch in batches for ids in batch["source"] + batch["target"] for number in ids)
    assert described(batches)["padding"] < 0.1


def test_batches_are_full() -> None:
    encoded = [([5] * (4 + at % 3), [6] * (5 + at % 3)) for at in range(200)]
    for batch in cut(encoded, 200):
        assert 200 < sum(len(side) + 1 for name in ("source", "target") for side in batch[name]) <= 400


@pytest.mark.parametrize("length", [4, 40])
def test_the_work_of_a_step_is_what_torch_counts_without_padding(length: int) -> None:
    sizes = {**MODEL, "width": 64, "feed_forward": 128, "heads": 2, "layers": 2, "vocabulary": 300, "dropout": 0.0}
    settings = TransformerSettings(
        width=64, feed_forward=128, heads=2, encoder_layers=2, decoder_layers=2, dropout=0.0, norm="post"
    )
    model = build_model(settings, Vocabularies(300, 300, shared=True))
    pairs = [([5] * length, [6] * length)] * 8
    with counting() as count:
        translation_loss(model, collate(pairs)).total.backward()
    torch.testing.assert_close(
        cost({"source": [pairs[0][0]] * 8, "target": [pairs[0][1]] * 8}, sizes), float(count.flops), rtol=0.05, atol=0
    )


def test_a_folder_given_is_taken_as_it_is_or_its_first_pairs(tmp_path: Path) -> None:
    made = folder_of(tmp_path, None, train=50, dev=10)
    assert len(read_pairs(made, FILES)) == 50 and len(read_pairs(made, DEV_FILES)) == 10
    assert not set(read_pairs(made, FILES)) & set(read_pairs(made, DEV_FILES))
    assert folder_of(tmp_path, made) == made
    fewer = folder_of(tmp_path, made, train=20, dev=5)
    assert read_pairs(fewer, FILES) == read_pairs(made, FILES)[:20]
    assert read_pairs(fewer, DEV_FILES) == read_pairs(made, DEV_FILES)[:5]
    (made / "val.fr.gz").unlink()
    with pytest.raises(InputError, match=r"val\.en\.gz and val\.fr\.gz"):
        folder_of(tmp_path, made)


def test_a_fitting_ends_with_its_time_and_its_rate_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(hand, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    batches = [{"source": [[5] * at], "target": [[5, 6]]} for at in range(4)]
    fitting = hand.Fitting(batches, {"seconds": 10.0, "learning_rate": 2.0, "warm": 2})
    seen, rates = [], []
    for batch in fitting:
        seen.append(len(batch["source"][0]))
        rates.append(fitting.rate)
        now[0] += 1.25
    assert len(seen) == 8 and sorted(seen[:4]) == sorted(seen[4:]) == [0, 1, 2, 3]
    assert rates == pytest.approx([1.0, 1.75, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25])
    assert fitting.rate == 0.0
    assert fitting.numbers() == {"seconds": 10.0, "source": 20, "target": 24, "steps": 8, "epochs": 2.0}


def test_a_translation_ends_before_its_first_end() -> None:
    assert hand.ended([1, 7, 8, hand.EOS, 9]) == [7, 8] and hand.ended([7, 0]) == [7]
