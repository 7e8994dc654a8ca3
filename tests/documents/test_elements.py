"""Mixed content of XML is read as text with elements."""

from dragoman.documents.elements import paragraph, replace_all
from dragoman.documents.markup import tree
from dragoman.documents.segments import Segment


def test_pairs_and_native_codes_surround_text_and_all_others_stand_alone():
    root = tree('<s>a <g>b <x/></g><bpt i="1">q</bpt>c<ept i="1"/> <ph>kept</ph></s>')
    found = paragraph(root.children[0], frozenset(["g"]))  # type: ignore[arg-type]
    assert found.inline.segment.text == "a b c "
    assert [span.alone for span in found.inline.segment.spans] == [False, True, False, True]
    assert replace_all([found], [Segment("A & B C", found.inline.segment.spans)])
    assert root.raw().startswith("<s>A <g>&amp; <x/></g>")
    assert not replace_all([found], [None])


def test_a_space_of_opendocument_after_a_word_is_one_in_the_text():
    root = tree('<p><s>Name:<text:s/></s>Mai <text:s/>Lan<text:s text:c="3"/>x<b/><text:s/>y<text:s text:c="?"/>z</p>')
    found = paragraph(root.children[0], frozenset(["s"]), frozenset(["b"]))  # type: ignore[arg-type]
    assert found.inline.segment.text == "Name: Mai Lan xy z"
    replace_all([found], [found.inline.segment])
    assert root.raw() == '<p><s>Name: </s>Mai <text:s/>Lan <text:s text:c="2"/>x<b/><text:s/>y z</p>'


def test_many_spaces_and_marks_after_a_space_stand_alone():
    many = 50_000
    root = tree(f"<p>a <b/>{'<text:s/>' * many}{'<x/>' * many}b</p>")
    found = paragraph(root.children[0], frozenset())  # type: ignore[arg-type]
    assert found.inline.segment.text == "a b" and len(found.inline.segment.spans) == 2 * many + 1
