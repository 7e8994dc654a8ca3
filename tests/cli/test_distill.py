"""`dragoman distill`."""

import json
from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman, recipe_file

TEACHER = ("data.train.0.pairs=120", "decoding.maximum_ratio=1.0")


def test_the_folder_is_the_only_result_and_the_student_translates(trained: Trained, tmp_path: Path) -> None:
    student = recipe_file(tmp_path, "transformer", "training.steps=2")
    out = tmp_path / "run"
    found = dragoman("distill", trained("rnn", *TEACHER), "--recipe", student, "--out", out, "--n-best", 2, "--nearest")
    assert (found.code, found.lines) == (0, [str(out)])
    assert "100%  120 of 120 sentences translated" in found.errors
    assert f"Translate with: dragoman translate {out} < FILE" in found.errors
    assert len(dragoman("translate", out, stdin="I love cats.\n").lines) == 1


def test_a_student_of_several_directions_is_used_with_one_of_them(trained: Trained, tmp_path: Path) -> None:
    student = recipe_file(tmp_path, "transformer", "training.steps=1")
    teacher = trained("rnn", *TEACHER, "data.train.0.both_ways=true", "data.dev.0.both_ways=true")
    out = tmp_path / "to run"
    found = dragoman("distill", teacher, "--recipe", student, "--out", out, "--set", "teacher.beam=1")
    assert f"Translate with: dragoman translate '{out}' --to LANGUAGE < FILE" in found.errors


@pytest.mark.parametrize(("options", "beam"), [(("--set", "teacher.beam=4"), 4), ((), 3)])
def test_settings_of_the_teacher_s_search_are_its_own(
    options: tuple[object, ...], beam: int, trained: Trained, tmp_path: Path
) -> None:
    student = recipe_file(tmp_path, "transformer", "training.steps=2")
    teacher = trained("rnn", *TEACHER)
    assert dragoman("distill", teacher, "--recipe", student, "--out", tmp_path / "run", *options).code == 0
    about = json.loads((tmp_path / "run" / "distilled" / "teacher.json").read_text(encoding="utf-8"))
    assert about["decoding"]["beam"] == beam
    wrong = dragoman("distill", teacher, "--recipe", student, "--out", tmp_path / "no", "--set", "teacher.beams=3")
    assert wrong.code == 2 and "beams" in wrong.errors and not (tmp_path / "no").exists()


def test_ctrl_c_says_how_to_go_on(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dragoman.inference.translator.Translator.translate", interrupt)
    student = recipe_file(tmp_path, "transformer", "training.steps=2")
    found = dragoman("distill", trained("rnn", *TEACHER), "--recipe", student, "--out", tmp_path / "run")
    assert (found.code, found.output) == (130, "")
    assert "translations are saved" in found.errors and "--resume" in found.errors
