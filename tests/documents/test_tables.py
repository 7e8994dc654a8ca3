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
