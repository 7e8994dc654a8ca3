"""`dragoman align`."""

import shutil
from pathlib import Path

import pytest
from tests.tiny import MODELS, Trained, dragoman, refusal

ENGLISH = "I love cats .\n\nThis is a book .\n"
VIETNAMESE = "Tôi yêu mèo .\n\nĐây là sách .\n"
GOLD = "0-0 1-1 2-2\n\n0-0 1p1 3-2\n"


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Write a text, its translation, and its gold links."""
    paths = (tmp_path / "a.en", tmp_path / "a.vi", tmp_path / "a.gold")
    for path, text in zip(paths, (ENGLISH, VIETNAMESE, GOLD), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


@pytest.fixture
def reverse(trained: Trained, tmp_path: Path) -> Path:
    """Return a run of the other direction: one that has the languages and the codecs of another swapped."""
    run = shutil.copytree(trained("rnn", "text.joint=true"), tmp_path / "reverse")
    recipe = run / "recipe.yaml"
    text = recipe.read_text(encoding="utf-8").replace("  source: en\n  target: vi\n", "  source: vi\n  target: en\n")
    recipe.write_text(text, encoding="utf-8")
    return run


def pairs(lines: list[str]) -> list[set[tuple[int, ...]]]:
    """Read links."""
    return [{tuple(map(int, link.split("-"))) for link in line.split()} for line in lines]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("options", [(), ("--shift",), ("--layer", 1, "--head", 1)])
def test_align_links_every_target_word(trained: Trained, texts: tuple[Path, ...], model: str, options: tuple[object]):
    found = dragoman("align", trained(model), *texts[:2], *options)
    assert (found.code, found.errors) == (0, "")
    assert [sorted(j for _, j in links) for links in pairs(found.lines)] == [[0, 1, 2, 3], [], [0, 1, 2, 3]]


def test_two_runs_are_joined(trained: Trained, texts: tuple[Path, ...], reverse: Path):
    run = trained("rnn")
    forward = pairs(dragoman("align", run, *texts[:2]).lines)
    backward = [{(i, j) for j, i in links} for links in pairs(dragoman("align", reverse, texts[1], texts[0]).lines)]
    for how, expected in (
        ("union", [one | two for one, two in zip(forward, backward, strict=True)]),
        ("intersection", [one & two for one, two in zip(forward, backward, strict=True)]),
    ):
        joined = dragoman("align", run, *texts[:2], "--reverse", reverse, "--symmetrise", how)
        assert (joined.code, pairs(joined.lines)) == (0, expected)
    usual = pairs(dragoman("align", run, *texts[:2], "--reverse", reverse).lines)
    for low, found, one, two in zip(expected, usual, forward, backward, strict=True):
        assert low <= found <= one | two


def test_layer_and_head_are_chosen_for_both_directions(trained: Trained, texts: tuple[Path, ...], reverse: Path):
    run = trained("transformer")
    found = dragoman("align", run, *texts[:2], "--reverse", reverse, "--choose-on", *texts)
    assert found.code == 0 and len(found.lines) == 3
    first, second, _ = found.errors.split("\n")
    assert first.startswith(f"{run}: ") and second.startswith(f"{reverse}: ")
    assert "shifted (alignment error rate 0." in first


def test_a_layer_that_is_not_there_is_refused(trained: Trained, texts: tuple[Path, ...]):
    sentence = refusal("align", trained("transformer"), *texts[:2], "--layer", 3)
    assert sentence == "there is no layer 3; this model has 2, counted from 1"


def test_options_that_do_not_go_together_are_refused(trained: Trained, texts: tuple[Path, ...]):
    chosen = refusal("align", trained("rnn"), *texts[:2], "--choose-on", *texts, "--shift")
    assert all(option in chosen for option in ("--choose-on", "--layer", "--head", "--shift"))
    alone = refusal("align", trained("rnn"), *texts[:2], "--symmetrise", "union")
    assert "--symmetrise" in alone and "--reverse" in alone
    same = refusal("align", trained("rnn"), *texts[:2], "--reverse", trained("rnn"))
    assert "the reverse run must translate from vi to en, but it translates from en to vi" in same


def test_files_of_different_length_are_refused(trained: Trained, texts: tuple[Path, ...], tmp_path: Path):
    (tmp_path / "short").write_text("0-0\n", encoding="utf-8")
    wrong = f"{texts[0]} has 3 lines but {tmp_path / 'short'} has 1; the files must match line by line"
    assert refusal("align", trained("rnn"), *texts[:2], "--choose-on", *texts[:2], tmp_path / "short") == wrong
    assert "must match line by line" in refusal("aer", tmp_path / "short", texts[2])


def test_odd_gold_links_are_refused_with_their_line(trained: Trained, texts: tuple[Path, ...]):
    texts[2].write_text("0-0\n\n0:0\n", encoding="utf-8")
    place = f"{texts[2]}, line 3: `0:0` is not a link"
    assert refusal("aer", texts[2], texts[2]).startswith(place)
    assert refusal("align", trained("rnn"), *texts[:2], "--choose-on", *texts).startswith(place)
    texts[2].write_text("0-0\n1-1\n0-0\n", encoding="utf-8")
    beyond = f"{texts[2]}, line 2: the link 1-1 points beyond a sentence pair of 0 and 0 words"
    assert refusal("align", trained("rnn"), *texts[:2], "--choose-on", *texts).startswith(beyond)
    assert refusal("aer", texts[2], texts[2], "--words-only", *texts[:2]).startswith(beyond)


def test_a_run_without_attention_is_refused(trained: Trained, texts: tuple[Path, ...]):
    run = trained("rnn", "model.decoder=plain", "model.score=additive", "training.steps=1")
    sentence = refusal("align", run, *texts[:2])
    assert sentence == "this model has no attention over the source; choose a run whose model has one"
