"""A document is translated into another file, with the links of the model's attention where it has one."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.documents.containment import Span
from dragoman.documents.reading import Reading
from dragoman.documents.segments import Segment
from dragoman.errors import InputError
from dragoman.inference.translation import TermCounts, UsedTerm
from dragoman.jobs.translate_document import translate_document, translate_segments
from dragoman.text.links import Links


class Swapper:
    """Swaps two words, says so by its links, and remembers what it was asked."""

    attends = True
    previous = 0
    view = SimpleNamespace(links=lambda reading: Links(reading.links))

    def __init__(self) -> None:
        self.asked: list[str] = []

    def translate(self, sentences, *, attention, **_options):
        assert attention
        self.asked += sentences
        return [self._one(sentence.split()) for sentence in sentences]

    def _one(self, words: list[str]):
        text = [word.upper() for word in reversed(words)]
        links = frozenset((len(words) - 1 - n, n) for n in range(len(words)))
        sides = SimpleNamespace(words=words), SimpleNamespace(words=text)
        reading = SimpleNamespace(source=sides[0], target=sides[1], links=links)
        terms = (UsedTerm("red", "RED", "met"),) if "RED" in text else ()
        return SimpleNamespace(text=" ".join(text), reading=reading, terms=terms, memory=None, searched_again=False)


def test_each_different_sentence_is_translated_once():
    translator = Swapper()
    found = translate_segments(translator, [Segment("Red cat. Two."), Segment("Two."), Segment(" 12 "), Segment("")])
    assert sorted(translator.asked) == ["Red cat.", "Two."]
    assert [one and one.segment.text for one in found.segments] == ["CAT. RED TWO.", "TWO.", None, None]
    assert (found.summary.sentences, found.summary.left) == (2, 0)
    assert found.summary.terms == TermCounts(matched=1, met=1)
    assert str(found.summary).endswith(
        "Terms in the source: 1; met at once: 1, forced by a second search: 0 (sentences searched: 0), unmet: 0."
    )


@pytest.mark.parametrize("text", ["%s", "{{ user.name }}: {0}", "https://a.example/b", "me@b.example, $total"])
def test_placeholders_alone_are_not_translated(text: str):
    translator = Swapper()
    found = translate_segments(translator, [Segment(text), Segment(f"{text}\n\nSee it.")]).segments
    assert translator.asked == ["See it."]
    assert [one and one.segment.text for one in found] == [None, f"{text}\n\nIT. SEE"]


def test_signs_around_a_sentence_are_not_translated_and_keep_their_form():
    translator, spans = Swapper(), (Span(0, 1),)
    (found,) = translate_segments(translator, [Segment("☐ one ★ two 😀", spans)]).segments
    assert translator.asked == ["one ★ two"]
    assert found is not None and (found.segment.text, found.segment.spans) == ("☐ TWO ★ ONE 😀", spans)


@pytest.mark.parametrize("segments", [[], [Segment("%s: 12")]])
def test_a_document_without_anything_to_translate_says_so(segments: list[Segment]):
    assert str(translate_segments(Swapper(), segments).summary).startswith("Nothing to translate was found")


def test_tags_follow_the_links():
    (found,) = translate_segments(Swapper(), [Segment("one two three", (Span(0, 3),))]).segments
    assert found is not None
    assert found.segment.spans == (Span(10, 13),)


def test_what_stands_beside_its_source_is_written_where_it_is_equal_too():
    found = translate_segments(Swapper(), [Segment("OK", beside=True), Segment("OK")]).segments
    assert [one and one.segment.text for one in found] == ["OK", None]
    spans = (Span(2, 2, alone=True),)
    translator = Swapper()
    found = translate_segments(translator, [Segment("%s: 12", spans, beside=True), Segment("%s: 12")]).segments
    assert translator.asked == [] and found[1] is None
    assert found[0] is not None and (found[0].segment.text, found[0].segment.spans) == ("%s: 12", spans)


def test_a_file_is_written_and_the_progress_reported(tmp_path: Path):
    path, output = tmp_path / "a.html", tmp_path / "b.html"
    path.write_text("<p>one <b>two</b></p>", encoding="utf-8")
    seen: list[tuple[int, int]] = []
    summary = translate_document(Swapper(), path, output, report=lambda done, total: seen.append((done, total)))
    assert output.read_text(encoding="utf-8") == "<p><b>TWO</b> ONE</p>"
    assert seen == [(0, 1), (1, 1)]
    assert str(summary) == "Translated 1 different sentence in 1 segment."


def test_a_dialogue_in_a_subtitle_keeps_its_lines(tmp_path: Path):
    path, output = tmp_path / "a.srt", tmp_path / "b.srt"
    times = "1\n00:00:01,000 --> 00:00:02,000\n"
    path.write_text(f"{times}- Where are you going now?\n- To the market.\n", encoding="utf-8")
    translate_document(Swapper(), path, output)
    assert output.read_text(encoding="utf-8") == f"{times}- NOW? GOING YOU ARE WHERE\n- MARKET. THE TO\n"


def test_the_document_itself_is_not_overwritten(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("one", encoding="utf-8")
    with pytest.raises(InputError, match="another file"):
        translate_document(Swapper(), path, path, reading=Reading())
