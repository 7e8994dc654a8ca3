"""The model card says what is known of a run, and no more."""

import json
from dataclasses import replace
from pathlib import Path

import yaml
from tests.tiny import Trained

from dragoman.pretrained.huggingface_weights import Layout
from dragoman.pretrained.model_card import SCORES, model_card
from dragoman.pretrained.proof import Proof
from dragoman.runs.folder import Run, open_run

PROOF = Proof("transformers 5", 2.5e-7, 40, 1.0, 1.0)
LAYOUT = Layout("marian", 300, 0)


def run_of(trained: Trained, folder: Path, *changes: str) -> Run:
    """Return a run with scores and the checksum of a file."""
    table = {"data/test.en": {"bleu": {"score": 41.237, "signature": "nrefs:1|tok:13a"}}}
    (folder / SCORES).write_text(json.dumps(table), encoding="utf-8")
    run = open_run(trained("transformer", *changes))
    return replace(run, folder=folder, manifest={**run.manifest, "data": {"/home/me/corpus/train.en": "6a58"}})


def test_it_tells_where_the_run_comes_from(trained: Trained, tmp_path: Path) -> None:
    card = model_card(run_of(trained, tmp_path), LAYOUT, "cc-by-4.0", proof=PROOF)
    front = yaml.safe_load(card.split("---")[1])
    assert (front["license"], front["language"], front["library_name"]) == ("cc-by-4.0", ["en", "vi"], "transformers")
    assert "| corpus/train.en | `6a58` |" in card and "/home" not in card
    assert "| data/test.en | bleu | 41.24 | `nrefs:1\\|tok:13a` |" in card
    assert "Verified with transformers 5: logits differ by at most 2.5e-07" in card and "100% of 40 sentences" in card
    assert "begins translations with a vector of zeros" in card
    assert "AutoModelForSeq2SeqLM.from_pretrained" in card and "{" not in card


def test_it_says_what_is_not_known(trained: Trained, tmp_path: Path) -> None:
    run = run_of(trained, tmp_path)
    (tmp_path / SCORES).write_text("[]", encoding="utf-8")
    card = model_card(replace(run, manifest={}), replace(LAYOUT, form="pegasus"), None, proof=None)
    assert "No licence was given" in card and "license" not in card
    assert "Not verified" in card and "The run has none" in card and "Not recorded" in card
    assert "begins translations with the padding token" in card


def test_it_names_what_differs(trained: Trained, tmp_path: Path) -> None:
    run = run_of(trained, tmp_path, "text.algorithm=unigram", "text.size=250")
    card = model_card(run, replace(LAYOUT, offset=250), None, proof=PROOF)
    for what in ("Wu et al. 2016", "target tokens begin at 250", "equally probable up to rounding"):
        assert what in card
    assert "searches without" not in card


def test_it_names_what_the_search_of_the_run_has_more(trained: Trained, tmp_path: Path) -> None:
    run = run_of(trained, tmp_path)
    decoding = run.recipe.decoding.model_copy(update={"mbr_samples": 8, "dictionary": Path("words.txt")})
    card = model_card(
        replace(run, recipe=run.recipe.model_copy(update={"decoding": decoding})), LAYOUT, None, proof=PROOF
    )
    assert "`transformers` searches without the run's `mbr_samples`, `dictionary`, which it does not have." in card
