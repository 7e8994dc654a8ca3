"""A run that writes its translations from right to left."""

from pathlib import Path

import pytest
import torch
from tests.tiny import Trained, recipe

from dragoman.errors import InputError
from dragoman.inference.translator import Translator
from dragoman.jobs.train import fit
from dragoman.runs.folder import open_run

WORDS = ["one", "two", "three", "four", "five", "six"]
LEFT = "text.right_to_left=true"


def corpus(folder: Path, *, reversed_targets: bool) -> str:
    """Write pairs of words, and return the setting of a corpus of them."""
    folder.mkdir()
    sources = [[WORDS[(start + 2 * at) % 6] for at in range(2 + start % 4)] for start in range(40)]
    for name, lines in (("en", sources), ("vi", [line[::-1] if reversed_targets else line for line in sources])):
        (folder / f"a.{name}").write_text("".join(f"{' '.join(line)}\n" for line in lines), encoding="utf-8")
    return f"[{{source: {folder / 'a.en'}, target: {folder / 'a.vi'}}}]"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_it_is_the_run_that_learns_from_reversed_targets(kind: str, tmp_path: Path) -> None:
    text = "text={kind: words, minimum_count: 1, joint: true}"
    for name, direction in (("left", "false"), ("right", "true")):
        part = corpus(tmp_path / f"data-{name}", reversed_targets=name == "left")
        settings = [f"data.{split}={part}" for split in ("train", "dev", "test")]
        fit(recipe(kind, text, *settings, f"text.right_to_left={direction}", "training.steps=15"), tmp_path / name)
    left, right = (open_run(tmp_path / name).load_model(torch.device("cpu")).state_dict() for name in ("left", "right"))
    assert left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
    translators = [Translator.load(tmp_path / name) for name in ("left", "right")]
    sources = ["one three five", "two four six two"]
    forward, backward = (translator.translate(sources, n_best=3) for translator in translators)
    for one, two in zip(forward, backward, strict=True):
        assert one.text.split() == two.text.split()[::-1] and one.log_prob == two.log_prob
    scores = [
        translators[0].score(sources, ["six five one", "two"]),
        translators[1].score(sources, ["one five six", "two"]),
    ]
    assert scores[0] == scores[1]


def test_it_ranks_the_translations_of_others_and_searches_alone(trained: Trained) -> None:
    forward, other = trained("rnn"), trained("rnn", LEFT)
    translator = Translator.load(forward, rerank=[other], rerank_weights=[1.0], n_best=3)
    (found,) = translator.translate(["I love cats."])
    backward = Translator.load(other)
    for one in (found, *found.alternatives):
        ((log_prob, tokens),) = backward.score(["I love cats."], [one.text])
        assert one.score == pytest.approx(one.per_token + log_prob / tokens, abs=1e-4)
    with pytest.raises(InputError, match=r"writes from right to left.*`--rerank`"):
        Translator.load(forward, other)


def test_one_vocabulary_serves_both_sides_in_either_direction(trained: Trained) -> None:
    sizes = [
        sum(weight.numel() for weight in open_run(run).load_model(torch.device("cpu")).parameters())
        for run in (trained("transformer"), trained("transformer", LEFT))
    ]
    assert sizes[0] == sizes[1]


def test_words_of_pictures_are_in_the_order_of_the_text(trained: Trained) -> None:
    (found,) = Translator.load(trained("transformer", LEFT)).attention_maps(["I love cats."], ["Tôi yêu mèo."])
    assert found.target.words == ["Tôi", "yêu", "mèo."]
    assert found.target.owners[0] == 2 and found.target.owners[-2] == 0
    assert found.by_words().shape[2] == 3
