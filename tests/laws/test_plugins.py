"""The laws are run on plugins: what keeps them passes, what breaks one is named."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
import torch
from tests.tiny import ROOT
from torch import Tensor

from dragoman.attention.scores import Dot, Score
from dragoman.errors import InputError, SettingsError
from dragoman.interfaces import Batch, Loss
from dragoman.laws.plugins import architectures_of, check, laws_of, load_plugins
from dragoman.models.rnn import build_rnn
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq
from dragoman.plugins import Plugin, _registered, register
from dragoman.training.objectives import translation_loss


@pytest.fixture(autouse=True)
def registered() -> None:
    """Plugins of one test are not those of another."""
    known = dict(_registered)
    yield
    _registered.clear()
    _registered.update(known)


class LooksAtPadding(Score):
    """A score that depends on how many keys there are."""

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(-1, -2) * keys.shape[-2]


def mean_loss(training: object) -> object:
    """An objective that divides by the tokens of each batch, so that sums over batches mean nothing."""

    def objective(model: Seq2Seq, batch: Batch) -> Loss:
        loss = translation_loss(model, batch)
        return Loss(loss.total / loss.tokens, loss.tokens, loss.plain)

    return objective


def test_an_objective_that_keeps_the_laws_passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples" / "plugin"))
    plugins = load_plugins("dragoman_low_rank")
    verdicts = list(check([plugin for plugin in plugins if plugin.kind == "objective"], tmp_path))
    assert [verdict.failure for verdict in verdicts] == [None] * 4


def test_an_objective_that_divides_too_early_is_found(tmp_path: Path) -> None:
    plugin = Plugin("objective", "mean", mean_loss)
    register(plugin)
    failures = {verdict.law: verdict.failure for verdict in check([plugin], tmp_path)}
    assert "9 uneven batches add up" in {law for law, failure in failures.items() if failure}


def test_a_score_that_sees_padding_is_found(tmp_path: Path) -> None:
    plugin = Plugin("score", "padded", lambda query_dim, key_dim, *, hidden, positions: LooksAtPadding())
    register(plugin)
    architecture = architectures_of(plugin)["bahdanau"]
    laws = laws_of(plugin, architecture)
    with pytest.raises(AssertionError):
        laws["3 padding does not matter"](architecture, tmp_path)
    laws["6 asking for weights changes nothing"](architecture, tmp_path)


def test_a_score_with_weights_that_it_does_not_use_is_found(tmp_path: Path) -> None:
    class Idle(Dot):
        def __init__(self) -> None:
            super().__init__()
            self.unused = torch.nn.Linear(2, 2)

    plugin = Plugin("score", "idle", lambda *_, **__: Idle())
    register(plugin)
    verdicts = check([plugin], tmp_path)
    failures = {verdict.law: verdict.failure for verdict in verdicts if verdict.architecture == "bahdanau"}
    broken = {law: failure for law, failure in failures.items() if failure}
    assert list(broken) == ["13 every weight is trained"]
    assert "`decoder.attention.score.unused.weight`: use them, or set" in broken["13 every weight is trained"]


def test_positions_with_random_numbers_that_are_not_saved_are_found(tmp_path: Path) -> None:
    class Random(torch.nn.Module):
        def __init__(self, width: int, count: int) -> None:
            super().__init__()
            self.table = torch.randn(count, width)

        def forward(self, states: Tensor, offset: int = 0) -> Tensor:
            return states + self.table[offset : offset + states.shape[1]]

    plugin = Plugin("positions", "random", Random)
    register(plugin)
    laws = laws_of(plugin, architectures_of(plugin)["transformer"])
    with pytest.raises(AssertionError, match=r"not saved.*nn\.Parameter or a persistent buffer"):
        laws["14 saved weights are all there is"](architectures_of(plugin)["transformer"], tmp_path)
    laws["1 any chunking gives the same logits"](architectures_of(plugin)["transformer"], tmp_path)


def test_a_plain_tensor_is_found_though_it_is_the_same_in_every_model(tmp_path: Path) -> None:
    class Plain(Dot):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.ones(1)

    plugin = Plugin("score", "plain", lambda *_, **__: Plain())
    register(plugin)
    architecture = architectures_of(plugin)["bahdanau"]
    with pytest.raises(AssertionError, match=r"score\.scale` is not saved.*nn\.Parameter or a persistent buffer"):
        laws_of(plugin, architecture)["14 saved weights are all there is"](architecture, tmp_path)


def test_what_decorates_a_function_is_no_line_of_a_plugin(tmp_path: Path) -> None:
    @contextmanager
    def nothing() -> Iterator[None]:
        yield

    def build(*_: int, **__: int) -> Score:
        return nothing()(int)("no number")

    plugin = Plugin("score", "decorated", build)
    register(plugin)
    place = f"(test_plugins.py, line {build.__code__.co_firstlineno + 1})"
    assert all(str(verdict.failure).endswith(place) for verdict in check([plugin], tmp_path))


@pytest.mark.parametrize("example", [None, {}])
def test_a_model_without_small_sizes_is_told_of_rounding(
    example: dict[str, int] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class LargeSettings(RecurrentSettings):
        kind: Literal["large"] = "large"  # type: ignore[assignment]

    def rounds(*_: object) -> None:
        raise AssertionError("Tensor-likes are not close!")

    plugin = Plugin("model", "large", build_rnn, settings=LargeSettings, example=example)
    monkeypatch.setattr("dragoman.laws.plugins.laws_of", lambda *_: {"1 a law": rounds})
    (verdict,) = check([plugin], tmp_path)
    assert verdict.failure is not None and ("no `example=`" in verdict.failure) == (example is None)


@pytest.mark.parametrize("kind", ["score", "relative", "positions", "objective"])
def test_every_kind_of_plugin_meets_a_resumed_run(kind: str) -> None:
    plugin = Plugin(kind, "mine", lambda *_, **__: torch.nn.Identity())  # type: ignore[arg-type]
    register(plugin)
    for architecture in architectures_of(plugin).values():
        assert any(title.startswith("10 ") for title in laws_of(plugin, architecture))


def test_an_error_names_the_line_of_the_plugin_in_which_it_arose(tmp_path: Path) -> None:
    def build(*_: int, **__: int) -> Score:
        raise ValueError("no")

    plugin = Plugin("score", "raising", build)
    register(plugin)
    line = build.__code__.co_firstlineno + 1
    failures = {verdict.failure for verdict in check([plugin], tmp_path)}
    assert failures == {f"ValueError: no (test_plugins.py, line {line})"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("score", "dot"),
        ("relative", "alibi"),
        ("positions", "sinusoidal"),
        ("objective", "translation"),
    ],
)
def test_a_name_that_dragoman_has_is_refused(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"from dragoman.plugins import Plugin\nPLUGINS = Plugin('{kind}', '{name}', lambda *_: None)\n"
    (tmp_path / f"taken_{kind}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=rf"{kind} `{name}` of `taken_{kind}`.*rename"):
        load_plugins(f"taken_{kind}")


def test_one_plugin_without_a_tuple_around_it_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "alone.py").write_text(
        "from dragoman.plugins import Plugin\nPLUGINS = (Plugin('score', 'alone', lambda *_: None))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [plugin.name for plugin in load_plugins("alone")] == ["alone"]


def test_a_plugin_that_cannot_be_one_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unsettled.py").write_text(
        "from dragoman.plugins import Plugin\nPLUGINS = (Plugin('model', 'mine', lambda *_: None),)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SettingsError, match=r"^the model `mine`.*`settings=`"):
        load_plugins("unsettled")


@pytest.mark.parametrize("module", ["no_such_module_at_all", "math"])
def test_a_module_without_plugins_is_refused(module: str) -> None:
    with pytest.raises(InputError, match=module):
        load_plugins(module)
