"""Sentences into rectangles."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from dragoman.data.collate import collate, pad
from dragoman.interfaces import BOS, EOS, PAD

A, B, C = 11, 12, 13


def test_padding_stands_on_the_right_and_is_masked() -> None:
    padded = pad([[A, B], [], [C]])
    assert padded.ids.tolist() == [[A, B, EOS], [EOS, PAD, PAD], [C, EOS, PAD]]
    assert padded.mask.tolist() == [[True, True, True], [True, False, False], [True, True, False]]
    assert padded.ids.dtype == torch.int64


def test_a_target_is_shifted_once() -> None:
    batch = collate([([A], [B, C]), ([A], [B])])
    assert batch.inputs.tolist() == [[BOS, B, C], [BOS, B, EOS]]
    assert batch.labels.tolist() == [[B, C, EOS], [B, EOS, PAD]]
    assert batch.real.tolist() == [[True, True, True], [True, True, False]]
    assert batch.source.ids.tolist() == [[A, EOS], [A, EOS]]


def test_arrays_and_lists_are_alike() -> None:
    lists = collate([([A], [B, C])])
    arrays = collate([(np.int32([A]), np.int32([B, C]))])
    assert torch.equal(lists.target.ids, arrays.target.ids)


def test_previous_sentences_stand_in_order_and_missing_ones_are_padding() -> None:
    padded = pad([[A], [B]], [[None, [C, A]], [[], [B]]])
    assert padded.previous is not None
    assert padded.previous.ids.tolist() == [[[PAD] * 3, [C, A, EOS]], [[EOS, PAD, PAD], [B, EOS, PAD]]]
    assert padded.previous.mask.tolist() == [[[False] * 3, [True] * 3], [[True, False, False], [True, True, False]]]
    assert torch.equal(padded.ids, pad([[A], [B]]).ids)


def test_a_batch_of_first_sentences_has_padding_before_it() -> None:
    batch = collate([([A], [B])], previous=[[None, None]])
    assert batch.source.previous is not None
    assert batch.source.previous.ids.tolist() == [[[PAD], [PAD]]]
    assert not batch.source.previous.mask.any()
    assert batch.to(torch.device("cpu")).source.previous is not None
    assert collate([([A], [B])]).source.previous is None


def test_links_match_labels_and_source() -> None:
    links = np.array([[True, False], [False, True], [True, True]])
    batch = collate([([A, B], [A, B, C]), ([A] * 4, [B])], links=[links, None])
    assert batch.links is not None
    assert batch.links.shape == (*batch.labels.shape, batch.source.ids.shape[1])
    assert batch.links[0].nonzero().tolist() == [[0, 0], [1, 1], [2, 0], [2, 1]]
    assert not batch.links[1].any()
    assert collate([([A], [B])]).links is None


def test_no_sentences_make_an_empty_rectangle() -> None:
    assert pad([]).ids.shape == (0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads of the process in /proc")
def test_collating_starts_no_threads() -> None:
    """Threads of OpenMP that a second thread of Python starts slow down those of training."""
    links, tasks = np.ones((300, 300), dtype=bool), "/proc/self/task"
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with ThreadPoolExecutor(1) as worker:
            before = worker.submit(os.listdir, tasks).result()
            worker.submit(collate, [([A] * 300, [B] * 300)], links=[links]).result()
            assert worker.submit(os.listdir, tasks).result() == before
    finally:
        torch.set_num_threads(threads)
