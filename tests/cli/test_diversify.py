"""`dragoman diversify`."""

from pathlib import Path

from tests.tiny import Trained, dragoman, refusal

FORWARD = ("data.train.0.pairs=40", "text.size=150")


def test_the_recipe_is_the_only_result_and_can_be_trained(trained: Trained, tmp_path: Path) -> None:
    run, out = trained("rnn", *FORWARD), tmp_path / "made of two"
    found = dragoman("diversify", run, "--out", out, "--beam", 1)
    assert (found.code, found.lines) == (0, [str(out / "recipe.yaml")])
    assert "100%  40 of 40 sentences translated" in found.errors
    assert "All runs translate from en to vi, so only sources are translated." in found.errors
    assert f"dragoman train '{out / 'recipe.yaml'}' --out RUN" in found.errors
    learned = dragoman("train", out / "recipe.yaml", "--out", tmp_path / "run", "--set", "training.steps=2")
    assert learned.code == 0 and "kept" in learned.errors


def test_settings_that_it_would_not_read_are_refused(trained: Trained, tmp_path: Path) -> None:
    run, out = trained("rnn", *FORWARD), tmp_path / "made"
    assert "`decoding.n_best` has no effect on `dragoman diversify`" in refusal(
        "diversify", run, "--out", out, "--set", "n_best=2"
    )
    assert "there is no run folder none" in refusal("diversify", run, "none", "--out", out)
    assert not out.exists()
