"""Whether the loss is computed in C++ is chosen once and kept."""

import pytest
import torch

from dragoman.native.compilation import LOSS, NativeError
from dragoman.training import recurrence
from dragoman.training.native_loss import choose_loss, native_loss

CPU = torch.device("cpu")


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(part: object, say: object) -> None:
        assert part is LOSS
        raise NativeError("there is no C++ compiler here")

    monkeypatch.setattr(recurrence, "prepare", refuse)


def silent(text: str) -> None:
    raise AssertionError(text)


def test_a_new_run_says_why_its_loss_is_plain(missing: None) -> None:
    assert choose_loss(CPU, silent) == "plain, because there is no C++ compiler here"


def test_it_is_plain_on_a_gpu() -> None:
    assert choose_loss(torch.device("cuda"), silent).startswith("plain")


def test_a_native_run_is_resumed_plainly_where_there_is_no_compiler(missing: None) -> None:
    said: list[str] = []
    assert not native_loss("native", recurrence=None, device=CPU, say=said.append)
    assert len(said) == 1 and "slowly" in said[0]


@pytest.mark.parametrize(("recurrence", "native"), [(None, False), ("plain", False), ("native", True)])
def test_a_run_of_0_1_0_computes_its_loss_as_before(
    recurrence: str | None, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.training.recurrence.prepare", lambda part, say: None)
    assert native_loss(None, recurrence=recurrence, device=CPU, say=silent) == native


def test_a_run_that_was_plain_stays_so() -> None:
    assert not native_loss("plain, because there was none", recurrence="native", device=CPU, say=silent)
