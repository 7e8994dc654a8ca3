"""What a step weighed says what became of each continuation."""

import math

import torch

from dragoman.decoding.candidates import candidates
from dragoman.decoding.hypotheses import Candidate
from dragoman.special_ids import SPECIAL_IDS


def test_continuations_are_followed_ended_or_left_behind() -> None:
    weighed = torch.tensor([[[0, 7], [1, 2], [1, 8], [0, 2], [0, 9]]])
    log_prob = torch.tensor([[-1.0, -2.0, -3.0, -4.0, -math.inf]])
    found = candidates(
        torch.tensor([5]), weighed, log_prob, followed=torch.tensor([[[0, 7], [1, 9]]]), special=SPECIAL_IDS
    )
    ended, behind, too_late = Candidate(1, 2, -2.0, ended=True), Candidate(1, 8, -3.0), Candidate(0, 2, -4.0)
    assert found == {5: [Candidate(0, 7, -1.0, place=0), ended, behind, too_late]}
