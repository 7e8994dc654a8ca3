"""Blocks and marks are found where they are."""

from dragoman.documents.commonmark import Grammar


def test_blocks_are_where_they_say():
    text = "> 1. one\n>\ttwo  \nlazy\n\n## three ##\n\nfour\nfive\n===\n\n - |six| `a\\|b`|\n   |-|-|\n   seven|\n"
    found = Grammar().document(text)
    assert [(one.kind, one.content) for one in found] == [
        ("paragraph", "one\ntwo  \nlazy"),
        ("heading", "three"),
        ("underlined", "four\nfive"),
        ("cell", "six"),
        ("cell", "`a\\|b`"),
        ("cell", "seven"),
    ]
    for one in found:
        for line, start in zip(one.content.split("\n"), one.starts, strict=True):
            assert text.startswith(line, start)
            assert one.place(one.content.index(line)) == start


def test_marks_joined_are_the_content():
    grammar = Grammar()
    grammar.document("[r]: u")
    content = (
        "a **b _c_**\\* &amp; ``d ` e`` <f@g.h> [i *j*](k 'l') ![m ![n](o)](p) [r]  \nq<br/><b>s</b> ~~t~~ [^u] :v:"
    )
    marks = grammar.marks(content)
    assert "".join(content[one.start : one.end] for one in marks) == content
    assert "".join(one.text for one in marks if one.kind == "text") == "a b c* &   i j  rqs t  "
    (image,) = [one for one in marks if one.inside]
    assert [content[one.start : one.end] for one in image.inside] == ["m ", "![n](o)"]
    assert [content[slice(*one.label or (0, 0))] for one in (image, image.inside[1])] == ["m ![n](o)", "n"]
    assert [one.kind for one in marks if one.kind in ("open", "close")].count("open") == 7


def test_code_and_notes_are_one_mark():
    marks = Grammar().marks('<kbd>a <b>c</b></kbd> <i translate="no">d</i> <b>e')
    assert [one.kind for one in marks] == ["alone", "text", "alone", "text", "open", "text"]
