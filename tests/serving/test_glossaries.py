"""Glossaries: kept for their owners, read strictly, applied through links."""

from collections.abc import Sequence
from typing import Any

import pytest

from dragoman.documents.alignment import Alignment, align
from dragoman.serving.glossaries import Glossaries, GlossaryError, NoGlossaryError, read_terms, with_terms, write_terms
from dragoman.serving.store import MEMORY, open_store
from dragoman.text.glossary import Glossary as Terms


def test_a_glossary_belongs_to_its_owner():
    glossaries = Glossaries(open_store(MEMORY))
    made = glossaries.create("a", "mine", source="en", target="vi", terms={"cat": "mèo"})
    assert glossaries.find("a", made.identifier.upper()) == made and glossaries.of("b") == []
    assert glossaries.terms("a", made.identifier) == {"cat": "mèo"}
    with pytest.raises(NoGlossaryError):
        glossaries.delete("b", made.identifier)
    glossaries.delete("a", made.identifier)
    with pytest.raises(NoGlossaryError):
        glossaries.find("a", made.identifier)


def test_a_glossary_that_another_server_deletes_meanwhile_is_whole_or_not_found(monkeypatch: pytest.MonkeyPatch):
    store = open_store(MEMORY)
    glossaries, run = Glossaries(store), store.run
    made = glossaries.create("a", "mine", source="en", target="vi", terms={"cat": "mèo"})

    def deleting(statement: str, *values: object) -> list[Sequence[Any]]:
        rows = run(statement, *values)
        run("DELETE FROM dictionaries")
        return rows

    monkeypatch.setattr(store, "run", deleting)
    assert glossaries.terms("a", made.identifier) == {"cat": "mèo"}
    with pytest.raises(NoGlossaryError):
        glossaries.terms("a", made.identifier)


@pytest.mark.parametrize(
    ("entries", "form", "words"),
    [
        ("cat", "tsv", "index 0 misses tab"),
        ("a\tb\na\tc", "tsv", "index 1 duplicates"),
        ("a\t", "tsv", "empty"),
        (f"{'a' * 1025}\tb", "tsv", "longer"),
        ("", "tsv", "no entries"),
        ('"a', "csv", "CSV"),
        ("a", "csv", "second column"),
    ],
)
def test_entries_that_cannot_be_read_are_refused(entries: str, form: str, words: str):
    with pytest.raises(GlossaryError) as caught:
        read_terms(entries, form)
    assert words in caught.value.detail


def test_entries_are_written_as_they_are_read():
    terms = {"a b": "c", "Δ": "深, x"}
    assert read_terms(write_terms(terms), "tsv") == terms
    assert read_terms('"a, b",c,en,vi\n', "csv") == {"a, b": "c"}


def test_terms_replace_the_words_linked_to_them():
    def put(pair: Alignment, **terms: str) -> str:
        return with_terms(pair, Terms.in_any_case(terms)).target

    pair = align("see the cat, now", "xem con, nay", [(0, 0), (2, 1), (3, 2)])
    assert put(pair, Cat="mèo") == "xem mèo, nay"
    assert put(pair, dog="chó", the="cái") == pair.target
    assert put(pair, cat="con") == pair.target
    assert put(align(" Cat ", " x y ", [(0, 0)]), cat="mèo") == " mèo "
