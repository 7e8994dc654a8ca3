"""Text in, text out: a trained run, or several together, as a translator."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch

from dragoman.data.collate import collate, pad
from dragoman.data.documents import preceding
from dragoman.data.unknown import read_dictionary
from dragoman.decoding.beam import beam_search
from dragoman.decoding.hypotheses import Hypotheses, Hypothesis
from dragoman.decoding.rerank import rerank
from dragoman.decoding.sample import sample
from dragoman.decoding.score import score_target
from dragoman.decoding.settings import DecodingSettings
from dragoman.decoding.shortlist import Shortlist, ShortlistedDecoder, restore_vocabulary_ids
from dragoman.decoding.step import EnsembleState, ensemble, step_of
from dragoman.decoding.threads import fitting_threads
from dragoman.decoding.unknown import replace_positional, replace_unknown
from dragoman.errors import InputError
from dragoman.inference.attention_map import AttentionMap, HeadSelection, as_given, read, source_heads
from dragoman.inference.translation import Translation
from dragoman.interfaces import UNK, Decoder
from dragoman.layers.embedding import OutputLayer
from dragoman.layers.linear import PackedWeights, choose_precision, width_of
from dragoman.machine.devices import choose_device
from dragoman.models.document import DocumentSettings
from dragoman.models.seq2seq import Seq2Seq
from dragoman.runs.folder import Run, open_run
from dragoman.settings import parse
from dragoman.text.codec import Codec, encode_within
from dragoman.tree import map_tensors

BATCH_CELLS = 6000
"""Largest batch of translation: hypotheses times longest source, in tokens."""


Previous = Sequence[Sequence[str]] | None
"""The sentences before each one in its document, nearest last, as many as there are."""

Before = list[list[int] | None]
"""Ids of the sentences before one, nearest last, None where there is none; empty for models that do not read them."""


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
        view: HeadSelection | None = None,
        sources: Sequence[Codec] | None = None,
        dictionary: Mapping[str, str] | None = None,
    ) -> None:
        """Put together what translates; `sources` are the source codecs of the models where they differ.

        `dictionary` translates source words that replace unknown ones.
        """
        self.models = tuple(models)
        self.source = source
        self.sources = tuple(sources or [source] * len(self.models))
        self.target = target
        self.settings = settings or DecodingSettings()
        self.languages = languages
        self.dictionary = dictionary or {}
        self.products: PackedWeights | None = None
        """How products with the models' weights are done, where these never change again."""
        self.shortlist: Shortlist | None = None
        """Which words may be written, where these are few."""
        self.view = view or HeadSelection()
        """Where word links are read off: the head that was taught them, or the mean of all."""
        self.device = next(self.models[0].parameters()).device
        self.previous = max(model.previous for model in self.models)
        """How many sentences before each one are read, at most."""
        self._weights = sum(weight.numel() for model in models for weight in model.parameters())

    @classmethod
    def load(cls, /, *runs: str | Path, device: str = "auto", **decoding: Any) -> "Translator":
        """Load one run, or several as an ensemble; keyword arguments change settings of its `decoding` section.

        Runs of an ensemble may be of any architecture and cut the source in any way, but share the target vocabulary.
        RunError where a run cannot be read, InputError where runs do not fit together.
        """
        opened = [open_run(Path(run)) for run in runs]
        first = opened[0]
        for run in opened:
            run.require("translate")
        for other in opened[1:]:
            _check_same_text(first, other)
        place = choose_device(device)
        given = {name: value for name, value in decoding.items() if value is not None}
        settings = parse(DecodingSettings, first.recipe.decoding.model_dump() | given, "the decoding section")
        models = [run.load_model(place) for run in opened]
        guided = first.recipe.training.guided
        view = None if guided is None else HeadSelection(guided.layer, guided.head, guided.shift)
        sources = [first.source if run.source.fingerprint == first.source.fingerprint else run.source for run in opened]
        translator = cls(
            models,
            first.source,
            first.target,
            settings=settings,
            languages=first.languages,
            view=view,
            sources=sources,
            dictionary={**first.dictionary, **(read_dictionary(settings.dictionary) if settings.dictionary else {})},
        )
        width = max(map(width_of, models))
        translator.products = PackedWeights(choose_precision(settings.precision, place, width), *models)
        if settings.shortlist:
            for run, model in zip(opened, models, strict=True):
                output_layer(model, str(run.folder))
            translator.shortlist = first.load_shortlist(place)
        return translator

    @property
    def attends(self) -> bool:
        """Tell whether the (first) model attends to the source, so that it can be read."""
        return source_heads(self.models[0]) is not None

    def preceding(self, sentences: Sequence[str], documents: Sequence[str | None] | None = None) -> list[list[str]]:
        """Return the sentences before each one in its document, as many as the models read, nearest last.

        `documents` names the document of each sentence, None for one that stands alone; without it, the sentences are one
        document unless blank lines separate several.
        """
        if not self.previous:
            return [[] for _ in sentences]
        blank = [not self.source.normalize(one) for one in sentences]
        rows = preceding(documents or [None if one else "text" for one in blank], self.previous)
        return [[sentences[index] for index in row if index is not None] for row in rows]

    def encode(
        self, sentences: Sequence[str], side: Literal["source", "target", "previous"], *, first: int = 1
    ) -> list[list[int]]:
        """Return the ids of sentences. InputError names one longer than the model's positions, counted from `first`."""
        codec = self.target if side == "target" else self.source
        bound = self._positions("target") if side == "target" else self._positions("source", codec)
        return encode_within(codec, sentences, bound, name=f"{side} sentence", first=first)

    def _encode_for_each(
        self, sentences: Sequence[str], encoded: list[list[int]], first: int = 1
    ) -> list[list[list[int]]]:
        """Return the ids of source sentences for each model: those `encoded` by the first codec, or by its own."""
        by_codec = {id(self.source): encoded}
        for codec in self.sources:
            if id(codec) not in by_codec:
                bound = self._positions("source", codec)
                by_codec[id(codec)] = encode_within(codec, sentences, bound, name="source sentence", first=first)
        return [by_codec[id(codec)] for codec in self.sources]

    def translate(
        self,
        sentences: Sequence[str],
        *,
        attention: bool = False,
        replace_unknowns: bool = False,
        first: int = 1,
        previous: Previous = None,
    ) -> list[Translation]:
        """Translate sentences, in their order; an empty sentence gives an empty translation.

        `replace_unknowns` puts the source word most attended to in place of each unknown word. Where the sentences are part
        of a longer text, `first` is the number of the first. Models of documents read the `previous` sentences of each, which
        are those of `preceding` unless they are given. InputError names a sentence longer than the model's positions.
        """
        encoded = self.encode(sentences, "source", first=first)
        own = self._encode_for_each(sentences, encoded, first)
        before = self._before(sentences, previous)
        generator = torch.Generator(self.device).manual_seed(self.settings.seed + first - 1)
        results: list[Translation] = [Translation("", 0.0, 0.0)] * len(sentences)
        widest = [_longest([ids], rest) for ids, rest in zip(encoded, before, strict=True)]
        todo = sorted((i for i, ids in enumerate(encoded) if ids), key=lambda i: -len(widest[i]))
        for rows in self._batches(todo, widest):
            found = self._search([[ids[i] for i in rows] for ids in own], _rows(before, rows), generator)
            for i, alternatives in zip(rows, found.alternatives(), strict=True):
                readings: list[AttentionMap] | None = None
                if attention or (replace_unknowns and any(UNK in one.ids for one in alternatives)):
                    pairs = [(encoded[i], one.ids) for one in alternatives]
                    readings = self._read(pairs, [before[i]] * len(pairs))
                results[i] = self._translation(sentences[i], alternatives, readings, replace=replace_unknowns)
        return results

    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, previous: Previous = None
    ) -> list[tuple[float, int]]:
        """Return the log-probability of each given translation, and its length in tokens with </s>.

        `previous` is that of `translate`.
        """
        encoded, wanted = self.encode(sources, "source"), self.encode(targets, "target")
        pairs = list(zip(encoded, wanted, strict=True))
        own = [list(zip(ids, wanted, strict=True)) for ids in self._encode_for_each(sources, encoded)]
        before = self._before(sources, previous)
        results: list[tuple[float, int]] = [(0.0, 0)] * len(pairs)
        widest = [_longest(pair, rest) for pair, rest in zip(pairs, before, strict=True)]
        order = sorted(range(len(pairs)), key=lambda i: (-len(widest[i]), -len(pairs[i][0]) - len(pairs[i][1])))
        for rows in self._batches(order, widest):
            batches = [collate([one[i] for i in rows], previous=_rows(before, rows)).to(self.device) for one in own]
            with torch.inference_mode(), self._computing():
                tokens = torch.stack(
                    [
                        score_target(model.decoder, model.encoder(batch.source), batch.target).tokens
                        for model, batch in zip(self.models, batches, strict=True)
                    ]
                )
                mixed = tokens.logsumexp(0) - torch.tensor(float(len(self.models))).log()
                totals = (mixed * batches[0].target.mask[:, 1:]).sum(1)
            for i, total in zip(rows, totals.tolist(), strict=True):
                results[i] = (total, len(pairs[i][1]) + 1)
        return results

    def read(self, sources: Sequence[str], targets: Sequence[str], *, previous: Previous = None) -> list[AttentionMap]:
        """Return what the (first) model attends to when it is given each source and writes each target.

        Words are those that stand between the spaces of the given texts. `previous` is that of `translate`.
        """
        pairs = list(zip(self.encode(sources, "source"), self.encode(targets, "target"), strict=True))
        readings = self._read(pairs, self._before(sources, previous))
        return [
            replace(reading, source=as_given(self.source, source), target=as_given(self.target, target))
            for reading, source, target in zip(readings, sources, targets, strict=True)
        ]

    def _before(self, sentences: Sequence[str], previous: Previous) -> list[Before]:
        """Return the ids of the sentences before each one, as many for all."""
        count = self.previous
        given = (self.preceding(sentences) if previous is None else previous) if count else [[] for _ in sentences]
        rows = [self.encode(row[-count:], "previous") for row in given]
        return [[*[None] * (count - len(row)), *row] for row in rows]

    def _search(
        self, sources: list[list[list[int]]], previous: list[Before] | None, generator: torch.Generator
    ) -> Hypotheses:
        """Search for (or draw) translations of one batch, given as the ids that each model reads."""
        settings = self.settings
        work = len(sources[0]) * self._hypotheses * self._weights
        with torch.inference_mode(), self._computing(), fitting_threads(work):
            padded = [map_tensors(lambda tensor: tensor.to(self.device), pad(ids, previous)) for ids in sources]
            encoded = [model.encoder(source) for model, source in zip(self.models, padded, strict=True)]
            states = [model.decoder.start(states) for model, states in zip(self.models, encoded, strict=True)]
            kept = None if self.shortlist is None else self.shortlist.union(padded[0].ids)
            steps = [step_of(self._decoder(model, kept)) for model in self.models]
            step, state = (steps[0], states[0]) if len(steps) == 1 else (ensemble(steps), EnsembleState(tuple(states)))
            maximum = settings.limits(padded[0].mask.sum(1) - 1)
            bound = self._positions("target")
            maximum = maximum if bound is None else maximum.clamp(max=bound - 1)
            if settings.method == "sample":
                found = sample(step, state, maximum, settings=settings, generator=generator)
            else:
                found = beam_search(step, state, maximum, settings=settings)
            found = found if kept is None else restore_vocabulary_ids(found, kept)
            if settings.coverage_penalty and settings.method != "sample":
                return rerank(
                    found, self.models[0].decoder, encoded[0], beta=settings.coverage_penalty, n_best=settings.n_best
                )
            return found

    def _decoder(self, model: Seq2Seq, kept: torch.Tensor | None) -> Decoder:
        """Return a model's decoder, which knows only the words `kept` where there are such."""
        return model.decoder if kept is None else ShortlistedDecoder(model.decoder, kept, output_layer(model).narrowed)

    def _computing(self) -> AbstractContextManager[None]:
        """Return the context in which models compute."""
        return nullcontext() if self.products is None else self.products.used()

    def _translation(
        self, text: str, hypotheses: list[Hypothesis], readings: list[AttentionMap] | None, *, replace: bool
    ) -> Translation:
        """Turn hypotheses into text, with their readings where they are wanted."""
        kept: Sequence[AttentionMap | None] = readings or [None] * len(hypotheses)
        made = []
        for one, reading in zip(hypotheses, kept, strict=True):
            translated = self.target.decode(one.ids)
            if self.target.positional or (replace and UNK in one.ids):
                translated = self._replaced(text, one.ids, reading if replace else None)
            made.append(
                Translation(translated, one.score, one.log_prob, reading=reading, token_log_probs=one.token_log_probs)
            )
        best, *others = made
        return dataclasses.replace(best, alternatives=tuple(others))

    def _replaced(self, text: str, ids: list[int], reading: AttentionMap | None) -> str:
        """Spell a translation with source words, or their translations, in place of unknown words: of those that tell where
        they come from, and of all others where there is a `reading` to tell it."""
        source, words, unknown = self.source.split(text), self.target.pieces(ids), self.target.pieces([UNK])[0]
        words = replace_positional(words, source, unknown=unknown, dictionary=self.dictionary)
        if reading is not None:
            weights = reading.mean()[:-1, :-1]
            words = replace_unknown(words, weights, source, unknown=unknown, dictionary=self.dictionary)
        return self.target.join(words)

    def _read(self, pairs: list[tuple[list[int], list[int]]], before: list[Before]) -> list[AttentionMap]:
        """Run pairs of ids through the first model, in batches, and keep the weights."""
        found: dict[int, AttentionMap] = {}
        widest = [_longest(pair, rest) for pair, rest in zip(pairs, before, strict=True)]
        order = sorted(range(len(pairs)), key=lambda i: -len(widest[i]))
        codecs = (self.source, self.target)
        for rows in self._batches(order, widest):
            readings = read(self.models[0], codecs, [pairs[i] for i in rows], previous=_rows(before, rows))
            found |= dict(zip(rows, readings, strict=True))
        return [found[i] for i in range(len(pairs))]

    @property
    def _hypotheses(self) -> int:
        """How many hypotheses of each sentence are followed."""
        return self.settings.n_best if self.settings.method == "sample" else self.settings.size

    def _batches(self, order: list[int], sequences: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Cut an order, longest first, into batches that fit."""
        first = 0
        while first < len(order):
            longest = len(sequences[order[first]]) + 1
            rows = max(1, BATCH_CELLS // (longest * self._hypotheses))
            yield order[first : first + rows]
            first += rows

    def _positions(self, side: Literal["source", "target"], codec: Codec | None = None) -> int | None:
        """Return the most tokens, </s> included, that every model (reading by `codec`) can take; None for no bound."""
        bounds = [
            getattr(model, f"{side}_positions")
            for model, own in zip(self.models, self.sources, strict=True)
            if codec is None or own is codec
        ]
        return min((bound for bound in bounds if bound is not None), default=None)


def output_layer(model: Seq2Seq, name: str = "this model") -> OutputLayer:
    """Return the output layer, where it is a plain one; InputError names the model where it is not."""
    head = getattr(model.decoder, "head", None)
    if not isinstance(head, OutputLayer):
        raise InputError(
            f"{name} adds up predictions of all source positions (`model.marginal` or posterior attention), which takes no "
            "shortlist; translate with `decoding.shortlist: false`"
        )
    return head


def _longest(sentences: Sequence[list[int]], before: Before) -> list[int]:
    """Return the longest of some sentences and of those before them."""
    return max((*sentences, *(ids for ids in before if ids is not None)), key=len)


def _rows(before: list[Before], rows: list[int]) -> list[Before] | None:
    """Return what stands before some of the sentences; None for models that do not read it."""
    return [before[row] for row in rows] if any(before) else None


def _check_same_text(first: Run, other: Run) -> None:
    """Refuse an ensemble of runs with other languages or target vocabularies.

    Models that read documents need one source vocabulary too, since the sentences before each one are cut once.
    """
    if first.languages != other.languages:
        raise InputError(
            f"{first.folder} translates from {' to '.join(first.languages)} but {other.folder} from "
            f"{' to '.join(other.languages)}, so they cannot translate together; give runs of one direction"
        )
    documents = any(isinstance(run.recipe.model, DocumentSettings) for run in (first, other))
    sides = [("target", first.target, other.target)]
    if documents:
        sides.append(("source", first.source, other.source))
    for side, one, two in sides:
        if one.fingerprint != two.fingerprint:
            raise InputError(
                f"{first.folder} and {other.folder} have different {side} vocabularies, so they cannot translate together; "
                "train both with the same data and text sections"
            )
