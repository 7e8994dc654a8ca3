"""`dragoman grow`."""

from pathlib import Path

from tests.tiny import Trained, dragoman, refusal


def test_the_folder_is_the_result(trained: Trained, tmp_path: Path) -> None:
    base, text = trained("transformer", "data.train.0.both_ways=true"), tmp_path / "new.en"
    text.write_text("ʔ\n" * 2, encoding="utf-8")
    found = dragoman("grow", base, "--source", text, "--language", "lo", "--out", tmp_path / "run")
    assert (found.code, found.lines) == (0, [str(tmp_path / "run")])
    assert "1 character added: ʔ" in found.errors and "Language added: lo" in found.errors
    assert "dragoman adapt" in found.errors
    assert len(dragoman("translate", tmp_path / "run", "--to", "vi", stdin="I love cats. ʔ\n").lines) == 1


def test_nothing_to_add_is_refused(trained: Trained, tmp_path: Path) -> None:
    assert "nothing to add" in refusal("grow", trained("rnn"), "--out", tmp_path / "run")
    more = ("--source", tmp_path / "no.en", "--out", tmp_path / "run")
    assert "there is no file" in refusal("grow", trained("rnn"), *more)
    assert not (tmp_path / "run").exists()
