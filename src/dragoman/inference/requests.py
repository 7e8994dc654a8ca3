"""The stages of a sentence on its way to a model: text, then ids. Does not import torch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from dragoman.errors import InputError, number_of
from dragoman.text.codec import Codec, encode_within
from dragoman.text.frames import Between
from dragoman.text.given import given_texts
from dragoman.text.glossary import Entry, in_word


@dataclass(frozen=True)
class Request:
    """A sentence to translate or, with a target, a pair to score or inspect."""

    source: str
    number: int = 1
    """Its number in the whole text, from 1: used in messages and as a seed for sampling."""
    previous: tuple[str, ...] = ()
    """The sentences before it in its document, nearest last, if the model reads them."""
    target: str | None = None
    between: Between | None = None
    """The languages on which the frame of the source depends, and what the target begins with, if the models know several."""
    terms: tuple[Entry, ...] = ()
    """Entries of a glossary that this sentence alone must keep to; they come before those of the settings."""
    prefix: str = ""
    """The words that its translation must begin with."""


@dataclass(frozen=True)
class EncodedRequest:
    """A request as ids, without BOS and EOS; sources with their tags, if there are any."""

    request: Request
    sources: tuple[list[int], ...]
    """The source as each model of an ensemble reads it."""
    previous: tuple[list[int] | None, ...] = ()
    """As many sentences as the models read, nearest last; None if the document has no more."""
    target: list[int] | None = None
    start: tuple[int, ...] = ()
    """What every target begins with after BOS: given to the model, and no part of what it writes."""
    phrases: tuple[tuple[tuple[int, ...], ...], ...] = ()
    """What a translation must contain: one of the ways to write each phrase, as ids."""
    prefix: tuple[int, ...] = ()
    """What a translation must begin with; nothing if the vocabulary lacks a sign of it."""
    within: tuple[int, ...] = ()
    """Tokens that would go on with the last word of the prefix, which no translation does; none if it ends with no word."""
    wished: tuple[int, ...] = ()
    """Ids of the translations that stand in an annotated source (`text/annotations.py`): a shortlist has them, too."""
    limit: int | None = None
    """Maximum number of tokens of a translation, if it is below that of the search."""

    @property
    def pair(self) -> tuple[list[int], list[int]]:
        """The source as the first model reads it, and the target, which may be empty, with what it begins with."""
        return self.sources[0], self.begun

    @property
    def begun(self) -> list[int]:
        """The target with what it begins with."""
        return [*self.start, *(self.target or [])]

    @property
    def width(self) -> int:
        """Return the number of columns in a batch: the length of its longest sentence, with EOS."""
        return 1 + max(len(ids) for ids in (*self.pair, *self.previous) if ids is not None)


def requests_of(
    sources: Sequence[str],
    previous: Sequence[Sequence[str]],
    *,
    targets: Iterable[str] | None,
    languages: Sequence[Between | None],
    terms: Sequence[Sequence[Entry]] | None,
    prefixes: Iterable[str] | None,
    first: int,
) -> list[Request]:
    """Return the request of each source, `first` the number of the first. InputError if other texts are not one for each."""
    count = len(sources)
    nothing: list[str | None] = [None] * count
    written = nothing if targets is None else given_texts(targets, "translation", count=count)
    begun = [""] * count if prefixes is None else given_texts(prefixes, "prefix", count=count)
    rows = zip(sources, previous, written, languages, terms or [()] * count, begun, strict=True)
    return [
        Request(source, number, tuple(nearest), target, between, tuple(some), prefix)
        for number, (source, nearest, target, between, some, prefix) in enumerate(rows, first)
    ]


def given_previous(previous: Iterable[Iterable[str]], count: int, *, reads: int) -> list[list[str]]:
    """Return the sentences before each of `count` ones, of which models read so many.

    InputError if they read none but some are given, if there is not a list for each, and for what is not text.

    >>> given_previous([[], ["I love cats."]], 2, reads=1)
    [[], ['I love cats.']]
    """
    rows = list(previous)
    if not reads:
        if any(rows):
            raise InputError(
                "`previous` sentences are for document models, but this run translates sentence by sentence; leave them out"
            )
        return [[] for _ in range(count)]
    if len(rows) != count:
        raise InputError(
            f"each sentence needs a list of the `previous` ones, but there are {len(rows):,} lists for "
            f"{number_of(count, 'sentence')}; give [] for one without any"
        )
    return [given_texts(row, f"sentence {number}: previous sentence") for number, row in enumerate(rows, 1)]


def edges(codec: Codec, token: int) -> tuple[bool, bool]:
    """Tell whether a token would go on with a word that the one before it ends with, and whether it ends with a word itself."""
    (surface,) = codec.tokenizer.surfaces(codec.pieces([token]))
    return in_word(surface[:1]), in_word(surface[-1:])


@lru_cache(maxsize=8)
def within_words(codec: Codec) -> tuple[int, ...]:
    """Return the tokens that go on with a word that the token before them ends with."""
    special = codec.special.all
    return tuple(token for token in range(len(codec)) if token not in special and edges(codec, token)[0])


@dataclass(frozen=True)
class RequestEncoder:
    """Encodes requests for the models of a translator, and refuses sentences that are too long for them."""

    sources: tuple[Codec, ...]
    target: Codec
    bounds: Mapping[Codec, int | None]
    """Maximum number of source tokens, with EOS, for every model with this codec; None for no limit."""
    target_bound: int | None
    previous: int
    """Maximum number of previous sentences that the models read."""

    def encode_all(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        """Encode requests; each distinct previous sentence is encoded once. InputError names one that is too long."""
        known: dict[str, list[int]] = {}
        return [self._encode(request, known) for request in requests]

    def side(
        self,
        texts: Sequence[str],
        side: Literal["source", "target", "previous"],
        *,
        first: int = 1,
        languages: Sequence[Between | None] | None = None,
    ) -> list[list[int]]:
        """Return the ids of sentences of one side, sources with what their `languages` put around them.

        InputError names one that is too long, counted from `first`.
        """
        texts = given_texts(texts, first=first)
        codec = self.target if side == "target" else self.sources[0]
        bound = self.target_bound if side == "target" else self.bounds[codec]
        return encode_within(codec, texts, bound, name=f"{side} sentence", first=first, languages=languages)

    def _encode(self, request: Request, known: dict[str, list[int]]) -> EncodedRequest:
        """Encode one request."""
        by_codec = {
            codec: encode_within(
                codec,
                [request.source],
                self.bounds[codec],
                name="source sentence",
                first=request.number,
                languages=[request.between],
            )[0]
            for codec in dict.fromkeys(self.sources)
        }
        start, target = self.target.start(request.between), request.target
        bound = None if self.target_bound is None else self.target_bound - len(start)
        named: dict[str, Any] = {"name": "target sentence", "first": request.number}
        prefix = self._prefix(request.prefix)
        return EncodedRequest(
            request,
            tuple(by_codec[codec] for codec in self.sources),
            tuple(self._previous(request.previous, known)),
            None if target is None else encode_within(self.target, [target], bound, **named)[0],
            start,
            prefix=prefix,
            within=within_words(self.target) if prefix and in_word(request.prefix.rstrip()[-1:]) else (),
        )

    def _prefix(self, text: str) -> tuple[int, ...]:
        """Return the ids of the words that a translation must begin with; none if the vocabulary lacks a sign of them.

        InputError if models write backwards.
        """
        if text and self.target.right_to_left:
            raise InputError("this run writes from right to left, so that no first words can be given; use another run")
        ids = self.target.encode(text) if text else []
        return () if self.target.special.unk in ids else tuple(ids)

    def _previous(self, sentences: Sequence[str], known: dict[str, list[int]]) -> Iterator[list[int] | None]:
        """Yield the ids of the nearest previous sentences, None if there is none."""
        nearest = sentences[len(sentences) - min(self.previous, len(sentences)) :]
        yield from [None] * (self.previous - len(nearest))
        for number, sentence in enumerate(nearest, 1):
            if sentence not in known:
                known[sentence] = self.side([sentence], "previous", first=number)[0]
            yield known[sentence]
