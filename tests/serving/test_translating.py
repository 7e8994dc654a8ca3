"""What every shape does with texts."""

import asyncio
from collections.abc import Sequence

import pytest
from tests.serving.phrases import Phrases

from dragoman.errors import InputError
from dragoman.serving.detection import fitting
from dragoman.serving.interface import (
    Call,
    Detection,
    ServiceError,
    TooLargeError,
    TooSlowError,
    UnknownLanguageError,
    UnknownModelError,
    UnsupportedError,
)
from dragoman.serving.markup import TagRules
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.translating import (
    check_size,
    detect,
    likely_source,
    resolved,
    sources_of,
    translate,
    translate_aligned,
    translate_marked,
)
from dragoman.text.glossary import Glossary


def test_size_is_checked():
    settings = ServiceSettings(max_texts=2, max_characters=5)
    assert check_size(["ab", "c"], settings) == 3
    for texts, size in ((["a"] * 3, 3), (["abcdef"], 6)):
        with pytest.raises(TooLargeError) as caught:
            check_size(texts, settings)
        assert caught.value.size == size


def test_texts_without_words_are_not_asked_for_and_terms_are_applied():
    service = Phrases()
    found = asyncio.run(translate(service, Call(("hello", "!", "red house"), "en", "vi"), {"house": "tòa nhà"}))
    assert [one.text for one in found] == ["xin chào", "!", "tòa nhà đỏ"]
    assert service.calls[0].texts == ("hello", "red house")
    assert service.calls[0].options.glossary == Glossary.in_any_case({"house": "tòa nhà"})  # the search is asked first
    assert asyncio.run(translate(service, Call(("x",), "en", "en")))[0].text == "x"


def test_placeholders_that_a_model_lost_are_put_back():
    lossy = Phrases({("en", "vi"): {"open": "mở", "page": "trang", "s": "⁇", "x12x": "x 12 x"}})
    texts = ("open %s page", "page [X12X]", "open page", "open 12")
    found = asyncio.run(translate(lossy, Call(texts, "en", "vi"), {}))
    assert [one.text for one in found] == ["trang %s mở", "[X12X] trang", "trang mở", "12 mở"]
    assert lossy.calls[0].options.alignment
    asyncio.run(translate(lossy, Call(texts[2:], "en", "vi"), {}))
    assert not lossy.calls[1].options.alignment  # nothing to look for
    (marked,) = asyncio.run(translate_marked(lossy, Call(("open <b>%s</b> page",), "en", "vi"), TagRules(is_html=True)))
    assert marked.text == "trang <b>%s</b> mở"


def test_a_glossary_is_read_once_and_not_for_each_text(monkeypatch: pytest.MonkeyPatch):
    made, read = [], Glossary.in_any_case
    monkeypatch.setattr(Glossary, "in_any_case", lambda terms: made.append(terms) or read(terms))
    call = Call(("red house",) * 20, "en", "vi")
    assert asyncio.run(translate(Phrases(), call, {"house": "tòa nhà"}))[19].text == "tòa nhà đỏ"
    assert len(made) <= 2


def test_blocks_of_all_texts_are_one_call():
    service = Phrases()
    texts = ("<p>red</p><p>house</p>", "<br>", "hello")
    found = asyncio.run(translate_marked(service, Call(texts, "en", "vi"), TagRules(is_html=True)))
    assert [one.text for one in found] == ["<p>đỏ</p><p>nhà</p>", "<br>", "xin chào"]
    assert [call.texts for call in service.calls] == [("red", "house", "hello")]


def test_alignment_is_not_asked_for_twice_where_something_else_is_wrong():
    for wrong in (TooSlowError("slow"), InputError("the sentence is too long")):
        service = Phrases(failures=[wrong])
        with pytest.raises(type(wrong)):
            asyncio.run(translate_aligned(service, Call(("hello",), "en", "vi"), {"hello": "chào"}))
        assert len(service.calls) == 1


def test_a_source_is_detected_among_the_pairs_of_the_model_and_wrong_pairs_are_refused():
    service = Phrases()
    for model, text, source in (("en-vi", "protonenstrahl", "en"), (None, "hello", "en")):
        assert asyncio.run(resolved(service, Call((), None, "vi", model=model), [text])).source == source
    assert asyncio.run(resolved(service, Call((), None, "en"), ["protonenstrahl"])).source == "de"
    for call, error in (
        (Call((), "en", "vi", model="no"), UnknownModelError),
        (Call((), "en", "vi", model="vi-en"), UnknownLanguageError),
        (Call((), "xx", "vi"), UnknownLanguageError),
        (Call((), "xx", "xx"), ServiceError),
    ):
        with pytest.raises(error):
            asyncio.run(resolved(service, call, ["hello"]))


@pytest.mark.parametrize("attends", [True, False])
def test_what_a_model_cannot_do_is_left_out(attends: bool):
    failures: list[Exception] = [UnsupportedError("an export has no glossary") for _ in range(3 if attends else 1)]
    service = Phrases(attends=attends, failures=failures)
    (found,) = asyncio.run(translate_aligned(service, Call(("hello",), "en", "vi"), {"hello": "chào"}))
    asked = [(call.options.alignment, call.options.glossary is not None) for call in service.calls]
    assert found.text == "xin chào"
    assert asked == [*([(True, True), (True, False)] if attends else []), (False, True), (False, False)]


def plausible(service: Phrases, texts: Sequence[str]) -> list[Detection]:
    """Return the languages that texts may be in, of those that German has to do with here."""
    return fitting(asyncio.run(detect(service, texts)), {"de", *sources_of(service, "de")})


def test_only_languages_that_are_translated_are_detected():
    service = Phrases()
    assert [one.language for one in plausible(service, ["hello"])] == ["en", "de"]
    assert asyncio.run(likely_source(service, ["!"], "vi")) == "en"


def test_what_is_surely_in_another_language_is_not_taken_for_one_that_is_translated():
    service, text = Phrases(), "xin chào thế giới"
    assert plausible(service, [text]) == [] and asyncio.run(likely_source(service, [text], "de")) == "vi"
    with pytest.raises(ServiceError, match="into their own language, `vi`"):
        asyncio.run(resolved(service, Call((), None, "vi"), [text]))
    with pytest.raises(ServiceError, match="or their `source` if it is another one"):
        asyncio.run(resolved(service, Call((), None, "vi", model="en-vi"), [text]))


def test_blocks_of_one_text_are_several_calls_where_they_are_many():
    service = Phrases()
    text = "<table>" + "<tr><td>hello</td></tr>" * 7 + "</table>"
    found = asyncio.run(translate_marked(service, Call((text,), "en", "vi"), TagRules(is_html=True), most=3))
    assert found[0].text == text.replace("hello", "xin chào")
    assert max(len(call.texts) for call in service.calls) == 3
