"""The laws that every architecture obeys, as functions that raise AssertionError if one is broken.

The numbers are those of `/ARCHITECTURE.md`. Laws 9 to 11, 13 and 14, on training and text, are in `of_training`.
"""

from copy import deepcopy
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.attention.scores import is_content_based
from dragoman.decoding import DecodingSettings, beam_search, step_of
from dragoman.interfaces import BOS, EOS, PAD, UNK, DecoderOutput, DecoderState, Encoded, Padded, Previous
from dragoman.laws.examples import LENGTHS, Architecture, model_of, source, target
from dragoman.models.capabilities import capabilities_of
from dragoman.models.document import DocumentSettings
from dragoman.models.seq2seq import Seq2Seq
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.tree import map_tensors

ROWS = len(LENGTHS)
SOURCE = source(LENGTHS)
TARGET = target(ROWS, 6)
CHUNKS = ([1] * 6, [2, 3, 1], [1, 4, 1], [5, 1])

CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 2e-5}


def close(actual: Tensor | None, expected: Tensor | None) -> None:
    """Fail unless two tensors are equal within the rounding of float32."""
    assert actual is not None and expected is not None
    torch.testing.assert_close(actual, expected, **CLOSE)


def attends(architecture: Architecture) -> bool:
    """Tell whether an architecture attends to its source."""
    return capabilities_of(architecture).attends


def feed(
    model: Seq2Seq, state: DecoderState[Any, Any], chunks: list[int], *, need_weights: bool = False
) -> list[DecoderOutput]:
    """Feed TARGET to the decoder in chunks of these lengths."""
    outputs = []
    for tokens in TARGET.split(chunks, 1):
        output, state = model.decoder(tokens, state, need_weights=need_weights)
        outputs.append(output)
    return outputs


@torch.no_grad()
def law_1_chunks_do_not_matter(architecture: Architecture) -> None:
    """One position at a time gives the logits (and weights) of all at once; so does any chunking."""
    model = model_of(architecture)
    whole = model(SOURCE, TARGET, need_weights=True)
    state = model.decoder.start(model.encoder(SOURCE))
    for chunks in CHUNKS:
        outputs = feed(model, state, chunks, need_weights=True)
        close(torch.cat([output.logits for output in outputs], 1), whole.logits)
        if attends(architecture):
            close(torch.cat([weights_of(output) for output in outputs], 3), whole.attention)


@torch.no_grad()
def law_2_the_future_does_not_matter(architecture: Architecture) -> None:
    """Changing tokens from some position on leaves the logits before it unchanged, and changes those from it on."""
    model = model_of(architecture)
    whole = model(SOURCE, TARGET).logits
    for position in range(1, TARGET.shape[1]):
        others = TARGET.clone()
        others[:, position:] = 4 + (others[:, position:] - 3) % 9
        changed = model(SOURCE, others).logits
        close(changed[:, :position], whole[:, :position])
        assert not torch.allclose(changed[:, position], whole[:, position], **CLOSE)
        close(model(SOURCE, TARGET[:, :position]).logits, whole[:, :position])


def law_3_padding_does_not_matter(architecture: Architecture) -> None:
    """The content and amount of padding do not change logits or gradients; nor do other rows.

    Documents are processed in float64: with weights this large, some of their gradients are small differences of large numbers.
    """
    model = model_of(architecture)
    model = deepcopy(model).double() if isinstance(architecture, DocumentSettings) else model
    logits = model(SOURCE, TARGET).logits
    gradients = torch.autograd.grad(logits.square().sum(), list(model.parameters()), allow_unused=True)
    for padded in (_with_garbage(SOURCE), _with_more_padding(SOURCE)):
        other = model(padded, TARGET).logits
        close(other, logits)
        changed = torch.autograd.grad(other.square().sum(), list(model.parameters()), allow_unused=True)
        for before, after in zip(gradients, changed, strict=True):
            assert (before is None) == (after is None), "padding has a gradient"
            if before is not None:
                torch.testing.assert_close(after, before, rtol=1e-3, atol=1e-4 * max(1.0, float(before.abs().max())))
    for row, length in enumerate(LENGTHS):
        mine = map_tensors(itemgetter(slice(row, row + 1)), SOURCE)
        alone = replace(mine, ids=mine.ids[:, :length], mask=mine.mask[:, :length])
        close(model(alone, TARGET[row : row + 1]).logits[0], logits[row])


@torch.no_grad()
def law_4_rows_follow_hypotheses(architecture: Architecture) -> None:
    """Moving the rows of a state and then taking a step is taking the step and then moving its rows."""
    model = model_of(architecture)
    _, state = model.decoder(TARGET[:, :3], model.decoder.start(model.encoder(SOURCE)))
    tokens = TARGET[:, 3:5]
    direct, _ = model.decoder(tokens, state)
    rows = torch.tensor([2, 0, 0, 3, 1])
    selected, _ = model.decoder(tokens[rows], state.select(rows))
    close(selected.logits, direct.logits[rows])
    expanded, _ = model.decoder(tokens.repeat_interleave(2, 0), state.expand(2))
    close(expanded.logits, direct.logits.repeat_interleave(2, 0))
    _law_4_within_a_sentence(model)


def _law_4_within_a_sentence(model: Seq2Seq) -> None:
    """`reorder` follows hypotheses of different pasts to other rows of their sentence."""
    beams = 2
    prefixes = target(ROWS * beams, 4, seed=9)
    state = model.decoder.start(model.encoder(SOURCE)).expand(beams)
    direct, after = model.decoder(prefixes[:, :3], state)
    rows = torch.tensor([1, 0, 2, 2, 5, 4, 7, 7])
    moved, _ = model.decoder(prefixes[rows, 3:4], after.reorder(rows))
    whole, _ = model.decoder(prefixes[rows], state)
    close(moved.logits[:, 0], whole.logits[:, 3])
    close(direct.logits[rows], whole.logits[:, :3])


@torch.no_grad()
def law_5_weights_are_a_distribution(architecture: Architecture) -> None:
    """Weights are positive on real source tokens, where they sum to 1, and exactly 0 on padding."""
    model = model_of(architecture)
    weights = weights_of(model(SOURCE, TARGET, need_weights=True))
    assert weights.shape[0] == ROWS and weights.shape[3:] == (TARGET.shape[1], SOURCE.ids.shape[1])
    hidden = ~SOURCE.mask[:, None, None, None].expand_as(weights)
    assert (weights >= 0).all()
    assert (weights[hidden] == 0).all()
    sums = weights.sum(-1)
    if gaussian(architecture):
        assert (sums > 0).all() and (sums <= 1 + 1e-5).all()
    else:
        close(sums, torch.ones_like(sums))
    assert (weights[0].std(-1) > 1e-3).any(), "the weights are uniform, so nothing is tested"


@torch.no_grad()
def law_6_asking_for_weights_changes_nothing(architecture: Architecture) -> None:
    """Logits are the same with weights and without, all at once and in chunks."""
    model = model_of(architecture)
    state = model.decoder.start(model.encoder(SOURCE))
    for chunks in ([6], [1, 3, 2]):
        blind, seeing = feed(model, state, chunks), feed(model, state, chunks, need_weights=True)
        for without, with_weights in zip(blind, seeing, strict=True):
            close(with_weights.logits, without.logits)
            assert without.attention is None


@torch.no_grad()
def law_7_the_order_of_keys_does_not_matter(architecture: Architecture) -> None:
    """Encoder states in another order give the same logits, and weights in that order.

    The encoder itself may depend on order (a recurrent one must), so only its states are permuted. A Transformer's encoder
    is tested too, with its positions removed: permuted tokens then give permuted states.
    """
    model = model_of(architecture)
    encoded = model.encoder(SOURCE)
    order = torch.tensor([3, 1, 4, 0, 2])
    embedded = None if encoded.embedded is None else encoded.embedded[:, order]
    moved = Encoded(encoded.states[:, order], encoded.mask[:, order], encoded.final, embedded=embedded)
    direct, _ = model.decoder(TARGET, model.decoder.start(encoded), need_weights=True)
    other, _ = model.decoder(TARGET, model.decoder.start(moved), need_weights=True)
    close(other.logits, direct.logits)
    close(other.attention, weights_of(direct)[..., order])


@torch.no_grad()
def law_7_an_encoder_without_positions_does_not_know_order(architecture: Architecture) -> None:
    """See law 7: self-attention knows order only from positions."""
    assert isinstance(architecture, TransformerSettings)
    encoder = model_of(architecture).encoder
    order = torch.tensor([3, 1, 4, 0, 2])
    states = _states_without_positions(encoder, SOURCE)
    moved = _states_without_positions(encoder, replace(SOURCE, ids=SOURCE.ids[:, order], mask=SOURCE.mask[:, order]))
    real = SOURCE.mask[:, order]
    close(moved[real], states[:, order][real])


@torch.no_grad()
def law_8_a_wide_beam_finds_the_best(architecture: Architecture) -> None:
    """A beam as wide as there are sequences finds the best ones; each score is the model's own."""
    vocabulary, longest, wanted = 6, 3, 5
    model = model_of(architecture, vocabulary)
    sentences = source([4, 2, 3], vocabulary=vocabulary)
    every = [list(ids) for length in range(longest + 1) for ids in product(range(UNK, vocabulary), repeat=length)]
    settings = DecodingSettings(beam=64, n_best=wanted, length_penalty=0.6)
    state = model.decoder.start(model.encoder(sentences))
    found = beam_search(step_of(model.decoder), state, torch.tensor([longest] * 3), settings=settings)
    narrow = beam_search(
        step_of(model.decoder), state, torch.tensor([longest] * 3), settings=DecodingSettings(beam=3, n_best=3)
    )
    for row in range(3):
        own = _log_probs(model, sentences, row, every=every)
        scores = [log_prob / ((5 + len(ids) + 1) / 6) ** 0.6 for ids, log_prob in zip(every, own, strict=True)]
        best = sorted(range(len(every)), key=lambda index: -scores[index])[:wanted]
        assert found.ids[row] == [every[index] for index in best]
        close(torch.tensor(found.score[row]), torch.tensor([scores[index] for index in best]))
        for result in (found, narrow):
            expected = [own[every.index(ids)] for ids in result.ids[row]]
            close(torch.tensor(result.log_prob[row]), torch.tensor(expected))


def _log_probs(model: Seq2Seq, sentences: Padded, row: int, *, every: list[list[int]]) -> list[float]:
    """Return the model's log-probability of each translation of one sentence, all positions at once."""
    longest = max(len(ids) for ids in every) + 1
    labels = torch.tensor([[*ids, EOS, *[PAD] * (longest - len(ids) - 1)] for ids in every])
    inputs = torch.cat([torch.full((len(every), 1), BOS), labels[:, :-1]], 1)
    repeated = map_tensors(lambda tensor: tensor[[row] * len(every)], sentences)
    log_probs = model(repeated, inputs).logits.log_softmax(-1).gather(-1, labels[:, :, None]).squeeze(-1)
    return log_probs.masked_fill(labels == PAD, 0.0).sum(1).tolist()


def _with_garbage(padded: Padded) -> Padded:
    """Return the same sentences, with real-looking tokens on their padding and on that of previous sentences."""
    assert padded.previous is not None
    before = padded.previous
    ids, others = (torch.where(one.mask, one.ids, 4 + torch.arange(one.ids.shape[-1]) % 9) for one in (padded, before))
    return Padded(ids, padded.mask, Previous(others, before.mask))


def _with_more_padding(padded: Padded) -> Padded:
    """Return the same sentences with three more columns, and one more previous sentence that is missing."""
    assert padded.previous is not None
    before = padded.previous
    ids, mask = (nn.functional.pad(one, (0, 3), value=PAD) for one in (padded.ids, padded.mask))
    previous = Previous(*(nn.functional.pad(one, (0, 3, 1, 0), value=PAD) for one in (before.ids, before.mask)))
    return Padded(ids, mask, previous)


def _states_without_positions(encoder: Any, sentences: Padded) -> Tensor:
    """Run a Transformer's encoder with its positions temporarily removed."""
    positions = encoder.positions
    encoder.positions = nn.Identity()
    try:
        return encoder(sentences).states
    finally:
        encoder.positions = positions


def weights_of(output: DecoderOutput) -> Tensor:
    """Return the requested weights."""
    assert output.attention is not None, "weights were requested, but not returned"
    return output.attention


def gaussian(architecture: Architecture) -> bool:
    """Tell whether weights are multiplied by a Gaussian: the local-p paper does not renormalise them (law 5)."""
    window = getattr(architecture, "window", None)
    return window is not None and window.kind == "predictive"


def knows_order(architecture: Architecture) -> bool:
    """Tell whether a decoder's attention to the source depends on the positions of keys: by its score, or by a window."""
    score = architecture.cross_score if isinstance(architecture, TransformerSettings) else architecture.score
    return not is_content_based(score) or getattr(architecture, "window", None) is not None
