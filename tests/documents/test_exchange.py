"""Translations are put beside their sources in XLIFF and TMX."""

import pytest

from dragoman.documents.alignment import align
from dragoman.documents.exchange import MemoryDocument, XliffDocument
from dragoman.documents.markup import decode_xml
from dragoman.documents.segments import Segment
from dragoman.documents.transfer import transfer
from dragoman.errors import InputError


def upper(document) -> str:
    return document.written([Segment(one.text.upper(), one.spans) for one in document.segments]).decode()


def test_units_without_a_translation_get_one():
    done = "<trans-unit><source>a</source><target>b</target></trans-unit>"
    locked = '<trans-unit translate="no"><source>c</source></trans-unit>'
    text = f'<xliff version="1.2"><file><trans-unit><source>d <x id="1"/></source></trans-unit>{done}{locked}</file></xliff>'
    assert upper(XliffDocument(text.encode(), "it", "vi")) == (
        '<xliff version="1.2"><file target-language="vi"><trans-unit><source>d <x id="1"/></source>'
        f'<target state="translated">D <x id="1"/></target></trans-unit>{done}{locked}</file></xliff>'
    )


def test_version_two_has_states_on_segments():
    text = '<xliff version="2.0" trgLang="vi"><segment><source>a</source>\n<target/></segment></xliff>'
    assert upper(XliffDocument(text.encode(), "it", "vi")) == (
        '<xliff version="2.0" trgLang="vi"><segment state="translated"><source>a</source>\n<target>A</target></segment></xliff>'
    )


@pytest.mark.parametrize(
    "unit",
    [
        "<trans-unit><source>d <g>e</g></source>@</trans-unit>",
        '<trans-unit><source>d</source><seg-source><mrk mtype="seg" mid="1">d</mrk></seg-source>@</trans-unit>',
        '<trans-unit><source>d</source><target state="new">d</target></trans-unit>',
        "<unit><segment><source>d</source>@</segment></unit>",
    ],
)
@pytest.mark.parametrize("target", ["", "<target/>"])
def test_the_names_of_an_xliff_file_may_have_a_prefix(unit: str, target: str):
    version = "1.2" if "trans-unit" in unit else "2.0"
    text = f'<xliff version="{version}"><file>{unit.replace("@", target)}</file></xliff>'
    prefixed = text.replace("<", "<x:").replace("<x:/", "</x:")
    found = upper(XliffDocument(prefixed.encode(), "it", "vi"))
    assert found.replace("x:", "") == upper(XliffDocument(text.encode(), "it", "vi")) and ">D" in found
    decode_xml(found.replace("version", 'xmlns:x="y" version').encode(), "it")


def test_a_memory_gets_the_language_it_lacks():
    known = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="vi-VN"><seg>b</seg></tuv></tu>'
    text = f'<tmx><header srclang="*all*"/>{known}<tu>\n <tuv xml:lang="en-US"><seg>c</seg></tuv>\n</tu></tmx>'
    found = upper(MemoryDocument(text.encode(), "it", ("en", "vi")))
    assert found == text.replace("<seg>c</seg></tuv>", '<seg>c</seg></tuv>\n <tuv xml:lang="vi"><seg>C</seg></tuv>')


def test_languages_are_named_as_other_programs_name_them():
    unit = '<tu><tuv xml:lang="en"><seg>a</seg></tuv></tu>'
    known = '<tu><tuv xml:lang="en"><seg>b</seg></tuv><tuv xml:lang="vi"><seg>c</seg></tuv></tu>'
    text = f"<tmx><body>{unit}{known}</body></tmx>"
    found = upper(MemoryDocument(text.encode(), "it", ("eng_Latn", "vie_Latn")))
    assert found == text.replace("a</seg></tuv>", 'a</seg></tuv><tuv xml:lang="vi"><seg>A</seg></tuv>')
    file = b'<xliff version="1.2"><file><trans-unit><source>a</source></trans-unit></file></xliff>'
    assert '<file target-language="zh-Hant">' in upper(XliffDocument(file, "it", "zho_Hant"))


def test_other_files_are_refused():
    with pytest.raises(InputError, match="not an XLIFF"):
        XliffDocument(b"<a/>", "it")
    with pytest.raises(InputError, match="not a TMX"):
        MemoryDocument(b"<a/>", "it", ("en", "vi"))
    with pytest.raises(InputError, match="--to"):
        MemoryDocument(b"<tmx/>", "it", ("en", None))


def test_what_is_not_to_be_translated_is_so_wherever_it_says_it():
    unit = "<segment><source>a</source></segment>"
    text = (
        f'<xliff version="2.0"><unit translate="no">{unit}</unit><unit>{unit}</unit></xliff>',
        f'<xliff version="2.0"><file translate="no"><unit translate="yes">{unit}</unit>{unit}</file></xliff>',
    )
    for one in text:
        assert upper(XliffDocument(one.encode(), "it")).count("<target>A</target>") == 1
    group = '<group translate="no"><trans-unit><source>b</source></trans-unit></group>'
    assert XliffDocument(f'<xliff version="1.2">{group}</xliff>'.encode(), "it").segments == []
    for mark in ('translate="no"', 'mtype="protected"'):
        own = f'<xliff version="1.2"><trans-unit><source>see <mrk {mark}>key</mrk> now</source></trans-unit></xliff>'
        document = XliffDocument(own.encode(), "it")
        assert [one.text for one in document.segments] == ["see  now"]
        assert f"SEE <mrk {mark}>key</mrk> NOW</target>" in upper(document)


@pytest.mark.parametrize(
    ("version", "codes"),
    [
        ("1.2", ('<bpt id="3">b</bpt>', '<g id="9">', '<ept id="3">b</ept>', "</g>")),
        ("2.0", ('<sc id="3"/>', '<mrk id="m" type="term">', '<ec startRef="3"/>', "</mrk>")),
    ],
)
def test_codes_that_overlap_elements_leave_them_whole(version: str, codes: tuple[str, ...]):
    begin, opening, end, closing = codes
    source = f"A {begin}long {opening}story {end}about{closing} dogs"
    unit = "trans-unit" if version == "1.2" else "segment"
    text = f'<xliff version="{version}"><{unit}><source>{source}</source></{unit}></xliff>'
    document = XliffDocument(text.encode(), "it")
    (segment,) = document.segments
    words = segment.text.split()
    links = [(len(words) - 1 - n, n) for n in range(len(words))]
    made = transfer(segment, align(segment.text, " ".join(reversed(words)), links))
    assert made is not None
    content = document.written([made.segment])
    decode_xml(content, "it")
    target = content.decode().partition("<target")[2]
    assert f"{opening}about story" in target and target.index(begin) < target.index(end)


def divided(*, target: str = "") -> str:
    """Return a unit that a program divided into two segments, the first of them in an element, and the target given."""
    marks = '<g id="1"><mrk mtype="seg" mid="0">A <x id="2"/>cat.</mrk></g> <mrk mtype="seg" mid="1">Go!</mrk>'
    return (
        '<xliff version="1.2"><trans-unit><source><g id="1">A <x id="2"/>cat.</g> Go!</source>'
        f"<seg-source>{marks}</seg-source>{target}</trans-unit></xliff>"
    )


TARGET = '<target state="translated"><g id="1"><mrk mtype="seg" mid="0">{}</mrk></g> <mrk mtype="seg" mid="1">{}</mrk></target>'


@pytest.mark.parametrize(
    "target",
    [
        "",
        "<target/>",
        '<target><g id="1"><mrk mtype="seg" mid="0"/></g> <mrk mtype="seg" mid="1"></mrk></target>',
        '<target state="new"><mrk mtype="seg" mid="0">A cat.</mrk> <mrk mtype="seg" mid="1">Go!</mrk></target>',
    ],
)
def test_segments_of_a_divided_unit_are_translated_one_by_one(target: str):
    document = XliffDocument(divided(target=target).encode(), "it")
    assert [one.text for one in document.segments] == ["A cat.", "Go!"]
    assert document.written([None, None]).decode() == divided(target=target)
    assert upper(document) == divided(target=TARGET.format('A <x id="2"/>CAT.', "GO!"))
    again = XliffDocument(divided(target=target).encode(), "it")
    left = again.written([None, Segment("ĐI!")]).decode().replace('mid="0"/>', 'mid="0"></mrk>')
    assert left == divided(target=TARGET.format("", "ĐI!"))


def test_segments_that_have_a_translation_keep_it():
    target = TARGET.format("Mèo.", "").replace(' state="translated"', "")
    document = XliffDocument(divided(target=target).encode(), "it")
    assert [one.text for one in document.segments] == ["Go!"]
    assert upper(document) == divided(target=TARGET.format("Mèo.", "GO!"))
    for done in (TARGET.format("Mèo.", "Đi!"), "<target>Mèo. Đi!</target>"):
        assert XliffDocument(divided(target=done).encode(), "it").segments == []


def test_tags_that_are_written_as_text_are_tags():
    inside = "<![CDATA[<p>Bold &amp; <b>text</b>]]> &lt;br/&gt;here 1 &lt; 2 <x id='1'/>"
    content = f'<xliff version="1.2"><file><trans-unit id="1"><source>{inside}</source></trans-unit></file></xliff>'
    document = XliffDocument(content.encode(), "it")
    (segment,) = document.segments
    assert segment.text == "Bold &amp; text here 1 < 2 "
    found = document.written([Segment(segment.text.replace("text", "TEXT"), segment.spans)]).decode()
    assert "&lt;p&gt;Bold &amp;amp; &lt;b&gt;TEXT&lt;/b&gt; &lt;br/&gt;here 1 &lt; 2 <x id='1'/></target>" in found, (
        found
    )


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ('<xliff version="1.2"><file/><file target-language="fr-CA"/></xliff>', "target-language"),
        ('<xliff version="2.0" trgLang="fr-CA"></xliff>', "trgLang"),
    ],
)
def test_a_file_for_translations_into_another_language_is_refused(text: str, attribute: str):
    message = (
        f"it is for translations into `fr-CA`, but this translates into `vi`; .* correct `{attribute}` in the file"
    )
    with pytest.raises(InputError, match=message):
        XliffDocument(text.encode(), "it", "vie_Latn")
    for language in ("fr", "fra_Latn", "fr-FR", None):
        assert not XliffDocument(text.encode(), "it", language).segments
