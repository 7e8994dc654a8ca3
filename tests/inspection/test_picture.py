"""What can be drawn, and the sentences that refuse the rest."""

import re

import pytest

from dragoman.errors import InputError
from dragoman.inspection.picture import AttentionPicture


def refused(sentence: str) -> pytest.RaisesExc[InputError]:
    """Expect an InputError that says `sentence`."""
    return pytest.raises(InputError, match=re.escape(sentence))


def test_a_picture_counts_its_layers_and_heads() -> None:
    picture = AttentionPicture(["a"], ["b"], [[[[1.0]], [[0.5]]], [[[0.0]], [[0.25]]], [[[0.0]], [[0.0]]]])
    assert (picture.layers, picture.heads) == (3, 2)


def test_the_mean_is_over_all_heads_of_all_layers() -> None:
    picture = AttentionPicture(["a", "b"], ["c"], [[[[1.0, 0.0]], [[0.5, 0.5]]], [[[0.0, 1.0]], [[0.5, 0.5]]]])
    assert picture.mean == [[0.5, 0.5]]


def test_rows_must_be_the_target_words_and_columns_the_source_words() -> None:
    sentence = (
        "the weights of layer 1, head 2 are 1 x 2, but there are 2 target words and 1 source words;"
        " give one row per target word and one column per source word"
    )
    with refused(sentence):
        AttentionPicture(["a"], ["b", "c"], [[[[1.0], [1.0]], [[1.0, 0.0]]]])


def test_rows_must_have_one_length() -> None:
    with refused("the weights of layer 1, head 1 are 2 x 1 or 2, but there are 2 target words and 2 source words"):
        AttentionPicture(["a", "b"], ["c", "d"], [[[[1.0, 0.0], [1.0]]]])


def test_a_head_without_rows_is_refused() -> None:
    with refused("the weights of layer 1, head 1 are 0 x 0, but there are 1 target words"):
        AttentionPicture(["a"], ["b"], [[[]]])


def test_every_layer_must_have_as_many_heads() -> None:
    with refused("layer 2 has 2 heads but layer 1 has 1"):
        AttentionPicture(["a"], ["b"], [[[[1.0]]], [[[1.0]], [[1.0]]]])


def test_nothing_cannot_be_drawn() -> None:
    sentence = "there is no attention to draw; give at least one word on each side, one layer and one head"
    for source, target, weights in (
        (["a"], [], [[[]]]),
        ([], ["b"], [[[[]]]]),
        (["a"], ["b"], []),
        (["a"], ["b"], [[]]),
    ):
        with refused(sentence):
            AttentionPicture(source, target, weights)


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), float("inf")])
def test_weights_lie_between_0_and_1(weight: float) -> None:
    with refused(f"layer 1, head 1 has the weight {weight}"):
        AttentionPicture(["a"], ["b"], [[[[weight]]]])


def test_a_weight_that_rounding_carried_over_1_is_accepted() -> None:
    assert AttentionPicture(["a"], ["b"], [[[[1.0005]]]]).mean == [[1.0005]]
