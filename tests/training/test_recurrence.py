"""How recurrent loops run is chosen once and kept."""

import pytest
import torch

from dragoman.errors import SettingsError
from dragoman.native.compilation import NativeError
from dragoman.training import recurrence
from dragoman.training.recurrence import choose_recurrence, native_loops

CPU = torch.device("cpu")


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(part: object, say: object) -> None:
        raise NativeError("there is no C++ compiler here")

    monkeypatch.setattr(recurrence, "prepare", refuse)


def test_plain_needs_no_compiler(missing: None) -> None:
    assert choose_recurrence("plain", CPU, print) == "plain"


def test_auto_says_why_it_is_plain(missing: None) -> None:
    assert choose_recurrence("auto", CPU, print) == "plain, because there is no C++ compiler here"


def test_auto_is_plain_on_a_gpu() -> None:
    assert choose_recurrence("auto", torch.device("cuda"), print).startswith("plain")


def test_native_is_refused_where_it_is_unavailable(missing: None) -> None:
    with pytest.raises(SettingsError, match="there is no C\\+\\+ compiler here"):
        choose_recurrence("native", CPU, print)


def test_a_native_run_is_resumed_plainly_where_there_is_no_compiler(missing: None) -> None:
    said: list[str] = []
    assert not native_loops("native", CPU, said.append)
    assert len(said) == 1 and "slowly" in said[0]


def test_a_native_run_is_resumed_plainly_on_a_gpu_and_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(part: object, say: object) -> None:
        raise AssertionError("nothing is compiled for a GPU")

    monkeypatch.setattr(recurrence, "prepare", refuse)
    said: list[str] = []
    assert not native_loops("native", torch.device("cuda"), said.append)
    assert len(said) == 1 and "GPU" in said[0]


@pytest.mark.parametrize("chosen", [None, "plain", "plain, because there is no C++ compiler here"])
def test_a_run_that_was_plain_stays_so(chosen: str | None) -> None:
    assert not native_loops(chosen, CPU, print)
