"""Spreadsheets: the texts of cells and comments are translated, but not what formulas show or refer to."""

import io
import zipfile

from tests.documents.generated import zipped

from dragoman.documents.office import OfficeDocument
from dragoman.documents.segments import Segment
from dragoman.documents.workbooks import has_text

KEEP = ' xml:space="preserve"'
RICH = "<si><r><t>A </t></r><r><rPr><b/></rPr><t>small</t></r><r><t> cat</t></r></si>"


def sheet(strings: str, **others: str) -> bytes:
    return zipped({"xl/sharedStrings.xml": f"<sst>{strings}</sst>", "xl/workbook.xml": "<workbook/>", **others})


def translated(content: bytes, kind: str = "xlsx") -> dict[str, str]:
    document = OfficeDocument(content, kind, "it")
    written = document.written([Segment(one.text.upper(), one.spans) for one in document.segments])
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def strings(content: bytes) -> str:
    return translated(content)["xl/sharedStrings.xml"].removeprefix("<sst>").removesuffix("</sst>")


def test_a_cell_of_one_form_stays_one_text():
    assert strings(sheet("<si><t>A &lt; b</t></si>")) == f"<si><t{KEEP}>A &lt; B</t></si>"
    assert strings(sheet("<x:si><x:t>A b</x:t></x:si>")) == f"<x:si><x:t{KEEP}>A B</x:t></x:si>"


def test_forms_inside_a_cell_stay():
    assert strings(sheet(RICH)) == (
        f"<si><r><t{KEEP}>A </t></r><r><rPr><b/></rPr><t{KEEP}>SMALL</t></r><r><t{KEEP}> CAT</t></r></si>"
    )


def test_lines_of_a_cell_stay_lines():
    document = OfficeDocument(sheet("<si><t>One_x000D_\ntwo\nthree</t></si>"), "xlsx", "it")
    (own,) = document.segments
    assert len(own.breaks) == 2
    assert strings(sheet("<si><t>One_x000D_\ntwo\nthree</t></si>")) == f"<si><t{KEEP}>ONE_x000D_\nTWO\nTHREE</t></si>"


def test_how_a_cell_is_read_aloud_is_no_part_of_its_translation():
    read = "<si><t>cat</t><rPh sb='0' eb='1'><t>neko</t></rPh><phoneticPr fontId='1'/></si>"
    assert strings(sheet(read)) == f"<si><t{KEEP}>CAT</t></si>"


def test_headings_that_name_columns_are_kept():
    table = '<table><tableColumns><tableColumn id="1" name="Unit_x000a_price"/></tableColumns></table>'
    cache = '<x:pivotCacheDefinition><x:cacheField name="A &amp; b"/></x:pivotCacheDefinition>'
    content = sheet(
        "<si><t>Unit\nprice</t></si><si><t>A &amp; b</t></si><si><t>name</t></si>",
        **{"xl/tables/table1.xml": table, "xl/pivotCache/pivotCacheDefinition1.xml": cache},
    )
    assert [one.text for one in OfficeDocument(content, "xlsx", "it").segments] == ["name"]


def test_comments_drawings_and_texts_that_are_not_shared_are_translated():
    inline = '<worksheet><c t="inlineStr"><is><t>inside</t></is></c><c><f>A1="x"</f><v>3</v></c></worksheet>'
    others = {
        "xl/worksheets/sheet1.xml": inline,
        "xl/worksheets/sheet2.xml": "<worksheet><c><v>1</v></c></worksheet>",
        "xl/comments1.xml": "<comments><text><r><rPr/><t>note</t></r></text></comments>",
        "xl/threadedComments/threadedComment1.xml": "<c><text>reply</text></c>",
        "xl/drawings/drawing1.xml": "<xdr:wsDr><a:p><a:r><a:t>shape</a:t></a:r></a:p></xdr:wsDr>",
    }
    found = translated(sheet("<si><t>a</t></si>", **others))
    assert found["xl/worksheets/sheet1.xml"] == inline.replace("<t>inside", f"<t{KEEP}>INSIDE")
    assert found["xl/worksheets/sheet2.xml"] == others["xl/worksheets/sheet2.xml"]
    for name, text in (
        ("comments1", "NOTE"),
        ("threadedComments/threadedComment1", "REPLY"),
        ("drawings/drawing1", "SHAPE"),
    ):
        assert f">{text}<" in found[f"xl/{name}.xml"]


def test_only_sheets_with_texts_of_their_own_are_read():
    assert has_text("xl/worksheets/sheet1.xml", b'<c t="inlineStr">') and has_text("xl/sharedStrings.xml", b"")
    assert not has_text("xl/worksheets/sheet1.xml", b"<c><v>1</v></c>")


def test_what_formulas_and_numbers_show_in_opendocument_is_kept():
    cells = (
        '<table:table-cell office:value-type="string"><text:p>word</text:p></table:table-cell>'
        '<table:table-cell office:value-type="date"><text:p>5 March</text:p>'
        "<office:annotation><text:p>note</text:p></office:annotation></table:table-cell>"
        '<table:table-cell table:formula="of:=A1" office:value-type="string"><text:p>word</text:p></table:table-cell>'
    )
    content = zipped({"content.xml": f'<o xmlns:text="t">{cells}</o>'})
    assert [one.text for one in OfficeDocument(content, "ods", "it").segments] == ["word", "note"]
    assert [one.text for one in OfficeDocument(content, "odt", "it").segments] == ["word", "5 March", "note", "word"]
