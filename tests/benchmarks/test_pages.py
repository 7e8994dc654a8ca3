"""Parts of pages that benchmarks write."""

import pytest
from benchmarks.pages import replace_between

MARKS = ("<!-- table -->", "<!-- end -->")


def test_only_what_is_between_the_marks_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- table -->\n\n| old |\n\n<!-- end -->\n\nafter\n")
    replace_between(page, MARKS, "| new |")
    assert page.read_text() == "before\n\n<!-- table -->\n\n| new |\n\n<!-- end -->\n\nafter\n"


@pytest.mark.parametrize("text", ["nothing", "<!-- table --> alone", "<!-- end --> alone"])
def test_a_page_without_marks_is_left_alone(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(SystemExit, match="to write between"):
        replace_between(page, MARKS, "| new |")
    assert page.read_text() == text
