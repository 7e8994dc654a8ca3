"""Every line of a batch gets its offset."""

import numpy as np
import pytest
from tests.doctor.parallel import parallel

from dragoman.doctor.align import Run, align, runs
from dragoman.doctor.lexicon import NOWHERE
from dragoman.doctor.tokens import read_batch

TEXT = parallel(1200)


def test_runs_cover_the_path() -> None:
    assert runs(np.array([2, 2, NOWHERE, 0])) == [Run(0, 2, 2), Run(2, 3, NOWHERE), Run(3, 4, 0)]
    assert runs(np.zeros(0, np.int64)) == []


@pytest.mark.parametrize("offset", [-5, 0, 3])
def test_a_batch_may_begin_at_any_offset(offset: int) -> None:
    first, second = max(-offset, 0), max(offset, 0)
    batch = read_batch(TEXT.sources[first + second :], TEXT.targets[2 * first :])
    assert runs(align(batch).path)[0].offset == second - first


def test_the_expected_offset_may_be_large() -> None:
    damaged = TEXT.without(sources=range(300), targets=[800])
    path = align(read_batch(damaged.sources, damaged.targets), 300).path
    assert [run.offset for run in runs(path)] == [300, 299]
    assert abs(runs(path)[0].end - 500) <= 3


def test_the_scores_of_a_run_are_those_of_its_offset() -> None:
    alignment = align(read_batch(TEXT.sources, TEXT.targets))
    assert (alignment.path == 0).all()
    right, wrong = (alignment.aligner.scores(Run(100, 1100, offset)).sum() for offset in (0, 1))
    assert right > 1000 and wrong < 0
    assert not alignment.aligner.scores(Run(0, 5, NOWHERE)).any()
