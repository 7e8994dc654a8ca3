"""Translate batches of ids with torch."""

import sys
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import torch

from dragoman.data.collate import collate, pad
from dragoman.decoding.beam import beam_search
from dragoman.decoding.constraints import Constraint, ended_words, forced_prefix
from dragoman.decoding.hypotheses import Hypotheses, Hypothesis, Unwatched, Watch, WatchedPart
from dragoman.decoding.phrases import Joined, RequiredPhrases, apart
from dragoman.decoding.rerank import rerank
from dragoman.decoding.sample import sample
from dragoman.decoding.score import score_target
from dragoman.decoding.settings import DecodingSettings
from dragoman.decoding.shortlist import Listed, RestoredWatch, Shortlist, ShortlistedDecoder, restore_vocabulary_ids
from dragoman.decoding.step import EnsembleState, ensemble, feed, step_of
from dragoman.errors import InputError, RunError
from dragoman.inference.attention_map import AttentionMap, map_attention, of_given, source_heads
from dragoman.inference.batching import batches, cells_of_logits, check_memory
from dragoman.inference.requests import EncodedRequest
from dragoman.inference.session import Session
from dragoman.interfaces import DecoderState, Encoded, Padded, Step
from dragoman.layers.embedding import OutputLayer
from dragoman.models.capabilities import Capabilities, capabilities_of
from dragoman.models.seq2seq import Seq2Seq
from dragoman.runs.folder import Run
from dragoman.special_ids import SPECIAL_IDS, SpecialIds
from dragoman.text.codec import Codec
from dragoman.tree import map_tensors

BATCH_CELLS = 6000
"""Largest batch of translation: hypotheses times longest source, in tokens; smaller where vocabularies are large."""


class TorchEngine:
    """One or several models that translate together."""

    def __init__(
        self,
        session: Session[Seq2Seq],
        runs: Sequence[Run] = (),
        *,
        shortlist: Shortlist | None = None,
        special: SpecialIds = SPECIAL_IDS,
    ) -> None:
        """Take over the models of a session; by default the `shortlist` is that of the first of their `runs`."""
        self.session = session
        self.models = session.models
        self.target_bound = smallest(model.target_positions for model in self.models)
        self.runs = tuple(runs)
        self.special = special
        outputs = (one for model in self.models for one in model.modules() if isinstance(one, OutputLayer))
        self._cells = cells_of_logits(max((len(one.weight) for one in outputs), default=0), BATCH_CELLS)
        """How many cells of a batch the logits of one token take, which counts where vocabularies are large."""
        self._shortlist = shortlist

    @property
    def capabilities(self) -> Capabilities | None:
        """Return what the first model supports, from its run's recipe; None without one."""
        return capabilities_of(self.runs[0].recipe.model) if self.runs else None

    @property
    def source_heads(self) -> tuple[int, int] | None:
        """Return the layers and heads of the first model that attend to the source, or None.

        A run's recipe says so; models without one are tried on a pair of empty sentences.
        """
        known = self.capabilities
        return source_heads(self.models[0]) if known is None else known.source_heads

    def prepare(self, settings: DecodingSettings, vocabulary: int) -> None:
        """Load what settings need before the first of their searches. Errors say what is missing or too large."""
        check_memory(settings, vocabulary, device=self.session.device.type)
        self.session.pack(settings.precision)
        if settings.shortlist:
            self._require_shortlist()

    def search(
        self,
        requests: Sequence[EncodedRequest],
        settings: DecodingSettings,
        *,
        watch: Watch | None = None,
        joined: Joined = apart,
    ) -> list[list[Hypothesis]]:
        """Search for (or sample) the translations of each request, best first; an empty source has none.

        Nor have requests that the `watch` gives up; sampling is not watched. Phrases of requests stand between words, which is
        not where two tokens are `joined`. Requests with a prefix need settings without a shortlist.
        """
        watch = watch or Unwatched()
        results: list[list[Hypothesis]] = [[] for _ in requests]
        alike: dict[int, list[int]] = {}
        for number, request in enumerate(requests):
            if request.sources[0]:
                alike.setdefault(len(request.start), []).append(number)
        for todo in alike.values():
            widths = [max(requests[number].width, self._cells) * settings.hypotheses for number in todo]
            for rows in batches(widths, BATCH_CELLS):
                chosen = [todo[row] for row in rows]
                part = WatchedPart(watch, tuple(chosen))
                found = self._search([requests[number] for number in chosen], settings, part, joined=joined)
                for number, alternatives in zip(chosen, found.alternatives(), strict=True):
                    results[number] = alternatives
        return results

    def score(
        self, requests: Sequence[EncodedRequest], settings: DecodingSettings, *, entropies: bool = False
    ) -> list[Hypothesis]:
        """Return the given targets with their log-probabilities, and `entropies` if requested. RunError if they are NaN."""
        results: dict[int, Hypothesis] = {}
        widths = [request.width * max(settings.hypotheses, self._cells) for request in requests]
        lengths = [sum(map(len, request.pair)) for request in requests]
        for rows in batches(widths, BATCH_CELLS, ties=lengths):
            scored = self._score([requests[row] for row in rows], settings, entropies=entropies)
            results |= dict(zip(rows, scored, strict=True))
        return [results[row] for row in range(len(requests))]

    def attention_maps(
        self, requests: Sequence[EncodedRequest], codecs: tuple[Codec, Codec], settings: DecodingSettings
    ) -> list[AttentionMap]:
        """Return what the first model attends to when it writes the given targets; `codecs` are of source and target."""
        found: dict[int, AttentionMap] = {}
        for rows in batches([request.width * settings.hypotheses for request in requests], BATCH_CELLS):
            chosen = [requests[row] for row in rows]
            pairs, begun = [request.pair for request in chosen], [len(request.start) for request in chosen]
            maps = map_attention(self.models[0], codecs, pairs, previous=previous_of(chosen), begun=begun)
            given = (
                of_given(one, codecs[0], request.request.source) for one, request in zip(maps, chosen, strict=True)
            )
            found |= dict(zip(rows, given, strict=True))
        return [found[row] for row in range(len(requests))]

    def _search(
        self, requests: Sequence[EncodedRequest], settings: DecodingSettings, watch: Watch, *, joined: Joined
    ) -> Hypotheses:
        """Translate one batch, in which all targets begin with equally many tokens."""
        previous = previous_of(requests)
        with self.session.computing(self.session.pack(settings.precision), rows=len(requests) * settings.hypotheses):
            padded = [
                map_tensors(lambda tensor: tensor.to(self.session.device), pad(ids, previous, self.special))
                for ids in zip(*(request.sources for request in requests), strict=True)
            ]
            encoded = [model.encoder(source) for model, source in zip(self.models, padded, strict=True)]
            listed = None
            if settings.shortlist:
                wished = pad([request.wished for request in requests], None, self.special).ids.to(self.session.device)
                listed = self._require_shortlist().listed(padded[0].ids, wished)
            special = self.special if listed is None else listed.special(self.special)
            begun = [_begin(model, source, listed) for model, source in zip(self.models, encoded, strict=True)]
            steps, states = zip(*begun, strict=True)
            step, state = (steps[0], states[0]) if len(steps) == 1 else (ensemble(steps), EnsembleState(states))
            starts = [request.start for request in requests]
            given = torch.tensor([(self.special.bos, *start) for start in starts], device=self.session.device)
            begin, state = feed(step, state, given if listed is None else torch.searchsorted(listed.kept, given))
            maximum = settings.limits(padded[0].mask.sum(1) - 1)
            own = [sys.maxsize if request.limit is None else request.limit for request in requests]
            maximum = maximum.minimum(torch.tensor(own, device=maximum.device))
            if self.target_bound is not None:
                maximum = maximum.clamp(max=self.target_bound - given.shape[1])
            options: dict[str, Any] = {"settings": settings, "begin": begin, "special": special}
            phrases = [request.phrases for request in requests]
            rules: list[Constraint] = []
            if any(phrases):
                rules.append(RequiredPhrases(phrases, joined=joined, special=special))
            rules += _prefix_rules(requests, self.special, self.session.device)
            if settings.method == "sample":
                chances = [Random(f"{settings.seed} {request.request.number}") for request in requests]
                found = sample(step, state, maximum, generator=chances, constraints=rules, **options)
            else:
                seen = watch if listed is None else RestoredWatch(watch, listed.kept)
                found = beam_search(step, state, maximum, watch=seen, constraints=rules, **options)
            found = found if listed is None else restore_vocabulary_ids(found, listed.kept)
            if settings.coverage_penalty and settings.method != "sample" and any(found.alternatives()):
                weighed: dict[str, Any] = {
                    "beta": settings.coverage_penalty,
                    "n_best": settings.n_best,
                    "starts": starts,
                }
                return rerank(found, self.models[0].decoder, encoded[0], special=self.special, **weighed)
            return found

    def _score(
        self, requests: Sequence[EncodedRequest], settings: DecodingSettings, *, entropies: bool
    ) -> list[Hypothesis]:
        """Score one batch by the mean of the models' probabilities of each token; what targets begin with does not count."""
        previous, targets = previous_of(requests), [request.begun for request in requests]
        with self.session.computing(self.session.pack(settings.precision)):
            pairs = [
                list(zip(ids, targets, strict=True))
                for ids in zip(*(request.sources for request in requests), strict=True)
            ]
            own = [collate(one, previous=previous, special=self.special).to(self.session.device) for one in pairs]
            scores = [
                score_target(model.decoder, model.encoder(batch.source), batch.target, need_entropies=entropies)
                for model, batch in zip(self.models, own, strict=True)
            ]
            tokens = torch.stack([one.tokens for one in scores])
            mixed = tokens.logsumexp(0) - torch.tensor(float(len(self.models))).log()
            begun = torch.tensor([len(request.start) for request in requests], device=mixed.device)
            written = own[0].target.mask[:, 1:] & (torch.arange(mixed.shape[1], device=mixed.device) >= begun[:, None])
            totals = (mixed * written).sum(1)
            if not totals.isfinite().all():
                raise RunError("the model produces NaN probabilities; its weights are damaged, use another checkpoint")
        found = [one.entropies for one in scores if one.entropies is not None]
        spread = torch.stack(found).mean(0).tolist() if found else [[]] * len(targets)
        return [
            Hypothesis(
                target[start:],
                total,
                total,
                tuple(row[start : len(target) + 1]),
                tuple(unsure[start : len(target) + 1]),
            )
            for target, start, total, row, unsure in zip(
                targets, begun.tolist(), totals.tolist(), mixed.tolist(), spread, strict=True
            )
        ]

    def _require_shortlist(self) -> Shortlist:
        """Return the shortlist, read on first use. Raises RunError or InputError if it is missing or not supported."""
        if self._shortlist is None:
            if not self.runs:
                raise InputError("this translator was made without a shortlist; load it from a run that has one")
            for run, model in zip(self.runs, self.models, strict=True):
                output_layer(model, str(run.folder))
            self._shortlist = self.runs[0].load_shortlist(self.session.device)
        return self._shortlist


def output_layer(model: Seq2Seq, name: str = "this model") -> OutputLayer:
    """Return the output layer. Raises InputError, which names the model, if it is a mixture."""
    head = getattr(model.decoder, "head", None)
    if not isinstance(head, OutputLayer):
        raise InputError(
            f"{name} sums predictions over source positions (`model.marginal` or posterior attention), which does not support a "
            "shortlist; translate with `decoding.shortlist: false`"
        )
    return head


def _prefix_rules(requests: Sequence[EncodedRequest], special: SpecialIds, device: torch.device) -> list[Constraint]:
    """Return the rules on what the translations of a batch must begin with, and that its last word ends there."""
    if not any(request.prefix for request in requests):
        return []
    within = next((request.within for request in requests if request.within), ())  # the same wherever there are any
    ended = _padded([request.prefix if request.within else () for request in requests], special, device)
    given = _padded([request.prefix for request in requests], special, device)
    return [forced_prefix(given), ended_words(ended, torch.tensor(within, dtype=torch.long, device=device))]


def _padded(prefixes: Sequence[Sequence[int]], special: SpecialIds, device: torch.device) -> Padded:
    """Pad what translations begin with, without </s>."""
    ids = pad(prefixes, special=special).ids
    lengths = torch.tensor([len(prefix) for prefix in prefixes])
    return Padded(ids.to(device), (torch.arange(ids.shape[1]) < lengths[:, None]).to(device))


def previous_of(requests: Sequence[EncodedRequest]) -> list[tuple[list[int] | None, ...]] | None:
    """Return the sentences before each one of a batch; None for models that do not read them."""
    return [request.previous for request in requests] if any(request.previous for request in requests) else None


def smallest(bounds: Iterable[int | None]) -> int | None:
    """Return the smallest bound, or None if there is none.

    >>> smallest([None, 7, 9])
    7
    """
    return min((bound for bound in bounds if bound is not None), default=None)


def _begin(model: Seq2Seq, encoded: Encoded, listed: Listed | None) -> tuple[Step, DecoderState[Any, Any]]:
    """Return a model's step, restricted to the listed tokens if any, and its initial state."""
    if listed is None:
        return step_of(model.decoder), model.decoder.start(encoded)
    decoder = ShortlistedDecoder(model.decoder, listed, output_layer(model).narrowed)
    return decoder.step, decoder.start(encoded)
