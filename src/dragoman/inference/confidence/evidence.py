"""What models did while they wrote a translation, observed in a few passes in which the translation is given."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from pydantic import Field

from dragoman.data.collate import collate
from dragoman.decoding.hypotheses import Hypothesis
from dragoman.decoding.score import score_target
from dragoman.decoding.settings import ALONE
from dragoman.inference.attention_map import AttentionMap
from dragoman.inference.noisy_channel import Scorer
from dragoman.inference.requests import EncodedRequest
from dragoman.inference.scorers import scorer_of
from dragoman.inference.translator import Translator
from dragoman.machine.torch_state import undisturbed
from dragoman.metrics.utility import similarities
from dragoman.models.seq2seq import Seq2Seq
from dragoman.settings import Settings
from dragoman.text.codec import Codec
from dragoman.text.frames import Frame

Numbers = NDArray[np.float64]

NO_RERANKING = {"mbr_samples": 0, "coverage_penalty": 0.0, "glossary": (), **ALONE}
"""Changes of decoding settings with which samples stay as they are drawn."""
PROBE, PROBES = "a b c d e", 20
"""A text, and how often it is scored to see whether dropout changes anything."""
SAME = 1e-6
"""Mean log-probabilities that are so close are equal but for rounding."""


class PassSettings(Settings):
    """Passes beyond the one that scores a translation; each costs time and adds features."""

    erasure: bool = True
    """Score the translation once without each source word: what it does not need, nothing in it stands for."""
    dropout: int = Field(default=0, ge=0, le=1000)
    """Score the translation so many times with dropout (D-TP of Fomicheva et al. 2020)."""
    samples: int = Field(default=0, ge=0, le=1000)
    """Sample so many translations and compare them with it by chrF (D-Lex-Sim of Fomicheva et al. 2020, without dropout)."""


@dataclass(frozen=True)
class Evidence:
    """What is known about one translation. Tokens are those of the target with </s>, words those between spaces."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    owners: tuple[int, ...]
    """The target word of each token, -1 for a token of none."""
    log_probs: Float[np.ndarray, " token"]
    entropies: Float[np.ndarray, " token"]
    erased: Float[np.ndarray, "word token"] | None = None
    """By how much the log-probability of each token falls without each source word; NaN for a word without letters or digits."""
    emptied: Float[np.ndarray, " token"] | None = None
    """By how much it falls without any source word, which leaves the punctuation of the source."""
    foreign: Float[np.ndarray, "other token"] | None = None
    """The log-probability of each token given each of some other sources."""
    attention: Float[np.ndarray, "token word"] | None = None
    """Mean weight on each source word over layers and heads; what is missing to 1 is on </s>."""
    dropped: Float[np.ndarray, " pass"] | None = None
    """The mean log-probability in each pass with dropout."""
    agreement: float | None = None
    """Mean chrF, from 0 to 1, of the translation with samples as references."""
    reverse: float | None = None
    """The mean log-probability per token that a run of the opposite direction gives the source."""

    @property
    def gains(self) -> Float[np.ndarray, " word"]:
        """Return what each source word adds to the log-probability of the translation, NaN if it was not erased."""
        assert self.erased is not None
        return self.erased.sum(1)

    @property
    def support(self) -> Float[np.ndarray, " token"]:
        """Return by how much the one source word that matters most to each token raises its log-probability; at least 0."""
        assert self.erased is not None
        known = self.erased[~np.isnan(self.erased).any(1)]
        return np.maximum(known.max(0), 0.0) if len(known) else np.zeros(self.erased.shape[1])


def gather(
    translator: Translator,
    requests: Sequence[EncodedRequest],
    passes: PassSettings,
    *,
    reverse: Translator | None = None,
    others: Sequence[str] = (),
) -> list[Evidence]:
    """Observe the given translations, the `target` of each request, which must not be empty; nor may a source be.

    With `others`, sources of other sentences, each translation is scored given all of these but its own source too.
    """
    scored = translator.engine.score(requests, translator.settings, entropies=True)
    found = [_scored(translator, request, one) for request, one in zip(requests, scored, strict=True)]
    if passes.erasure:
        found = [
            replace(one, erased=lost[:-1], emptied=lost[-1])
            for one, lost in zip(found, _erase(translator, requests, scored), strict=True)
        ]
    if others:
        found = [
            replace(one, foreign=foreign)
            for one, foreign in zip(found, _given_others(translator, requests, others), strict=True)
        ]
    if translator.attends:
        codecs = (translator.source, translator.target)
        maps = translator.engine.attention_maps(requests, codecs, translator.settings)
        found = [replace(one, attention=_by_words(seen)) for one, seen in zip(found, maps, strict=True)]
    if passes.dropout:
        models = [copy.deepcopy(model).train() for model in translator.models]
        found = [
            replace(one, dropped=_drop(translator, models, request, passes=passes.dropout))
            for one, request in zip(found, requests, strict=True)
        ]
    if passes.samples:
        found = [
            replace(one, agreement=agreement)
            for one, agreement in zip(found, _agreements(translator, requests, passes.samples), strict=True)
        ]
    if reverse is not None:
        texts = [translator.target.decode(request.target or []) for request in requests]
        sources = [request.request.source for request in requests]
        back = _back(reverse)(sources, texts)
        found = [replace(one, reverse=log_prob) for one, log_prob in zip(found, back, strict=True)]
    return found


def _back(reverse: Translator) -> Scorer:
    """Return what scores sources, given their translations, by a run of the opposite direction."""

    def score(sources: Sequence[str], texts: Sequence[str]) -> list[tuple[float, int]]:
        return reverse.score(texts, sources, previous=[[] for _ in texts])

    return scorer_of(reverse.engine.runs[0].folder if reverse.engine.runs else "the reverse run", score)


def varies(translator: Translator) -> bool:
    """Tell whether passes with dropout differ: those of a model without dropout do not."""
    (request,) = translator.requests([PROBE], [PROBE], previous=[[]])
    models = [copy.deepcopy(model).train() for model in translator.models]
    return bool(np.ptp(_drop(translator, models, request, passes=PROBES)) > SAME)


def without_word(codec: Codec, text: str, word: int | None) -> list[int] | None:
    """Return the ids of a text without those tokens of a word, or of all, that have a letter or digit; None if there are none."""
    ids, surfaces = codec.encode(text), codec.tokenizer.surfaces(codec.split(text))
    kept = [
        index
        for index, owner, surface in zip(ids, codec.owners(text), surfaces, strict=True)
        if word not in (owner, None) or not any(sign.isalnum() for sign in surface)
    ]
    return kept if len(kept) < len(ids) else None


def _scored(translator: Translator, request: EncodedRequest, scored: Hypothesis) -> Evidence:
    """Return the evidence of one forced pass."""
    codec = translator.target
    words, given = codec.words(codec.decode(scored.ids)), codec.words(request.request.target or "")
    return Evidence(
        tuple(translator.source.words(request.request.source)),
        tuple(given if len(given) == len(words) else words),  # the vocabulary may lack characters of what was given
        tuple(codec.piece_words([*scored.ids, codec.special.eos])),
        np.array(scored.token_log_probs),
        np.array(scored.token_entropies),
    )


def _erase(translator: Translator, requests: Sequence[EncodedRequest], scored: Sequence[Hypothesis]) -> list[Numbers]:
    """Return for each request the loss of each token without each source word, and last without all of them.

    Vamvas and Sennrich 2022 erase constituents; NaN stands for words without letters or digits.
    """
    changed: list[EncodedRequest] = []
    places: list[tuple[int, int]] = []
    for number, request in enumerate(requests):
        text = request.request.source
        for word in (*range(len(translator.source.words(text))), None):
            sources = [without_word(codec, text, word) for codec in translator.sources]
            if all(one is not None for one in sources):
                frames = _frames(translator, request)
                rest = tuple(frame.around(one or []) for frame, one in zip(frames, sources, strict=True))
                changed.append(replace(request, sources=rest))
                places.append((number, -1 if word is None else word))
    erased = [
        np.full((len(translator.source.words(request.request.source)) + 1, len(one.token_log_probs)), np.nan)
        for request, one in zip(requests, scored, strict=True)
    ]
    results = translator.engine.score(changed, translator.settings)
    for (number, word), one in zip(places, results, strict=True):
        erased[number][word] = np.array(scored[number].token_log_probs) - np.array(one.token_log_probs)
    return erased


def _given_others(
    translator: Translator, requests: Sequence[EncodedRequest], others: Sequence[str]
) -> list[Numbers | None]:
    """Return for each request the log-probability of each token given each other source; None if there is no other."""
    known = {other: [codec.encode(other) for codec in translator.sources] for other in others}
    changed: list[EncodedRequest] = []
    counts: list[int] = []
    for request in requests:
        frames = _frames(translator, request)
        own = [frame.inside(ids) for frame, ids in zip(frames, request.sources, strict=True)]
        given = [encoded for encoded in known.values() if encoded != own]
        changed += [
            replace(request, sources=tuple(frame.around(ids) for frame, ids in zip(frames, encoded, strict=True)))
            for encoded in given
        ]
        counts.append(len(given))
    scored = iter(translator.engine.score(changed, translator.settings))
    return [np.array([next(scored).token_log_probs for _ in range(count)]) if count else None for count in counts]


def _frames(translator: Translator, request: EncodedRequest) -> list[Frame]:
    """Return what is around the source of a request, as each model reads it."""
    return [codec.frame_of(ids) for codec, ids in zip(translator.sources, request.sources, strict=True)]


def _by_words(seen: AttentionMap) -> Numbers:
    """Return the mean weights of each target token over source words."""
    weights, owners = seen.mean().double().numpy(), seen.source.owners
    by_words = np.zeros((len(weights), len(seen.source.words)))
    for token, owner in enumerate(owners):
        if owner is not None:
            by_words[:, owner] += weights[:, token]
    return by_words


def _drop(translator: Translator, models: Sequence[Seq2Seq], request: EncodedRequest, *, passes: int) -> Numbers:
    """Return the mean log-probability of a translation in each pass with dropout; the random numbers depend on the pair alone."""
    device = translator.engine.session.device
    found = np.zeros((len(models), passes))
    with torch.random.fork_rng(), torch.no_grad(), undisturbed():
        torch.manual_seed(crc32(repr((request.sources, request.target)).encode()))
        for model, row, source in zip(models, found, request.sources, strict=True):
            pairs = [(source, request.begun)] * passes
            previous = [request.previous] * passes if request.previous else None
            batch = collate(pairs, previous=previous, special=translator.target.special).to(device)
            scored = score_target(model.decoder, model.encoder(batch.source), batch.target).tokens
            row[:] = scored[:, len(request.start) :].sum(1).tolist()
    length = len(request.target or []) + 1
    return np.logaddexp.reduce(found, 0) / length - np.log(len(models)) / length


def _agreements(translator: Translator, requests: Sequence[EncodedRequest], samples: int) -> list[float]:
    """Return how similar each translation is to samples."""
    drawn = translator.settings.model_copy(update={"method": "sample", "n_best": samples, **NO_RERANKING})
    found = []
    for request, hypotheses in zip(requests, translator.engine.search(requests, drawn), strict=True):
        texts = [translator.target.decode(ids) for ids in (request.target or [], *(one.ids for one in hypotheses))]
        found.append(float(similarities(texts)[0, 1:].mean()))
    return found
