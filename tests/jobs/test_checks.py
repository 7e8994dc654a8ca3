"""What is refused before a training begins, from the recipe, the machine and the corpus; nothing is trained here."""

from pathlib import Path
from shutil import copytree
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from tests.tiny import Trained, recipe, with_decoding

from dragoman import plugins
from dragoman.errors import CorpusError, SettingsError
from dragoman.inference.attention_map import source_heads
from dragoman.jobs import checks
from dragoman.jobs.checks import (
    EncodedCorpus,
    check_corpus,
    check_machine,
    check_recipe,
    check_rerank,
    check_shared,
    check_tied,
    remarks,
    smallest_outline,
)
from dragoman.jobs.memory import static_memory
from dragoman.jobs.train import fit
from dragoman.laws.examples import fresh_model
from dragoman.layers.mixture import MixtureHead
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Vocabularies
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import Recipe, load_recipe, shipped

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    "change", ["training.guided={layer: 1, head: 1, links: learned, shift: false}", "training.reward={}"]
)
def test_what_only_the_own_objective_reads_is_refused_with_that_of_a_plugin(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = plugins.Plugin("objective", "mine", lambda training: None)
    monkeypatch.setattr(plugins, "_registered", {("objective", "mine"): mine})
    setting = change.partition("=")[0]
    with pytest.raises(SettingsError, match=f"`{setting}.*works only with `training.objective: translation`"):
        check_recipe(recipe("rnn", change, "training.objective=mine"))


@pytest.mark.parametrize(
    ("kind", "name", "base", "place"),
    [
        ("score", "dot", "rnn", "model.score: dot"),
        ("score", "scaled_dot", "transformer", "model.self_score: scaled_dot"),
        ("relative", "none", "transformer", "model.relative: none"),
        ("positions", "sinusoidal", "transformer", "model.positions: sinusoidal"),
        ("objective", "translation", "rnn", "training.objective: translation"),
    ],
)
def test_a_built_in_name_that_a_plugin_has_too_is_refused(
    kind: plugins.PluginKind, name: str, base: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = recipe(base, *["model.score=dot"] * (name == "dot"))
    assert check_recipe(chosen) == []
    mine = plugins.Plugin(kind, name, lambda *_: None)
    monkeypatch.setattr(plugins, "_registered", {(kind, name): mine})
    with pytest.raises(
        SettingsError, match=f"`{place}` is the name of a plugin too, whose {kind} would not be used.*ren"
    ):
        check_recipe(chosen)


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_recipe_passes(name: str) -> None:
    assert check_recipe(load_recipe(name)) == []


@pytest.mark.parametrize(
    ("model", "assignments", "named"),
    [
        ("transformer", ["training.momentum=0.5"], ["`training.momentum: 0.5`", "; remove it"]),
        ("masked_lm", ["decoding.beam=2"], ["`decoding.beam: 2`", "`dragoman fill`"]),
        ("decoder_only", ["decoding.shortlist=true"], ["`decoding.shortlist: true`", "translation"]),
        ("rnn", ["model.decoder=plain", "model.score=additive", "decoding.coverage_penalty=1"], ["attention over the"]),
        ("rnn", ["model.marginal=true", "decoding.shortlist=true"], ["`decoding.shortlist: true`", "marginal"]),
    ],
)
def test_a_setting_that_nothing_would_read_is_refused_by_name(
    model: str, assignments: list[str], named: list[str]
) -> None:
    with pytest.raises(SettingsError) as refused:
        check_recipe(recipe(model, *assignments))
    assert all(word in str(refused.value) for word in named), refused.value


def test_a_language_model_may_be_sampled_from() -> None:
    assert check_recipe(recipe("decoder_only", "decoding.temperature=0.5")) == []


def test_what_a_run_that_was_begun_ignores_is_said_and_not_refused() -> None:
    begun = recipe("transformer", "training.momentum=0.5")
    (sentence,) = check_recipe(recipe("transformer", "training.momentum=0.5", "training.steps=30"), begun=begun)
    assert "`training.momentum: 0.5`" in sentence
    with pytest.raises(SettingsError, match=r"training\.padding"):
        check_recipe(recipe("transformer", "training.padding=packed", "model.attention_dropout=0.1"), begun=begun)


def reranked(*runs: Path, changes: tuple[str, ...] = ()) -> Recipe:
    return recipe("rnn", f"decoding.rerank=[{', '.join(map(str, runs))}]", *changes)


REVERSE = ("data.source=vi", "data.target=en")


def test_runs_that_can_rerank_pass(trained: Trained, tmp_path: Path) -> None:
    back = trained("rnn", *REVERSE)
    check_rerank(recipe("rnn"))
    itself_reranked = with_decoding(back, tmp_path / "run", rerank=["gone"])
    check_rerank(reranked(back, itself_reranked, trained("decoder_only", "data.source=vi", "data.target=vi")))


def test_runs_that_cannot_rerank_are_refused_before_training(trained: Trained, tmp_path: Path) -> None:
    back = trained("rnn", *REVERSE)
    both = trained("rnn", "data.languages=[en, vi]", "data.train.0.both_ways=true")
    (tmp_path / "empty").mkdir()
    unfinished, damaged = (copytree(back, tmp_path / name) for name in ("unfinished", "damaged"))
    (unfinished / "model.safetensors").unlink()
    (damaged / "model.safetensors").write_bytes(b"no weights")
    for run, named in (
        (tmp_path / "gone", "there is no run folder"),
        (tmp_path / "empty", "not a complete run"),
        (unfinished, "has no model.safetensors yet"),
        (damaged, "model.safetensors"),
        (trained("rnn", "data.target=fr"), "cannot rerank translations from `en` to `vi`"),
        (trained("decoder_only"), "cannot rerank translations"),
        (trained("masked_lm"), "cannot rerank translations"),
        (both, "translates in several directions"),
    ):
        with pytest.raises(SettingsError, match=rf"`decoding\.rerank`: .*{named}") as refused:
            fit(reranked(back, run), tmp_path / "run")
        assert run.name in str(refused.value) and not (tmp_path / "run").exists()


def test_a_recipe_that_cannot_be_reranked_is_refused(trained: Trained, tmp_path: Path) -> None:
    back = trained("rnn", *REVERSE)
    for changes, named in (
        (("decoding.beam=1",), "several hypotheses"),
        (("decoding.method=greedy",), "several hypotheses"),
        (("data.languages=[en, vi]", "data.train.0.both_ways=true"), "where sources begin with a tag"),
    ):
        with pytest.raises(SettingsError, match=rf"`decoding\.rerank: .*{named}"):
            fit(reranked(back, changes=changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_warmup_that_is_longer_than_the_training_is_remarked() -> None:
    (sentence,) = remarks(recipe("rnn", "training.warmup=20"))
    assert "`training.warmup` is 20" in sentence and "`training.steps`" in sentence
    assert sentence.endswith("and `training.steps` gives 20.")
    phases = ("training.steps=21", "training.phases=[{after: 0.5}]")
    assert remarks(recipe("rnn", "training.warmup=10", *phases)) == []
    (sentence,) = remarks(recipe("rnn", "training.warmup=11", *phases))
    assert sentence.endswith("gives 11 before the first of `training.phases`.")
    assert remarks(recipe("rnn", "training.warmup=19")) == []
    assert remarks(recipe("rnn", "training.warmup=10", "training.phases=[{after: 0.5}]"))


def test_a_schedule_that_needs_a_warmup_and_has_none_is_remarked() -> None:
    for given in (["training.warmup=0"], ["training.phases=[{after: 0.5, warmup: 0}]"]):
        (sentence,) = remarks(recipe("rnn", *given))
        assert "`training.schedule: inverse_root`" in sentence and "`training.warmup`" in sentence
        assert remarks(recipe("rnn", *given, "training.schedule=constant")) == []


def test_directions_that_no_dev_corpus_has_are_remarked() -> None:
    train = "data.train=[{phrasebook: train, pairs: 9, both_ways: true}]"
    dev = "data.dev=[{phrasebook: dev, pairs: 9}]"
    (sentence,) = remarks(recipe("rnn", train, dev))
    assert sentence.startswith("No dev corpus has vi-en, so")
    assert remarks(recipe("rnn", train, dev.replace("9", "9, both_ways: true"))) == []
    assert remarks(recipe("rnn", dev)) == []


def test_languages_that_no_training_corpus_has_are_remarked() -> None:
    train = "data.train=[{phrasebook: train, pairs: 9, languages: [en, vi]}]"
    (sentence,) = remarks(recipe("rnn", "data.languages=[en, vi, fr]", train))
    assert "`fr`" in sentence and "`vi`" not in sentence and "`data.languages`" in sentence
    assert remarks(recipe("rnn", "data.languages=[en, vi]", train)) == []
    assert remarks(recipe("transformer", "data.languages=[en, vi, fr]", train, "model.start_from.whole=run")) == []


@pytest.mark.parametrize("name", ["transformer-small", "phrasebook-masked-lm-en"])
def test_an_encoder_without_positions_is_remarked(name: str) -> None:
    bare = ["model.positions=none", "model.relative=none"]
    (sentence,) = remarks(load_recipe(name, bare))
    assert "order of words" in sentence and "`model.relative: rotary`" in sentence
    for placed in ("model.relative=rotary", "model.self_score=location"):
        assert remarks(load_recipe(name, [*bare, placed])) == []
    assert remarks(load_recipe("phrasebook-continue-en", bare)) == []


def test_first_weights_too_small_for_the_layers_are_remarked() -> None:
    (sentence,) = remarks(load_recipe("gnmt-small", ["model.initial_range=0.04"]))
    assert "`model.initial_range: null`" in sentence and "256" in sentence
    assert remarks(load_recipe("gnmt-small")) == remarks(load_recipe("gnmt")) == []


@pytest.mark.parametrize(
    ("assignments", "named"),
    [
        (["training.threads=100000"], ["`training.threads: 100000`", "set at most"]),
        (["model.hidden=100000000"], ["weights", "GiB", "`model`"]),
        (["model.hidden=100000000000000"], ["any memory", "`model`"]),
        (["training.compile=graphs"], ["training is on a CPU"]),
    ],
)
def test_what_this_machine_does_not_have_is_refused(assignments: list[str], named: list[str]) -> None:
    with pytest.raises(SettingsError) as refused:
        check_machine(recipe("rnn", *assignments), CPU)
    assert all(word in str(refused.value) for word in named)


def test_replicas_are_refused_on_a_gpu() -> None:
    several = recipe("transformer", "training.replicas=2")
    check_machine(several, CPU)
    with pytest.raises(SettingsError, match=r"`training.replicas` .* training is on a GPU"):
        check_machine(several, GPU)


def test_one_process_divides_no_weights_but_goes_on_with_a_run_of_several() -> None:
    divided = recipe("transformer", "training.shard=true")
    with pytest.raises(SettingsError, match=r"`training\.shard` .* only one; .*torchrun"):
        check_shared(divided, 1)
    check_shared(divided, 1, begun=True)
    check_shared(divided, 2)


def test_a_model_is_refused_for_its_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    divided, whole = recipe("rnn", "training.shard=true"), recipe("rnn")
    needed = static_memory(checks.smallest_outline(whole), whole.training).total
    monkeypatch.setattr(checks, "free_memory", lambda _: needed // 2)
    check_machine(divided, CPU, 2)
    for refused, processes in ((divided, 1), (whole, 2)):
        with pytest.raises(SettingsError, match=r"memory are free"):
            check_machine(refused, CPU, processes)


def test_what_cannot_share_is_refused_before_a_model_is_assembled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.jobs.train.assemble", None)
    with pytest.raises(SettingsError, match=r"`training\.shard`"):
        fit(recipe("transformer", "training.shard=true"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_package_that_is_not_installed_is_asked_for_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r'pip install "dragoman\[tensorboard\]"'):
        check_machine(recipe("rnn", "training.tensorboard=true"), CPU)
    check_machine(recipe("rnn"), CPU)


def test_where_nothing_says_how_much_memory_is_free_no_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "free_memory", lambda _: None)
    check_machine(recipe("rnn", "model.hidden=100000000"), CPU)


def test_averaged_weights_count_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = sum(weight.numel() for weight in smallest_outline(recipe("rnn")).model.parameters())
    monkeypatch.setattr(checks, "free_memory", lambda _: weights * 4 * 4)
    check_machine(recipe("rnn"), CPU)
    with pytest.raises(SettingsError, match=r"GiB of memory are free"):
        check_machine(recipe("rnn", "training.ema=0.99"), CPU)


@pytest.mark.parametrize("model", ["rnn", "transformer", "masked_lm", "decoder_only"])
def test_weights_are_counted_as_they_will_be(model: str) -> None:
    made = build_model(recipe(model).model, Vocabularies(300, 300, shared=True))
    counted = smallest_outline(recipe(model)).model.parameters()
    assert sum(weight.numel() for weight in counted) == sum(weight.numel() for weight in made.parameters())


def test_an_adapted_model_needs_no_optimiser_state_for_its_frozen_base(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = recipe("transformer", "model.width=64", "model.feed_forward=256")
    adapted = recipe(
        "transformer",
        "model.width=64",
        "model.feed_forward=256",
        "model.adapters={rank: 2}",
        "model.start_from={whole: base}",
    )
    weights = sum(weight.numel() for weight in smallest_outline(whole).model.parameters())
    monkeypatch.setattr(checks, "free_memory", lambda _: weights * 4 * 4 - 1)
    with pytest.raises(SettingsError, match=r"GiB of memory are free"):
        check_machine(whole, CPU)
    check_machine(adapted, CPU)


def corpus(*lengths: int) -> EncodedCorpus:
    """Return what a check asks of an encoded corpus whose sentences have these lengths on both sides, without </s>."""
    counts = np.array(lengths, dtype=np.int32)
    return SimpleNamespace(source_lengths=counts, target_lengths=counts, text=lambda _: ("a long one", "dài"))


def test_a_training_sentence_longer_than_the_positions_is_shown() -> None:
    bounded = recipe("transformer", "model.positions=learned", "model.max_positions=9")
    check_corpus(corpus(3, 8), bounded)
    with pytest.raises(CorpusError, match=r"10 tokens.*9 positions.*`a long one`.*max_positions"):
        check_corpus(corpus(3, 9), bounded)


def test_a_window_that_hides_nothing_is_refused() -> None:
    local = recipe("rnn", "model.window={kind: monotonic, reach: 5}")
    check_corpus(corpus(3, 5), local)
    with pytest.raises(SettingsError, match=r"`model\.window\.reach` is 5.*5 tokens"):
        check_corpus(corpus(3, 4), local)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_settings_say_what_their_model_can_do(name: str) -> None:
    model, found = fresh_model(ARCHITECTURES[name]), ARCHITECTURES[name].capabilities
    assert (found.source_positions, found.target_positions) == (model.source_positions, model.target_positions)
    assert found.previous == model.previous
    assert found.source_heads == source_heads(model)
    assert found.mixes == isinstance(getattr(model.decoder, "head", None), MixtureHead)


@pytest.mark.parametrize("assignments", [(), ("model.tied=embeddings",)])
def test_one_matrix_for_two_vocabularies_is_refused_from_the_recipe_alone(assignments: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError, match=r"`model\.tied: .* needs one vocabulary .*`text\.joint: true`"):
        check_tied(recipe("transformer", "text.joint=false", *assignments))
    check_tied(recipe("transformer", "text.joint=false", *assignments, "model.start_from.whole=runs/one"))


def test_what_is_tied_may_follow_from_the_vocabularies_where_auto_chooses() -> None:
    check_tied(load_recipe("own-files", ["text.joint=false"]))
    check_tied(load_recipe("own-files", ["model.kind=transformer", "text.joint=false"]))
    check_tied(recipe("transformer", "text.joint=false", "model.tied=target"))
    check_tied(recipe("rnn", "text.joint=false", "model.tied=true"))


def test_a_run_to_start_from_in_another_language_is_remarked(trained: Trained) -> None:
    files = [f"data.{part}=[{{tsv: {part}.tsv}}]" for part in ("train", "dev", "test")]
    run, whole, model = trained("masked_lm"), trained("transformer"), "model.start_from"

    def said(*assignments: str) -> list[str]:
        return remarks(recipe("transformer", *files, *assignments))

    own = open_run(run).recipe.data.source
    assert said(f"{model}.encoder={run}", f"data.source={own}") == said(f"{model}.whole={whole}") == []
    (sentence,) = said(f"{model}.encoder={run}", "data.source=fr")
    assert sentence.startswith(f"The source is `fr`, but `{model}.encoder`, {run}, was trained with `{own}`: ")
    assert said(f"{model}.whole={whole}", "data.source=vi", "data.target=en") == []  # they share a vocabulary
    (sentence,) = said(f"{model}.whole={whole}", "data.target=fr")
    assert sentence.startswith("The target is `fr`")
    (sentence,) = said(f"{model}.decoder={whole}", "data.target=fr", "data.source=de")
    assert sentence.startswith("The target is `fr`")
