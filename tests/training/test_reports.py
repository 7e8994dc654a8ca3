"""metrics.jsonl and TensorBoard."""

import json
from pathlib import Path

import pytest
from tests.tiny import room_for

from dragoman.errors import TrainingError
from dragoman.training.contracts import Listener
from dragoman.training.reports import MetricsFile, Silent, TensorBoard


@pytest.fixture
def metrics(tmp_path: Path) -> MetricsFile:
    return MetricsFile(tmp_path / "metrics.jsonl")


def test_records_are_lines_of_json(metrics: MetricsFile) -> None:
    metrics.append({"step": 1, "loss": 0.5})
    metrics.append({"step": 2, "loss": 0.25})
    assert metrics.path.read_text(encoding="utf-8") == '{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.25}\n'
    assert metrics.read() == [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_has_not_are_null(metrics: MetricsFile, number: float) -> None:
    metrics.append({"step": 1, "loss": number})
    assert json.loads(metrics.path.read_text(encoding="utf-8")) == {"step": 1, "loss": None}


def test_a_full_disk_is_named(metrics: MetricsFile) -> None:
    with (
        pytest.raises(TrainingError, match=r"metrics\.jsonl cannot be written \(File too large\).*--resume"),
        room_for(4),
    ):
        metrics.append({"step": 1, "loss": 0.5})


def test_a_file_that_is_not_there_has_no_records(metrics: MetricsFile) -> None:
    assert metrics.read() == []
    metrics.truncate_after(5)
    assert not metrics.path.exists()


def test_a_line_cut_short_is_left_out(metrics: MetricsFile) -> None:
    metrics.append({"step": 1})
    with metrics.path.open("a", encoding="utf-8") as file:
        file.write('{"step": 2, "lo')
    assert metrics.read() == [{"step": 1}]


def test_what_a_resumed_run_will_write_again_is_forgotten(metrics: MetricsFile) -> None:
    for step in (1, 2, 3):
        metrics.append({"step": step})
    metrics.truncate_after(2)
    metrics.append({"step": 3, "again": True})
    assert metrics.read() == [{"step": 1}, {"step": 2}, {"step": 3, "again": True}]
    assert {path.name for path in metrics.path.parent.iterdir()} == {"metrics.jsonl", "checksums.json"}


def test_the_record_of_an_average_is_forgotten_too_as_it_is_made_again(metrics: MetricsFile) -> None:
    metrics.append({"step": 2, "dev_loss": 1.0, "best": True})
    metrics.append({"step": 2, "dev_loss": 0.5, "averaged": 3})
    metrics.truncate_after(2)
    assert metrics.read() == [{"step": 2, "dev_loss": 1.0, "best": True}]


def test_a_change_of_what_was_recorded_is_noticed_and_what_is_appended_is_not(metrics: MetricsFile) -> None:
    assert not metrics.changed()
    metrics.append({"step": 1, "loss": 0.5})
    metrics.record()
    metrics.append({"step": 2, "loss": 0.25})
    assert not metrics.changed()
    text = metrics.path.read_text(encoding="utf-8")
    for other in (text.replace("0.5", "0.6"), text[:10], text[1:]):
        metrics.path.write_text(other, encoding="utf-8")
        assert metrics.changed()
    metrics.path.write_text(text, encoding="utf-8")
    metrics.truncate_after(1)
    metrics.append({"step": 2, "loss": 0.2})
    assert not metrics.changed()


def test_silence_is_a_listener() -> None:
    listener = Silent()
    assert isinstance(listener, Listener)
    listener.progress({})
    listener.record({})
    listener.say("")
    listener.close()


def test_tensorboard_gets_the_numbers_and_passes_everything_on(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    heard: list[object] = []

    class Ear(Silent):
        progress = record = say = lambda self, what: heard.append(what)

    board = TensorBoard(tmp_path, Ear())
    board.progress({"step": 1})
    board.record({"step": 7, "loss": 0.5, "best": True, "note": "text"})
    board.say("done")
    board.close()
    assert heard == [{"step": 1}, {"step": 7, "loss": 0.5, "best": True, "note": "text"}, "done"]
    events = EventAccumulator(str(tmp_path)).Reload()
    assert events.Tags()["scalars"] == ["loss"]
    assert [(event.step, event.value) for event in events.Scalars("loss")] == [(7, 0.5)]


@pytest.mark.parametrize("line", [b"\xcc", b"5", b"null", b'{"step": "x"}', b'{"step": 1, "loss": "x"}', b"[" * 50_000])
def test_a_damaged_line_is_left_out_and_counted(metrics: MetricsFile, line: bytes) -> None:
    metrics.append({"step": 1, "loss": 0.5})
    with metrics.path.open("ab") as file:
        file.write(line + b"\n")
    metrics.append({"step": 2, "loss": None, "best": True})
    expected = [{"step": 1, "loss": 0.5}, {"step": 2, "loss": None, "best": True}]
    assert metrics.read() == expected
    assert metrics.truncate_after(2) == 1
    assert metrics.read() == expected and metrics.truncate_after(2) == 0
