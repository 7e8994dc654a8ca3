"""Word alignments from attention weights, worked by hand."""

import torch

from dragoman.inspection.alignments import links_from_weights, merge_pieces


def test_each_target_word_is_linked_to_the_source_word_it_looks_at_most() -> None:
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.8, 0.1, 0.1]])
    assert links_from_weights(weights) == {(2, 0), (0, 1)}


def test_two_target_words_may_share_a_source_word() -> None:
    assert links_from_weights(torch.tensor([[0.9, 0.1], [0.6, 0.4]])) == {(0, 0), (0, 1)}


def test_of_equal_weights_the_leftmost_wins() -> None:
    assert links_from_weights(torch.tensor([[0.2, 0.4, 0.4]])) == {(1, 0)}


def test_a_target_word_that_looks_at_nothing_has_no_link() -> None:
    assert links_from_weights(torch.tensor([[0.0, 0.0], [0.0, 0.3]])) == {(1, 1)}


def test_an_empty_sentence_has_no_links() -> None:
    assert links_from_weights(torch.zeros(3, 0)) == set()
    assert links_from_weights(torch.zeros(0, 3)) == set()


def test_a_word_receives_the_sum_of_its_source_pieces_and_gives_the_mean_of_its_target_pieces() -> None:
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [0.25, 0.25, 0.5]])
    merged = merge_pieces(weights, [0, 0, 1], [0, 1, 1])
    assert merged.tolist() == [[0.75, 0.25], [0.5, 0.5]]


def test_the_weight_on_a_dropped_piece_is_not_spread_over_the_others() -> None:
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    assert merge_pieces(weights, [0, 1, None], [0, None]).tolist() == [[0.5, 0.25]]


def test_rows_sum_to_what_their_pieces_gave_to_words() -> None:
    weights = torch.rand(5, 6, generator=torch.Generator().manual_seed(1)).softmax(-1)
    merged = merge_pieces(weights, [0, 0, 1, 2, 2, None], [0, 1, 1, 1, 2])
    given = weights[:, :5].sum(-1)
    torch.testing.assert_close(merged.sum(-1), torch.stack([given[0], given[1:4].mean(), given[4]]))


def test_heads_are_merged_all_at_once() -> None:
    weights = torch.rand(2, 4, 3, 3, generator=torch.Generator().manual_seed(1))
    merged = merge_pieces(weights, [0, 0, 1], [0, 1, 1])
    assert merged.shape == (2, 4, 2, 2)
    torch.testing.assert_close(merged[1, 3], merge_pieces(weights[1, 3], [0, 0, 1], [0, 1, 1]))


def test_a_sentence_of_end_marks_alone_has_no_words() -> None:
    assert merge_pieces(torch.ones(1, 1), [None], [0]).shape == (1, 0)
