"""The dev BLEU of training is the BLEU of `evaluate`."""

import json
from pathlib import Path

import pytest
from tests.tiny import MODELS, Trained, dragoman

from dragoman.data.phrasebook import derive
from dragoman.training.reports import MetricsFile

SAME_LIMITS = ("--beam", 1, "--set", "maximum_ratio=1.5", "--set", "maximum_extra=10", "--set", "minimum_length=0")


@pytest.mark.parametrize("settings", [(), ("training.steps=2",)], ids=["ends by itself", "ends at the limit"])
@pytest.mark.parametrize("model", MODELS)
def test_dev_bleu_is_what_evaluate_says_of_the_same_weights(trained: Trained, tmp_path: Path, model, settings):
    run = trained(model, *settings)
    examples = derive("vi", "train", 20, seed=2)
    for name, lines in (("dev.en", [e.source for e in examples]), ("dev.vi", [e.target for e in examples])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    records = [record for record in MetricsFile(run / "metrics.jsonl").read() if "dev_bleu" in record]
    best = max(records, key=lambda record: (record["dev_bleu"], -record["dev_loss"]))
    files = (tmp_path / "dev.en", tmp_path / "dev.vi")
    found = json.loads(dragoman("evaluate", run, *files, *SAME_LIMITS, "--json").output)
    assert found["bleu"]["score"] == pytest.approx(best["dev_bleu"], abs=1e-4)
    each = [float(line) for line in dragoman("score", run, *files).lines]
    tokens = [float(line) for line in dragoman("score", run, *files, "--per-token").lines]
    count = sum(round(one / per_token) for one, per_token in zip(each, tokens, strict=True))
    assert -sum(each) / count == pytest.approx(best["dev_loss"], abs=1e-4)
