"""What messages of ICU say is translated case by case, and their syntax stays."""

import re
from dataclasses import replace

import polib
import pytest

from dragoman.documents.containment import Span
from dragoman.documents.messages import Message
from dragoman.documents.reading import Reading, read_document
from dragoman.documents.segments import Segment

FILES = "You have {n, plural, offset:1 =0 {no files} one {# file} other {# files}} in {folder}."


def upper(text: str) -> str:
    return re.sub(r"(\{[^{}]*\})|([^{}]+)", lambda found: found[1] or found[2].upper(), text)


def translated(text: str, **replaced: str) -> str | None:
    message = Message(Segment(text))
    said = [Segment(replaced.get(one.text.split()[0].strip("{}#") or "_", upper(one.text))) for one in message.segments]
    found = message.joined(said)
    return found and found.text


def test_each_case_is_a_segment_and_so_is_what_is_around_them():
    message = Message(Segment(FILES, beside=True))
    assert [one.text for one in message.segments] == ["You have {#1} in {folder}.", "no files", "{#} file", "{#} files"]
    assert all(one.beside for one in message.segments)
    assert translated(FILES) == "YOU HAVE {n, plural, offset:1 =0 {NO FILES} one {# FILE} other {# FILES}} IN {folder}."


@pytest.mark.parametrize(
    "text",
    [
        FILES,
        "{n,plural,one{it''s #}other{they''re #}}",
        "{g, select, male {He has {n, plural, one {# cat} other {# cats}}} other {They '{'left'}' {x}}}",
        "{a, plural, one {x} other {y}} {b, selectordinal, one {#st} other {#th}}",
    ],
)
def test_a_message_of_which_nothing_is_changed_is_as_it_was(text: str):
    message = Message(Segment(text))
    found = message.joined(message.segments)
    assert found is not None and found.text == text
    assert message.joined([None] * len(message.segments)) is None


def test_a_translation_cannot_break_the_syntax():
    plural = "{n, plural, one {# day} other {# days}}"
    assert translated(plural, day="l'") == "{n, plural, one {# DAY} other {# DAYS}}"
    message = Message(Segment("see {n, plural, one {day # of {x}} other {b}}"))
    said = [Segment("c'{#1} {d} }"), Segment("l'{#} # d'{x} t'"), Segment("b'c")]
    assert message.joined(said).text == "c''{n, plural, one {l''# '#' d''{x} t''} other {b'c}} d "  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, }",
        "{n, plural, one {a",
        "{n, plural, one {a} b}",
        "} {n, plural, one {a}}",
        "{#5} {n, plural, one {a}}",
    ],
)
def test_what_is_no_message_is_read_as_before(text: str):
    document = read_document(text.encode(), "txt", "a.txt", reading=Reading())
    assert [one.text for one in document.segments] == [text]


def test_elements_stay_in_their_cases():
    text = "a {n, plural, one {b c} other {d}} e"
    one, two, three = (text.index(sign) for sign in ("b c", "d}", " e"))
    message = Message(Segment(text, (Span(one, one + 1), Span(two, two, alone=True), Span(three + 1, three + 2))))
    assert [part.spans for part in message.segments] == [(Span(7, 8),), (Span(0, 1),), (Span(0, 0, alone=True),)]
    found = message.joined([Segment("e {#1}", (Span(0, 1),)), Segment("cc b", (Span(3, 4),)), None])
    assert found is not None and found.text == "e {n, plural, one {cc b} other {d}}"
    assert [found.text[span.start : span.end] for span in found.spans] == ["b", "", "e"]
    across = Message(Segment(text, (Span(one, two),)))
    assert across.segments == [] and across.joined([]) is None


def test_lines_between_cases_stay():
    lines = r'"{n, plural,\n"' + "\n" + r'"  one {# file}\n"' + "\n" + r'"  other {\n# files}}\n"' + "\n"
    content = f'msgid ""\n{lines}msgstr ""\n'.encode()
    document = read_document(content, "po", "a.po", reading=Reading())
    assert [one.text for one in document.segments] == ["{#1}", "{#} file", "{#} files"]
    said = [None, Segment("{#} tệp", ()), replace(document.segments[2], text="{#} nhiều")]
    (entry,) = polib.pofile(document.written(said).decode())
    assert (
        entry.msgstr == entry.msgid.replace("file}", "tệp}").replace("files", "nhiều") and entry.msgstr.count("\n") == 4
    )


def test_messages_of_any_document_are_divided():
    content = b'msgid "{n, plural, one {# file} other {# files}}"\nmsgstr ""\n'
    document = read_document(content, "po", "a.po", reading=Reading())
    assert [one.text for one in document.segments] == ["{#1}", "{#} file", "{#} files"]
    said = [Segment("{#1}"), Segment("{#} tệp"), Segment("{#} tệp")]
    assert b'msgstr "{n, plural, one {# t' in document.written(said)
