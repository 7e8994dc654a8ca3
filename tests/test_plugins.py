"""What other packages provide is used wherever a recipe names it, and a broken package disturbs nobody else."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from tests.tiny import RECIPE, ROOT, recipe_file

from dragoman import plugins
from dragoman.attention.scores import Dot
from dragoman.errors import DragomanError, SettingsError
from dragoman.inference.translator import Translator
from dragoman.jobs.checks import check_recipe
from dragoman.jobs.train import fit
from dragoman.models.build import build_model
from dragoman.models.document import DocumentSettings, build_document
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Vocabularies
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import Recipe, load_recipe
from dragoman.settings import dump, parse, read_yaml

EXAMPLE = ROOT / "docs" / "examples" / "plugin"


def entry(value: str) -> EntryPoint:
    """An entry point as an installed package declares it."""
    return EntryPoint("example", value, plugins.GROUP)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """The example of docs/extend.md, as if it were installed; a test may add more entry points."""
    entries = [entry("dragoman_low_rank:PLUGINS")]
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setattr(plugins, "entry_points", lambda group: entries if group == plugins.GROUP else [])
    plugins._installed.cache_clear()
    yield entries
    plugins._installed.cache_clear()
    sys.modules.pop("dragoman_low_rank", None)


TINY = ("training.steps=2", "training.validate_every=2")


@pytest.mark.parametrize(
    ("base", "assignments"),
    [
        ("rnn", ["model.score=low_rank"]),
        ("transformer", ["model.cross_score=low_rank", "model.relative=near", "model.positions=halving"]),
        ("rnn", ["model.kind=tiny"]),
        ("rnn", ["training.objective=focal"]),
    ],
)
def test_a_run_with_a_plugin_trains_and_translates(
    installed: list[EntryPoint], tmp_path: Path, base: str, assignments: list[str]
) -> None:
    recipe = load_recipe(recipe_file(tmp_path, base), [*TINY, *assignments])
    fit(recipe, tmp_path / "run")
    opened = open_run(tmp_path / "run").recipe
    assert type(opened.model) is type(recipe.model) and dump(opened) == dump(recipe)
    assert len(Translator.load(tmp_path / "run").translate(["I love cats."])) == 1


def test_each_plugin_of_the_example_is_what_computes(installed: list[EntryPoint]) -> None:
    example = __import__("dragoman_low_rank")
    model = build_model(RecurrentSettings(score="low_rank", embedding=4, hidden=4), Vocabularies(9, 9, shared=False))
    assert any(isinstance(module, example.LowRank) for module in model.modules())
    tiny = parse(Recipe, {**_table(), "model": {"kind": "tiny", "embedding": 5}}).model
    assert isinstance(tiny, example.TinySettings) and tiny.embedding == 5 and tiny.hidden == 16


def test_a_mistake_in_the_section_of_a_plugin_is_refused_by_name(installed: list[EntryPoint]) -> None:
    with pytest.raises(SettingsError, match=r"embeding.*did you mean `embedding`"):
        parse(Recipe, {**_table(), "model": {"kind": "tiny", "embeding": 5}})


@pytest.mark.parametrize(
    ("section", "name"), [({"kind": "rnn", "score": "low_rnk"}, "low_rnk"), ({"kind": "tinny"}, "tinny")]
)
def test_a_name_that_nobody_provides_is_refused(
    installed: list[EntryPoint], section: dict[str, str], name: str
) -> None:
    with pytest.raises(SettingsError, match=f"cannot be `{name}`"):
        parse(Recipe, {**_table(), "model": section})


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"kind": "rnn", "score": "low_rnk"}, "; did you mean `low_rank`?"),
        ({"kind": "rnn", "score": "xyz"}, ", location, and those of installed plugins: low_rank"),
        ({"kind": "tinny"}, "; did you mean `tiny`?"),
        ({"kind": "xyz"}, ", transformer, and those of installed plugins: tiny"),
    ],
)
def test_the_names_of_plugins_are_among_those_that_a_mistake_is_compared_with(
    installed: list[EntryPoint], section: dict[str, str], said: str
) -> None:
    with pytest.raises(SettingsError, match=f"{re.escape(said)}$"):
        parse(Recipe, {**_table(), "model": section})


def test_a_run_whose_plugin_is_gone_says_so(installed: list[EntryPoint], tmp_path: Path) -> None:
    recipe = parse(Recipe, {**_table(), "model": {"kind": "rnn", "score": "low_rank"}})
    (tmp_path / "recipe.yaml").write_text(dump(recipe), encoding="utf-8")
    installed.clear()
    plugins._installed.cache_clear()
    with pytest.raises(SettingsError, match=r"score.*low_rank.*location, and those of installed plugins$"):
        parse(Recipe, read_yaml(tmp_path / "recipe.yaml"))


def test_a_run_whose_architecture_is_gone_says_so(installed: list[EntryPoint], tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(dump(parse(Recipe, {**_table(), "model": {"kind": "tiny"}})))
    installed.clear()
    plugins._installed.cache_clear()
    with pytest.raises(SettingsError, match=r"model\.kind.*tiny.*transformer, and those of installed plugins$"):
        parse(Recipe, read_yaml(tmp_path / "recipe.yaml"))


def test_a_package_that_cannot_be_imported_disturbs_only_who_needs_it(installed: list[EntryPoint]) -> None:
    installed.append(entry("no_such_package:PLUGINS"))
    assert check_recipe(parse(Recipe, {**_table(), "model": {"kind": "rnn", "score": "dot"}})) == []
    with pytest.raises(SettingsError, match=r"no_such_package.*update or uninstall"):
        parse(Recipe, {**_table(), "model": {"kind": "rnn", "score": "low_rank"}})


def test_an_entry_point_to_something_else_is_refused(installed: list[EntryPoint]) -> None:
    installed.append(entry("math:pi"))
    with pytest.raises(SettingsError, match="math:pi"):
        plugins.find("score", "low_rank")


def test_two_packages_with_one_name_are_refused(installed: list[EntryPoint]) -> None:
    installed.append(entry("dragoman_low_rank:PLUGINS"))
    with pytest.raises(SettingsError, match="two plugins provide the score `low_rank`"):
        plugins.find("score", "low_rank")


def test_a_plugin_can_be_registered_for_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_registered", {})
    mine = plugins.Plugin("positions", "mine", lambda width, count: torch.nn.Identity())
    plugins.register(mine, mine)
    assert plugins.find("positions", "mine") is mine
    with pytest.raises(SettingsError, match="mine"):
        plugins.register(plugins.Plugin("positions", "mine", lambda width, count: torch.nn.ReLU()))


def test_a_cell_of_a_notebook_may_be_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_registered", {})
    for module in (torch.nn.Identity, torch.nn.ReLU):

        def build(width: int, count: int, module: type[torch.nn.Module] = module) -> torch.nn.Module:
            return module()

        build.__module__ = "__main__"
        plugins.register(plugins.Plugin("positions", "mine", build))
        found = plugins.find("positions", "mine")
        assert found is not None and found.build is build


def test_a_model_whose_settings_extend_built_in_ones_is_built_by_its_own_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class MineSettings(RecurrentSettings):
        kind: Literal["mine"] = "mine"  # type: ignore[assignment]

    class Mine(torch.nn.Module):
        pass

    mine = plugins.Plugin("model", "mine", lambda settings, vocabularies: Mine(), settings=MineSettings)
    monkeypatch.setattr(plugins, "_registered", {("model", "mine"): mine})
    assert isinstance(build_model(MineSettings(), Vocabularies(9, 9, shared=False)), Mine)


class Measured(Dot):
    """A score that reads a number of a tensor when it is built."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.full((2,), 0.5).sum().item()


def test_a_plugin_may_read_numbers_of_its_tensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = plugins.Plugin("score", "mine", lambda *_, **__: Measured())
    monkeypatch.setattr(plugins, "_registered", {("score", "mine"): mine})
    fit(load_recipe(recipe_file(tmp_path, "transformer"), [*TINY, "model.cross_score=mine"]), tmp_path / "run")
    assert len(Translator.load(tmp_path / "run").translate(["I love cats."])) == 1


def test_an_error_within_a_plugin_is_not_taken_for_a_lack_of_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def build(*_: int, **__: int) -> Dot:
        raise RuntimeError("mine")

    monkeypatch.setattr(plugins, "_registered", {("score", "mine"): plugins.Plugin("score", "mine", build)})
    with pytest.raises(RuntimeError, match=r"^mine$"):
        fit(load_recipe(recipe_file(tmp_path, "rnn"), [*TINY, "model.score=mine"]), tmp_path / "run")


def test_weights_that_torch_would_not_train_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hiding(Dot):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [torch.nn.Linear(4, 4)]

    mine = plugins.Plugin("score", "hiding", lambda *_, **__: Hiding())
    monkeypatch.setattr(plugins, "_registered", {("score", "hiding"): mine})
    with pytest.raises(
        SettingsError, match=r"`decoder\.\S*score\.layers\[0\]\.weight` .* neither trained .*nn\.ModuleList"
    ):
        build_model(RecurrentSettings(score="hiding"), Vocabularies(9, 9, shared=False))


def test_a_plain_tensor_of_a_plugin_is_said_once_to_be_neither_trained_nor_saved(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Plain(Dot):
        def __init__(self) -> None:
            super().__init__()
            self.of_this_test = torch.ones(1)

    mine = plugins.Plugin("score", "plain", lambda *_, **__: Plain())
    monkeypatch.setattr(plugins, "_registered", {("score", "plain"): mine})
    for score in ("plain", "plain", "dot"):
        build_model(RecurrentSettings(score=score), Vocabularies(9, 9, shared=False))
    (said,) = caplog.messages
    assert re.search(
        r"`decoder\.\S*score\.of_this_test` .* neither trained nor saved.*nn\.Parameter.*`register_buffer`", said
    )


class ReadingSettings(DocumentSettings):
    """A model of a plugin that reads documents."""

    kind: Literal["reading"] = "reading"  # type: ignore[assignment]


def test_a_model_that_reads_documents_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = plugins.Plugin("model", "reading", build_document, settings=ReadingSettings)
    monkeypatch.setattr(plugins, "_registered", {("model", "reading"): mine})
    recipe = load_recipe(recipe_file(tmp_path, "transformer"), ["model.kind=reading"])
    with pytest.raises(DragomanError, match=r"`model\.kind: reading` needs documents"):
        fit(recipe, tmp_path / "run")


def test_a_kind_that_does_not_exist_is_refused() -> None:
    kind: Any = "attention"
    with pytest.raises(SettingsError, match="`mine` cannot have the kind `attention`; known: score, relative"):
        plugins.Plugin(kind, "mine", lambda: None)


@pytest.mark.parametrize("settings", [None, RecurrentSettings])
def test_a_model_needs_settings_with_its_name(settings: type[RecurrentSettings] | None) -> None:
    with pytest.raises(SettingsError, match=r'`mine`.*`settings=`.*`kind: Literal\["mine"\] = "mine"`'):
        plugins.Plugin("model", "mine", lambda: None, settings=settings)


def _table() -> dict[str, object]:
    """All sections of a recipe but the model."""
    return {
        "data": {name: RECIPE["data"][name] for name in ("source", "target", "train", "dev")},
        "text": {"kind": "words"},
        "training": {"steps": 1},
    }
