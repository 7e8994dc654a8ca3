"""One column of a table is translated."""

import pytest

from dragoman.documents.segments import Segment
from dragoman.documents.tables import TableDocument
from dragoman.errors import InputError

TABLE = 'id;text\r\n1;"a ""b"";\nc"\r\n2;d\r\n3\r\n'


def test_cells_are_read_and_written_with_their_quotes():
    document = TableDocument(TABLE, "text")
    assert [one.text for one in document.segments] == ['a "b";c', "d"]
    assert document.text([None, None]) == TABLE
    quoted = Segment('"x"', document.segments[0].spans)
    assert document.text([quoted, Segment("y;z")]) == 'id;text\r\n1;"""x""\n"\r\n2;"y;z"\r\n3\r\n'


def test_a_number_names_a_column_of_a_table_without_names():
    assert [one.text for one in TableDocument("a\tb\nc\td", "2", delimiter="\t").segments] == ["b", "d"]


@pytest.mark.parametrize(
    ("column", "words"), [(None, "--column"), ("name", "`id`"), ("3", "2 columns"), ("0", "count from 1")]
)
def test_a_column_that_does_not_exist_is_refused(column, words):
    with pytest.raises(InputError, match=words):
        TableDocument(TABLE, column)


def test_signs_within_quotes_separate_nothing_and_a_number_may_be_a_name():
    text = '"Name; full; x","text\nof it"\na,b\n'
    assert [one.text for one in TableDocument(text, "text\nof it").segments] == ["b"]
    years = "2023,2024\na,b\n"
    assert [one.text for one in TableDocument(years, "2024").segments] == ["b"]
    assert [one.text for one in TableDocument(years, "2").segments] == ["2024", "b"]
    with pytest.raises(InputError, match="no column"):
        TableDocument(years, "²")


def test_a_name_that_several_columns_have_or_an_empty_table_is_refused():
    with pytest.raises(InputError, match="2 columns `text`; give the number of one: 1, 3"):
        TableDocument("text,id,text\na,1,b\n", "text")
    with pytest.raises(InputError, match="no column `text`; it is empty"):
        TableDocument("", "text")


def test_lines_in_a_cell_are_sentences_of_their_own_and_keep_their_ends():
    table = 'id,text\r\n1,"one\r\ntwo"\r\n'
    document = TableDocument(table, "text")
    (segment,) = document.segments
    assert (segment.text, segment.breaks) == ("onetwo", (3,))
    assert document.text([Segment("ONETWO", segment.spans)]) == table.replace("one", "ONE").replace("two", "TWO")


def test_cells_between_tabs_are_quoted_where_they_need_it():
    table = 'id\ttext\r\n1\t"a ""b""\nc"\r\n2\t"d"\r\n3\t5" e\r\n4\t"f\r\n'
    document = TableDocument(table, "text", delimiter="\t")
    assert [one.text for one in document.segments] == ['a "b"c', '"d"', '5" e', '"f']
    made = [Segment(one.text.upper(), one.spans) for one in document.segments]
    assert document.text(made) == 'id\ttext\r\n1\t"A ""B""\nC"\r\n2\t"D"\r\n3\t5" E\r\n4\t"F\r\n'


def test_a_line_that_names_the_separator_is_no_row():
    document = TableDocument(f"sep=;\r\n{TABLE}", "text")
    assert [one.text for one in document.segments] == ['a "b";c', "d"]
    assert document.text([None, None]) == f"sep=;\r\n{TABLE}"
    assert [one.text for one in TableDocument("sep=;\na,b;c\n", "1").segments] == ["a,b"]
