"""Texts are cut and put together again."""

import pytest

from dragoman.decoding.settings import DecodingSettings
from dragoman.serving.assembly import Draft
from dragoman.serving.interface import Alternative, Options, Sentence
from dragoman.serving.jobs import Found
from dragoman.text.glossary import Entry, Glossary

TEXT = "  One two.\n\n- Three! 😀\n"


def draft(text: str, target: str = "vi", **options: str) -> Draft:
    return Draft.of(text, ("en", target), Options(**options), model="m")  # type: ignore[arg-type]


def found(text: str, *others: str) -> Found:
    return Found(Sentence("", text, score=-1.0), tuple(Sentence("", one, score=-2.0) for one in others))


def test_what_has_no_letters_stays_and_costs_nothing() -> None:
    made = draft(TEXT + "...\n42\n")
    assert [one.text for one in made.jobs(DecodingSettings(), Options(), 0)] == ["One two.", "- Three!", "42"]
    answer = made.answer([found("X."), found("- Y!"), found("42")])
    assert answer.text == "  X.\n\n- Y! 😀\n...\n42\n"


def test_every_sentence_says_where_it_is() -> None:
    answer = draft(TEXT).answer([found("Long translation."), found("- Y!")])
    assert answer.text == "  Long translation.\n\n- Y! 😀\n"
    for one in answer.sentences:
        assert answer.text[one.start :].startswith(one.text)
    assert [TEXT[one.source_start :].split("\n")[0] for one in answer.sentences] == ["One two.", "- Three! 😀"]
    assert answer.score == -2.0


@pytest.mark.parametrize(("target", "text", "starts"), [("en", "A. B!", [0, 3]), ("ja", "A.B!", [0, 2])])
def test_sentences_without_space_get_one_where_the_target_has_it(target: str, text: str, starts: list[int]) -> None:
    answer = Draft.of("你好。再见！", ("zh", target), Options(), model="m").answer([found("A."), found("B!")])
    assert answer.text == text
    assert [one.start for one in answer.sentences] == starts


def test_alternatives_of_the_sentences_stand_side_by_side() -> None:
    answer = draft("One. Two. Three.").answer([found("A.", "a."), found("B.", "b.", "bb."), found("C.")])
    assert answer.alternatives == (Alternative("a. b. C.", -5.0), Alternative("a. bb. C.", -5.0))
    assert draft("One.").answer([found("A.", "A.")]).alternatives == ()


def test_a_model_of_documents_reads_the_sentences_before() -> None:
    jobs = draft("One. Two.\nThree.").jobs(DecodingSettings(), Options(context="Before. That."), 2)
    assert [one.previous for one in jobs] == [("Before.", "That."), ("That.", "One."), ("One.", "Two.")]
    assert [one.previous for one in draft("One. Two.").jobs(DecodingSettings(), Options(context="x"), 0)] == [(), ()]


def test_a_sentence_is_asked_for_the_terms_that_are_in_it() -> None:
    glossary = Glossary(tuple(Entry.of(one, [one.upper()]) for one in ("two", "three", "four")))
    jobs = draft(TEXT).jobs(DecodingSettings(), Options(glossary=glossary), 0)
    assert [[entry.source.text for entry in job.terms] for job in jobs] == [["two"], ["three"]]
