"""Laws 1 to 8, over every architecture."""

from collections.abc import Iterable

import pytest
from tests.laws.architectures import ARCHITECTURES, FAMILIES, Architecture

from dragoman.laws import of_models as laws
from dragoman.laws.examples import model_of, source, target
from dragoman.models.transformer import TransformerSettings


def each(architectures: Iterable[str], *, quick: Iterable[str] | None = None) -> pytest.MarkDecorator:
    """Run a test once for each of the architectures; all but the `quick` ones, where these are given, in `make slow`."""
    chosen = list(architectures)
    soon = set(chosen if quick is None else quick)
    return pytest.mark.parametrize(
        "architecture",
        [
            pytest.param(ARCHITECTURES[name], id=name, marks=[] if name in soon else [pytest.mark.slow])
            for name in chosen
        ],
    )


ATTENDING = [name for name, architecture in ARCHITECTURES.items() if laws.attends(architecture)]
PLAIN = [name for name in ARCHITECTURES if name not in ATTENDING]
"""Exempt from laws 5 and 7: without attention there are no weights, and no keys to put in order."""

BY_CONTENT = [name for name in ATTENDING if not laws.knows_order(ARCHITECTURES[name])]
"""Exempt from law 7: location attention looks at where a key stands, and at nothing else; so does a window beside its score."""

ENCODERS_BY_CONTENT = [
    name
    for name, architecture in ARCHITECTURES.items()
    if isinstance(architecture, TransformerSettings)
    and architecture.self_score != "location"
    and architecture.relative == "none"
]


@each(ARCHITECTURES)
def test_one_position_at_a_time_gives_the_logits_of_all_at_once(architecture: Architecture) -> None:
    laws.law_1_chunks_do_not_matter(architecture)


@each(ARCHITECTURES)
def test_future_tokens_do_not_matter(architecture: Architecture) -> None:
    laws.law_2_the_future_does_not_matter(architecture)


@each(ARCHITECTURES)
def test_padding_does_not_matter(architecture: Architecture) -> None:
    laws.law_3_padding_does_not_matter(architecture)


@each(ARCHITECTURES, quick=FAMILIES)
def test_rows_of_a_state_follow_hypotheses(architecture: Architecture) -> None:
    laws.law_4_rows_follow_hypotheses(architecture)


@each(ATTENDING)
def test_weights_are_a_distribution_over_real_source_tokens(architecture: Architecture) -> None:
    laws.law_5_weights_are_a_distribution(architecture)


@each(PLAIN)
def test_a_model_without_attention_gives_no_weights(architecture: Architecture) -> None:
    assert model_of(architecture)(source([3]), target(1, 4), need_weights=True).attention is None


@each(ARCHITECTURES, quick=FAMILIES)
def test_asking_for_weights_does_not_change_logits(architecture: Architecture) -> None:
    laws.law_6_asking_for_weights_changes_nothing(architecture)


@each(BY_CONTENT)
def test_the_order_of_keys_does_not_matter_to_content_based_scores(architecture: Architecture) -> None:
    laws.law_7_the_order_of_keys_does_not_matter(architecture)


@each(ENCODERS_BY_CONTENT)
def test_an_encoder_without_positions_does_not_know_order(architecture: Architecture) -> None:
    laws.law_7_an_encoder_without_positions_does_not_know_order(architecture)


@each(name for name in ATTENDING if name not in BY_CONTENT)
def test_the_order_of_keys_matters_to_location_attention(architecture: Architecture) -> None:
    with pytest.raises(AssertionError):
        laws.law_7_the_order_of_keys_does_not_matter(architecture)


@each(ARCHITECTURES, quick=FAMILIES)
def test_a_wide_enough_beam_finds_the_best_sequences(architecture: Architecture) -> None:
    laws.law_8_a_wide_beam_finds_the_best(architecture)
