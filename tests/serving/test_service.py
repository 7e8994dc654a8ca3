"""From texts to answers: languages, limits, deadlines, streams."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from tests.serving.workers import Reversing, offer, service_of

from dragoman.data.directions import Directions
from dragoman.errors import InputError
from dragoman.serving.interface import (
    Answer,
    Call,
    Detection,
    Options,
    Progress,
    Service,
    TooLargeError,
    TooSlowError,
    UnknownLanguageError,
)
from dragoman.serving.service import TranslationService


def answers(
    service: TranslationService, *texts: str, source: str | None = "en", target: str = "vi", **options: Any
) -> list[Answer]:
    async def whole() -> list[Answer]:
        try:
            return await service.translate(Call(texts, source, target, Options(**options)))
        finally:
            await service.close()

    return asyncio.run(whole())


def test_a_text_is_translated_sentence_by_sentence_and_keeps_its_form() -> None:
    worker = Reversing()
    service = service_of(worker)
    assert isinstance(service, Service)
    (answer,) = answers(service, "Ab.\n\n  Cd! Ef?")
    assert answer.text == ".bA\n\n  !dC ?fE"
    assert (answer.source, answer.target, answer.model, answer.detection) == ("en", "vi", "tiny", None)
    assert worker.batches == [["Ab.", "Cd!", "Ef?"]]


def test_languages_are_detected_text_by_text() -> None:
    pytest.importorskip("py3langid")
    found = answers(service_of(Reversing()), "I love my cat.", "J'aime mon chat.", "42", source=None)
    assert [one.source for one in found[:2]] == ["en", "fr"]
    assert found[0].detection is not None and found[0].detection.confidence > 0.5
    assert found[2].detection == Detection("en", 0.0) and found[2].text == "24"


def test_detection_prefers_a_language_that_is_translated_into_the_target() -> None:
    pytest.importorskip("py3langid")
    service = service_of(Reversing(), offer("a", ("en", "vi")), offer("b", ("fr", "en")))
    assert answers(service, "Restaurant", source=None)[0].source == "en"


def test_what_is_surely_in_a_language_that_is_not_translated_is_refused_and_the_target_stays() -> None:
    pytest.importorskip("py3langid")
    offers = (offer("a", ("en", "vi")), offer("b", ("fr", "en")), offer("c", ("vi", "en")))
    with pytest.raises(UnknownLanguageError, match="text 2 seems to be in `fr`, which is not translated into `vi`"):
        answers(service_of(Reversing(), *offers), "42", "J'aime mon chat et mon chien.", source=None)
    (answer,) = answers(service_of(Reversing(), *offers), "Tôi yêu con mèo của tôi.", source=None)
    assert (answer.text, answer.source, answer.target) == ("Tôi yêu con mèo của tôi.", "vi", "vi")
    assert answers(service_of(Reversing(), *offers), "J'ai", source="en")[0].text == "ia'J"


def test_a_service_of_one_pair_does_not_take_every_text_for_its_source() -> None:
    pytest.importorskip("py3langid")
    one = offer("a", ("en", "vi"))
    with pytest.raises(UnknownLanguageError, match="text 2 seems to be in `fr`, which is not translated into `vi`"):
        answers(service_of(Reversing(), one), "Hello", "Je voudrais savoir où se trouve la gare.", source=None)
    (answer,) = answers(service_of(Reversing(), one), "Tôi yêu con mèo của tôi.", source=None)
    assert (answer.text, answer.source) == ("Tôi yêu con mèo của tôi.", "vi")
    words = answers(service_of(Reversing(), one), "Hello", "Bonjour", source=None)
    assert [found.source for found in words] == ["en", "en"]


def test_each_text_goes_to_the_model_of_its_language() -> None:
    service = service_of(Reversing(), offer("a", ("en", "vi")), offer("b", ("fr", "vi")))
    assert answers(service, "Ab", source="fr")[0].model == "b"
    for source, target in ((None, "xx"), ("xx", "vi"), ("fr", "xx")):
        with pytest.raises(UnknownLanguageError):
            answers(service_of(Reversing()), "42", source=source, target=target)


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (["a", "b", "c"], {}),
        (["abcdefgh"], {}),
        (["a"], {"context": "abcdefgh"}),
        (["a"], {"n_best": 4}),
        (["a"], {"beam": 4}),
    ],
)
def test_calls_beyond_a_limit_are_refused(texts: list[str], options: dict[str, Any]) -> None:
    worker = Reversing()
    service = service_of(worker, max_texts=2, max_characters=6, max_n_best=3)
    with pytest.raises(TooLargeError) as caught:
        answers(service, *texts, **options)
    assert caught.value.size > caught.value.limit and worker.batches == []


def test_alternatives_come_on_request() -> None:
    (answer,) = answers(service_of(Reversing()), "Ab.", n_best=3)
    assert [one.text for one in answer.alternatives] == ["2", "3"]


def test_what_takes_too_long_is_given_up() -> None:
    worker = Reversing(steps=1000, seconds=0.005)
    with pytest.raises(TooSlowError, match=r"ready.*try again later"):
        answers(service_of(worker, timeout_s=0.05), "Ab.")
    assert worker.taken < 800


def test_a_stream_grows_and_ends_with_the_answers() -> None:
    async def use() -> list[Progress]:
        service = service_of(Reversing(steps=3, seconds=0.02))
        call = Call(("Ab. 😀. Cd.", "Ef."), "en", "vi")
        events = [one async for one in service.stream(call)]
        again = [one async for one in service.stream(call)]
        await service.close()
        assert [one.answer is not None for one in again] == [True, True]  # they were remembered
        return events

    *grown, first, second = asyncio.run(use())
    assert {(0, "x 😀. x"), (1, "x")} & {(one.number, one.text) for one in grown}
    assert all(one.answer is None for one in grown)
    assert (first.text, second.text) == (".bA 😀. .dC", ".fE")
    assert first.answer is not None and first.answer.text == first.text


def test_a_stream_that_is_closed_stops_the_search() -> None:
    worker = Reversing(steps=1000, seconds=0.005)

    async def use() -> None:
        service = service_of(worker)
        stream = service.stream(Call(("Ab.",), "en", "vi"))
        assert set((await anext(stream)).text) == {"x"}
        await stream.aclose()  # type: ignore[attr-defined]
        await service.close()

    asyncio.run(use())
    assert worker.taken < 500


def test_errors_end_a_stream() -> None:
    async def use() -> None:
        service = service_of(Reversing())
        with pytest.raises(InputError, match="bad"):
            async for _ in service.stream(Call(("bad",), "en", "vi")):
                pass
        await service.close()

    asyncio.run(use())


def test_only_a_model_in_torch_can_be_looked_into() -> None:
    async def use() -> None:
        service = service_of(Reversing())
        with pytest.raises(InputError, match="no model to look into"):
            await service.compute(None, lambda worker: threading.current_thread().name)
        await service.close()

    asyncio.run(use())


def test_models_and_their_figures_are_shown() -> None:
    async def use() -> None:
        service = service_of(Reversing(), offer("a", ("en", "vi")), offer("b", ("fr", "vi")))
        assert [(one.name, one.loaded) for one in service.models()] == [("a", False), ("b", False)]
        await service.translate(Call(("Ab. Cd.",), "en", "vi"))
        assert [one.loaded for one in service.models()] == [True, False]
        assert service.figures()["a"]["sentences_total"] == 2 and service.figures()["a"]["waiting"] == 0
        await service.close()

    asyncio.run(use())


def test_the_usual_pair_of_a_model_is_the_first() -> None:
    pairs = (("de", "fr"), ("de", "vi"), ("en", "vi"))
    imported = replace(offer("a"), directions=Directions(pairs, tagged=True, usual=("en", "vi")))
    service = service_of(Reversing(), imported)
    assert service.models()[0].directions == (("en", "vi"), ("de", "fr"), ("de", "vi"))
    assert answers(service, "42", source=None)[0].source == "en"
