"""An imported run names no corpora: what needs some says so in one sentence, all else works."""

from pathlib import Path

import pytest
from tests.pretrained.folders import Models
from tests.tiny import Trained, dragoman, recipe_file, refusal

from dragoman.jobs.train import fit
from dragoman.pretrained.job import import_model
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import load_recipe

SWAPPED = ("data.source=vi", "data.target=en")
LINES = {"en": "I love cats.\nThe dog runs.\n", "vi": "Tôi yêu mèo.\nCon chó chạy.\n"}


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """Sentences and their translations."""
    for language, lines in LINES.items():
        (tmp_path / f"test.{language}").write_text(lines, encoding="utf-8")
    return [tmp_path / f"test.{language}" for language in LINES]


def test_what_needs_corpora_is_refused(imported: Models, trained: Trained, tmp_path: Path) -> None:
    _, run, _ = imported("marian")
    out = tmp_path / "out"
    needs = r"was imported, so it names no corpora (`data.train`)"
    assert needs in refusal("shortlist", run) and not (run / "shortlist.safetensors").exists()
    assert needs in refusal("distill", run, "--out", out)
    assert needs in refusal("diversify", run, "--out", out)
    assert needs in refusal("diversify", trained("transformer"), "--original", run, "--out", out)
    assert "give sentences and their references with --on" in refusal("calibrate", run)
    before = open_run(run).weights.read_bytes()
    assert "train it further with `dragoman adapt`" in refusal("train", "--resume", run)
    assert "train it further with `dragoman adapt`" in refusal("train", run / "recipe.yaml", "--out", out)
    assert open_run(run).weights.read_bytes() == before and not (run / "metrics.jsonl").exists()
    assert not out.exists()


def test_what_needs_none_works(imported: Models, trained: Trained, texts: list[Path], tmp_path: Path) -> None:
    _, run, _ = imported("marian")
    short = ("--beam", "2", "--set", "maximum_length=9")
    assert dragoman("evaluate", run, *texts, *short).code == 0
    tuned = dragoman("tune", run, *texts, "--rerank", trained("transformer", *SWAPPED), *short)
    assert tuned.code == 0, tuned.errors
    back = dragoman("backtranslate", run, texts[0], "--out", tmp_path / "pairs.tsv", *short)
    assert back.code == 0, back.errors
    exported = dragoman("export", run, tmp_path / "export", "--quantization", "float32")
    assert exported.code == 0, exported.errors


def test_a_run_that_was_trained_on_has_corpora(imported: Models, tmp_path: Path) -> None:
    _, base, _ = imported("marian")
    data = [f'data.{part}=[{{"phrasebook": "{part}", "pairs": 40}}]' for part in ("train", "dev")]
    few = ("training.steps=2", "training.threads=1", "training.device=cpu", "decoding.maximum_length=9")
    fit(load_recipe(base / "recipe.yaml", (f"model.start_from.whole={base}", *few, *data)), tmp_path / "more")
    learned = dragoman("shortlist", tmp_path / "more")
    assert learned.code == 0, learned.errors
    student = recipe_file(tmp_path, "transformer", "training.steps=2")
    distilled = dragoman("distill", tmp_path / "more", "--recipe", student, "--out", tmp_path / "student")
    assert distilled.code == 0, distilled.errors
    assert len(dragoman("translate", tmp_path / "student", stdin="I love cats.\n").lines) == 1


def test_a_line_that_is_too_long_with_its_language_is_left_out(imported: Models, tmp_path: Path) -> None:
    folder, _, _ = imported("mbart50")
    import_model(str(folder), tmp_path / "run", languages=("en_XX", "vi_VN"))
    encode = open_run(tmp_path / "run").source.encode
    word = next(word for word in LINES["en"].lower().split() if len(encode(word)) == 1)
    longest = " ".join([word] * 127)
    assert len(encode(longest)) == 127
    (tmp_path / "text").write_text(f"{longest}\nI love cats.\n", encoding="utf-8")
    made = dragoman(
        "backtranslate", tmp_path / "run", tmp_path / "text", "--out", tmp_path / "pairs.tsv", "--beam", "1"
    )
    assert made.code == 0 and "1 with more tokens than the 128 positions of the run" in made.errors, made.errors
