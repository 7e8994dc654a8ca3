"""One head that learns word links beside translating."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.jobs.test_train import Ear
from tests.laws.architectures import ARCHITECTURES
from tests.slow import some
from tests.tiny import recipe

from dragoman.errors import SettingsError
from dragoman.inference.translator import Translator
from dragoman.interfaces import Batch
from dragoman.jobs.train import fit
from dragoman.laws.examples import batch, fresh_model
from dragoman.metrics import alignment_error_rate, parse_links
from dragoman.training.guided import alignment_loss
from dragoman.training.objectives import build_objective, translation_loss
from dragoman.training.settings import GuidedSettings, TrainingSettings

PAIRS = batch([5, 3], [6, 3])
KINDS = ("luong additive", "transformer pre-norm, sinusoidal")


def linked(pairs: Batch) -> Batch:
    """Link the first label to two source positions and the second to one, in the first sentence alone."""
    links = torch.zeros(*pairs.labels.shape, pairs.source.ids.shape[1], dtype=torch.bool)
    links[0, 0, :2] = links[0, 1, 3] = True
    return replace(pairs, links=links)


def test_the_loss_is_the_cross_entropy_with_evenly_shared_links() -> None:
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]])
    attention = torch.stack([torch.full((3, 3), 1 / 3), weights])[None, None]
    links = torch.tensor([[[True, True, False], [False, False, True], [False, False, False]]])
    own = GuidedSettings(layer=1, head=2, shift=False)
    expected = -(torch.tensor(0.5).log() + torch.tensor(0.25).log()) / 2 - torch.tensor(0.6).log()
    torch.testing.assert_close(alignment_loss(attention, links, own), expected)
    shifted = -torch.tensor(0.2).log() - torch.tensor(0.8).log()
    torch.testing.assert_close(alignment_loss(attention, links, own.model_copy(update={"shift": True})), shifted)
    even = 2 * torch.tensor(3.0).log()
    torch.testing.assert_close(alignment_loss(attention, links, own.model_copy(update={"head": 1})), even)


def test_layers_are_counted_from_1() -> None:
    attention = torch.tensor([0.5, 0.25, 0.125])[:, None, None, None][None]
    links = torch.tensor([[[True]]])
    found = [alignment_loss(attention, links, GuidedSettings(layer=one, shift=False)) for one in (1, 2, 3)]
    torch.testing.assert_close(torch.stack(found), torch.tensor([1.0, 2.0, 3.0]) * torch.tensor(2.0).log())


def test_weights_in_bfloat16_are_added_up_in_float32() -> None:
    attention = torch.rand(4, 1, 1, 30, 20, generator=torch.Generator().manual_seed(1)).bfloat16()
    links = torch.zeros(4, 30, 20, dtype=torch.bool)
    links[..., 3] = True
    found, expected = (alignment_loss(weights, links, GuidedSettings()) for weights in (attention, attention.float()))
    torch.testing.assert_close(found, expected)


def test_a_weight_of_zero_leaves_the_loss_finite() -> None:
    attention = torch.tensor([[[[[0.0, 1.0], [1.0, 0.0]]]]], requires_grad=True)
    loss = alignment_loss(attention, torch.tensor([[[True, False], [False, False]]]), GuidedSettings(shift=False))
    loss.backward()
    assert loss.isfinite() and attention.grad is not None and attention.grad.isfinite().all()


@pytest.mark.parametrize("name", KINDS)
def test_links_are_added_to_the_loss_of_translation(name: str) -> None:
    model, guided, pairs = fresh_model(ARCHITECTURES[name]).eval(), GuidedSettings(weight=0.3), linked(PAIRS)
    plain, both = translation_loss(model, pairs), translation_loss(model, pairs, guided=guided)
    attention = model(pairs.source, pairs.inputs, need_weights=True).attention
    assert pairs.links is not None
    extra = 0.3 * alignment_loss(attention, pairs.links, guided)
    assert extra > 0
    torch.testing.assert_close(both.total, plain.total + extra)
    torch.testing.assert_close(both.plain, plain.plain)
    assert both.tokens == plain.tokens


def test_a_weight_of_zero_leaves_attention_alone() -> None:
    model, pairs = fresh_model(ARCHITECTURES["luong additive"]).eval(), linked(PAIRS)
    for weight, adds in ((0.0, False), (0.3, True)):
        guided = GuidedSettings(weight=weight, lexicon=True, shift=False)
        settings = TrainingSettings(steps=1, guided=guided, label_smoothing=0.0)
        found = build_objective(settings)(model, pairs).total
        assert torch.equal(found, translation_loss(model, pairs).total) is not adds


def test_a_weight_of_zero_without_a_lexicon_is_refused() -> None:
    with pytest.raises(ValueError, match="supervises nothing, so `lexicon: true` must use the links"):
        GuidedSettings(weight=0)


def test_batches_without_links_say_nothing() -> None:
    model, guided = fresh_model(ARCHITECTURES["luong additive"]).eval(), GuidedSettings(weight=0.3)
    plain = translation_loss(model, PAIRS).total
    torch.testing.assert_close(translation_loss(model, PAIRS, guided=guided).total, plain)
    torch.testing.assert_close(translation_loss(model, linked(PAIRS)).total, plain)


def corpus(folder: Path, count: int = 60) -> tuple[list[str], list[str], list[str]]:
    """Write a language whose every sentence is the other's backwards, in other words, and the links; return the lines."""
    draw = torch.Generator().manual_seed(1)
    sources, targets, links = [], [], []
    for _ in range(count):
        words = torch.randint(0, 12, (int(torch.randint(3, 7, (), generator=draw)),), generator=draw).tolist()
        sources.append(" ".join(f"a{word}" for word in words))
        targets.append(" ".join(f"b{word}" for word in reversed(words)))
        links.append(" ".join(f"{i}-{len(words) - 1 - i}" for i in range(len(words))))
    for name, lines in (("c.en", sources), ("c.vi", targets), ("c.align", links)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return sources, targets, links


def guided_recipe(folder: Path, *assignments: str, links: bool = True):
    """Return a recipe that learns that language."""
    files = f"source: {folder}/c.en, target: {folder}/c.vi"
    more = f", links: {folder}/c.align" if links else ""
    return recipe(
        "transformer",
        f"data.train=[{{{files}{more}}}]",
        f"data.dev=[{{{files}}}]",
        "data.test=[]",
        "text={kind: words, minimum_count: 1, joint: true}",
        *assignments,
    )


@pytest.mark.parametrize("shift", some([True, False], [True]))
def test_the_head_that_is_taught_aligns(tmp_path: Path, shift: bool) -> None:
    sources, targets, gold = corpus(tmp_path)
    taught = f"training.guided={{layer: 1, head: 2, weight: 1.0, shift: {str(shift).lower()}}}"
    fit(guided_recipe(tmp_path, taught, "training.steps=40", "training.validate_every=40"), tmp_path / "run")
    translator = Translator.load(tmp_path / "run")
    assert (translator.view.layer, translator.view.head, translator.view.shift) == (1, 2, shift)
    readings = translator.attention_maps(sources, targets)
    links = [parse_links(line) for line in gold]
    found = alignment_error_rate([translator.view.links(one) for one in readings], links)
    untaught = alignment_error_rate([one.links(layer=2, head=1, shift=shift) for one in readings], links)
    assert found < 0.35 and untaught > found + 0.25


@pytest.mark.parametrize(
    ("guided", "sentence"),
    [
        ("{layer: 3}", "`training.guided.layer: 3` .* has 2"),
        ("{head: 3}", "`training.guided.head: 3` .* has 2"),
    ],
)
def test_a_head_that_is_not_there_is_refused_before_anything_is_written(tmp_path: Path, guided: str, sentence: str):
    corpus(tmp_path)
    with pytest.raises(SettingsError, match=sentence):
        fit(guided_recipe(tmp_path, f"training.guided={guided}"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_corpora_without_links_are_refused(tmp_path: Path) -> None:
    corpus(tmp_path)
    with pytest.raises(SettingsError, match=r"training\.guided.*no training corpus has any; set `links`"):
        fit(guided_recipe(tmp_path, "training.guided={}", links=False), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_head_learns_from_links_that_no_corpus_has(tmp_path: Path) -> None:
    sources, targets, gold = corpus(tmp_path)
    taught = "training.guided={layer: 1, head: 2, weight: 1.0, shift: false, links: learned}"
    given = guided_recipe(tmp_path, taught, "training.steps=40", "training.validate_every=40", links=False)
    fit(given, tmp_path / "run", listener=(ear := Ear()))
    assert sum("word alignments" in sentence for sentence in ear.said) == 1
    translator = Translator.load(tmp_path / "run")
    links = [parse_links(line) for line in gold]
    found = [translator.view.links(one) for one in translator.attention_maps(sources, targets)]
    assert alignment_error_rate(found, links) < 0.4


def test_a_model_without_attention_has_no_head_to_teach(tmp_path: Path) -> None:
    corpus(tmp_path)
    plain = "model={kind: rnn, decoder: plain, embedding: 16, hidden: 16}"
    with pytest.raises(
        SettingsError, match=r"`training\.guided` supervises a head over the source, which this `model\.kind: rnn`"
    ):
        fit(guided_recipe(tmp_path, "training.guided={}", plain), tmp_path / "run")
    assert not (tmp_path / "run").exists()
