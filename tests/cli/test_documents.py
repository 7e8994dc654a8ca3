"""`dragoman translate RUN FILE -o OUT`: a document in, a document out."""

import json
from pathlib import Path

import pytest
from tests.tiny import MODELS, Trained, dragoman

PAGE = "<p>I love <b>cats</b>, see {0}.</p><!-- kept --><p>12</p>"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(PAGE, encoding="utf-8")
    return path


@pytest.mark.parametrize("model", MODELS)
def test_a_document_is_translated(trained: Trained, page: Path, model: str):
    out = page.with_name("out.html")
    found = dragoman("translate", trained(model), page, "-o", out, "--json")
    assert found.code == 0, found.errors
    assert "in 1 segment" in found.errors.replace("2 segments", "1 segment")
    text = out.read_text(encoding="utf-8")
    assert text.count("<b>") == text.count("</b>") == text.count("{0}") == 1
    assert text.endswith("</p><!-- kept --><p>12</p>")
    assert json.loads(found.output)["left"] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--align", "-o", "x.html"), "--align"),
        (("--n-best", 2, "-o", "x.html"), "--n-best"),
        (("--format", "txt"), "--output"),
        (("-o", "none/x.html"), "none"),
    ],
)
def test_what_a_document_cannot_have_is_refused(trained: Trained, page: Path, options, words: str):
    found = dragoman("translate", trained("rnn"), page, *options)
    assert found.code == 2
    assert words in found.errors


def test_a_run_alone_is_no_document(trained: Trained, tmp_path: Path):
    found = dragoman("translate", trained("rnn"), "-o", tmp_path / "x.txt")
    assert found.code == 2
    assert "RUN FILE -o OUT" in found.errors


def test_a_document_has_the_terms_of_a_glossary(trained: Trained, page: Path):
    terms, out = page.with_name("terms.csv"), page.with_name("out.html")
    terms.write_text("cats,quyển sách\n", encoding="utf-8")
    found = dragoman("translate", trained("transformer"), page, "-o", out, "--glossary", terms, "--json")
    assert found.code == 0, found.errors
    assert "Terms in the source: 1;" in found.errors
    assert json.loads(found.output)["terms"] == {"matched": 1, "met": 0, "forced": 1, "unmet": 0, "searched_again": 1}
    assert "quyển sách" in out.read_text(encoding="utf-8").replace("<b>", "").replace("</b>", "")


def test_a_glossary_without_a_term_of_the_document_is_not_passed_over(trained: Trained, page: Path):
    terms = page.with_name("terms.tsv")
    terms.write_text("cats quyển sách\n", encoding="utf-8")  # without a tab
    found = dragoman("translate", trained("transformer"), page, "-o", page.with_name("out.html"), "--glossary", terms)
    assert found.code == 0, found.errors
    assert "No term of the glossary is in the source" in found.errors and "a tab (in .csv a comma)" in found.errors
