"""The page of an examination."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from dragoman.data.findings import Example, Finding
from dragoman.doctor.examine import Corpus, Verdict
from dragoman.doctor.page import histogram, write_page
from dragoman.errors import InputError

FINDING = Finding(
    "entities", "warning", "has <b>", "remove `it`", "a<b>.en", 3, 2, 9, (Example(3, ("<script>x</script>",)),)
)


def test_a_page_shows_findings_and_histograms(tmp_path: Path) -> None:
    corpus = Corpus("train", "a<b>.en", 9)
    corpus.shape.words[0, 5] = 9
    write_page(Verdict([FINDING], [corpus, Corpus("dev", "none")]), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    HTMLParser().feed(page)
    assert "<h2>Warnings</h2>" in page and "<h2>Errors</h2>" not in page
    assert page.count("<svg") == 3 and "<title>5: 9</title>" in page
    assert "&lt;script&gt;x" in page and "<script>x" not in page and "a<b>" not in page
    assert "<p>Remove <code>it</code>.</p>" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_a_bar_is_as_high_as_its_number() -> None:
    picture = histogram("x", [2, 0, 4], ["a", "b", "c"], colour="red")
    assert picture.count("<rect") == 2 and "<title>c: 4</title>" in picture
    assert 'height="51.0"' in picture and 'height="102.0"' in picture


def test_a_page_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_page(Verdict([], []), tmp_path / "nowhere" / "page.html")
