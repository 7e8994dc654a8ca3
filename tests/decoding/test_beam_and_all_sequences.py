"""Beam search compared with all sequences there are, for any toy."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.test_beam import PENALTIES, WIDE, divisor, every_sequence, search
from tests.decoding.toys import ToyDecoder, log_prob


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    vocabulary=st.integers(4, 6),
    limits=st.lists(st.integers(0, 3), min_size=1, max_size=3),
    penalty=st.sampled_from(PENALTIES),
    minimum=st.integers(0, 2),
)
def test_a_wide_beam_finds_what_trying_everything_finds(
    seed: int, vocabulary: int, limits: list[int], penalty: tuple[str, float], minimum: int
) -> None:
    decoder, (kind, alpha) = ToyDecoder(vocabulary=vocabulary, seed=seed), penalty
    sources = [3 + 7 * row for row in range(len(limits))]
    options = {"beam": WIDE, "length_normalisation": kind, "length_penalty": alpha, "minimum_length": minimum}
    found = search(decoder, sources, limits, **options).best()
    for source, limit, one in zip(sources, limits, found, strict=True):
        allowed = [ids for ids in every_sequence(vocabulary, limit) if len(ids) >= min(minimum, limit)]
        scores = [log_prob(decoder, source, ids) / divisor(kind, alpha, len(ids) + 1) for ids in allowed]
        assert one.ids in allowed and one.score == pytest.approx(max(scores), abs=1e-5)
