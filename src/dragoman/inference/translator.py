"""A trained run, or several as an ensemble, as a translator: text in, text out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from dragoman.data.directions import Direction, Directions, Languages
from dragoman.data.documents import preceding
from dragoman.data.filters import excess
from dragoman.decoding.hypotheses import Hypothesis, Watch, different
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError
from dragoman.inference.attention_map import AttentionMap, HeadSelection, as_given
from dragoman.inference.checks import lay_over
from dragoman.inference.minimum_risk import least_risk
from dragoman.inference.noisy_channel import Scorer, features, rerank
from dragoman.inference.requests import EncodedRequest, RequestEncoder, given_previous, requests_of
from dragoman.inference.self_attention import SelfAttentionSide, map_self_attention
from dragoman.inference.session import Session, check_same_text, open_runs
from dragoman.inference.spelling import Speller
from dragoman.inference.terms import Terminology
from dragoman.inference.torch_engine import TorchEngine, smallest
from dragoman.inference.translation import Translation
from dragoman.models.capabilities import capabilities_of
from dragoman.models.seq2seq import Seq2Seq
from dragoman.text.codec import Codec
from dragoman.text.given import given_texts
from dragoman.text.glossary import Entry

Previous = Sequence[Sequence[str]] | None
"""The sentences before each one in its document, nearest last, as many as there are."""


class Translator:
    """Translates text with a trained run.

    A sentence passes through five stages: `Request` (text), `EncodedRequest` (ids), a batch, `Hypothesis`, `Translation`.
    Settings may be given at each call; concurrent calls do not interfere with each other. The files that settings name, such as a
    glossary, are read once: load the translator again after they have changed.

    >>> translator = Translator.load("runs/demo")  # doctest: +SKIP
    >>> translator.translate(["I love cats."], beam=8)[0].text  # doctest: +SKIP
    'Tôi yêu mèo.'
    >>> Translator.load("runs/many").translate(["I love cats."], to="fr")[0].text  # doctest: +SKIP
    "J'aime les chats."
    """

    def __init__(
        self,
        models: Sequence[Seq2Seq] | TorchEngine,
        source: Codec,
        target: Codec,
        *,
        settings: DecodingSettings | None = None,
        languages: Direction | Directions = ("source", "target"),
        view: HeadSelection | None = None,
        sources: Sequence[Codec] | None = None,
        dictionary: Mapping[str, str] | None = None,
    ) -> None:
        """Assemble a translator; `sources` are the source codecs of the models if they differ.

        `view` says which weights make word alignments (the mean of all unless given), `dictionary` translates source words that
        replace unknown ones.
        """
        self.engine = (
            models if isinstance(models, TorchEngine) else TorchEngine(Session(models), special=target.special)
        )
        self.models = self.engine.models
        self.source = source
        self.target = target
        self.settings = settings or DecodingSettings()
        self.directions = languages if isinstance(languages, Directions) else Directions((languages,))
        """The languages between which it translates."""
        self.view = view or HeadSelection()
        self.device = self.engine.session.device
        self.previous = max(model.previous for model in self.models)
        """Maximum number of previous sentences that are read."""
        self.sources = tuple(sources or [source] * len(self.models))
        """The source codec of each model."""
        self._speller = Speller(source, target, dictionary or {})
        self._scorers: dict[tuple[Path, ...], list[Scorer]] = {}
        self.terminology = Terminology(self.engine, target, self.directions, sources=self.sources)

    @classmethod
    def load(
        cls, /, *runs: str | Path, device: str = "auto", settings: DecodingSettings | None = None, **decoding: Any
    ) -> "Translator":
        """Load one run, or several as an ensemble; `settings` replace its `decoding` section, keyword arguments change some.

        Runs of an ensemble may have any architecture and source tokenisation, but share the target vocabulary.
        Raises RunError if a run cannot be read, InputError if runs do not fit together, SettingsError for settings that do not
        exist or do not apply.
        """
        opened, place = open_runs(runs, "translate", device)
        first = opened[0]
        for other in opened[1:]:
            check_same_text(first, other)
        chosen = lay_over(settings or first.recipe.decoding, decoding, capabilities_of(first.recipe.model))
        engine = TorchEngine(
            Session([run.load_model(place) for run in opened], fixed=True), opened, special=first.target.special
        )
        guided = first.recipe.training.supervised
        translator = cls(
            engine,
            first.source,
            first.target,
            settings=chosen,
            languages=first.directions,
            view=None if guided is None else HeadSelection(guided.layer, guided.head, guided.shift),
            sources=[run.source for run in opened],
            dictionary=first.dictionary,
        )
        translator.prepare(chosen)
        return translator

    @property
    def languages(self) -> Direction:
        """Return the codes of the source and the target language, those of the usual or first direction if there are several."""
        return self.directions.first

    def prepare(self, settings: DecodingSettings) -> None:
        """Load what settings need in advance. Errors say what is missing."""
        self.engine.prepare(settings, len(self.target))
        if settings.reranks and settings.rerank not in self._scorers:
            from dragoman.inference.scorers import load_scorers  # translators themselves

            languages = self.directions.require_one("this run")
            self._scorers[settings.rerank] = load_scorers(settings.rerank, languages, self.device.type)
        if settings.dictionary is not None:
            self._speller.dictionary(settings.dictionary)
        if settings.requires_terms:
            self.terminology.prepare(settings)

    @property
    def attends(self) -> bool:
        """Tell whether the (first) model attends to the source, so that `attention_maps` can show it."""
        return self.engine.source_heads is not None

    def preceding(self, sentences: Sequence[str], documents: Sequence[str | None] | None = None) -> list[list[str]]:
        """Return the sentences before each one in its document, as many as the models read, nearest last.

        `documents` names the document of each sentence, None for one that is alone; without it, the sentences are one
        document unless blank lines separate several.
        """
        if not self.previous:
            return [[] for _ in sentences]
        blank = [not self.source.normalize(sentence) for sentence in sentences]
        rows = preceding(documents or [None if one else "text" for one in blank], self.previous)
        return [[sentences[index] for index in row if index is not None] for row in rows]

    def remarks(self, sentences: Sequence[str], *, first: int = 1) -> list[str]:
        """Return a warning for each source that is longer than everything that the run was trained on.

        Their numbers are counted from `first`.
        """
        limits = [run.recipe.data.filters for run in self.engine.runs]
        told = ((number, [excess(one, limit) for limit in limits]) for number, one in enumerate(sentences, first))
        return [
            f"Sentence {number} has {next(filter(None, said))}: expect a poor translation, or split it."
            for number, said in told
            if any(said)
        ]

    def encode(
        self,
        sentences: Sequence[str],
        side: Literal["source", "target", "previous"],
        *,
        first: int = 1,
        to: Languages = None,
    ) -> list[list[int]]:
        """Return the ids of sentences. InputError names one longer than the model's positions, counted from `first`.

        Sources begin with the tags of the languages `to`, if there are any.
        """
        languages = self.directions.frames(to, len(sentences)) if side == "source" else None
        return self._encoder.side(sentences, side, first=first, languages=languages)

    def requests(
        self,
        sources: Iterable[str],
        targets: Iterable[str] | None = None,
        *,
        previous: Previous = None,
        first: int = 1,
        to: Languages = None,
        terms: Sequence[Sequence[Entry]] | None = None,
        prefixes: Iterable[str] | None = None,
    ) -> list[EncodedRequest]:
        """Encode sentences for the engine, with translations, entries of a glossary and first words for each if they are given.

        The other arguments are those of `translate`.
        """
        texts = given_texts(sources, first=first)
        before = (
            self.preceding(texts) if previous is None else given_previous(previous, len(texts), reads=self.previous)
        )
        languages = self.directions.frames(to, len(texts))
        made = requests_of(
            texts, before, targets=targets, languages=languages, terms=terms, prefixes=prefixes, first=first
        )
        return self._encoder.encode_all(made)

    def translate(
        self,
        sentences: Iterable[str],
        *,
        settings: DecodingSettings | None = None,
        attention: bool = False,
        replace_unknowns: bool = False,
        first: int = 1,
        previous: Previous = None,
        to: Languages = None,
        **decoding: Any,
    ) -> list[Translation]:
        """Translate sentences, in their order; an empty sentence gives an empty translation.

        A run of several target languages needs `to`: the language, or that of each sentence; `Between("en", "fr")` where the
        model must know the language of the source too, as imported ones may.
        `settings` replace the translator's own, and further keyword arguments (such as `beam=8`) change some of them, for
        this call only. `replace_unknowns` puts the source word most attended to in place of each unknown word. If the
        sentences are part of a longer text, `first` is the number of the first. Models of documents read the `previous`
        sentences of each, which are those of `preceding` unless they are given. InputError names a sentence longer than the
        model's positions.
        """
        chosen = self._settled(settings, decoding, replaces=replace_unknowns)
        asked = self.requests(sentences, previous=previous, first=first, to=to)
        return self.translate_requests(asked, chosen, attention=[attention] * len(asked), replaces=replace_unknowns)

    def complete(
        self,
        sentences: Iterable[str],
        prefixes: Iterable[str],
        *,
        attention: bool = False,
        replace_unknowns: bool = False,
        first: int = 1,
        previous: Previous = None,
        to: Languages = None,
        **decoding: Any,
    ) -> list[Translation]:
        """Translate sentences as `translate` does, with translations that begin with the words of `prefixes`, and no shortlist.

        Words that the vocabulary lacks a sign of are not given. InputError if a run writes backwards.
        """
        chosen = self._settled(None, {**decoding, "shortlist": False}, replaces=replace_unknowns)
        asked = self.requests(sentences, previous=previous, first=first, to=to, prefixes=prefixes)
        return self.translate_requests(asked, chosen, attention=[attention] * len(asked), replaces=replace_unknowns)

    def _settled(self, given: DecodingSettings | None, decoding: dict[str, Any], *, replaces: bool) -> DecodingSettings:
        """Return the settings of one call, for which everything is ready."""
        chosen = lay_over(given or self.settings, decoding, self.engine.capabilities)
        self.prepare(chosen)
        if not replaces:
            self.check_dictionary(chosen)
        return chosen

    def translate_requests(
        self,
        requests: Sequence[EncodedRequest],
        settings: DecodingSettings,
        *,
        attention: Sequence[bool] = (),
        replaces: bool = False,
        watch: Watch | None = None,
    ) -> list[Translation]:
        """Translate encoded sentences with settings that are `prepare`d; `attention` says for which it is wanted.

        `replaces` is `replace_unknowns` of `translate`. Sentences that the `watch` gives up get an empty translation.
        """
        terms = self.terminology.require(requests, self._search(requests, settings, watch), settings, watch=watch)
        found = terms.found
        if settings.method != "sample":
            found = [different(some, self.target.decode, settings.n_best) for some in found]
        shown = [
            wanted or (replaces and any(self._speller.has_unknown(one.ids) for one in some))
            for wanted, some in zip(attention or [False] * len(requests), found, strict=True)
        ]
        written = [
            replace(request, target=one.ids)
            for request, some, needed in zip(requests, found, shown, strict=True)
            if needed
            for one in some
        ]
        maps = iter(self.engine.attention_maps(written, (self.source, self.target), settings))
        made = (
            self._speller.translation(
                request.request.source,
                some,
                dictionary=settings.dictionary,
                readings=[next(maps) for _ in some] if needed else None,
                replaces=replaces,
            )
            for request, some, needed in zip(requests, found, shown, strict=True)
        )
        return terms.noted(made)

    def score(
        self, sources: Iterable[str], targets: Iterable[str], *, previous: Previous = None, to: Languages = None
    ) -> list[tuple[float, int]]:
        """Return the log-probability of each given translation, and its length in tokens with </s>.

        `previous` and `to` are those of `translate`.
        """
        found = self.score_tokens(sources, targets, previous=previous, to=to)
        return [(one.log_prob, len(one.ids) + 1) for one in found]

    def score_tokens(
        self, sources: Iterable[str], targets: Iterable[str], *, previous: Previous = None, to: Languages = None
    ) -> list[Hypothesis]:
        """Return each given translation as ids, with the log-probabilities of the whole and of its tokens.

        `previous` and `to` are those of `translate`.
        """
        requests = self.requests(sources, targets, previous=previous, to=to)
        return self.engine.score(requests, self.settings)

    def attention_maps(
        self, sources: Iterable[str], targets: Iterable[str], *, previous: Previous = None, to: Languages = None
    ) -> list[AttentionMap]:
        """Return what the (first) model attends to when it is given each source and writes each target.

        Words are those between the spaces of the given texts. `previous` and `to` are those of `translate`.
        """
        requests = self.requests(sources, targets, previous=previous, to=to)
        maps = self.engine.attention_maps(requests, (self.source, self.target), self.settings)
        return [
            replace(
                reading,
                source=as_given(self.source, one.request.source).framed_as(reading.source),
                target=as_given(self.target, one.request.target or ""),
            )
            for reading, one in zip(maps, requests, strict=True)
        ]

    def self_attention_map(
        self, source: str, target: str, *, of: SelfAttentionSide, to: Languages = None
    ) -> AttentionMap:
        """Return what the tokens of `source` attend to in the encoder, or those of `target` in the decoder.

        Both axes are the same sentence, in the (first) model. `to` is that of `translate`. Raises InputError for a model that is
        no Transformer, or reads documents.
        """
        (request,) = self.requests([source], [target], to=to)
        codecs = self.source, self.target
        reading = map_self_attention(self.models[0], codecs, request.pair, of=of, begun=len(request.start))
        codec, text = (self.source, source) if of == "encoder" else (self.target, target)
        one = as_given(codec, text).framed_as(reading.source)
        return replace(reading, source=one, target=one)

    read = attention_maps
    """The former name of `attention_maps`."""

    def _search(
        self, requests: Sequence[EncodedRequest], settings: DecodingSettings, watch: Watch | None = None
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each request, best first: the most probable, reranked ones, or those of least Bayes risk."""
        found = [self.engine.search(requests, search, watch=watch) for search in settings.searches]
        if settings.reranks:
            return self._reranked(requests, found[0], settings)
        if len(found) == 1:
            return found[0]
        return [
            least_risk([*chain(*candidates)], self.target.decode, utility=settings.mbr_utility, n_best=settings.n_best)
            for candidates in zip(*found, strict=True)
        ]

    def _reranked(
        self, requests: Sequence[EncodedRequest], found: Sequence[list[Hypothesis]], settings: DecodingSettings
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each request in the order of the scores to which the runs of `settings.rerank` contribute."""
        sources = [request.request.source for request in requests]
        texts = [[self.target.decode(one.ids) for one in some] for some in found]
        scores = features(sources, texts, self._scorers[settings.rerank])
        return [
            rerank(some, others, settings.weights, n_best=settings.candidates)
            for some, others in zip(found, scores, strict=True)
        ]

    def check_dictionary(self, settings: DecodingSettings) -> None:
        """Raise an error if a dictionary is requested but unknown words are not replaced; a recipe may name one anyway."""
        known = {None, *(run.recipe.decoding.dictionary for run in self.engine.runs)}
        if settings.dictionary not in known and not self.target.positional:
            raise InputError(
                "`dictionary` has no effect: it is used only where unknown words are replaced, as by "
                "`dragoman translate --unknown replace`; remove it"
            )

    @property
    def _encoder(self) -> RequestEncoder:
        """Return the encoder of requests for these models."""
        models = list(zip(self.models, self.sources, strict=True))
        bounds = {
            codec: smallest(model.source_positions for model, own in models if own == codec) for codec in self.sources
        }
        return RequestEncoder(self.sources, self.target, bounds, self.engine.target_bound, self.previous)
