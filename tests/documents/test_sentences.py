"""Segments are cut into sentences; nothing but white space is between them."""

from dragoman.documents.sentences import sentences


def cut(text: str, breaks=()) -> list[str]:
    return [text[start:end] for start, end in sentences(text, breaks)]


def test_sentences_end_at_signs_that_no_small_letter_follows():
    assert cut("A b. C d? e. 3.5 F") == ["A b.", "C d? e.", "3.5 F"]
    assert cut("Dr. J. Smith left. Tôi đến.") == ["Dr. J. Smith left.", "Tôi đến."]
    assert cut("你好。再见！") == ["你好。", "再见！"]
    assert cut(" \n ") == []


def test_breaks_end_sentences_unless_a_small_letter_follows():
    assert cut("Name:Value", [5]) == ["Name:", "Value"]
    assert cut("a long line", [6]) == ["a long line"]
    assert cut("name:value", [5]) == ["name:", "value"]
