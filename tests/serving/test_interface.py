"""The values that routes and the service exchange."""

import asyncio

from dragoman.serving.interface import Answer, Call, Gate, OpenGate, Options, OverloadedError, Sentence


def test_calls_can_be_compared_and_kept() -> None:
    assert {Call(("a",), None, "vi", Options(beam=2)), Call(("a",), None, "vi", Options(beam=2))} == {
        Call(("a",), None, "vi", Options(beam=2))
    }


def test_the_confidence_of_a_text_is_that_of_its_worst_sentence() -> None:
    sentences = (Sentence("a", "b", confidence=0.9), Sentence("a", "b"), Sentence("a", "b", confidence=0.4))
    assert Answer("", "en", "vi", "m", sentences=sentences).confidence == 0.4
    assert Answer("", "en", "vi", "m").confidence is None


def test_an_open_gate_lets_everybody_pass() -> None:
    assert isinstance(OpenGate(), Gate)
    asyncio.run(OpenGate().admit(None, 10**9))


def test_errors_have_statuses() -> None:
    error = OverloadedError("full", retry_after=3)
    assert (error.status, error.code, error.retry_after) == (429, "overloaded", 3)
