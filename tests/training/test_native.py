"""What runs in C++ is chosen once and kept."""

import pytest
import torch

from dragoman.errors import SettingsError
from dragoman.native.compilation import NativeError
from dragoman.training import native
from dragoman.training.native import choose_loss, choose_recurrence, native_loops, native_loss, prepare_segmentation

CPU = torch.device("cpu")


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(part: object, say: object) -> None:
        raise NativeError("there is no C++ compiler here")

    monkeypatch.setattr(native, "prepare", refuse)


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

    monkeypatch.setattr(native, "prepare", refuse)
    said: list[str] = []
    assert not native_loops("native", torch.device("cuda"), said.append)
    assert len(said) == 1 and "GPU" in said[0]


@pytest.mark.parametrize("chosen", [None, "plain", "plain, because there is no C++ compiler here"])
def test_a_run_that_was_plain_stays_so(chosen: str | None) -> None:
    assert not native_loops(chosen, CPU, print)


def silent(text: str) -> None:
    raise AssertionError(text)


def test_a_new_run_says_why_its_loss_is_plain(missing: None) -> None:
    assert choose_loss(CPU, silent) == "plain, because there is no C++ compiler here"


def test_the_loss_is_plain_on_a_gpu() -> None:
    assert choose_loss(torch.device("cuda"), silent).startswith("plain")


def test_a_native_loss_is_resumed_plainly_where_there_is_no_compiler(missing: None) -> None:
    said: list[str] = []
    assert not native_loss("native", recurrence=None, device=CPU, say=said.append)
    assert len(said) == 1 and "slowly" in said[0]


@pytest.mark.parametrize(("recurrence", "native"), [(None, False), ("plain", False), ("native", True)])
def test_a_run_of_0_1_0_computes_its_loss_as_before(
    recurrence: str | None, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.training.native.prepare", lambda part, say: None)
    assert native_loss(None, recurrence=recurrence, device=CPU, say=silent) == native


def test_a_loss_that_was_plain_stays_so() -> None:
    assert not native_loss("plain, because there was none", recurrence="native", device=CPU, say=silent)


def test_bpe_dropout_says_why_it_is_slow(missing: None) -> None:
    said: list[str] = []
    prepare_segmentation(said.append)
    assert said == ["BPE-dropout runs in Python, more slowly, because there is no C++ compiler here."]
