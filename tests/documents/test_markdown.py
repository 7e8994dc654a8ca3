"""Markdown is translated between its marks, and read alike afterwards."""

import html
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.documents.generated import make
from tests.documents.test_segments import page

from dragoman.documents.alignment import align
from dragoman.documents.markdown import MarkdownDocument
from dragoman.documents.segments import Segment
from dragoman.documents.transfer import transfer

NOTES = """---
title: Kept
---
# A *small* cat #

See [the page](p.md "Kept") and `code`:
it is **so** good.

> - one [word][1]
>   more

| a | b |
|---|---|
| c \\| d | `x\\|y` |

```
kept
```
<div>
kept
</div>

![Alt text](i.png) <kbd>kept</kbd> [^1]

[1]: kept.md
"""


def shouted(document: MarkdownDocument) -> str:
    """Return a document in capitals."""
    return document.text([Segment(one.text.upper(), one.spans) for one in document.segments])


def words(text: str) -> str:
    """Return what a page shows, without spaces."""
    shown = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    return re.sub(r"[\s\u2060]", "", html.unescape(re.sub(r"<[^>]*>", "", shown)))


def test_texts_and_nothing_else_are_segments():
    assert [one.text for one in MarkdownDocument(NOTES).segments] == [
        "A small cat", "See the page and :\nit is so good.", "one word\nmore", "a", "b", "c | d", "Alt text",
    ]  # fmt: skip


def test_a_translated_file_keeps_its_form():
    document = MarkdownDocument(NOTES)
    assert document.text([None] * 7) == NOTES
    changed = NOTES
    olds = (
        "A *small* cat",
        "See",
        "the page",
        "and",
        "it is",
        "so",
        "good",
        "one",
        "word",
        "more",
        "| a | b",
        "c \\| d",
    )
    for old in (*olds, "Alt text"):
        changed = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", old.upper(), changed, count=1)
    assert shouted(document) == changed.replace("TITLE", "title")


def test_line_ends_of_any_kind_stay():
    text = "# one\r\n\r\n> two\r\n> three\r\n\n- [four\r\n  five](x)\n"
    assert shouted(MarkdownDocument(text)) == text.upper().replace("(X)", "(x)")


@pytest.mark.parametrize(
    ("source", "translation", "written"),
    [
        ("one", "# two", "\\# two"),
        ("one", "1. two", "1\\. two"),
        ("one", "a * b_c & [d] <3", "a * b_c & [d] <3"),
        ("one", "*a* <b>", "\\*a\\* \\<b\\>"),
        ("one", "[r]", "\\[r\\]"),
        ("one\ntwo", "one\n- two", "one\n\\- two"),
        ("- one\n  two", "one\n\n  two", "- one\n  two"),
        ("|a|\n|-|", "b|c", "|b\\|c|\n|-|"),
    ],
)
def test_what_would_be_markup_is_escaped_and_nothing_else(source: str, translation: str, written: str):
    document = MarkdownDocument(f"{source}\n\n[r]: u")
    found = document.text([Segment(translation)])
    assert found == f"{written}\n\n[r]: u"


def test_the_first_cell_of_a_row_begins_no_list():
    assert MarkdownDocument("a|b\n-|-\nc").text([Segment("1. x")] * 3) == "1\\. x|1. x\n-|-\n1\\. x"


def test_an_image_named_by_its_text_keeps_its_target():
    assert MarkdownDocument("a ![x][]\n\n[x]: v").text([Segment("y"), None]) == "a ![y][x]\n\n[x]: v"


def test_a_link_named_by_its_text_keeps_its_target():
    document = MarkdownDocument("See [the page], [the page][].\n\n[the page]: x")
    (segment,) = document.segments
    changed = Segment(segment.text.upper(), segment.spans)
    assert document.text([changed]) == "SEE [THE PAGE][the page], [THE PAGE][the page].\n\n[the page]: x"


def test_emphasis_stays_emphasis_where_its_signs_would_be_read_otherwise():
    document = MarkdownDocument("a **b** c")
    (segment,) = document.segments
    for text, start, end in (("x「y」z", 1, 4), ("x", 1, 1), ("a b c", 1, 4)):
        (span,) = segment.spans
        moved = type(span)(start, end)
        found = document.text([Segment(text, (moved,))])
        shown = MarkdownIt("commonmark").render(found)
        assert "<strong>" in shown
        assert words(found) == re.sub(r"\s", "", text)


def test_a_translation_without_text_is_not_written():
    assert MarkdownDocument("one").text([Segment("")]) == "one"


PIECES = [
    *("a", "b c", "*", "**", "_", "~~", "`", "``", "[", "]", "](u)", "![", "][r]", "<b>", "</b>", "<u@v.w>", "\\", "&amp;"),
    *("&", "!", ":", "\n", "  \n", "\n\n", "\r\n", "    ", "\t", "|", "\n|-|\n", "# ", "> ", "- ", "1. ", "---", "```"),
    *("<div>", "<!-- x -->", "[^n]", "[r]: u"),
]  # fmt: skip
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@given(MARKDOWN)
@example("*a\n- b*c\n\n|x\\|`y`|\n|-|\n")
@example("![a ![b](c)](d)")
@example("[![r]](u) [r]\n\n[r]: u")
def test_what_is_written_again_is_read_as_before(text: str):
    document = MarkdownDocument(text)
    assert document.text([None] * len(document.segments)) == text
    again = document.text([Segment(one.text, one.spans) for one in document.segments])
    before, after = page(text.encode()), page(again.encode())
    assert re.sub(r"[\s\u2060]", "", after) == re.sub(r"[\s\u2060]", "", before)


@given(st.lists(st.sampled_from([*PIECES, "word"]), min_size=1, max_size=8).map("".join))
@example("|\n|-|\n")
@example(":\na")
@example("a\n:::b")
def test_any_translation_is_read_as_text(translation: str):
    for source in ("one", "# one", "one\n---", "|one|\n|-|", "one|\n-|", "- one\n  two", "> one\ntwo", "![one](x)"):
        document = MarkdownDocument(f"{source}\n\n[r]: u")
        found = document.text([Segment(translation)])
        if found == f"{source}\n\n[r]: u":
            assert not translation.strip() or translation == "one"
            continue
        blocks = [re.findall(r"</?\w+", page(one.encode())) for one in (f"{source}\n\n[r]: u", found)]
        assert blocks[0] == blocks[1]
        if not source.startswith("!"):
            assert words(found) == re.sub(r"\s", "", translation)


def test_generated_documents_keep_their_structure():
    for seed in range(40):
        text = make("md", seed).content.decode()
        changed = shouted(MarkdownDocument(text))
        assert re.findall(r"</?\w+", page(changed.encode())) == re.findall(r"</?\w+", page(text.encode()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":::note Title\nUse `a`\nnow.\n:::\n", ":::note Title\nUSE `a` NOW.\n:::\n"),
        ("> ::: tip\n> one\n> :::\n", "> ::: tip\n> ONE\n> :::\n"),
        ("{% if a %}\none\n{% endif %}\n", "{% if a %}\nONE\n{% endif %}\n"),
        ("one two\n{: .note #id}\n", "ONE TWO\n{: .note #id}\n"),
        ("!!! note\n    one.\n    two\n\n    three\n", "!!! note\n    ONE. TWO\n\n    three\n"),
        ("- ???+ tip inline \"A 'title'\"\n      one\n", "- ???+ tip inline \"A 'title'\"\n      ONE\n"),
        ("!!! note\none\n", "!!! NOTE ONE\n"),
        ("one\n: two\n  three\n:   *four*\n", "ONE\n: TWO THREE\n:   *FOUR*\n"),
        (
            "import A from '@b/a';\nimport \"c.css\"\n\nimport duty\n",
            "import A from '@b/a';\nimport \"c.css\"\n\nIMPORT DUTY\n",
        ),
    ],
)
def test_lines_that_extensions_read_as_blocks_stay_lines(text: str, expected: str):
    for ends in ("\n", "\r\n"):
        document = MarkdownDocument(text.replace("\n", ends))
        made = [transfer(one, align(one.text, " ".join(one.text.upper().split()))) for one in document.segments]
        assert document.text([one and one.segment for one in made]) == expected.replace("\n", ends)
