"""Files that are translated: what stays as it was, and how long results wait."""

import asyncio
from typing import Any

import pytest
from tests.documents.generated import make, zipped
from tests.documents.test_segments import tags
from tests.serving.phrases import Phrases

from dragoman.errors import InputError
from dragoman.serving.files import (
    KEEP_BYTES,
    KEEP_SECONDS,
    PORTION,
    READERS,
    Downloads,
    Upload,
    translated_portions,
    write_translated,
)
from dragoman.serving.interface import Answer, Call, OverloadedError, ShuttingDownError, TooSlowError
from dragoman.serving.settings import ServiceSettings

CALL = Call((), "en", "vi")


def translated(document, **settings) -> bytes:
    given = ServiceSettings(**settings)
    return asyncio.run(write_translated(document, translated_portions(Phrases(), document, CALL, settings=given)))


def test_line_breaks_blank_lines_and_the_mark_at_the_beginning_stay():
    text = "\ufeffhello\r\n\r\n  red house \n\n5!\rworld".encode()
    expected = "\ufeffxin chào\r\n\r\n  nhà đỏ \n\n5!\rthế giới"
    assert translated(READERS[".txt"](text, "a.txt")).decode() == expected
    assert translated(READERS[".txt"](b"\n \n", "a.txt")) == b"\n \n"


def test_a_small_upload_with_much_in_it_is_refused():
    paragraphs = b"<w:p><w:r><w:t>hello</w:t></w:r></w:p>" * (20 << 15)
    bomb = zipped({"word/document.xml": b"<w:document xmlns:w='w'>" + paragraphs + b"</w:document>"})
    assert len(bomb) < 1 << 20 < len(paragraphs)
    with pytest.raises(InputError, match=r"a\.docx has more than .* MiB of text"):
        READERS[".docx"](bomb, "a.docx")


@pytest.mark.parametrize(("name", "text"), [("a.html", b"<b>a</b>"), ("a.md", b"*a*"), ("a.xlf", b"<g/><g/>")])
def test_an_upload_with_very_many_marks_is_refused_before_it_is_read(name: str, text: bytes):
    read = READERS[name[1:]]
    with pytest.raises(InputError, match=rf"^{name} has more than 600,000 tags or other marks in it; divide it$"):
        read(text * 300_001, name)


def test_each_portion_of_a_file_has_the_time_of_a_request():
    service = Phrases()
    document = READERS[".txt"](b"hello\n" * 120, "a.txt")
    asyncio.run(write_translated(document, translated_portions(service, document, CALL, settings=ServiceSettings())))
    assert [len(call.texts) for call in service.calls] == [PORTION, PORTION, 120 - 2 * PORTION]


def test_a_portion_that_is_not_ready_in_time_is_translated_in_halves():
    class Slow(Phrases):
        async def translate(self, call: Call) -> list[Answer]:
            if len(call.texts) > 20:
                self.calls.append(call)
                raise TooSlowError("the translation was not ready")
            return await super().translate(call)

    service = Slow()
    lines = "".join(f"hello {number}\n" for number in range(70))
    document = READERS[".txt"](lines.encode(), "a.txt")
    portions = translated_portions(service, document, CALL, settings=ServiceSettings())
    assert asyncio.run(write_translated(document, portions)).decode() == "".join(
        f"{number} xin chào\n" for number in range(70)
    )
    assert [len(call.texts) for call in service.calls] == [50, 25, 12, 13, 25, 12, 13, 20]
    service = Phrases(failures=[TooSlowError("the translation was not ready")])
    document = READERS[".txt"](b"hello\n", "a.txt")
    with pytest.raises(TooSlowError, match="not ready"):
        asyncio.run(
            write_translated(document, translated_portions(service, document, CALL, settings=ServiceSettings()))
        )


def test_a_document_that_nobody_could_fetch_is_given_up():
    service = Phrases(draining=True)
    document = READERS[".txt"](b"hello\n", "a.txt")
    with pytest.raises(ShuttingDownError, match="try another server"):
        asyncio.run(
            write_translated(document, translated_portions(service, document, CALL, settings=ServiceSettings()))
        )
    assert not service.calls


def test_a_long_file_is_several_calls_and_a_page_keeps_its_tags():
    service = Phrases()
    document = READERS[".txt"](b"hello\n" * 7, "a.txt")
    settings = ServiceSettings(max_texts=3)
    asyncio.run(write_translated(document, translated_portions(service, document, CALL, settings=settings)))
    assert [len(call.texts) for call in service.calls] == [3, 3, 1]
    assert translated(READERS[".html"](b"<p>red <i>house</i></p>", "a.html")).decode() == "<p><i>nhà</i> đỏ</p>"


def test_others_do_not_wait_while_a_document_is_written(monkeypatch: pytest.MonkeyPatch):
    def written(document: Upload, answers: Any) -> bytes:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return b"written"

    monkeypatch.setattr(Upload, "written", written)
    assert translated(READERS[".txt"](b"hello", "a.txt")) == b"written"


@pytest.mark.parametrize("kind", ["html", "md", "docx", "odt", "odp", "pptx", "srt", "vtt"])
def test_other_documents_keep_their_tags(kind: str):
    made = make(kind, 3)
    document = READERS[f".{kind}"](made.content, f"a.{kind}")
    assert document.texts and tags(translated(document), kind) == tags(made.content, kind)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.html", "<p>red\n   house.\nHello!</p>", "<p>nhà. đỏ\nxin chào!</p>"),
        ("a.md", "> red\n> house\n\n- red\n  *house*\n", "> nhà đỏ\n\n- *nhà* đỏ\n"),
        ("a.html", "hello<br>world", "xin chào<br>thế giới"),
        ("a.srt", "1\n00:01 --> 00:02\n- Hello\n- Red house\n", "1\n00:01 --> 00:02\n- xin chào\n- nhà đỏ\n"),
        ("a.po", 'msgid "red\\nhouse\\n"\nmsgstr ""\n', 'msgid "red\\nhouse\\n"\nmsgstr ""\n"đỏ\\n"\n"nhà\\n"\n'),
    ],
)
def test_sentences_go_on_in_the_next_line_of_a_file_but_not_after_a_line_break(name: str, text: str, expected: str):
    document = READERS[name[1:]](text.encode(), name)
    assert all("\n" not in one for one in document.texts) and translated(document).decode() == expected


def test_a_file_that_is_translated_into_its_own_language_keeps_its_lines():
    service, text = Phrases(), b"<p>red\n   house</p>"
    document = READERS[".html"](text, "a.html")
    portions = translated_portions(service, document, Call((), "en", "en"), settings=ServiceSettings())
    assert asyncio.run(write_translated(document, portions)) == text and not service.calls


def test_markdown_is_known_by_both_of_its_names():
    for name in (".md", ".markdown"):
        assert translated(READERS[name](b"# red *house*\n`x`\n", f"a{name}")).decode() == "# *nhà* đỏ\n`x`\n"


def test_a_message_that_is_equal_in_both_languages_is_written_too():
    assert b'msgstr "OK"' in translated(READERS[".po"](b'msgid "OK"\nmsgstr ""\n', "a.po"))
    document = READERS[".po"](b'msgid "%s <b>{0}</b>"\nmsgstr ""\n', "a.po")
    assert document.texts == [] and b'msgstr "%s <b>{0}</b>"' in translated(document)


@pytest.mark.parametrize(
    ("version", "place"), [("1.2", 'file target-language="vi"'), ("2.0", 'version="2.0" trgLang="vi"')]
)
def test_a_file_that_names_its_languages_names_that_of_the_translation(version: str, place: str):
    unit = (
        "<trans-unit><source>hello</source></trans-unit>"
        if version == "1.2"
        else "<segment><source>hello</source></segment>"
    )
    content = f'<xliff version="{version}"><file>{unit}</file></xliff>'.encode()
    found = translated(READERS[".xlf"](content, "a.xlf", "vie_Latn")).decode()
    assert place in found and "<target" in found
    assert "ang=" not in translated(READERS[".xlf"](content, "a.xlf")).decode()


def test_another_encoding_is_refused():
    with pytest.raises(InputError, match="UTF-8"):
        READERS[".html"]("é".encode("latin-1"), "a.html")


def test_downloads_wait_for_a_while_and_not_beyond_the_room():
    now = [0.0]
    downloads = Downloads(lambda: now[0])
    ticket = downloads.keep("../a.txt", b"x")
    found = downloads.fetch(ticket)
    assert found is not None and (found.name, found.content) == ("a.txt", b"x")
    with pytest.raises(OverloadedError):
        downloads.keep("b", bytes(KEEP_BYTES))
    now[0] += KEEP_SECONDS + 1
    assert downloads.fetch(ticket) is None
