"""Sentences of many callers share batches, and none of them notices the others."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from tests.serving.workers import Reversing, job

from dragoman.data.collate import collate
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError
from dragoman.inference.exploring.interventions import Interventions, Steering, source_lookups
from dragoman.inference.exploring.recording import GivenUpError, Recorder
from dragoman.laws.examples import model_of
from dragoman.serving.engine import Engine, choose
from dragoman.serving.interface import OverloadedError, ShuttingDownError
from dragoman.serving.jobs import Found
from dragoman.serving.settings import EngineSettings


def run(worker: Reversing, use: Callable[[Engine], Awaitable[Any]], **settings: Any) -> Engine:
    """Use an engine in an event loop, to its end."""

    async def whole() -> Engine:
        engine = Engine(worker, EngineSettings(**settings))
        try:
            await asyncio.wait_for(use(engine), 20)
        finally:
            worker.released.set()
            await engine.close()
        return engine

    return asyncio.run(whole())


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.002)


def texts(found: list[Found]) -> list[str]:
    return [one.best.text for one in found]


def test_what_comes_while_a_batch_is_translated_shares_the_next_one() -> None:
    worker = Reversing()
    worker.released.clear()

    async def use(engine: Engine) -> None:
        first = asyncio.create_task(engine.translate([job("a1")]))
        await until(lambda: len(worker.batches) == 1)
        others = [asyncio.create_task(engine.translate([job(f"{number}x"), job(f"{number}y")])) for number in range(5)]
        await asyncio.sleep(0)
        worker.released.set()
        assert texts(await first) == ["1a"]
        assert [texts(await other) for other in others] == [[f"x{number}", f"y{number}"] for number in range(5)]

    engine = run(worker, use, wait_ms=0)
    assert [len(batch) for batch in worker.batches] == [1, 10]
    assert (engine.figures.batches, engine.figures.sentences, engine.figures.largest) == (2, 11, 10)


def test_a_batch_waits_for_company_but_not_long() -> None:
    worker = Reversing()

    async def use(engine: Engine) -> None:
        await engine.translate([job("a"), job("b")])  # now it has seen company
        one = asyncio.create_task(engine.translate([job("c")]))
        await asyncio.sleep(0.02)
        other = asyncio.create_task(engine.translate([job("d")]))
        assert texts(await one) == ["c"] and texts(await other) == ["d"]

    run(worker, use, wait_ms=500, cache_mb=0)
    assert worker.batches == [["a", "b"], ["c", "d"]]


def test_a_caller_who_comes_as_the_last_one_leaves_gets_a_translation_all_the_same() -> None:
    worker = Reversing()

    async def use(engine: Engine) -> None:
        worker.released.clear()
        leaving = asyncio.create_task(engine.translate([job("same")]))
        await until(lambda: len(worker.batches) == 1)
        leaving.cancel()
        coming = asyncio.create_task(engine.translate([job("same")]))
        await asyncio.wait([leaving])
        worker.released.set()
        assert texts(await coming) == ["emas"]

    run(worker, use)
    assert worker.batches == [["same"], ["same"]]


def test_identical_sentences_are_translated_once_in_flight_and_afterwards() -> None:
    worker = Reversing()

    async def use(engine: Engine) -> None:
        worker.released.clear()
        tasks = [asyncio.create_task(engine.translate([job("same"), job("same")])) for _ in range(3)]
        await until(lambda: len(worker.batches) == 1)
        worker.released.set()
        assert [texts(await task) for task in tasks] == [["emas"] * 2] * 3
        assert texts(await engine.translate([job("same")])) == ["emas"]
        assert texts(await engine.translate([job("same", n_best=1, beam=2)])) == ["emas"]  # settings differ

    engine = run(worker, use)
    assert worker.batches == [["same"], ["same"]]
    assert (engine.figures.shared, engine.figures.remembered) == (5, 1)


@pytest.mark.parametrize(("fault", "error"), [("bad", InputError), ("damaged", RuntimeError)])
def test_a_faulty_sentence_does_not_hurt_those_in_its_batch(fault: str, error: type[Exception]) -> None:
    worker = Reversing()

    async def use(engine: Engine) -> None:
        worker.released.clear()
        first = asyncio.create_task(engine.translate([job("first")]))
        await until(lambda: len(worker.batches) == 1)
        good = asyncio.create_task(engine.translate([job("good"), job("fine")]))
        faulty = asyncio.create_task(engine.translate([job(f"very {fault}")]))
        await asyncio.sleep(0)
        worker.released.set()
        assert texts(await good) == ["doog", "enif"]
        with pytest.raises(error):
            await faulty
        await first
        assert texts(await engine.translate([job("after")])) == ["retfa"]

    run(worker, use)


def test_a_sentence_that_nobody_waits_for_is_given_up_and_can_be_asked_for_again() -> None:
    worker = Reversing(steps=400, seconds=0.005)

    async def use(engine: Engine) -> None:
        task = asyncio.create_task(engine.translate([job("left")]))
        await until(lambda: worker.taken > 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engine.waiting == 0
        await engine.compute(lambda _: None)  # its thread is free again
        assert worker.taken < 300
        worker.steps = 1
        assert texts(await engine.translate([job("left")])) == ["tfel"]

    engine = run(worker, use)
    assert engine.figures.given_up == 1


def test_the_thread_of_an_engine_ends_when_nothing_is_left_and_comes_back() -> None:
    """The OpenMP threads of one that stays would slow down those of other engines."""
    worker = Reversing()

    def threads() -> int:
        return sum(thread.name == "dragoman-engine" for thread in threading.enumerate())

    async def use(engine: Engine) -> None:
        for text in ("ab", "cd"):
            worker.released.clear()
            task = asyncio.create_task(engine.translate([job(text)]))
            await until(lambda text=text: [text] in worker.batches)
            assert threads() == 1
            worker.released.set()
            await task
            await until(lambda: threads() == 0)

    run(worker, use, wait_ms=0)


def test_a_sentence_that_somebody_else_waits_for_goes_on() -> None:
    worker = Reversing(steps=5, seconds=0.01)

    async def use(engine: Engine) -> None:
        leaving = asyncio.create_task(engine.translate([job("shared")]))
        staying = asyncio.create_task(engine.translate([job("shared")]))
        await until(lambda: worker.taken > 1)
        leaving.cancel()
        assert texts(await staying) == ["derahs"]

    assert run(worker, use).figures.given_up == 0


def test_what_is_given_up_while_it_waits_is_never_translated() -> None:
    worker = Reversing()

    async def use(engine: Engine) -> None:
        worker.released.clear()
        first = asyncio.create_task(engine.translate([job("first")]))
        await until(lambda: len(worker.batches) == 1)
        second = asyncio.create_task(engine.translate([job("second")]))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.sleep(0)
        worker.released.set()
        await first

    run(worker, use)
    assert worker.batches == [["first"]]


def test_a_full_queue_refuses_and_says_when_to_come_again() -> None:
    worker = Reversing()

    async def use(engine: Engine) -> None:
        worker.released.clear()
        first = asyncio.create_task(engine.translate([job(f"{number}") for number in range(4)]))
        await until(lambda: len(worker.batches) == 1)
        with pytest.raises(OverloadedError) as caught:
            await engine.translate([job("one more")])
        assert caught.value.retry_after is not None and caught.value.retry_after >= 1
        known = asyncio.create_task(engine.translate([job("1")]))  # takes no room
        await asyncio.sleep(0)
        worker.released.set()
        assert texts(await known) == ["1"] and len(await first) == 4
        assert texts(await engine.translate([job("one more")])) == ["erom eno"]

    run(worker, use, queue_sentences=4)


def test_listeners_hear_how_a_sentence_grows() -> None:
    heard: list[str] = []

    async def use(engine: Engine) -> None:
        await engine.translate([job("abc"), job("de")], [heard.append, None])

    run(Reversing(steps=3), use)
    assert heard == ["x", "xx", "xxx"]


def test_listeners_hear_what_was_translated_lately_while_the_rest_is_written() -> None:
    heard: list[str] = []

    async def use(engine: Engine) -> None:
        await engine.translate([job("abc")])
        await engine.translate([job("abc")], [heard.append])
        assert heard == []  # it is all that was asked for, and already there
        await engine.translate([job("abc"), job("de")], [heard.append, None])

    run(Reversing(steps=3), use)
    assert heard == ["cba"]


def test_a_closed_engine_finishes_what_it_has_and_takes_nothing_new() -> None:
    worker = Reversing(steps=3, seconds=0.01)

    async def use(engine: Engine) -> None:
        task = asyncio.create_task(engine.translate([job("last")]))
        await asyncio.sleep(0)
        await engine.close()
        assert texts(await task) == ["tsal"]
        with pytest.raises(ShuttingDownError):
            await engine.translate([job("late")])
        with pytest.raises(ShuttingDownError):
            await engine.compute(lambda _: None)

    run(worker, use)


def test_errors_of_what_is_computed_come_back() -> None:
    async def use(engine: Engine) -> None:
        assert await engine.compute(lambda worker: worker.spell([1, 2])) == "xx"
        with pytest.raises(ZeroDivisionError):
            await engine.compute(lambda _: 1 // 0)
        assert texts(await engine.translate([job("ab")])) == ["ba"]

    run(Reversing(), use)


@pytest.mark.parametrize("how", ["cancelled", "closed"])
def test_what_is_computed_is_given_up_when_nobody_waits_for_it(how: str) -> None:
    begun, model, batch = threading.Event(), model_of(ARCHITECTURES["plain gru"]), collate([([4, 5], [7])])
    recorder = Recorder(model.decoder, Steering(Interventions(), source_lookups(model)))

    def endless(_: Any) -> None:
        with torch.inference_mode():
            state = model.decoder.start(model.encoder(batch.source))
            while True:
                recorder.walk(batch.inputs[:, 0], [7], state)
                recorder.steps.clear()
                begun.set()

    async def use(engine: Engine) -> None:
        task = asyncio.create_task(engine.compute(endless))
        await asyncio.to_thread(begun.wait)
        if how == "closed":
            await asyncio.wait_for(engine.close(), 10)
            with pytest.raises(GivenUpError):
                await task
            return
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert texts(await asyncio.wait_for(engine.translate([job("ab")]), 10)) == ["ba"]

    run(Reversing(), use)


def test_a_batch_is_the_oldest_with_its_neighbours_in_length_and_settings() -> None:
    def flight(text: str, since: float, **settings: Any) -> Any:
        from dragoman.serving.engine import Flight

        made = job(text, **settings)
        return Flight(made, None, since, None, encoded=Reversing().encode(made))  # type: ignore[arg-type]

    oldest, near, far, other = flight("aaaa", 1), flight("bbbbb", 3), flight("c" * 50, 2), flight("dddd", 2, beam=2)
    assert choose([], 10) == ([], False)
    assert choose([near, other, oldest, far], 10) == ([oldest, near], True)
    assert choose([near, other, oldest, far], 1000) == ([oldest, near, far], False)
    assert choose([far], 10) == ([far], True)
    assert DecodingSettings(beam=2).hypotheses == 2


def test_a_thread_that_cannot_be_started_fails_its_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def use(engine: Engine) -> None:
        with monkeypatch.context() as change:
            change.setattr(threading.Thread, "start", start)
            with pytest.raises(RuntimeError, match="new thread"):
                await engine.translate([job("ab")])
        assert engine.waiting == 0
        assert texts(await engine.translate([job("ab"), job("cd")])) == ["ba", "dc"]

    worker = Reversing()
    run(worker, use, wait_ms=0)
    assert worker.batches == [["ab", "cd"]]
