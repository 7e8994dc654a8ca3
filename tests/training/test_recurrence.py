"""How recurrent loops run is chosen once and kept."""

import pytest
import torch

from dragoman.errors import SettingsError
from dragoman.laws.examples import source, target
from dragoman.models.rnn import build_rnn
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Vocabularies
from dragoman.native.compilation import NativeError
from dragoman.training import recurrence
from dragoman.training.recurrence import choose_recurrence, use_recurrence

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


def test_native_is_refused_where_it_cannot_be_had(missing: None) -> None:
    with pytest.raises(SettingsError, match="there is no C\\+\\+ compiler here"):
        choose_recurrence("native", CPU, print)


def test_a_native_run_goes_on_plainly_where_there_is_no_compiler(missing: None) -> None:
    model = build_rnn(RecurrentSettings(embedding=6, hidden=8), Vocabularies(13, 17))
    said: list[str] = []
    use_recurrence("native", model, said.append)
    assert len(said) == 1 and "slower" in said[0]
    assert model(source([5, 3]), target(2, 4)).logits.shape == (2, 4, 17)


def test_a_native_run_goes_on_plainly_on_a_gpu_and_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(part: object, say: object) -> None:
        raise AssertionError("nothing is compiled for a GPU")

    monkeypatch.setattr(recurrence, "prepare", refuse)
    model = build_rnn(RecurrentSettings(embedding=6, hidden=8), Vocabularies(13, 17)).to("meta")
    said: list[str] = []
    use_recurrence("native", model, said.append)
    assert len(said) == 1 and "GPU" in said[0] and not model.decoder.stack.native


def test_a_run_of_earlier_days_is_plain() -> None:
    model = build_rnn(RecurrentSettings(embedding=6, hidden=8), Vocabularies(13, 17))
    use_recurrence(None, model, print)
    assert not model.decoder.stack.native
