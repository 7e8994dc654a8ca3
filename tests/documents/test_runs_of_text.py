"""Runs of equal form are one text; fields and links surround theirs."""

import pytest

from dragoman.documents.alignment import align
from dragoman.documents.markup import decode_xml, tree
from dragoman.documents.runs_of_text import run_paragraph
from dragoman.documents.segments import Segment
from dragoman.documents.transfer import transfer

BOLD = "<w:rPr><w:b/></w:rPr>"


def run(inside: str, form: str = "") -> str:
    return f'<w:r w:rsidR="7">{form}{inside}</w:r>'


def read(inside: str):
    element = tree(f"<w:p><w:pPr/>{inside}</w:p>").children[0]
    return element, run_paragraph(element)  # type: ignore[arg-type]


def test_runs_of_one_form_are_joined():
    _, found = read(run("<w:t>He</w:t>") + "<w:proofErr/>" + run("<w:t>llo </w:t>") + run("<w:t>you</w:t>", BOLD))
    assert found.inline.segment.text == "Hello you"
    assert [(span.start, span.end) for span in found.inline.segment.spans] == [(6, 9)]


def test_what_the_spelling_checker_notes_does_not_divide_a_text():
    english, other = '<w:rPr><w:lang w:val="en-US"/></w:rPr>', '<w:rPr><w:b/><w:lang w:val="vi-VN"/></w:rPr>'
    element, found = read(run("<w:t>A b</w:t>") + run("<w:t>ig cat</w:t>", english) + run("<w:t>!</w:t>", other))
    assert [(span.start, span.end) for span in found.inline.segment.spans] == [(9, 10)]
    found.replace(found.inline.segment)
    assert "w:lang" not in element.raw() and BOLD in element.raw()
    runs = '<a:r><a:rPr lang="en-US" dirty="0"/><a:t>A </a:t></a:r><a:r><a:rPr lang="en-US" sz="9" err="1"/><a:t>zzat</a:t></a:r>'
    slide = tree(
        f'<a:p>{runs}<a:r><a:rPr sz="9" dirty="0"/><a:t>!</a:t></a:r><a:r><a:rPr/><a:t>?</a:t></a:r></a:p>'
    ).children[0]
    found = run_paragraph(slide)  # type: ignore[arg-type]
    assert [(span.start, span.end) for span in found.inline.segment.spans] == [(0, 2), (7, 8)]
    found.replace(found.inline.segment)
    assert slide.raw().count('<a:rPr sz="9"/>') == 1 and "zzat!" in slide.raw()  # type: ignore[union-attr]


def test_hyphens_inside_a_word_are_part_of_it():
    inside = "<w:t>a twenty</w:t><w:noBreakHyphen/><w:t>one inter</w:t><w:softHyphen/><w:t>val</w:t>"
    element, found = read(run(inside))
    assert (found.inline.segment.text, found.inline.segment.spans) == ("a twenty-one interval", ())
    found.replace(Segment("bản dịch"))
    assert element.raw() == '<w:p><w:pPr/><w:r><w:t xml:space="preserve">bản dịch</w:t></w:r></w:p>'
    assert read(run("<w:noBreakHyphen/>"))[1].inline.segment.text == "-"


def test_blanks_to_be_filled_in_keep_their_width():
    line = "<w:rPr><w:u/></w:rPr>"
    element, found = read(
        run("<w:t>Name: </w:t>") + run("<w:t>      </w:t>", line) + run("<w:t>in full, so     be it</w:t>")
    )
    assert found.inline.segment.text == "Name:  in full, so be it"
    alignment = align(found.inline.segment.text, "Tên đầy đủ, nhé", [(0, 0), (1, 1), (2, 2), (3, 3)])
    done = transfer(found.inline.segment, alignment)
    assert done is not None
    found.replace(done.segment)
    blanks = [
        f'<w:r>{form}<w:t xml:space="preserve">{spaces}</w:t></w:r>'
        for form, spaces in ((line, " " * 5), ("", " " * 4))
    ]
    assert all(element.raw().count(blank) == 1 for blank in blanks)


def test_the_blank_of_a_form_field_stays_in_it():
    begin, separate, end = (run(f'<w:fldChar w:fldCharType="{one}"/>') for one in ("begin", "separate", "end"))
    blank = run("<w:t>\u2002\u2002\u2002\u2002\u2002</w:t>")
    element, found = read(run("<w:t>Name: </w:t>") + begin + separate + blank + end)
    done = transfer(found.inline.segment, align(found.inline.segment.text, "Tên:", [(0, 0)]))
    assert done is not None
    found.replace(done.segment)
    inside = element.raw().partition('"separate"')[2].partition('"end"')[0]
    assert inside.count("\u2002") == 4


def test_the_form_of_most_text_needs_no_element():
    element, found = read(run("<w:t>Hello there </w:t>", BOLD) + run("<w:t>you</w:t>"))
    found.replace(Segment(found.inline.segment.text, found.inline.segment.spans))
    assert element.raw() == (
        f'<w:p><w:pPr/><w:r>{BOLD}<w:t xml:space="preserve">Hello there </w:t></w:r>'
        '<w:r><w:t xml:space="preserve">you</w:t></w:r></w:p>'
    )


def test_a_field_surrounds_its_result_and_keeps_its_code():
    codes = [run(f'<w:fldChar w:fldCharType="{kind}"/>') for kind in ("begin", "separate", "end")]
    element, found = read(
        f"{codes[0]}{run('<w:instrText>REF</w:instrText>')}{codes[1]}{run('<w:t>page</w:t>')}{codes[2]}"
    )
    assert found.inline.segment.text == "page"
    found.replace(Segment("trang", (found.inline.segment.spans[0].__class__(0, 5),)))
    raw = element.raw()
    assert raw.index("begin") < raw.index("REF") < raw.index("separate") < raw.index("trang") < raw.index('"end"')


def test_line_breaks_end_sentences():
    _, found = read(run("<w:t>Name</w:t><w:tab/><w:t>Value</w:t>"))
    assert found.inline.segment.breaks == (4,)


def field(code: str, result: str | None = None) -> str:
    """Return a field; one without a result has its code alone."""
    begin, separate, end = (run(f'<w:fldChar w:fldCharType="{kind}"/>') for kind in ("begin", "separate", "end"))
    return begin + run(f"<w:instrText>{code}</w:instrText>") + ("" if result is None else separate + result) + end


def test_a_field_without_a_result_is_one_element():
    element, found = read(run("<w:t>Page </w:t>") + field("PAGE") + run("<w:t> of 9</w:t>"))
    assert found.inline.segment.text.replace("\ufffc", "") == "Page  of 9"
    assert [span.start for span in found.inline.segment.spans if span.start == span.end] != []
    found.replace(found.inline.segment)
    assert element.raw().count("fldChar ") == 2 and "PAGE" in element.raw()


def test_a_field_within_the_code_of_another_belongs_to_it():
    inner = field("PAGE", run("<w:t>7</w:t>"))
    element, found = read(field(f"IF </w:instrText></w:r>{inner}<w:r><w:instrText>", run("<w:t>seven</w:t>")))
    assert found.inline.segment.text == "seven"
    found.replace(found.inline.segment)
    assert element.raw().count("<w:instrText>") == 3


def test_a_field_that_never_ends_is_left_as_it_is():
    code = run('<w:fldChar w:fldCharType="begin"/>') + run("<w:instrText>REF</w:instrText>")
    element, found = read(run("<w:t>See </w:t>") + code)
    found.replace(found.inline.segment)
    assert "See " in element.raw() and "REF" in element.raw()


def test_a_content_control_without_content_is_left_as_it_is():
    element, found = read(run("<w:t>Name: </w:t>") + "<w:sdt><w:sdtPr/></w:sdt>")
    found.replace(found.inline.segment)
    assert found.inline.segment.text.startswith("Name: ") and "<w:sdt><w:sdtPr/></w:sdt>" in element.raw()


@pytest.mark.parametrize("name", ["customXml", "smartTag", "hyperlink", "ins", "moveTo"])
def test_what_surrounds_runs_is_around_their_text(name: str):
    opening = f'<w:{name} w:id="1">' + (f"<w:{name}Pr/>" if name in ("customXml", "smartTag") else "")
    element, found = read(
        run("<w:t>Ask </w:t>") + f"{opening}{run('<w:t>Mai</w:t>')}</w:{name}>" + run("<w:t> now</w:t>")
    )
    assert found.inline.segment.text == "Ask Mai now"
    found.replace(Segment(found.inline.segment.text.upper(), found.inline.segment.spans))
    assert f'{opening}<w:r><w:t xml:space="preserve">MAI</w:t></w:r></w:{name}>' in element.raw()


@pytest.mark.parametrize("name", ["del", "moveFrom"])
def test_what_was_deleted_or_moved_away_stays_as_it_is(name: str):
    gone = f'<w:{name} w:id="1">{run("<w:t>old</w:t>")}</w:{name}>'
    element, found = read(run("<w:t>Ask </w:t>") + gone + run("<w:t>Mai</w:t>"))
    assert found.inline.segment.text == "Ask Mai"
    found.replace(Segment("HỎI MAI", found.inline.segment.spans))
    assert gone in element.raw()


def test_a_content_control_surrounds_its_content():
    element, found = read(f"<w:sdt><w:sdtPr/><w:sdtContent>{run('<w:t>Mai</w:t>')}</w:sdtContent></w:sdt>")
    found.replace(found.inline.segment)
    assert found.inline.segment.text == "Mai" and "<w:sdtPr/><w:sdtContent>" in element.raw()


def translated(inside: str) -> str:
    """Return what a paragraph becomes whose words are turned round; it must be well-formed."""
    element, found = read(inside)
    segment = found.inline.segment
    words = segment.text.split()
    links = [(len(words) - 1 - n, n) for n in range(len(words))]
    made = transfer(segment, align(segment.text, " ".join(reversed(words)), links))
    assert made is not None
    found.replace(made.segment)
    decode_xml(element.raw().replace("<w:p>", '<w:p xmlns:w="w">', 1).encode(), "it")
    return element.raw()


def in_order(raw: str, *parts: str) -> bool:
    """Tell whether text has some parts in this order."""
    places = [raw.index(part) for part in parts]
    return places == sorted(places)


@pytest.mark.parametrize("form", ["", BOLD])
def test_a_field_may_begin_and_end_in_different_forms(form: str):
    codes = [run(f'<w:fldChar w:fldCharType="{kind}"/>', form) for kind in ("begin", "separate", "end")]
    code = codes[0] + run("<w:instrText>REF</w:instrText>") + codes[1]
    result = run("<w:t>big </w:t>", BOLD) + run("<w:t>red</w:t>")
    raw = translated(run("<w:t>See the </w:t>") + code + result + codes[2] + run("<w:t> house</w:t>"))
    assert in_order(raw, "house", "begin", "REF", "separate", "red", "big", '"end"', "the See")


def test_a_field_may_overlap_tracked_changes():
    begin, end = field("REF", "|").split("|")
    insertion = f'<w:ins w:id="1">{run("<w:t>one</w:t>")}{end}{run("<w:t> or two</w:t>")}</w:ins>'
    raw = translated(run("<w:t>Go to </w:t>") + begin + run("<w:t>page </w:t>") + insertion + run("<w:t> now</w:t>"))
    assert in_order(raw, "begin", "separate", '"end"') and in_order(raw, "<w:ins", "two or one", "</w:ins>", "to")
    first, rest = begin.split("<w:r w:rsidR", 2)[1], begin.split("<w:r w:rsidR", 2)[2]
    inserted = f'<w:ins w:id="1"><w:r w:rsidR{first}</w:ins><w:r w:rsidR{rest}'
    raw = translated(run("<w:t>Go to </w:t>") + inserted + run("<w:t>page</w:t>") + end)
    assert in_order(raw, "begin", "REF", "separate", "page", '"end"')


def test_the_result_of_a_field_in_the_code_of_another_stays():
    inner = field("PAGE", run("<w:t>7</w:t>", BOLD))
    raw = translated(field(f"IF </w:instrText></w:r>{inner}<w:r><w:instrText>", run("<w:t>seven</w:t>")))
    assert f'{BOLD}<w:t xml:space="preserve">7</w:t>' in raw and in_order(raw, "PAGE", ">7<", ">seven<")


@pytest.mark.parametrize("what", ["bookmark", "commentRange"])
def test_bookmarks_and_comments_surround_the_same_words(what: str):
    start, end = f'<w:{what}Start w:id="3"/>', f'<w:{what}End w:id="3"/>'
    man = run("<w:t>old man</w:t>")
    raw = translated(run("<w:t>The </w:t>") + start + man + end + run("<w:t> sleeps now</w:t>"))
    assert in_order(raw, "now sleeps </w:t>", start, ">man old<", end, "> The<")
    link = f"<w:hyperlink>{man}{end}{run('<w:t> sleeps</w:t>')}</w:hyperlink>"
    assert in_order(translated(run("<w:t>The </w:t>") + start + link), start, end)
