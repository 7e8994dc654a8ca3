"""The proof of an export tells mistakes from rounding. That it finds mistakes is tested with the export itself."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.tiny import Trained

from dragoman.data.collate import collate
from dragoman.data.corpus import Pair
from dragoman.errors import ExportError
from dragoman.pretrained import huggingface_proof
from dragoman.pretrained.huggingface import export
from dragoman.pretrained.huggingface_proof import Loaded, can_be_proved, largest_difference, prove
from dragoman.pretrained.huggingface_weights import layout_of
from dragoman.runs.folder import open_run

PAIR = Pair("I love cats.", "Tôi yêu mèo.", "here")


def test_it_needs_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_be_proved()
    monkeypatch.setattr(huggingface_proof, "find_spec", lambda name: None)
    assert not can_be_proved()


def test_rounding_is_told_from_mistakes_in_float64(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run(trained("transformer", "model.norm=post"))
    folder, proof = export(run.folder, tmp_path / "out")
    layout = layout_of(run.recipe.model, len(run.source), len(run.target))  # type: ignore[arg-type]
    original = largest_difference
    seen: list[torch.dtype] = []

    def rounded(model: Any, other: Loaded, batches: Any) -> float:
        seen.append(other.model.dtype)
        return 1.0 if other.model.dtype == torch.float32 else original(model, other, batches)

    monkeypatch.setattr(huggingface_proof, "largest_difference", rounded)
    assert proof is not None and prove(run, folder, layout, pairs=[PAIR]).difference < 1e-5
    assert seen == [torch.float32, torch.float64]
    monkeypatch.setattr(huggingface_proof, "largest_difference", lambda *_: float("nan"))
    with pytest.raises(ExportError, match="logits differ by nan"):
        prove(run, folder, layout, pairs=[PAIR])


def test_only_ties_may_be_broken_otherwise(trained: Trained) -> None:
    run = open_run(trained("transformer"))
    model = run.load_model(torch.device("cpu"))
    batch = collate([(run.source.encode(PAIR.source), [])])
    order = model(batch.source, batch.inputs).logits[0, 0].argsort(descending=True).tolist()
    with torch.no_grad():
        model.decoder.embedding.weight[order[1]] = model.decoder.embedding.weight[order[0]]  # type: ignore[union-attr,operator,index]
    tied = huggingface_proof._tied
    assert tied(run, model, PAIR, own=[order[0]], other=[order[1]])
    assert not tied(run, model, PAIR, own=[order[0]], other=[order[-1]])


def test_equally_probable_tokens_are_accepted_from_a_unigram_model_alone(trained: Trained) -> None:
    unigram = open_run(trained("transformer", "text.algorithm=unigram", "text.size=250")).source
    bpe = open_run(trained("transformer")).source
    equal = huggingface_proof._equally_probable
    ids = unigram.encode("I love cats.")
    assert equal(unigram, ids, ids) and not equal(unigram, ids[1:], ids)
    assert not equal(bpe, bpe.encode("No."), bpe.encode("No."))
