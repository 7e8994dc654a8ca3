"""Whoever may be told of training, or give it batches, has what that takes."""

import pytest

from dragoman.cli.console import ConsoleListener
from dragoman.data.stream import BatchStream
from dragoman.training.contracts import Listener, Stream
from dragoman.training.masking import MaskingStream
from dragoman.training.reports import Silent, TensorBoard
from dragoman.training.threads import SpreadThreads


@pytest.mark.parametrize("kind", [Silent, TensorBoard, ConsoleListener, SpreadThreads])
def test_every_listener_hears_everything(kind: type[Listener]) -> None:
    assert isinstance(kind.__new__(kind), Listener)


def test_what_lacks_a_method_is_no_listener() -> None:
    class Deaf(Silent):
        say = None

    assert not isinstance(Deaf(), Listener)


@pytest.mark.parametrize("kind", [BatchStream, MaskingStream])
def test_every_stream_can_be_resumed(kind: type[Stream]) -> None:
    assert {"__next__", "position", "epochs_done", "seek", "close"} <= set(dir(kind))
