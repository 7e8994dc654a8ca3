"""Sentences of dev that are also in the training corpora."""

import numpy as np
from tests.doctor.conftest import Examined, good

from dragoman.doctor.chunk import Side
from dragoman.doctor.leakage import GRAM, Index, grams

LONG = ("It is not far from here to the old bridge.", "Il n'y a pas loin d'ici au vieux pont.")


def test_a_dev_sentence_in_training_is_found_on_each_side(examined: Examined) -> None:
    train, dev = good(500), good(100, first=5000)
    train[7], dev[3] = (LONG[0], train[7][1]), (LONG[0].upper(), dev[3][1])
    (found,) = [one for one in examined(train, dev) if one.name == "leakage"]
    assert found.file.endswith("dev.one") and (found.line, found.count, found.of) == (4, 1, 100)
    assert found.severity == "warning" and "(1 with 6 words or more)" in found.what


def test_a_sentence_without_spaces_is_long_by_its_letters(examined: Examined) -> None:
    train, dev = good(500), good(100, first=5000)
    train[7], dev[3] = (train[7][0], "从这里到那座旧桥并不远。"), (dev[3][0], "从这里到那座旧桥并不远。")
    train[9], dev[5] = (train[9][0], "谢谢你！"), (dev[5][0], "谢谢你！")
    (found,) = [one for one in examined(train, dev) if one.name == "leakage"]
    assert (found.severity, found.count) == ("warning", 2) and "(1 with 6 words or more)" in found.what


def test_short_sentences_may_occur_twice(examined: Examined) -> None:
    train, dev = good(500), good(100, first=5000)
    train[7] = dev[3] = ("Thank you!", "Merci !")
    found = [one for one in examined(train, dev) if one.name == "leakage"]
    assert [(one.severity, one.count) for one in found] == [("note", 1), ("note", 1)]


def test_a_sentence_inside_another_is_nearly_leaked(examined: Examined) -> None:
    train, dev = good(500), good(100, first=5000)
    train[7], dev[3] = (f"They told me: {LONG[0]}", train[7][1]), (LONG[0], dev[3][1])
    names = [one.name for one in examined(train, dev)]
    assert names == ["near-leakage"]


def test_other_sentences_are_not_leaked(examined: Examined) -> None:
    assert examined([LONG, *good(500)], good(100, first=5000)) == []


def find(index: Index, *lines: str) -> list[int]:
    """Look for the lines of an index in others."""
    side = Side(lines)
    return index.find(side, grams(side.folded)).tolist()


def test_an_index_finds_lines_and_says_where() -> None:
    index = Index(Side(["", LONG[0], "!", LONG[1]]))
    assert find(index, "what", LONG[0].lower(), "?", "") == [1]
    assert index.exact.tolist() == [1] and index.near.tolist() == []
    assert find(index, f"{LONG[1]} {LONG[1]}") == [0]
    assert index.near.tolist() == [3]


def test_a_training_line_is_not_removed_for_a_short_sentence_that_it_holds() -> None:
    short = "Thank you very much indeed."
    index = Index(Side([short, LONG[0]]))
    assert find(index, f"{short} said the old man when he came back home.", short.upper()) == []
    assert index.exact.tolist() == [0]
    assert find(index, f"{short} {LONG[0]}") == [0]


def test_a_few_n_grams_in_common_are_not_enough() -> None:
    index = Index(Side([LONG[0]]))
    assert find(index, "It is not far from here to my own house in the hills.") == []


def test_n_grams_stay_inside_lines() -> None:
    hashes, rows = grams(Side(["a" * GRAM, "b", "a" * (GRAM + 2)]).folded)
    assert rows.tolist() == [0, 2, 2, 2]
    assert len(np.unique(hashes)) == 1
    assert grams(Side(["abc"]).folded)[0].tolist() == []
