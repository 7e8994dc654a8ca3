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
