"""Text in, text out: a trained run, or several together, as a translator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from dragoman.data.collate import collate, pad
from dragoman.decoding.beam import beam_search
from dragoman.decoding.hypotheses import Hypotheses, Hypothesis
from dragoman.decoding.rerank import rerank
from dragoman.decoding.sample import sample
from dragoman.decoding.score import force
from dragoman.decoding.settings import DecodingSettings
from dragoman.decoding.step import EnsembleState, ensemble, step_of
from dragoman.decoding.unknown import replace_unknown
from dragoman.devices import choose_device
from dragoman.errors import InputError
from dragoman.interfaces import UNK
from dragoman.models.seq2seq import Seq2Seq
from dragoman.reading import Reading, read
from dragoman.run import Run, open_run
from dragoman.settings import parse
from dragoman.text.codec import Codec

BATCH_CELLS = 6000
"""Largest batch of translation: hypotheses times longest source, in tokens."""


@dataclass(frozen=True)
class Translation:
    """One translation: its text, the score it was ranked by, and the model's own log-probability of it."""

    text: str
    score: float
    log_prob: float
    alternatives: tuple["Translation", ...] = ()
    """The other translations asked for with `n_best`, best first."""
    reading: Reading | None = None
    """What was attended to, where asked for."""


class Translator:
    """Translates text with a trained run.

    >>> translator = Translator.load("runs/demo")  # doctest: +SKIP
    >>> translator.translate(["I love cats."])[0].text  # doctest: +SKIP
    'Tôi yêu mèo.'
    """

    def __init__(
        self,
        models: Sequence[Seq2Seq],
        source: Codec,
        target: Codec,
        *,
        settings: DecodingSettings | None = None,
        languages: tuple[str, str] = ("source", "target"),
    ) -> None:
        self.models = tuple(models)
        self.source = source
        self.target = target
        self.settings = settings or DecodingSettings()
        self.languages = languages
        self.device = next(self.models[0].parameters()).device

    @classmethod
    def load(cls, /, *runs: str | Path, device: str = "auto", **decoding: Any) -> "Translator":
        """Load one run, or several as an ensemble; keyword arguments change settings of its `decoding` section.

        RunError where a run cannot be read, InputError where runs of an ensemble do not share languages and vocabularies.
        """
        opened = [open_run(Path(run)) for run in runs]
        first = opened[0]
        for other in opened[1:]:
            _check_same_text(first, other)
        place = choose_device(device)
        given = {name: value for name, value in decoding.items() if value is not None}
        settings = parse(DecodingSettings, first.recipe.decoding.model_dump() | given, "the decoding section")
        models = [run.load_model(place) for run in opened]
        return cls(models, first.source, first.target, settings=settings, languages=first.languages)

    @property
    def attends(self) -> bool:
        """Tell whether the (first) model attends to the source, so that it can be read."""
        nothing = collate([([], [])]).to(self.device)
        with torch.inference_mode():
            return self.models[0](nothing.source, nothing.inputs, need_weights=True).attention is not None

    def encode(self, sentences: Sequence[str], side: Literal["source", "target"], *, first: int = 1) -> list[list[int]]:
        """Return the ids of sentences. InputError names one longer than the model's positions, counted from `first`."""
        codec, bound = (self.source if side == "source" else self.target), self._positions(side)
        encoded = [codec.encode(sentence) for sentence in sentences]
        for number, ids in enumerate(encoded, first):
            if bound is not None and len(ids) + 1 > bound:
                raise InputError(
                    f"{side} sentence {number} has {len(ids) + 1} tokens (with </s>), more than the {bound} positions of this "
                    "model; split it, or train with a larger model.max_positions"
                )
        return encoded

    def translate(
        self, sentences: Sequence[str], *, attention: bool = False, replace_unknowns: bool = False, first: int = 1
    ) -> list[Translation]:
        """Translate sentences, in their order; an empty sentence gives an empty translation.

        `replace_unknowns` puts the source word most attended to in place of each unknown word. Where the sentences are part
        of a longer text, `first` is the number of the first. InputError names a sentence longer than the model's positions.
        """
        encoded = self.encode(sentences, "source", first=first)
        generator = torch.Generator(self.device).manual_seed(self.settings.seed + first - 1)
        results: list[Translation] = [Translation("", 0.0, 0.0)] * len(sentences)
        todo = sorted((i for i, ids in enumerate(encoded) if ids), key=lambda i: -len(encoded[i]))
        for rows in self._batches(todo, encoded):
            found = self._search([encoded[i] for i in rows], generator)
            for i, alternatives in zip(rows, found.alternatives(), strict=True):
                readings = attention or (replace_unknowns and any(UNK in one.ids for one in alternatives))
                results[i] = self._translation(sentences[i], encoded[i], alternatives, readings, replace_unknowns)
        return results

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[tuple[float, int]]:
        """Return the log-probability of each given translation, and its length in tokens with </s>."""
        pairs = list(zip(self.encode(sources, "source"), self.encode(targets, "target"), strict=True))
        results: list[tuple[float, int]] = [(0.0, 0)] * len(pairs)
        order = sorted(range(len(pairs)), key=lambda i: -len(pairs[i][0]) - len(pairs[i][1]))
        for rows in self._batches(order, [max(pair, key=len) for pair in pairs]):
            batch = collate([pairs[i] for i in rows]).to(self.device)
            with torch.inference_mode():
                tokens = torch.stack(
                    [force(model.decoder, model.encoder(batch.source), batch.target).tokens for model in self.models]
                )
                mixed = tokens.logsumexp(0) - torch.tensor(float(len(self.models))).log()
                totals = (mixed * batch.target.mask[:, 1:]).sum(1)
            for i, total in zip(rows, totals.tolist(), strict=True):
                results[i] = (total, len(pairs[i][1]) + 1)
        return results

    def read(self, sources: Sequence[str], targets: Sequence[str]) -> list[Reading]:
        """Return what the (first) model attends to when it is given each source and writes each target."""
        return self._read(list(zip(self.encode(sources, "source"), self.encode(targets, "target"), strict=True)))

    def _search(self, sources: list[list[int]], generator: torch.Generator) -> Hypotheses:
        """Search for (or draw) translations of one batch."""
        settings = self.settings
        padded = pad(sources)
        with torch.inference_mode():
            source = type(padded)(padded.ids.to(self.device), padded.mask.to(self.device))
            encoded = [model.encoder(source) for model in self.models]
            states = [model.decoder.start(states) for model, states in zip(self.models, encoded, strict=True)]
            steps = [step_of(model.decoder) for model in self.models]
            step, state = (steps[0], states[0]) if len(steps) == 1 else (ensemble(steps), EnsembleState(tuple(states)))
            maximum = settings.limits(source.mask.sum(1) - 1)
            bound = self._positions("target")
            maximum = maximum if bound is None else maximum.clamp(max=bound - 1)
            if settings.method == "sample":
                return sample(step, state, maximum, settings=settings, generator=generator)
            found = beam_search(step, state, maximum, settings=settings)
            if settings.coverage_penalty:
                return rerank(
                    found, self.models[0].decoder, encoded[0], beta=settings.coverage_penalty, n_best=settings.n_best
                )
            return found

    def _translation(
        self, text: str, source: list[int], hypotheses: list[Hypothesis], readings: bool, replace: bool
    ) -> Translation:
        """Turn hypotheses into text, with readings where they are wanted."""
        kept = self._read([(source, one.ids) for one in hypotheses]) if readings else [None] * len(hypotheses)
        made = []
        for one, reading in zip(hypotheses, kept, strict=True):
            translated = self.target.decode(one.ids)
            if replace and reading is not None and UNK in one.ids:
                words = replace_unknown(
                    self.target.pieces(one.ids),
                    reading.mean()[: len(one.ids), : len(source)],
                    self.source.split(text),
                    unknown=self.target.pieces([UNK])[0],
                )
                translated = self.target.join(words)
            made.append(Translation(translated, one.score, one.log_prob, reading=reading))
        best = made[0]
        return Translation(best.text, best.score, best.log_prob, tuple(made[1:]), best.reading)

    def _read(self, pairs: list[tuple[list[int], list[int]]]) -> list[Reading]:
        """Run pairs of ids through the first model, in batches, and keep the weights."""
        found: dict[int, Reading] = {}
        longest = [max(pair, key=len) for pair in pairs]
        order = sorted(range(len(pairs)), key=lambda i: -len(longest[i]))
        for rows in self._batches(order, longest):
            readings = read(self.models[0], (self.source, self.target), [pairs[i] for i in rows])
            found |= dict(zip(rows, readings, strict=True))
        return [found[i] for i in range(len(pairs))]

    def _batches(self, order: list[int], sequences: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Cut an order, longest first, into batches that fit."""
        beam = self.settings.size if self.settings.method != "sample" else self.settings.n_best
        first = 0
        while first < len(order):
            longest = len(sequences[order[first]]) + 1
            rows = max(1, BATCH_CELLS // (longest * beam))
            yield order[first : first + rows]
            first += rows

    def _positions(self, side: Literal["source", "target"]) -> int | None:
        """Return the most tokens, </s> included, that every model can take on a side; None for no bound."""
        bounds = [getattr(model, f"{side}_positions") for model in self.models]
        return min((bound for bound in bounds if bound is not None), default=None)


def _check_same_text(first: Run, other: Run) -> None:
    """Refuse an ensemble of runs with other languages or vocabularies."""
    if first.languages != other.languages:
        raise InputError(
            f"{first.folder} translates from {' to '.join(first.languages)} but {other.folder} from "
            f"{' to '.join(other.languages)}, so they cannot translate together; give runs of one direction"
        )
    for side, one, two in (("source", first.source, other.source), ("target", first.target, other.target)):
        if one.fingerprint != two.fingerprint:
            raise InputError(
                f"{first.folder} and {other.folder} have different {side} vocabularies, so they cannot translate together; "
                "train both with the same data and text sections"
            )
