"""The terms of a glossary in translations.

Where a term is missing, a model that was trained so reads its translation in the source (`text/annotations.py`); if it is missing
even then, a sentence is searched again by a beam that must write it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from dragoman.data.directions import Direction, Directions
from dragoman.decoding.hypotheses import Hypothesis, Unwatched, Watch, WatchedPart
from dragoman.decoding.phrases import Joined, Phrase
from dragoman.decoding.settings import DecodingSettings
from dragoman.documents.glossaries import read_glossary
from dragoman.inference.requests import EncodedRequest, edges
from dragoman.inference.torch_engine import TorchEngine
from dragoman.inference.translation import Translation, UsedTerm
from dragoman.text.annotations import annotated, annotation
from dragoman.text.codec import Codec
from dragoman.text.glossary import Entry, Glossary, Match, Term, Words

BEFORE = ("", "'", "’", "-", "(", '"', "«", "“")
"""What a term may follow without a space: it may be other tokens then."""

ROOM = 5
"""Number of tokens that a translation with terms may have more than half as many again, and those of the terms."""


KEPT = 4_000
"""Number of terms of which the ways to write them are kept: a service meets the glossaries of many callers."""


@dataclass(frozen=True)
class Required:
    """The hypotheses of sentences, searched again where terms were missing, and what became of the terms of each sentence."""

    found: list[list[Hypothesis]]
    used: list[tuple[UsedTerm, ...]]
    again: frozenset[int] = frozenset()
    """The numbers, from 0, of the sentences that were searched again; those with no term that can be written are not."""

    def noted(self, translations: Iterable[Translation]) -> list[Translation]:
        """Return the translations of these hypotheses with what became of their terms."""
        return [
            replace(one, terms=used, searched_again=number in self.again)
            for number, (one, used) in enumerate(zip(translations, self.used, strict=True))
        ]


class Terminology:
    """Requires the terms of glossaries of an engine, and keeps the glossaries that it read."""

    def __init__(
        self, engine: TorchEngine, target: Codec, directions: Directions, *, sources: Sequence[Codec] = ()
    ) -> None:
        """Begin with no glossary; `sources` are the source codecs of the models."""
        self._engine, self._target, self._directions = engine, target, directions
        self._sources = tuple(sources)
        self._reads = [run.recipe.text.glossary is not None for run in engine.runs]
        """Whether each model was trained to read annotated sources."""
        self._glossaries: dict[tuple[tuple[Path, ...], tuple[str | None, str | None]], Glossary] = {}
        self._phrase = lru_cache(maxsize=KEPT)(partial(_ways_of, target))
        """The ways to write a translation of a term; none if the vocabulary lacks a sign of it."""
        self._joined = joining(target)

    def prepare(self, settings: DecodingSettings) -> None:
        """Read the glossary of settings, unless its languages depend on the sentence. InputError if it cannot be read."""
        if not self._directions.tagged:
            self.glossary(settings.glossary, self._directions.first)

    def require(
        self,
        requests: Sequence[EncodedRequest],
        found: list[list[Hypothesis]],
        settings: DecodingSettings,
        *,
        watch: Watch | None = None,
    ) -> Required:
        """Search those sentences again whose best translations lack a term of the glossary.

        A model that was trained so is first told the terms that are missing, in its source; what still lacks one is searched with
        all of its terms as phrases. What a search finds is taken where it has more of the terms; what cannot be written with the
        vocabulary, or does not fit into the maximum length, stays unmet.
        """
        if not self._asks(requests, settings):
            return Required(found, [()] * len(requests))
        wanted = [self._entries(request, settings) for request in requests]
        before = [self._used(some, entries) for some, entries in zip(found, wanted, strict=True)]
        results, after, asked = list(found), list(before), list(requests)
        searched = set[int]()

        def search(rows: Sequence[int], how: DecodingSettings) -> None:
            searched.update(rows)
            part = WatchedPart(watch or Unwatched(), tuple(rows))
            some = self._engine.search([asked[row] for row in rows], how, watch=part, joined=self._joined)
            for row, one in zip(rows, some, strict=True):
                terms = self._used(one, wanted[row])
                if terms.count(None) < after[row].count(None):
                    results[row], after[row] = one, terms

        if any(self._reads):
            told = [row for row, terms in enumerate(after) if results[row] and None in terms]
            for row in told:
                missing = {entry for entry, term in zip(wanted[row], after[row], strict=True) if term is None}
                matches = [one for one in self._matches(requests[row], settings) if one.entry in missing]
                asked[row] = self._annotated(requests[row], matches)
            search([row for row in told if asked[row].wished], settings.alone)
        again = [
            row
            for row, terms in enumerate(after)
            if results[row] and None in terms and any(map(self._phrase, wanted[row]))
        ]
        for row in again:
            asked[row] = self._forcing(asked[row], results[row][0], wanted[row])
        search(again, settings.with_phrases)
        used = [tuple(map(outcome, *row)) for row in zip(wanted, before, after, strict=True)]
        return Required(results, used, frozenset(searched))

    def _asks(self, requests: Sequence[EncodedRequest], settings: DecodingSettings) -> bool:
        """Tell whether there is a glossary; samples stay as they are drawn."""
        asks = settings.requires_terms or any(one.request.terms for one in requests)
        return asks and settings.method != "sample"

    def _entries(self, request: EncodedRequest, settings: DecodingSettings) -> list[Entry]:
        """Return the entries whose terms are in a sentence, each once."""
        return list(dict.fromkeys(match.entry for match in self._matches(request, settings)))

    def _matches(self, request: EncodedRequest, settings: DecodingSettings) -> list[Match]:
        """Return the terms that are in a sentence: those of the request, and of the settings elsewhere."""
        between, first = request.request.between, self._directions.first
        languages = first if between is None else (between.source, between.target)
        source = request.request.source
        found = Glossary(request.request.terms).spelled(self._target.normalize).matches(source)
        if settings.glossary:
            general = self.glossary(settings.glossary, languages).matches(source)
            own = tuple(found)
            found += [
                one for one in general if not any(one.start < other.end and other.start < one.end for other in own)
            ]
        return found

    def _annotated(self, request: EncodedRequest, matches: Sequence[Match]) -> EncodedRequest:
        """Return a request with the preferred translations of its terms, as far as they fit into the models' positions."""
        text, sources, wished = request.request.source, list[list[int]](), dict[int, None]()
        for codec, model, reads, ids in zip(
            self._sources, self._engine.models, self._reads, request.sources, strict=True
        ):
            made = (
                annotation(codec, text, (one.start, one.end), translation=one.entry.targets[0].text)
                for one in matches
                if reads
            )
            found = [one for one in made if one is not None]
            longer = annotated(codec, ids, text, annotations=found) if found else ids
            fits = model.source_positions is None or len(longer) < model.source_positions
            sources.append(longer if fits else ids)
            wished |= dict.fromkeys(token for one in found for token in one.wished)
        return replace(request, sources=tuple(sources), wished=tuple(wished))

    def glossary(self, paths: tuple[Path, ...], languages: Direction | tuple[str | None, str | None]) -> Glossary:
        """Return the glossary of some files, its translations as the model would write them. InputError if one cannot be read."""
        if (paths, languages) not in self._glossaries:
            read = Glossary.joined(read_glossary(path, languages) for path in paths)
            self._glossaries[paths, languages] = read.spelled(self._target.normalize)
        return self._glossaries[paths, languages]

    def _forcing(self, request: EncodedRequest, first: Hypothesis, entries: Sequence[Entry]) -> EncodedRequest:
        """Return the request for a translation with terms, which may be half as long again as the first one."""
        phrases = tuple(filter(None, map(self._phrase, entries)))
        room = len(first.ids) // 2 + ROOM + sum(max(map(len, phrase)) for phrase in phrases)
        return replace(request, phrases=phrases, limit=len(first.ids) + room)

    def _used(self, found: Sequence[Hypothesis], entries: Sequence[Entry]) -> list[Term | None]:
        """Return which translation of each term is in the best hypothesis, if any."""
        words = Words.of(self._target.decode(found[0].ids) if found and entries else "")
        return [entry.used(words) for entry in entries]


def outcome(entry: Entry, before: Term | None, after: Term | None) -> UsedTerm:
    """Return what became of a term, from the translations of it that are there before and after a second search."""
    target = (after or entry.targets[0]).text
    return UsedTerm(entry.source.text, target, "unmet" if after is None else "met" if before else "forced")


def _ways_of(codec: Codec, entry: Entry) -> Phrase:
    """Return the ways to write a translation of a term."""
    return ways(codec, entry.targets)


def ways(codec: Codec, terms: Iterable[Term]) -> Phrase:
    """Return the ids of the ways to write one of some terms: capitalised too, and as it follows a sign such as an apostrophe."""
    found: dict[tuple[int, ...], None] = {}
    for term in terms:
        capital = term.text[:1].upper() + term.text[1:]
        for text in dict.fromkeys([term.text, capital] if term.any_case else [term.text]):
            for before in BEFORE:
                for encoded in (codec.encode(before + text), codec.encode_inside(before + text)):
                    ids = _following(codec, encoded, before=before, text=text)
                    if ids:
                        found[ids] = None
    return tuple(found)


def _following(codec: Codec, ids: Sequence[int], *, before: str, text: str) -> tuple[int, ...]:
    """Return those of `ids` of a text after a sign without a space; none if they are not apart, or spell something else."""
    ordered = codec.ordered(ids)
    if not ids or codec.special.unk in ids or codec.decode(ids) != codec.normalize(before + text):
        return ()
    surfaces = codec.tokenizer.surfaces(codec.pieces(ordered))
    count = 0
    while "".join(surfaces[:count]).strip() != before:
        count += 1
        if count == len(ordered):
            return ()
    if before and "".join(codec.tokenizer.surfaces(codec.pieces(ordered[count:]))) != codec.normalize(text):
        return ()
    return tuple(codec.ordered(ordered[count:]))


def joining(codec: Codec) -> Joined:
    """Return the function that tells whether two tokens in a row, in the order of the ids, are in one word."""

    known = lru_cache(maxsize=len(codec))(partial(edges, codec))

    def joined(before: int, after: int) -> bool:
        first, second = codec.ordered([before, after])
        return known(first)[1] and known(second)[0]

    return joined
