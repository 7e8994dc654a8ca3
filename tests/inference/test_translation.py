"""What a translation says of itself."""

import pytest

from dragoman.inference.translation import Translation


def test_the_log_probability_is_divided_by_the_tokens_where_they_are_known() -> None:
    assert Translation("A cat.", -9.0, -3.0, ids=(5, 6)).per_token == pytest.approx(-1.0)
    assert Translation("", 0.0, -0.5).per_token == -0.5
