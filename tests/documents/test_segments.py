"""Documents of all formats, made at random: nothing is lost, whatever a translator does to them."""

import io
import re
import zipfile
from collections import Counter
from itertools import accumulate

import pytest
from markdown_it import MarkdownIt
from tests.documents.generated import FORMATS, Spoiler, make

from dragoman.documents.markup import decode_xml
from dragoman.documents.placeholders import missing
from dragoman.documents.reading import Reading, read_document
from dragoman.jobs.translate_document import translate_segments

ZIPPED = ("docx", "pptx", "xlsx", "odt", "odp", "ods", "epub")
READING = Reading(column="text", languages=("en", "vi"))


def reading_for(kind: str) -> Reading:
    """Return how to read a format."""
    return READING if kind in ("csv", "tsv") else Reading(languages=("en", "vi"))


def parts(content: bytes, kind: str) -> dict[str, bytes]:
    """Return the parts of a file."""
    if kind not in ZIPPED:
        return {"": content}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def page(content: bytes) -> str:
    """Return the page that another program makes of Markdown, without the texts of images, with one kind of line end."""
    body = re.sub(r"\A---\n.*?\n---\n", "", content.decode().replace("\r\n", "\n"), flags=re.DOTALL)
    shown = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(body)
    return re.sub(r' alt="[^"]*"', "", shown)


def tags(content: bytes, kind: str) -> Counter[str]:
    """Count the tags of a document; of runs, which may be joined or divided, those inside them do not count.

    Of Markdown, those of the page that is made of it.
    """
    if kind == "md":
        return Counter(re.findall(r"<code.*?</code>|<[^>]*>", page(content), re.DOTALL))
    found = re.findall(r"</?[A-Za-z][^<>]*>|\{\\an8\}", b"".join(parts(content, kind).values()).decode("latin-1"))
    runs = r"</?(?:r|rPr|t|b)\b" if kind == "xlsx" else r"</?(?:w|a):(?:r|rPr|t|b)\b"
    return Counter(one for one in found if not re.match(runs, one))


def check(kind: str, seed: int) -> None:
    """Translate a document, and compare tags, placeholders and parts."""
    made = make(kind, seed)
    document = read_document(made.content, kind, "it", reading=reading_for(kind))
    assert parts(document.written([None] * len(document.segments)), kind) == parts(made.content, kind)
    found = translate_segments(Spoiler(seed), document.segments)
    assert found.summary.left == 0
    again = read_document(made.content, kind, "it", reading=reading_for(kind))
    assert [one.text for one in again.segments] == [one.text for one in document.segments]
    content = document.written([one and one.segment for one in found.segments])
    before, after = tags(made.content, kind), tags(content, kind)
    if kind in ("xliff", "tmx", "po"):  # which keep the source beside the translation
        inline = Counter(
            {one: count for one, count in before.items() if re.match(r"</?(?:b|br|g|x|ph|hi|bpt|ept)\b", one)}
        )
        assert not before + inline - after, (kind, seed)
        assert not [one for one in after - before - inline if not re.match(r"</?(?:target|tuv|seg)\b", one)], (
            kind,
            seed,
        )
    else:
        assert before == after, (kind, seed)
    for segment, one in zip(document.segments, found.segments, strict=True):
        if one is not None:
            lost, extra = missing(segment.text, one.segment.text)
            assert not lost and all(each.is_number for each in extra), (kind, seed)
    for name, inside in parts(content, kind).items():
        if kind in (*ZIPPED, "xliff", "tmx") and (not name or name.endswith((".xml", ".ncx", ".opf"))):
            text, _ = decode_xml(inside, name)
            for paragraph in text.split("<w:p>"):
                ends = [
                    {"begin": 1, "separate": 0, "end": -1}[one] for one in re.findall(r'fldCharType="(\w+)"', paragraph)
                ]
                assert min(accumulate(ends), default=0) >= 0 and sum(ends) == 0, (kind, seed)
        elif kind in ZIPPED and not name.endswith(".xhtml"):
            assert inside == parts(made.content, kind)[name]


@pytest.mark.parametrize("kind", FORMATS)
def test_tags_and_placeholders_of_generated_documents_are_conserved(kind: str):
    for seed in range(17):
        check(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_tags_and_placeholders_of_many_documents_are_conserved(kind: str):
    for seed in range(1000, 1850):
        check(kind, seed)
