"""Starting a model from trained runs."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.jobs.test_train import Ear
from tests.tiny import Trained, dragoman, recipe, recipe_file, refusal
from torch import Tensor

from dragoman.data.ledger import remove_recorded
from dragoman.errors import RunError, SettingsError, TextError
from dragoman.jobs.train import fit
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import Recipe
from dragoman.runs.warm_start import codecs_for
from dragoman.training.checkpoint import load_tensors

SIZES = ("model.decoder_layers=1",)
CPU = torch.device("cpu")


def named(run: Path) -> dict[str, Tensor]:
    """The best weights of a run, shared ones under each of their names."""
    return dict(open_run(run).load_any(CPU).named_parameters(remove_duplicate=False))


def started(folder: Path, *assignments: str, model: str = "transformer", steps: int = 1, rate: float = 1e-12) -> Path:
    """Train so little that the weights are the first ones, within rounding."""
    few = (f"training.steps={steps}", f"training.learning_rate={rate}", "training.warmup=0")
    fit(recipe(model, *few, *assignments), folder / "run")
    return folder / "run"


def close(actual: dict[str, Tensor], expected: dict[str, Tensor], chosen: Callable[[str], bool]) -> set[str]:
    """Which names have equal tensors in both."""
    return {
        name
        for name in actual
        if chosen(name) and name in expected and torch.allclose(actual[name], expected[name], atol=1e-6)
    }


def test_the_encoder_is_the_masked_language_models_and_the_rest_is_drawn(trained: Trained, tmp_path: Path) -> None:
    masked = trained("masked_lm")
    own = named(started(tmp_path, f"model.start_from.encoder={masked}", "model.tied=target", "text.joint=false"))
    given = named(masked)
    assert close(own, given, lambda name: True) == {name for name in given if name.startswith("encoder.")}
    fresh = named(started(tmp_path / "fresh", "model.tied=target", "text.joint=false"))
    decoder = {name for name in own if name.startswith("decoder.")}
    assert not close(own, fresh, lambda name: name.startswith("encoder.layers.0.attention.query.weight"))
    assert own.keys() == fresh.keys() and decoder


def test_the_decoder_is_the_decoder_only_models_but_for_attention_to_the_source(
    trained: Trained, tmp_path: Path
) -> None:
    causal = trained("decoder_only")
    own = named(started(tmp_path, f"model.start_from.decoder={causal}", "model.tied=target", "text.joint=false"))
    given = named(causal)
    taken = close(own, given, lambda name: True)
    assert taken == set(given) == {n for n in own if n.startswith("decoder.") and "cross" not in n}


def test_both_parts_may_come_from_different_runs(trained: Trained, tmp_path: Path) -> None:
    masked, causal = trained("masked_lm"), trained("decoder_only")
    both = (f"model.start_from={{encoder: '{masked}', decoder: '{causal}'}}", "model.tied=target", "text.joint=false")
    run = started(tmp_path, *both)
    own = named(run)
    taken = close(own, named(masked) | named(causal), lambda name: not name.startswith("head"))
    assert {name.split(".")[0] for name in taken} == {"encoder", "decoder"}
    manifest = open_run(run).manifest["start_from"]
    assert {part: table["run"] for part, table in manifest.items()} == {"encoder": str(masked), "decoder": str(causal)}
    assert all(len(table["weights"]) == 64 for table in manifest.values())


def test_the_whole_model_goes_on_from_a_run_of_its_kind(trained: Trained, tmp_path: Path) -> None:
    first = trained("transformer")
    run = started(tmp_path, f"model.start_from.whole={first}")
    expected, _ = load_tensors(first / "model.safetensors")
    own, _ = load_tensors(run / "model.safetensors")
    assert all(torch.allclose(own[name], expected[name], atol=1e-6) for name in expected)
    assert open_run(run).source == open_run(first).source


def test_a_document_model_starts_from_a_translator_of_sentences(trained: Trained) -> None:
    from dragoman.models.build import build_model
    from dragoman.models.document import DocumentSettings
    from dragoman.models.seq2seq import Vocabularies
    from dragoman.runs.warm_start import _copy, _named

    first = open_run(trained("transformer"))
    settings = DocumentSettings(**first.recipe.model.model_dump() | {"kind": "document", "previous": 2})
    model = build_model(settings, Vocabularies(len(first.source), len(first.target), shared=True))
    given = _named(first.load_any(CPU))
    _copy(given, _named(model), "whole", folder=first.folder)
    assert all(torch.equal(_named(model)[name], tensor) for name, tensor in given.items())


def test_vocabularies_are_those_of_the_runs(trained: Trained) -> None:
    masked, causal = trained("masked_lm"), trained("decoder_only", "data.source=vi", "data.target=vi")
    pairs = [("a b", "c d"), ("a", "c")] * 3

    def codecs(*assignments: str) -> tuple[str, ...]:
        made = codecs_for(recipe("transformer", "text={kind: words}", *assignments), lambda: pairs)
        return tuple(
            "masked" if one == open_run(masked).source else "causal" if one == open_run(causal).target else "new"
            for one in made
        )

    encoder, decoder = f"model.start_from.encoder={masked}", f"model.start_from.decoder={causal}"
    assert codecs() == ("new", "new")
    assert codecs(encoder) == ("masked", "new")
    assert codecs(decoder) == ("new", "causal")
    alike = "text={kind: sentencepiece, size: 300}"
    assert codecs(encoder, decoder, alike, "text.joint=false") == ("masked", "causal")
    assert codecs(encoder, alike, "text.joint=true") == ("masked", "masked")
    with pytest.raises(SettingsError, match=r"have different vocabularies, so `text\.joint: true` is impossible; set"):
        codecs(encoder, decoder, alike, "text.joint=true")


def test_learning_goes_on_where_the_run_stood(trained: Trained, tmp_path: Path) -> None:
    first = trained("masked_lm")
    ears = Ear(), Ear()
    for name, listener, more in (("old", ears[0], (f"model.start_from.whole={first}",)), ("new", ears[1], ())):
        fit(recipe("masked_lm", "training.steps=10", *more), tmp_path / name, listener=listener)
    losses = [[record["dev_loss"] for record in listener.records if "dev_loss" in record][-1] for listener in ears]
    assert losses[0] < losses[1] - 0.1
    assert f"Starting from {first}." in ears[0].said


def test_a_resumed_run_needs_nothing_of_where_it_started(trained: Trained, tmp_path: Path) -> None:
    first = tmp_path / "first"
    fit(recipe("masked_lm", "training.steps=2"), first)
    given = recipe("masked_lm", "training.steps=2", f"model.start_from.whole={first}")
    fit(given, tmp_path / "run")
    first.rename(tmp_path / "away")
    longer = given.model_copy(update={"training": given.training.model_copy(update={"steps": 3})})
    assert fit(longer, tmp_path / "run", resume=True).step == 3
    remove_recorded(tmp_path / "run", tmp_path / "run" / "training" / "last.safetensors")
    with pytest.raises(RunError, match="there is no run folder"):
        fit(longer, tmp_path / "run", resume=True)
    (tmp_path / "away").rename(first)
    fit(recipe("masked_lm", "training.steps=3"), first, resume=True)
    with pytest.raises(RunError, match=r"model.safetensors has changed since .*run.*--out"):
        fit(longer, tmp_path / "run", resume=True)


ENCODER, DECODER, WHOLE = (f"model.start_from.{part}=RUN" for part in ("encoder", "decoder", "whole"))


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        (
            "masked_lm",
            (ENCODER, "model.width=32"),
            "`model.width` is 32, but RUN was trained with 16; to initialise from it, set",
        ),
        ("masked_lm", (ENCODER, "model.encoder_layers=2"), "`model.encoder_layers` is 2, but RUN was trained with 1"),
        ("masked_lm", (ENCODER, "model.norm=post"), "`model.norm` is post, but RUN was trained with pre"),
        (
            "masked_lm",
            (ENCODER, "model.activation=gelu"),
            "`model.activation` is gelu, but RUN was trained with null; to initialise from it, set `model.activation: null`",
        ),
        ("masked_lm", (ENCODER, "model.gated=true"), "`model.gated` is true, but RUN was trained with false"),
        (
            "masked_lm",
            (DECODER,),
            "`model.start_from.decoder`: RUN has no decoder; choose another run, or another part",
        ),
        ("masked_lm", (WHOLE,), "RUN is of the kind `masked_lm`, so it is no whole `transformer`"),
        ("decoder_only", (ENCODER,), "RUN has no encoder"),
        ("rnn", (ENCODER,), "RUN is of the kind `rnn`, which has no part in common with `transformer`"),
        ("transformer", (ENCODER, WHOLE), "`model.start_from` needs `whole`, or else `encoder`, `decoder` or both"),
        ("transformer", ("model.start_from={}",), "`model.start_from` needs `whole`, or else"),
        ("transformer", ("model.start_from.whole=nothing",), "there is no run folder nothing"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(
    trained: Trained, tmp_path: Path, kind: str, settings: tuple[str, ...], sentence: str
) -> None:
    run = str(trained(kind))
    path = recipe_file(tmp_path, "transformer", *(one.replace("RUN", run) for one in settings))
    found = refusal("train", path, "--out", tmp_path / "run")
    assert sentence.replace("RUN", run) in found
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("setting", ["text.size=200", "text.lower=true", "text={kind: characters, joint: true}"])
def test_text_settings_that_no_vocabulary_is_learned_with_are_refused(
    trained: Trained, tmp_path: Path, setting: str
) -> None:
    run = trained("masked_lm")
    path = recipe_file(tmp_path, "masked_lm", f"model.start_from.whole={run}", setting)
    sentence = refusal("train", path, "--out", tmp_path / "run")
    name = "text.kind" if "kind" in setting else setting.split("=")[0]
    assert sentence.count(f"`{name}: ") == 2 and str(run) in sentence


def test_settings_of_how_text_is_read_belong_to_the_new_run(trained: Trained, tmp_path: Path) -> None:
    first = trained("transformer")
    now = ("text.sampling=0.2", "text.sampling_target=0.1", "text.sampling_epochs=2")
    run = open_run(started(tmp_path, f"model.start_from.whole={first}", *now))
    text = run.recipe.text
    assert (text.sampling, text.sampling_target, text.sampling_epochs) == (0.2, 0.1, 2)
    assert (run.source, run.target) == (open_run(first).source, open_run(first).target)


LEFT = "text.right_to_left=true"


@pytest.mark.parametrize(("part", "decoder"), [("whole", "right"), ("whole", "left"), ("decoder", "right")])
def test_a_decoder_goes_on_in_the_direction_that_its_weights_have_learned(
    trained: Trained, tmp_path: Path, part: str, decoder: str
) -> None:
    first = trained("transformer", *([LEFT] if decoder == "left" else []))
    given = f"model.start_from.{part}={first}"
    path = recipe_file(tmp_path, "transformer", given, *([] if decoder == "left" else [LEFT]))
    sentence = refusal("train", path, "--out", tmp_path / "run")
    wrong, right = ("false", "true") if decoder == "left" else ("true", "false")
    named = (f"`text.right_to_left: {wrong}`", str(first), f"set `text.right_to_left: {right}`")
    assert all(one in sentence for one in named), sentence
    assert not (tmp_path / "run").exists()


def test_an_encoder_serves_both_directions_of_writing(trained: Trained) -> None:
    first = trained("transformer")
    pairs = [("a b", "c d"), ("a", "c")] * 3
    encoder = f"model.start_from.encoder={first}"
    source, target = codecs_for(recipe("transformer", encoder, LEFT), lambda: pairs)
    assert not source.right_to_left and target.right_to_left and source.shares(target)
    again = codecs_for(
        recipe("transformer", f"model.start_from.whole={trained('transformer', LEFT)}", LEFT), lambda: pairs
    )
    assert again[1].right_to_left


def test_text_settings_are_read_for_the_side_that_no_run_gives(trained: Trained, tmp_path: Path) -> None:
    given = f"model.start_from.encoder={trained('masked_lm')}"
    run = open_run(started(tmp_path, given, "model.tied=target", "text.joint=false", "text.lower=true"))
    assert run.target.normalize("MÈO") == "mèo" and run.source.normalize("MÈO") == "MÈO"


def test_a_language_model_is_not_measured_by_translations(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, "masked_lm", "training.metric=bleu")
    sentence = refusal("train", path, "--out", tmp_path / "run")
    assert all(word in sentence for word in ("`training.metric: bleu`", "`masked_lm`", "set `training.metric: loss`"))


def test_a_language_model_has_no_translations_to_reward(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, "masked_lm", "training.phases=[{after: 0.5, reward: {samples: 2}}]")
    sentence = refusal("train", path, "--out", tmp_path / "run")
    assert all(word in sentence for word in ("`training.phases.0.reward`", "`model.kind: masked_lm`", "remove it"))


def test_the_command_says_what_a_language_model_is_for(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, "decoder_only", "training.steps=2")
    found = dragoman("train", path, "--out", tmp_path / "run")
    assert found.code == 0
    assert f"Use it with: dragoman generate {tmp_path / 'run'} < FILE" in found.errors
    assert "phrasebook test: perplexity" in found.errors
    assert Recipe.model_validate(open_run(tmp_path / "run").recipe.model_dump())


def test_a_tag_that_the_other_vocabulary_lacks_is_refused(trained: Trained, tmp_path: Path) -> None:
    run = trained("transformer")
    with pytest.raises(
        TextError, match=r"no tag of sources that a machine wrote.*`tagged: true`.*start without that run"
    ):
        started(tmp_path, f"model.start_from.whole={run}", "data.train.0.tagged=true")
    assert not (tmp_path / "run").exists()


def test_noised_text_needs_a_tag_that_the_other_vocabulary_may_lack(trained: Trained, tmp_path: Path) -> None:
    run = trained("transformer")
    (tmp_path / "news").write_text("Tôi yêu mèo.\n", encoding="utf-8")
    corpora = f"data.train=[{{phrasebook: train, pairs: 300}}, {{text: {tmp_path / 'news'}, noised: true}}]"
    with pytest.raises(
        TextError,
        match=rf"the vocabulary of {run} does not suit .*no tag of noised sources.*`noised: true`.*start without that run",
    ):
        started(tmp_path, f"model.start_from.whole={run}", corpora)
    assert not (tmp_path / "run").exists()


def test_marks_of_terms_that_the_other_vocabulary_lacks_are_refused(trained: Trained, tmp_path: Path) -> None:
    run = trained("transformer")
    with pytest.raises(TextError, match=r"no marks of terms.*`text\.glossary`.*start without that run"):
        started(tmp_path, f"model.start_from.whole={run}", "text.glossary.share=0.1")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("own", "kind", "advice"),
    [
        ("transformer", "masked_lm", r"give it as `model\.start_from\.encoder`"),
        ("transformer", "decoder_only", r"give it as `model\.start_from\.decoder`"),
        ("masked_lm", "transformer", r"give it as `model\.start_from\.encoder`"),
        ("decoder_only", "transformer", "choose a run of another kind"),
    ],
)
def test_a_whole_model_for_another_purpose_is_refused(
    own: str, kind: str, advice: str, trained: Trained, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=rf"is of the kind `{kind}`, so it is no whole `{own}`; {advice}"):
        started(tmp_path, f"model.start_from.whole={trained(kind)}", model=own)
