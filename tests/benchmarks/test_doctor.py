"""The benchmark damages corpora as it says, and counts errors right."""

import random
from pathlib import Path

from benchmarks.doctor import ROOM, Corpus, Damaged, corpora, damage, measure, wrong_lines
from tests.doctor.parallel import parallel

from dragoman.doctor.shifts import Shift

TEXT = parallel(600)
CORPUS = Corpus("text", TEXT.sources, TEXT.targets)


def test_the_offsets_of_a_damaged_corpus_lead_to_the_partners() -> None:
    chance = random.Random(1)
    partners = dict(zip(TEXT.sources, TEXT.targets, strict=True))
    for _ in range(20):
        damaged = damage(CORPUS, chance)
        known = [(line, offset) for line, offset in enumerate(damaged.offsets) if offset is not None]
        assert all(partners[damaged.sources[line]] == damaged.targets[line + offset] for line, offset in known)
        assert len(damaged.sources) - len(known) in range(0, 16)
        assert damaged.offsets[:ROOM] == [0] * ROOM
        assert any(offset for _, offset in known)


def test_runs_of_wrong_lines_are_counted_without_lines_that_have_no_partner() -> None:
    damaged = Damaged(list("abcdef"), list("ABDEF"), [0, 0, None, -1, -1, -1])
    assert wrong_lines(damaged, [Shift(4, 6, -1, 99.0)]) == []
    assert wrong_lines(damaged, [Shift(3, 6, -1, 99.0)]) == []
    assert wrong_lines(damaged, []) == [3]
    assert wrong_lines(damaged, [Shift(2, 5, -1, 99.0)]) == [1, 1]


def test_a_line_beside_another_translation_of_it_is_right() -> None:
    damaged = Damaged(list("aab"), list("ABB"), [1, 0, 0])
    assert wrong_lines(damaged, []) == [1]
    assert wrong_lines(damaged, [], {("a", "A")}) == []


def test_corpora_are_found_by_their_suffixes(tmp_path: Path) -> None:
    for name, text in {"a.en": "A\nB\n", "a.fr": "C\nD\n", "a.wa": "1\n", "b.tsv": "E\tF\tG\n", "c.en": "X\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = {corpus.name: corpus for corpus in corpora(tmp_path)}
    assert found.keys() == {"./a en-fr", "b.tsv"}
    assert (found["./a en-fr"].targets, found["b.tsv"].targets) == (["C", "D"], ["F"])
    assert [corpus.name for corpus in corpora(tmp_path, "b")] == ["b.tsv"]


def test_a_row_says_what_was_found() -> None:
    assert measure(CORPUS, 2, random.Random(1)).startswith("| text | 600 | ")
