"""Every setting, on every command and for every kind of model, is read by something or refused.

All settings are found in the classes of recipes, so one that is added and forgotten fails here. A setting counts as read where
code other than a check asks for it in a tiny training or search; a setting of a model, where the model comes out different.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.classification.documents import documents
from tests.end_to_end.every_setting import (
    Leaf,
    Reads,
    fingerprint,
    groups,
    ignored,
    is_refused,
    leaves,
    others,
    spying,
    with_value,
)
from tests.end_to_end.test_docs import COMMANDS
from tests.laws.architectures import ARCHITECTURES

from dragoman import plugins
from dragoman.arena.plan import make_plan
from dragoman.arena.settings import load_arena
from dragoman.classification.fitting import fit_classifier
from dragoman.classification.settings import ClassifierRecipe, ClassifierTrainingSettings
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import SettingsError
from dragoman.inference import checks as decoding_checks
from dragoman.inference.generator import TextGenerator
from dragoman.inference.translator import Translator
from dragoman.jobs import checks, rules
from dragoman.jobs.evaluate import measure_tests
from dragoman.jobs.train import fit
from dragoman.models.build import build_model
from dragoman.models.capabilities import capabilities_of
from dragoman.models.classifier import DocumentClassifier
from dragoman.models.seq2seq import Vocabularies
from dragoman.runs.recipe import Recipe
from dragoman.settings import Settings, parse
from dragoman.training.settings import PhaseSettings, TrainingSettings

SENTENCES = [f"{word} {verb} it ." for word in ("I", "you", "we", "they") for verb in ("see", "know", "like", "want")]
WORDS = {"kind": "words", "minimum_count": 1}
SMALL: dict[str, Any] = {"heads": 2, "width": 8, "feed_forward": 12, "dropout": 0.1}
LINES = {"source": "a.en", "target": "a.vi"}
DECODING = ("decoding.",)
SETTABLE = {
    "plan",
    "train",
    "check",
    "demo",
    "distill",
    "adapt",
    "compare",
    "classify train",
    "translate",
    "evaluate",
    "generate",
    "backtranslate",
    "diversify",
    "tune",
    "bulk",
    "serve",
    "export",
}
"""Commands with `--set`; the first seven read recipes, the others the section `decoding`, but `serve` its own settings."""


def small(name: str, **changes: Any) -> dict[str, Any]:
    """Return the section `model` of one of the architectures that keep the laws."""
    return {
        **ARCHITECTURES[name].model_dump(mode="json", exclude_defaults=True),
        "kind": ARCHITECTURES[name].kind,
    } | changes


KINDS: dict[str, dict[str, Any]] = {
    "rnn plain": {
        "model": {"kind": "rnn", "decoder": "plain", "embedding": 6, "hidden": 8},
        "data.train": [{"tsv": "a.tsv", "hold_out": {"modulo": 5, "keep": "rest"}}],
        "text": {"kind": "sentencepiece", "size": 40},
    },
    "rnn bahdanau": {"model": small("bahdanau, hard, reinforced", max_positions=512)},
    "rnn luong": {
        "model": small("luong, local-p", max_positions=512),
        "data.train": [{"phrasebook": "train", "pairs": 20}],
    },
    "rnn posterior": {"model": small("posterior", max_positions=512)},
    "gnmt": {"model": small("gnmt"), "training": {"phases": [{"after": 0.5, "reward": {"samples": 2}}]}},
    "deep_att": {
        "model": small("deep-att"),
        "text": {**WORDS, "unknown": "positional"},
        "data.train": [{**LINES, "links": "a.links"}],
    },
    "moe": {"model": small("moe, noisy"), "text": {"kind": "characters"}},
    "convs2s": {"model": small("convs2s dot"), "data.train": [{"jsonl": "a.jsonl"}]},
    "bytenet": {
        "model": small("bytenet"),
        "training": {"consistency": {"kind": "r_drop"}},
        "data.train": [{"tmx": "a.tmx"}],
    },
    "transformer": {
        "model": {**SMALL, "kind": "transformer", "encoder_layers": 1, "decoder_layers": 1, "tied": "target"}
        | {"window": {"kind": "monotonic", "reach": 1}, "experts": {"experts": 3, "active": 1}},
        "data.train": [{**LINES, "links": "a.links"}],
        "training": {"guided": {}, "consistency": {"kind": "simcut"}},
        "text": {**WORDS, "joint": True, "glossary": {}},
    },
    "document": {
        "model": {**SMALL, "kind": "document", "encoder_layers": 1, "decoder_layers": 1, "tied": "target"}
        | {"hard": {"training": "gumbel"}},
        "data.train": [{**LINES, "documents": "blank lines"}],
        "data.dev": [{**LINES, "documents": "blank lines"}],
        "data.test": [{**LINES, "documents": "blank lines"}],
    },
    "masked_lm": {"model": {**SMALL, "kind": "masked_lm", "encoder_layers": 1}, "data.train": [{"text": "a.en"}]},
    "decoder_only": {"model": {**SMALL, "kind": "decoder_only", "decoder_layers": 1}, "data.train": [{"text": "a.en"}]},
}


def recipe_of(kind: str, folder: Path) -> Recipe:
    """Return a recipe that trains a kind of model in a moment, on files in `folder`."""
    given = KINDS[kind]
    data = {part: given.get(f"data.{part}", [LINES]) for part in ("train", "dev", "test")}
    language = {"metric": "loss"} if kind in ("masked_lm", "decoder_only") else {}
    training = {"steps": 3, "validate_every": 2, "warmup": 1, "validate_sentences": 2, "threads": 1, "device": "cpu"}
    table = {
        "data": {"source": "en", "target": "vi", "root": str(folder), **data},
        "text": given.get("text", WORDS),
        "model": given["model"],
        "training": {**training, "batch_tokens": 60, **language, **given.get("training", {})},
    }
    return parse(Recipe, table)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a corpus in every format."""
    folder = tmp_path_factory.mktemp("every")
    lines = [*SENTENCES[:8], "", *SENTENCES[8:], ""]
    for name in ("a.en", "a.vi"):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "a.links").write_text("".join("0-0 1-1 2-2\n" if line else "\n" for line in lines), encoding="utf-8")
    (folder / "a.tsv").write_text("".join(f"{line}\t{line}\n" for line in SENTENCES), encoding="utf-8")
    rows = "".join(f'{{"en": "{line}", "vi": "{line}"}}\n' for line in SENTENCES)
    (folder / "a.jsonl").write_text(rows, encoding="utf-8")
    sides = [
        f'<tuv xml:lang="en"><seg>{line}</seg></tuv><tuv xml:lang="vi"><seg>{line}</seg></tuv>' for line in SENTENCES
    ]
    (folder / "a.tmx").write_text(f"<tmx><body><tu>{'</tu><tu>'.join(sides)}</tu></body></tmx>", encoding="utf-8")
    (folder / "labelled.tsv").write_text("\n".join(documents(60)) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def plugged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a plugin provide an objective, so that `training.objective` has a second value."""
    plugin = plugins.Plugin("objective", "plugged", lambda training: None)
    monkeypatch.setattr(plugins, "_registered", {("objective", "plugged"): plugin})


def run_of(kind: str, folder: Path) -> Path:
    """Return where a kind of model is trained, away from the encoded corpora of the others."""
    return folder / kind / "run"


def trained(kind: str, folder: Path) -> tuple[Recipe, Reads]:
    """Train a kind of model and measure it; return its recipe, and what was read of it."""
    recipe = recipe_of(kind, folder)
    with spying(recipe) as reads:
        fit(recipe, run_of(kind, folder))
        measure_tests(run_of(kind, folder))
    return recipe, reads


def trained_classifier(recipe: ClassifierRecipe, run: Path) -> Reads:
    """Train a classifier; return what was read of its recipe."""
    with spying(recipe) as reads:
        fit_classifier(recipe, run)
    return reads


def classifier(folder: Path, kind: type[ClassifierRecipe] = ClassifierRecipe) -> ClassifierRecipe:
    """Return a recipe that trains a classifier in a moment."""
    training = {"steps": 3, "validate_every": 2, "threads": 1, "device": "cpu", "warmup": 1}
    model = {"embedding": 6, "hidden": 4, "attention": 4}
    return parse(kind, {"data": {"train": folder / "labelled.tsv"}, "model": model, "training": training})


@pytest.mark.parametrize("kind", KINDS)
def test_training_reads_or_refuses_every_setting(kind: str, folder: Path) -> None:
    recipe, reads = trained(kind, folder)
    assert ignored(recipe, reads, skip=(*DECODING, "model.", "training.phases.")) == []
    for _, phase in groups(recipe):
        if isinstance(phase, PhaseSettings):
            known = {name for name in PhaseSettings.model_fields if name in ("after", "dropout")}
            assert known <= {place.rpartition(".")[2] for place in reads.places}
            assert set(PhaseSettings.model_fields) - known <= set(TrainingSettings.model_fields)
    inner = [leaf for leaf in leaves(recipe) if leaf.place.startswith("model.") and leaf.place.count(".") > 1]
    assert [leaf.place for leaf in inner if not reads.has(leaf) and not is_refused(recipe, leaf)] == []


def test_training_a_classifier_reads_or_refuses_every_setting(folder: Path) -> None:
    recipe = classifier(folder)
    assert ignored(recipe, trained_classifier(recipe, run_of("classifier", folder)), skip=("model.",)) == []


def built(recipe: Any) -> str:
    """Return what the model of a recipe comes out as."""
    torch.manual_seed(1)
    if isinstance(recipe, ClassifierRecipe):
        return fingerprint(DocumentClassifier(recipe.model, 9, 2))
    return fingerprint(build_model(recipe.model, Vocabularies(9, 9, shared=True)))


@pytest.mark.parametrize("kind", [*KINDS, "classifier"])
def test_every_setting_of_a_model_makes_it_different_or_is_refused(kind: str, folder: Path) -> None:
    recipe: Any = classifier(folder) if kind == "classifier" else recipe_of(kind, folder)
    before = built(recipe)
    assert [
        leaf.place
        for leaf in leaves(recipe)
        if leaf.place.startswith("model.") and leaf.place.count(".") == 1 and leaf.name != "start_from"
        if not makes_a_difference(recipe, leaf, before) and not is_refused(recipe, leaf)
    ] == []


def makes_a_difference(recipe: Any, leaf: Leaf, before: str) -> bool:
    """Tell whether a model comes out different with another value of a setting."""
    for value in others(leaf):
        try:
            if built(with_value(recipe, leaf, value)) != before:
                return True
        except SettingsError:
            continue
    return False


@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
@pytest.mark.parametrize(("command", "kind"), [("translate", "rnn bahdanau"), ("generate", "decoder_only")])
def test_decoding_reads_or_refuses_every_setting(command: str, kind: str, method: str, folder: Path) -> None:
    assert ignored_by(kind, method, searched(command, kind, method, folder), folder) == []


def searched(command: str, kind: str, method: str, folder: Path) -> Reads:
    """Translate or continue a sentence with a trained run; return what was read of the settings of decoding."""
    run = run_of(kind, folder)
    if not run.exists():
        trained(kind, folder)
    with spying(recipe_of(kind, folder)) as reads:
        if command == "translate":
            Translator.load(run, method=method).translate(SENTENCES[:1])
        else:
            TextGenerator.load(run, method=method).generate_texts(SENTENCES[:1])
    return reads


def ignored_by(kind: str, method: str, reads: Reads, folder: Path) -> list[str]:
    """Return the settings of decoding that nothing read, and that are taken all the same."""
    model = capabilities_of(recipe_of(kind, folder).model)
    base = DecodingSettings(method=method)
    unread = [leaf for leaf in leaves(base) if not reads.has(leaf)]
    return [leaf.name for leaf in unread if not any(refused(base, leaf, value, model) for value in others(leaf))]


def refused(base: DecodingSettings, leaf: Leaf, value: Any, model: Any) -> bool:
    """Tell whether a search refuses a setting, by a sentence that names it."""
    try:
        given = parse(DecodingSettings, {**base.model_dump(), leaf.name: value})
        decoding_checks.check_decoding(given, [leaf.name], model)
    except SettingsError as error:
        return leaf.name in str(error)
    return False


def test_filling_blanks_reads_no_setting_of_decoding(folder: Path) -> None:
    recipe = recipe_of("masked_lm", folder)
    assert all(is_refused(recipe, leaf) for leaf in leaves(recipe) if leaf.place.startswith(DECODING))


def test_no_other_command_takes_settings() -> None:
    taking = {name for name, command in COMMANDS.items() if any("--set" in option.opts for option in command.params)}
    assert taking == SETTABLE


def test_comparing_refuses_what_a_system_would_not_read() -> None:
    arena = load_arena("arena-phrasebook", ["systems.transformer.set.training.recurrence=native"])
    with pytest.raises(SettingsError, match=r"system `transformer`.*`training\.recurrence: native`"):
        make_plan(arena)


def test_every_class_of_settings_is_asked(folder: Path) -> None:
    asked = {type(own) for kind in KINDS for _, own in groups(recipe_of(kind, folder))}
    asked |= {type(own) for _, own in groups(classifier(folder))}
    apart = {
        "MonolingualSettings",
        "StartSettings",
        "AdapterSettings",
        "OptimisationPhase",
        "ImportedSettings",
    }  # the last four are read where runs start, where they adapt one, in phases, and where they start from an import
    assert {kind.__name__ for kind in reachable(Recipe, ClassifierRecipe)} - {kind.__name__ for kind in asked} <= apart


def reachable(*kinds: type[Settings]) -> Iterator[type[Settings]]:
    """Yield all classes of settings that recipes may hold."""
    from dragoman.settings import _classes

    for kind in kinds:
        yield from _classes(kind, set())


class ForgottenTraining(ClassifierTrainingSettings):
    """Settings of a classifier as they were: two that only translators read, and one that nobody knows."""

    reward: dict[str, float] | None = None
    recurrence: str = "auto"
    forgotten: int = 1


class ForgottenRecipe(ClassifierRecipe):
    """The recipe of such a classifier."""

    training: ForgottenTraining


def test_settings_of_translators_in_a_classifier_would_be_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "RULES", rules.OPTIMISATION)
    recipe = classifier(folder, ForgottenRecipe)
    reads = trained_classifier(recipe, run_of("forgotten", folder))
    found = ignored(recipe, reads, skip=("model.", "text."))
    assert found == ["training.recurrence", "training.forgotten"] and not reads.has(
        Leaf("training.reward", recipe, "reward")
    )


def test_settings_of_translators_given_to_generate_would_be_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding_checks, "MODEL", ())
    reads = searched("generate", "decoder_only", "beam", folder)
    assert {"shortlist", "dictionary"} <= set(ignored_by("decoder_only", "beam", reads, folder))
