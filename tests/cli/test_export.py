"""`dragoman export`."""

from pathlib import Path

from tests.tiny import Trained, dragoman, refusal

SOURCES = ["I love cats.", "", "The cat sits on the mat near the old school."]


def test_the_command_exports_and_the_export_translates(trained: Trained, tmp_path: Path):
    run = trained("transformer")
    found = dragoman("export", run, tmp_path / "out", "--to", "ctranslate2", "--quantization", "float32")
    assert (found.code, found.lines) == (0, [str(tmp_path / "out")])
    assert "100% of 20 sentences" in found.errors
    lines = "".join(f"{one}\n" for one in SOURCES)
    own = dragoman("translate", run, "--engine", "torch", stdin=lines)
    assert dragoman("translate", tmp_path / "out", stdin=lines).lines == own.lines


def test_a_search_that_an_export_cannot_do_is_refused_and_can_be_changed(trained: Trained, tmp_path: Path):
    run = trained("transformer", "decoding.no_repeat_ngram=3")
    assert "`decoding.no_repeat_ngram` with a beam" in refusal("export", run, tmp_path / "out")
    assert not any(tmp_path.iterdir())
    made = dragoman("export", run, tmp_path / "out", "--quantization", "float32", "--set", "no_repeat_ngram=0")
    assert made.code == 0
    own = dragoman("translate", run, "--engine", "torch", "--set", "no_repeat_ngram=0", stdin=SOURCES[0])
    assert dragoman("translate", tmp_path / "out", stdin=SOURCES[0]).lines == own.lines
    assert "choose it with --quantization" in refusal("export", run, "--set", "precision=int8")
    assert "`--set` works only with" in refusal("export", run, "--to", "huggingface", "--set", "beam=2")


def test_a_model_that_cannot_be_expressed_is_refused(trained: Trained, tmp_path: Path):
    assert "a model of the kind `rnn`" in refusal("export", trained("rnn"), tmp_path / "out")
    assert not any(tmp_path.iterdir())
