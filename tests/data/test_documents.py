"""What stands before a sentence in its document."""

import random

import pytest

from dragoman.data.documents import preceding


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_the_sentences_before_are_those_of_the_same_document(count: int) -> None:
    rng = random.Random(1)
    documents = [name for _ in range(40) for name in [rng.choice(["a", "b", "c", None])] * rng.randint(1, 7)]
    rows = preceding(documents, count)
    assert len(rows) == len(documents)
    for index, row in enumerate(rows):
        expected: list[int] = []
        while len(expected) < min(count, index) and None not in documents[index - len(expected) - 1 : index + 1]:
            if documents[index - len(expected) - 1] != documents[index]:
                break
            expected.insert(0, index - len(expected) - 1)
        assert row == [None] * (count - len(expected)) + expected


def test_a_sentence_of_no_document_stands_alone() -> None:
    assert preceding([None, None, ""], 1) == [[None], [None], [None]]
    assert preceding([], 3) == []
