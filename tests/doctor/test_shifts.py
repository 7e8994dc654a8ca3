"""Shifted lines are found, and nothing else is."""

import random
from pathlib import Path

import pytest
from benchmarks.doctor import TOLERATED, corpora, damage, wrong_lines
from tests.doctor.parallel import LETTERS, Parallel, parallel, spelled

from dragoman.doctor import shifts
from dragoman.doctor.shifts import Misfit, Shift, ShiftDetector, ShiftReport, find_shifts

DATA = Path("../shared/data")


def look(text: Parallel, batch: int = shifts.BATCH, chunk: int = 1000) -> ShiftReport:
    """Feed a detector chunk by chunk."""
    detector = ShiftDetector(batch=batch)
    for begin in range(0, max(len(text.sources), len(text.targets)), chunk):
        detector.add(text.sources[begin : begin + chunk], text.targets[begin : begin + chunk])
    return detector.finish()


def expect(found: list[Shift], *expected: tuple[int, int, int], within: int = TOLERATED) -> None:
    """Check first line, last line and offset of each shift."""
    assert [shift.offset for shift in found] == [offset for *_, offset in expected], found
    for shift, (first, last, _) in zip(found, expected, strict=True):
        assert abs(shift.first_line - first) <= within and abs(shift.last_line - last) <= within, found
        assert shift.evidence > 25


@pytest.fixture(scope="module")
def text() -> Parallel:
    return parallel(2000)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_lines_lost_in_the_target_are_found(text: Parallel, count: int) -> None:
    found = find_shifts(*_sides(text.without(targets=range(700, 700 + count))))
    expect(found, (701 + count, 2000, -count), within=TOLERATED + count)
    assert 701 - TOLERATED <= found[0].first_line <= 701 + count + TOLERATED


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_lines_lost_in_the_source_are_found(text: Parallel, count: int) -> None:
    expect(find_shifts(*_sides(text.without(sources=range(700, 700 + count)))), (701, 2000 - count, count))


@pytest.mark.parametrize(("first", "second"), [(300, 360), (300, 1700), (1200, 1300)])
def test_a_loss_on_each_side_is_found_although_the_counts_are_equal(text: Parallel, first: int, second: int) -> None:
    damaged = text.without(sources=[first], targets=[second])
    assert len(damaged.sources) == len(damaged.targets)
    expect(find_shifts(*_sides(damaged)), (first + 1, second - 1, 1))


def test_several_losses_add_up(text: Parallel) -> None:
    damaged = text.without(sources=[300, 301], targets=[800, 1200, 1201, 1202])
    expect(find_shifts(*_sides(damaged)), (301, 798, 2), (800, 1198, 1), (1202, 1998, -2), within=TOLERATED + 3)


@pytest.mark.parametrize("lines", [600, 1000])
def test_most_lines_may_be_farther_off_than_is_looked_at_first(lines: int) -> None:
    damaged = parallel(lines).without(sources=[*range(60, 65), *range(100, 104)], targets=range(150, 153))
    expect(find_shifts(*_sides(damaged)), (61, 95, 5), (96, 141, 9), (142, lines - 9, 6), within=TOLERATED + 3)


def test_a_shift_from_the_first_line_on_is_found(text: Parallel) -> None:
    expect(find_shifts(*_sides(text.without(sources=[0]))), (1, 1999, 1))
    expect(find_shifts(*_sides(text.without(targets=range(3)))), (4, 2000, -3))


def test_a_long_gap_is_found_and_its_lines_have_no_partner(text: Parallel) -> None:
    report = look(text.without(targets=range(900, 960)))
    expect(report.shifts, (961, 2000, -60))
    [misfit] = report.misfits
    assert abs(misfit.first_line - 901) <= TOLERATED and abs(misfit.last_line - 960) <= TOLERATED


def test_a_block_that_was_moved_is_found_where_it_is(text: Parallel) -> None:
    order = [*range(300), *range(500, 1500), *range(300, 500), *range(1500, 2000)]
    moved = Parallel(text.sources, [text.targets[line] for line in order])
    expect(find_shifts(*_sides(moved)), (301, 500, 1000), (501, 1500, -200))


def test_the_offset_may_grow_beyond_what_is_compared_at_once(text: Parallel) -> None:
    damaged = text.without(targets=range(100, 1700, 80))
    found = find_shifts(*_sides(damaged))
    assert [shift.offset for shift in found] == list(range(-1, -21, -1))


def test_shifts_are_found_across_batches() -> None:
    text = parallel(9000)
    damaged = text.without(sources=[200, 3950, 3951], targets=[6100])
    expect(look(damaged, batch=3000).shifts, (201, 3949, 1), (3950, 6096, 3), (6098, 8997, 2))


def test_a_lost_block_between_batches_is_found() -> None:
    expect(look(parallel(9000).without(sources=range(2500, 2700)), batch=3000).shifts, (2501, 8800, 200))


def test_a_target_that_ends_early_leaves_lines_without_partner(text: Parallel) -> None:
    report = look(Parallel(text.sources, text.targets[:1500]))
    assert report.shifts == []
    [misfit] = report.misfits
    assert abs(misfit.first_line - 1501) <= TOLERATED and misfit.last_line == 2000
    longer = look(Parallel(text.sources[:1500], text.targets))
    assert (longer.shifts, longer.misfits) == ([], [])


def test_a_report_does_not_depend_on_how_the_lines_come(text: Parallel) -> None:
    damaged = text.without(sources=[800])
    assert look(damaged, chunk=7) == look(damaged, chunk=5000)


@pytest.mark.parametrize(
    "name",
    [
        "as it is",
        "swapped",
        "identical",
        "noise",
        "blank lines",
        "one-sided blanks",
        "runs",
        "one word",
        "unspaced",
        "sorted",
    ],
)
@pytest.mark.parametrize("lines", [30, 300, 2000])
def test_nothing_is_found_where_nothing_is_shifted(name: str, lines: int) -> None:
    report = look(_unshifted(name, lines))
    assert report.shifts == []
    if name == "noise":
        assert all(
            100 <= misfit.first_line % 200 <= 110 and 120 <= misfit.last_line % 200 <= 135 for misfit in report.misfits
        )
    else:
        assert report.misfits == []


@pytest.mark.parametrize(
    "name", ["as it is", "swapped", "identical", "noise", "blank lines", "runs", "unspaced", "sorted"]
)
def test_a_shift_is_found_in_such_texts_too(name: str) -> None:
    expect(find_shifts(*_sides(_unshifted(name, 2000).without(sources=[1000]))), (1001, 1999, 1), within=TOLERATED + 3)


def test_documents_of_different_kinds_do_not_look_shifted() -> None:
    other = parallel(1500, seed=5, names=0.0)
    turned = Parallel([line.translate(ROT) for line in other.sources], [line.translate(ROT) for line in other.targets])
    report = look(parallel(1500) + turned + parallel(300, seed=7, length=(1, 3)))
    assert (report.shifts, report.misfits) == ([], [])


def test_lines_without_relation_are_not_called_shifted() -> None:
    report = look(Parallel(parallel(2000).sources, parallel(2000, seed=9).targets))
    assert report.shifts == [] and report.fit < 0.2


def test_nothing_is_said_of_nothing() -> None:
    assert look(Parallel([], [])) == ShiftReport([], [], 0.0)
    assert find_shifts(["A dog."], ["Ein Hund."]) == []
    assert look(Parallel(["a"] * 40, [])).misfits == [Misfit(1, 40)]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason=f"there is no {DATA}: shifts of real text are not tried")
@pytest.mark.parametrize(
    "name", ["multi30k/val", "evbnews-en-vi/dev", "tatoeba-en-vi", "iwslt17-en-fr/tst2010", "alt-en-vi/dev"]
)
def test_shifts_of_real_text_are_found(name: str) -> None:
    chance = random.Random(1)
    for corpus in corpora(DATA, name):
        assert find_shifts(corpus.sources, corpus.targets) == []
        for _ in range(3):
            damaged = damage(corpus, chance)
            found = find_shifts(damaged.sources, damaged.targets)
            pairs = set(zip(corpus.sources, corpus.targets, strict=True))
            assert max(wrong_lines(damaged, found, pairs), default=0) <= TOLERATED, (corpus.name, found)


ROT = str.maketrans(LETTERS, LETTERS[7:] + LETTERS[:7])


def _sides(text: Parallel) -> tuple[list[str], list[str]]:
    return text.sources, text.targets


def _unshifted(name: str, lines: int) -> Parallel:
    """Return a text in which lines stand beside their partners, but which is odd in some way."""
    text, chance = parallel(lines, seed=3), random.Random(4)
    match name:
        case "swapped":
            return Parallel(text.targets, text.sources)
        case "identical":
            return Parallel(text.sources, text.sources)
        case "noise":  # every third pair is wrong, half of them in a row
            odd = parallel(lines, seed=8).targets
            wrong = {line for line in range(lines) if line % 6 == 0 or 100 <= line % 200 < 130}
            return Parallel(text.sources, [odd[line] if line in wrong else text.targets[line] for line in range(lines)])
        case "blank lines":
            blank = {line for line in range(lines) if line % 9 == 0}
            return Parallel(*([("" if at in blank else line) for at, line in enumerate(side)] for side in _sides(text)))
        case "one-sided blanks":
            return Parallel(text.sources, ["" if chance.random() < 0.1 else line for line in text.targets])
        case "runs":  # each pair several times
            rows = [line for line in range(lines) for _ in range(1 + line % 4)][:lines]
            return Parallel([text.sources[row] for row in rows], [text.targets[row] for row in rows])
        case "one word":
            words = [spelled(line, LETTERS) for line in range(lines)]
            return Parallel(words, [spelled(7 * line, LETTERS[::-1]) for line in range(lines)])
        case "unspaced":
            han = str.maketrans({letter: chr(0x4E00 + 37 * number) for number, letter in enumerate(LETTERS)})
            return Parallel(text.sources, [line.lower().replace(" ", "").translate(han) for line in text.targets])
        case "sorted":
            order = sorted(range(lines), key=lambda line: len(text.sources[line]))
            return Parallel([text.sources[line] for line in order], [text.targets[line] for line in order])
    return text
