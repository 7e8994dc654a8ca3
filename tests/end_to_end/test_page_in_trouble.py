"""The page in a browser, with links that somebody has written, a service that fails, and long texts."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from tests.end_to_end.test_page import browsing, page_of, type_and_wait
from tests.serving.test_exploring import ENSEMBLE, RECURRENT, TEXT, TRANSFORMER

from dragoman.serving.gate import KeyGate
from dragoman.serving.keys import Keys
from dragoman.serving.store import MEMORY, open_store


def follow(page: Any, link: dict[str, Any]) -> None:
    """Open a link of the page anew."""
    address = page.evaluate("() => location.origin")
    page.goto("about:blank")
    page.goto(f"{address}/#{quote(json.dumps(link))}")


@pytest.mark.slow
@browsing
@pytest.mark.parametrize(
    "odd",
    [
        {"language": "toString"},
        {"word": 0.5},
        {
            "beam": 1.5,
            "temperature": "hot",
            "model": 5,
            "target": [],
            "layer": -1,
            "head": {},
            "prefix": "a",
            "off": [1],
        },
        {"forced": [{"weights": []}], "beside": {"model": 1}, "toString": "a", "__proto__": {"word": 2}},
    ],
    ids=["language", "word", "kinds", "nested"],
)
def test_in_a_browser_what_is_odd_in_a_link_is_left_out(odd: dict[str, Any]) -> None:
    with page_of(TRANSFORMER) as page:
        type_and_wait(page)
        text = page.locator(".translation").first.inner_text()
        follow(page, {"text": TEXT, **odd})
        page.wait_for_function("() => document.querySelector('#said').textContent")
        assert page.locator(".translation").first.inner_text() == text
        assert page.locator("header p").inner_text().startswith("Type a sentence")
        assert page.locator(".problem").first.is_hidden() and page.locator("#word").is_hidden()


@pytest.mark.slow
@browsing
def test_in_a_browser_a_service_that_is_gone_is_named_and_asked_again(tmp_path: Path) -> None:
    document = tmp_path / "lines.txt"
    document.write_text(TEXT, encoding="utf-8")
    with page_of(TRANSFORMER, ENSEMBLE, refused="Failed to load") as page:
        problem = page.locator(".problem", has_text="does not answer")
        page.route("**/v1/**", lambda route: route.abort())
        page.locator("#text").fill(TEXT)
        problem.wait_for()
        page.unroute("**/v1/**")
        page.locator("#reset").click()
        page.locator("#runs button.token").first.wait_for()
        assert problem.count() == 0
        page.route("**/v1/explore", lambda route: route.fulfill(status=502, body="<html>Bad Gateway</html>"))
        page.locator("#text").fill(TEXT * 2)
        problem.wait_for()
        page.locator("#model").select_option(ENSEMBLE)
        type_and_wait(page, TEXT * 3)
        cut = 'event: progress\ndata: {"number": 0, "text": "half"}\n\n'
        page.route("**/v1/translate", lambda route: route.fulfill(body=cut))
        page.locator("#text").fill(TEXT)
        problem.wait_for()
        assert page.locator(".translation").first.inner_text() == ""
        page.route("**/v1/documents", lambda route: route.fulfill(body=cut))
        page.locator("#document").set_input_files(document)
        page.locator("#far", has_text="does not answer").wait_for()
        assert page.locator("#bar").is_hidden() and page.locator("#fetch").is_hidden()
        page.unroute("**/v1/documents")
        with page.expect_file_chooser() as chooser:
            page.locator("#document").click()
        assert page.locator("#document").input_value() == "", "or the browser would not tell that it is chosen again"
        chooser.value.set_files(document)
        page.locator("#fetch").wait_for()


@pytest.mark.slow
@browsing
def test_in_a_browser_a_text_that_is_too_long_is_refused_whole() -> None:
    with page_of(TRANSFORMER) as page:
        page.locator("#text").focus()
        page.keyboard.insert_text("a" * 501)
        page.locator(".problem", has_text="has 501 characters").wait_for()
        assert page.locator("#text").input_value() == "a" * 501
        assert page.locator(".translation").first.inner_text() == ""
        type_and_wait(page)
        assert page.locator(".problem").first.is_hidden()


@pytest.mark.slow
@browsing
def test_in_a_browser_the_beam_is_at_most_what_the_service_allows() -> None:
    with page_of(TRANSFORMER, max_n_best=3) as page:
        type_and_wait(page)
        page.locator("#beam").fill("9")
        with page.expect_request("**/v1/explore") as asked:
            page.locator("#beam").blur()
        assert asked.value.post_data_json["beam"] == 3
        assert (page.locator("#beam").input_value(), page.locator("#beam").get_attribute("max")) == ("3", "3")


@pytest.mark.slow
@browsing
def test_in_a_browser_answers_stand_beside_the_question_and_late_ones_are_left_out() -> None:
    with page_of(TRANSFORMER, refused="Failed to load") as page:
        type_and_wait(page)
        tokens, answer, numbers = (
            page.locator("#runs button.token"),
            page.locator("#answer"),
            page.locator("#computation"),
        )
        late: list[Any] = []
        tokens.nth(0).click()
        page.locator("#wanted").fill(" ")
        page.locator("#wanted").press("Enter")
        answer.filter(has_text="is empty").wait_for()
        assert page.locator(".problem").first.is_hidden()
        page.route("**/v1/explore/*", lambda route: late.append(route) if len(late) < 2 else route.continue_())
        page.locator("#wanted").fill("a")
        page.locator("#wanted").press("Enter")
        page.locator("summary").click()
        page.wait_for_function("() => document.querySelector('#computation').dataset.asked")
        tokens.nth(1).click()
        numbers.locator("table").wait_for()
        own = numbers.inner_text()
        assert own.startswith("Layer 1, head 1")
        for one in late:
            one.fulfill(status=400, body='{"error": {"code": "x", "message": "of another word"}}')
        page.wait_for_timeout(300)
        assert len(late) == 2 and answer.inner_text() == "" and numbers.inner_text() == own


def exploration(pieces: list[str], owners: list[int | None], words: list[str]) -> dict[str, Any]:
    """Return an exploration as the service answers it, of one hypothesis for a source of two tokens."""
    steps = [{"token": token, "piece": piece, "log_prob": -0.1, "rank": 1} for token, piece in enumerate(pieces)]
    return {
        "text": " ".join(words), "log_prob": -1.0, "score": -0.5, "beam": 1, "source": ["a", "</s>"], "words": words,
        "owners": owners, "steps": [{**step, "entropy": 0.1, "alternatives": [step]} for step in steps], "terms": [],
        "tree": [[place - 1, place, place, -0.1, -0.5, "kept"] for place in range(len(pieces))],
        "pieces": dict(enumerate(pieces)), "best": [*range(len(pieces))], "weights": [[[[0.9, 0.1]] * len(pieces)]],
    }  # fmt: skip


@pytest.mark.slow
@browsing
def test_in_a_browser_the_words_of_any_script_stand_as_they_are_read() -> None:
    with page_of(TRANSFORMER) as page:
        translation, tokens = page.locator(".translation").first, page.locator("#runs button.token")

        def show(found: dict[str, Any], text: str) -> list[float]:
            page.route("**/v1/explore", lambda route: route.fulfill(body=json.dumps(found)))
            type_and_wait(page, text)
            return [one.bounding_box()["x"] for one in tokens.all()]

        places = show(exploration(["▁un", "seen", "▁cats", "</s>"], [0, 0, 1, None], ["unseen", "cats"]), TEXT)
        assert translation.inner_text() == "unseen cats" and places == sorted(places)
        reversed_words = exploration(["▁cats", "seen", "▁un", "</s>"], [1, 0, 0, None], ["unseen", "cats"])
        show(reversed_words, TEXT * 2)
        assert translation.inner_text() == "unseen cats"
        places = show(exploration(["▁هم", "▁يريد", "</s>"], [0, 1, None], ["هم", "يريد"]), TEXT * 3)
        assert translation.inner_text() == "هم يريد" and places == sorted(places, reverse=True)
        first, second = page.locator(".links text", has_text="هم"), page.locator(".links text", has_text="يريد")
        assert first.bounding_box()["x"] > second.bounding_box()["x"]
        assert page.locator("#tree text").first.text_content() == "\u2068هم\u2069 -0.50"
        page.locator("#text").fill("مرحبا .")
        assert page.locator("#text").evaluate("one => getComputedStyle(one).direction") == "rtl"


@pytest.mark.slow
@browsing
def test_in_a_browser_an_answer_of_the_service_that_is_another_is_shown() -> None:
    with page_of(TRANSFORMER) as page:
        type_and_wait(page)
        assert page.locator(".usual").first.is_hidden()
        events = 'event: answer\ndata: {"number": 0, "text": "of all models"}\n\nevent: done\ndata: {}\n\n'
        page.route("**/v1/translate", lambda route: route.fulfill(body=events))
        type_and_wait(page, TEXT * 2)
        assert "of all models" in page.locator(".usual").first.inner_text()
        page.locator("#temperature").fill("2")
        page.locator(".usual").first.wait_for(state="hidden")


@pytest.mark.slow
@browsing
def test_in_a_browser_a_link_to_a_model_that_is_not_served_leaves_a_choice() -> None:
    with page_of(TRANSFORMER, refused="Failed to load") as page:
        follow(page, {"text": TEXT, "model": "another"})
        page.locator(".problem", has_text="no model `another`").wait_for()
        model = page.locator("#model")
        assert model.is_visible() and model.locator("option").all_inner_texts() == ["another", TRANSFORMER]
        model.select_option(TRANSFORMER)
        page.locator("#runs button.token").first.wait_for()
        assert page.locator(".problem").first.is_hidden() and model.is_hidden()


@pytest.mark.slow
@browsing
@pytest.mark.parametrize("other", ["plain gru", ENSEMBLE])
def test_in_a_browser_what_has_attention_is_saved_beside_a_model_without_any(other: str) -> None:
    with page_of(TRANSFORMER, other) as page:
        page.locator("#beside").select_option(other)
        type_and_wait(page)
        with page.expect_download() as download:
            page.locator("#save").click()
        assert download.value.path().read_text().count("<figure>") == 1
        page.locator("#beside").select_option("")
        page.locator("#model").select_option(other)
        page.locator("#beside").select_option(TRANSFORMER)
        assert page.locator("#temperature").is_visible()


@pytest.mark.slow
@browsing
def test_in_a_browser_heads_are_switched_off_one_by_one_and_named() -> None:
    with page_of(TRANSFORMER) as page:
        type_and_wait(page)
        off, heads, pressed = page.locator("#off"), page.locator("#heads"), "() => off.ariaPressed"
        for head, before in (("1", ""), ("2", "Off: Every layer, head 1")):
            page.locator(".looked select").nth(1).select_option(head)
            assert page.evaluate(pressed) == "false" and heads.inner_text() == before
            off.click()
            assert page.evaluate(pressed) == "true"
        assert heads.inner_text() == "Off: Every layer, head 1; Every layer, head 2"
        off.click()
        assert heads.inner_text() == "Off: Every layer, head 1"


@pytest.mark.slow
@browsing
def test_in_a_browser_a_link_keeps_its_second_model_until_there_is_a_key() -> None:
    keys = Keys(open_store(MEMORY))
    with page_of(TRANSFORMER, RECURRENT, gate=KeyGate(keys), refused="403") as page:
        follow(page, {"beside": {"model": RECURRENT, "layer": 0, "head": 0, "word": -1}})
        problem = page.locator(".problem", has_text="unknown or was revoked")
        for key in ("wrong", keys.add("page")):
            page.locator("#key").fill(key)
            page.locator("#key").press("Enter")
            problem.first.wait_for(state="visible" if key == "wrong" else "hidden")  # though nothing was typed
        type_and_wait(page)
        page.locator("section.run:nth-of-type(2) button.token").first.wait_for()


@pytest.mark.slow
@browsing
def test_in_a_browser_a_link_to_a_second_model_that_is_not_served_says_so() -> None:
    with page_of(TRANSFORMER, RECURRENT, refused="Failed to load") as page:
        follow(page, {"text": TEXT, "beside": {"model": "another", "layer": 0, "head": 0, "word": -1}})
        page.locator("section.run:nth-of-type(2) .problem", has_text="no model `another`").wait_for()
        assert page.locator("h2", has_text="another").is_visible()
        assert page.locator("#beside option").all_inner_texts() == ["none", RECURRENT, "another"]
        page.locator("#beside").select_option(RECURRENT)
        page.locator("section.run:nth-of-type(2) button.token").first.wait_for()
        assert page.locator(".problem").nth(1).is_hidden()


@pytest.mark.slow
@browsing
def test_in_a_browser_models_are_asked_for_again_after_a_service_was_gone() -> None:
    with page_of(TRANSFORMER, ENSEMBLE, refused="Failed to load") as page:
        page.route("**/v1/**", lambda route: route.abort())
        follow(page, {})
        page.locator(".problem", has_text="does not answer").wait_for()  # though nothing was typed
        page.unroute("**/v1/**")
        type_and_wait(page)
        assert page.locator("#model option").count() == 2 and page.locator(".problem").first.is_hidden()


@pytest.mark.slow
@browsing
def test_in_a_browser_that_allows_no_more_changes_of_the_address_the_page_goes_on() -> None:
    with page_of(TRANSFORMER) as page:
        page.evaluate(
            "() => { history.replaceState = () => { throw new DOMException('too many', 'SecurityError'); }; }"
        )
        type_and_wait(page)
        assert page.locator("#runs button.token").count() > 0


@pytest.mark.slow
@browsing
def test_in_a_browser_the_language_of_the_sentence_is_chosen_where_there_are_several() -> None:
    with page_of(TRANSFORMER, refused="Failed to load") as page:
        pairs = [["source", "target"], ["other", "target"]]
        model = {"name": TRANSFORMER, "directions": pairs, "loaded": False, "attends": True, "explorable": True}
        limits = {"beam": 10, "characters": 500}
        page.route("**/v1/languages", lambda route: route.fulfill(json={"models": [model], "limits": limits}))
        follow(page, {"text": TEXT})
        page.locator("#runs button.token").first.wait_for()
        assert page.locator("#source").input_value() == "source" and page.locator("#target").is_hidden()
        with page.expect_request("**/v1/explore") as asked:
            page.locator("#source").select_option("other")
        assert asked.value.post_data_json["source"] == "other"
        page.locator(".problem", has_text="from `source` to `target`, not from `other`").wait_for()
