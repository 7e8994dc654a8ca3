"""Rules on what may follow: each forbids tokens by setting their log-probability to minus infinity.

What is left is not scaled up again, so a hypothesis keeps the model's own probability.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.decoding.settings import SearchSettings
from dragoman.interfaces import Padded
from dragoman.special_ids import SPECIAL_IDS, SpecialIds


@runtime_checkable
class Constraint(Protocol):
    """A rule on the next token of each hypothesis."""

    def __call__(
        self,
        prefix: Int[Tensor, "rows length"],
        log_probs: Float[Tensor, "rows vocab"],
        sentences: Int[Tensor, " rows"],
    ) -> Float[Tensor, "rows vocab"]:
        """Return `log_probs` with what may not follow `prefix` (without BOS) at minus infinity.

        `sentences` says which sentence of the batch, as it was given to the search, each row belongs to.
        """
        ...


def forbid(tokens: Sequence[int]) -> Constraint:
    """Return the rule that none of `tokens` ever occurs."""

    def rule(
        prefix: Int[Tensor, "rows length"], log_probs: Float[Tensor, "rows vocab"], sentences: Int[Tensor, " rows"]
    ) -> Float[Tensor, "rows vocab"]:
        allowed = log_probs.clone()
        for token in tokens:  # an index list would be copied to the device at every step
            allowed[:, token] = -torch.inf
        return allowed

    return rule


def minimum_length(length: int, special: SpecialIds = SPECIAL_IDS) -> Constraint:
    """Return the rule that EOS does not follow fewer than `length` tokens."""
    no_end = forbid([special.eos])

    def rule(
        prefix: Int[Tensor, "rows length"], log_probs: Float[Tensor, "rows vocab"], sentences: Int[Tensor, " rows"]
    ) -> Float[Tensor, "rows vocab"]:
        return log_probs if prefix.shape[1] >= length else no_end(prefix, log_probs, sentences)

    return rule


def no_repeated_ngram(size: int, special: SpecialIds = SPECIAL_IDS) -> Constraint:
    """Return the rule that no sequence of `size` tokens occurs twice in a hypothesis."""

    def rule(
        prefix: Int[Tensor, "rows length"], log_probs: Float[Tensor, "rows vocab"], sentences: Int[Tensor, " rows"]
    ) -> Float[Tensor, "rows vocab"]:
        length = prefix.shape[1]
        if length < size:
            return log_probs
        ngrams = prefix.unfold(1, size, 1)  # (rows, ngram, size)
        begun = prefix[:, None, length - size + 1 :]
        again = (ngrams[..., :-1] == begun).all(-1)
        banned = torch.where(again, ngrams[..., -1], special.pad)  # PAD is forbidden anyway
        return log_probs.scatter(1, banned, -torch.inf)

    return rule


def forced_prefix(prefixes: Padded) -> Constraint:
    """Return the rule that each sentence's hypotheses begin with its tokens in `prefixes` (without BOS and EOS).

    One that an earlier rule keeps from a token is free from there on.
    """

    def rule(
        prefix: Int[Tensor, "rows length"], log_probs: Float[Tensor, "rows vocab"], sentences: Int[Tensor, " rows"]
    ) -> Float[Tensor, "rows vocab"]:
        position = prefix.shape[1]
        if position >= prefixes.ids.shape[1]:
            return log_probs
        own = prefixes.ids[sentences]
        wanted = own[:, position, None]
        follows = (prefix == own[:, :position]).all(1, keepdim=True) & (log_probs.gather(1, wanted) > -torch.inf)
        forced = prefixes.mask[sentences, position, None] & follows
        others = torch.arange(log_probs.shape[1], device=log_probs.device) != wanted
        return log_probs.masked_fill(forced & others, -torch.inf)

    return rule


def ended_words(prefixes: Padded, within: Int[Tensor, " tokens"]) -> Constraint:
    """Return the rule that a hypothesis that is its sentence's prefix does not go on with a token `within` a word.

    Empty prefixes have none to go on with.
    """
    lengths = prefixes.mask.sum(1)

    def rule(
        prefix: Int[Tensor, "rows length"], log_probs: Float[Tensor, "rows vocab"], sentences: Int[Tensor, " rows"]
    ) -> Float[Tensor, "rows vocab"]:
        position = prefix.shape[1]
        if not 0 < position <= prefixes.ids.shape[1]:
            return log_probs
        ends = (lengths[sentences] == position) & (prefix == prefixes.ids[sentences, :position]).all(1)
        within_words = torch.zeros_like(log_probs[0], dtype=torch.bool).index_fill(0, within, True)
        return log_probs.masked_fill(ends[:, None] & within_words, -torch.inf)

    return rule


def from_length(length: int, rule: Constraint) -> Constraint:
    """Return a rule that holds from so many tokens of a hypothesis on."""

    def later(
        prefix: Int[Tensor, "rows length"], log_probs: Float[Tensor, "rows vocab"], sentences: Int[Tensor, " rows"]
    ) -> Float[Tensor, "rows vocab"]:
        return log_probs if prefix.shape[1] < length else rule(prefix, log_probs, sentences)

    return later


def constraints_from(settings: SearchSettings, special: SpecialIds = SPECIAL_IDS) -> list[Constraint]:
    """Return the rules that hold in every search with these settings; PAD, BOS and language tags never occur."""
    rules = [forbid(special.unwritten)]
    if settings.minimum_length > 0:
        rules.append(minimum_length(settings.minimum_length, special))
    if settings.no_repeat_ngram > 0:
        rules.append(no_repeated_ngram(settings.no_repeat_ngram, special))
    return rules


def apply_constraints(
    rules: Sequence[Constraint],
    prefix: Int[Tensor, "rows length"],
    log_probs: Float[Tensor, "rows vocab"],
    *,
    sentences: Int[Tensor, " rows"],
) -> Float[Tensor, "rows vocab"]:
    """Apply one rule after the other."""
    for rule in rules:
        log_probs = rule(prefix, log_probs, sentences)
    return log_probs


def constrain(
    rules: Sequence[Constraint],
    prefix: Int[Tensor, "rows length"],
    log_probs: Float[Tensor, "rows vocab"],
    *,
    sentences: Int[Tensor, " rows"],
    at_limit: Bool[Tensor, " rows"],
    special: SpecialIds = SPECIAL_IDS,
) -> Float[Tensor, "rows vocab"]:
    """Apply `rules`. A hypothesis at its maximum length, or that the rules leave no way on, can only end there."""
    allowed = apply_constraints(rules, prefix, log_probs, sentences=sentences)
    must_end = at_limit | (allowed.amax(-1) == -torch.inf)
    end = torch.full_like(log_probs, -torch.inf)
    end[:, special.eos] = log_probs[:, special.eos]
    return torch.where(must_end[:, None], end, allowed)
