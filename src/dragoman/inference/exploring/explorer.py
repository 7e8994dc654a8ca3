"""Explore how a translator translates one sentence: what search weighed, where it looked, what follows if that is changed."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.data.collate import pad
from dragoman.decoding.beam import search_steps
from dragoman.decoding.constraints import Constraint, forced_prefix, from_length, no_repeated_ngram
from dragoman.decoding.settings import ALONE, DecodingSettings
from dragoman.decoding.step import feed, step_of
from dragoman.errors import InputError
from dragoman.inference.attention_map import AttentionMap, Side, side
from dragoman.inference.checks import lay_over
from dragoman.inference.exploring.computation import Computation, computation_of
from dragoman.inference.exploring.interventions import Interventions, Steering, source_lookups
from dragoman.inference.exploring.recording import Recorder, Seen
from dragoman.inference.exploring.tree import Fate, Tree, grow
from dragoman.inference.torch_engine import previous_of
from dragoman.inference.translation import UsedTerm
from dragoman.inference.translator import Translator
from dragoman.interfaces import DecoderState
from dragoman.text.frames import Between
from dragoman.tree import map_tensors

UNCHANGED = Interventions()


@dataclass(frozen=True)
class Chance:
    """A token that could stand at a place, and how probable it is there."""

    token: int
    piece: str
    log_prob: float
    rank: int = 1
    """From 1, the likeliest."""


@dataclass(frozen=True)
class Step:
    """One token of the translation, with the likeliest tokens in its place."""

    chosen: Chance
    alternatives: tuple[Chance, ...]
    entropy: float
    """Of the distribution that it was chosen from, in nats."""


@dataclass(frozen=True)
class Exploration:
    """A translation, with everything that its search weighed."""

    text: str
    log_prob: float
    score: float
    steps: tuple[Step, ...]
    """</s> last."""
    tree: Tree
    source: Side
    target: Side
    reading: AttentionMap | None
    """Where each step looked; None for a model without attention over the source."""
    pieces: dict[int, str]
    """The text of each token in the tree."""
    beam: int
    """Size of the beam."""


@dataclass(frozen=True)
class WhyNot:
    """What speaks against a word: its tokens at their places, and the best translation with it beside the one chosen."""

    chances: tuple[Chance, ...]
    likeliest: tuple[Chance, ...]
    """The likeliest token in the place of each."""
    fate: Fate | None
    """What became of it in the search; None if no step weighed it."""
    chosen: Exploration
    forced: Exploration


@dataclass(frozen=True)
class _Begun:
    """A sentence that has been read."""

    state: DecoderState[Any, Any]
    begin: Tensor
    maximum: Tensor
    source: Side


class Explorer:
    """Explores with a translator of one model, one sentence at a time.

    >>> explorer = Explorer(Translator.load("runs/demo"))  # doctest: +SKIP
    >>> explorer.explore("I love cats.").text  # doctest: +SKIP
    'Tôi yêu mèo.'
    """

    def __init__(self, translator: Translator) -> None:
        if len(translator.models) > 1:
            raise InputError("several models translate together here; explore one of their runs at a time")
        self.translator = translator
        self.model = translator.models[0]
        self.codec = translator.target

    @cached_property
    def lookups(self) -> tuple[nn.Module, ...]:
        """What attends to the source, one for each layer."""
        return source_lookups(self.model)

    def explore(
        self,
        source: str,
        *,
        prefix: Sequence[int] = (),
        interventions: Interventions = UNCHANGED,
        alternatives: int = 8,
        to: str | Between | None = None,
        **decoding: Any,
    ) -> Exploration:
        """Translate a sentence with beam search, beginning with the tokens `prefix`, and tell everything about it.

        Further arguments change decoding settings (`beam=8`). Reranking, coverage, shortlists and minimum Bayes risk are
        left out. Raises InputError for what this model cannot do.
        """
        settings, special = self._settings(decoding), self.codec.special
        self._check(prefix)
        with self._computing(settings):
            begun = self._begin(source, settings, to, least=len(prefix))
            recorder = self._recorder(interventions, begun)
            given = pad([list(prefix)], special=special)
            held = type(given)(given.ids[:, : len(prefix)], given.mask[:, : len(prefix)])
            rules: list[Constraint] = []
            if prefix:
                rules.append(forced_prefix(map_tensors(lambda one: one.to(begun.begin.device), held)))
            if settings.no_repeat_ngram:  # which the prefix need not keep to
                rules.append(from_length(len(prefix), no_repeated_ngram(settings.no_repeat_ngram, special)))
            free = settings.model_copy(update={"no_repeat_ngram": 0})
            options: dict[str, Any] = {"settings": free, "begin": begun.begin, "special": special}
            tree = grow(search_steps(recorder, begun.state, begun.maximum, constraints=rules, **options), settings)
            return self._exploration(tree, recorder.steps, begun, alternatives=alternatives, beam=settings.beam)

    def require_terms(
        self, source: str, *, to: str | Between | None = None, **decoding: Any
    ) -> tuple[list[int], tuple[UsedTerm, ...]]:
        """Return the prefix with which `explore` writes a translation with the terms of the glossary, and what became of them.

        It is empty unless a term was forced: what search finds by itself needs none.
        """
        if not self.translator.settings.requires_terms:
            return [], ()
        (found,) = self.translator.translate([source], to=to, settings=self._settings(decoding))
        forced = any(term.state == "forced" for term in found.terms)
        return ([*found.ids, self.codec.special.eos] if forced else []), found.terms

    def why_not(
        self,
        source: str,
        word: str | Sequence[int],
        *,
        prefix: Sequence[int] = (),
        chosen: Sequence[int] = (),
        interventions: Interventions = UNCHANGED,
        to: str | Between | None = None,
        **decoding: Any,
    ) -> WhyNot:
        """Say why a translation that begins with `prefix` does not go on with a word, given as text or as tokens.

        It is compared with the translation `chosen`, whose tokens begin with `prefix` and end with </s>, whoever found it; with
        the best that search finds from `prefix` on unless that is given.
        """
        encode = self.codec.encode_inside if prefix else self.codec.encode
        tokens = encode(word) if isinstance(word, str) else list(word)
        if not tokens:
            raise InputError("the word to ask for is empty; give one")
        if chosen and list(chosen[: len(prefix)]) != list(prefix):
            raise InputError("the translation to compare with does not begin with the prefix; give one that does")
        options: dict[str, Any] = {"interventions": interventions, "to": to, **decoding}
        found = self.explore(source, prefix=prefix, **options)
        compared = self.explore(source, prefix=chosen, **options) if chosen else found
        forced = self.explore(source, prefix=[*prefix, *tokens], **options)
        places = range(len(prefix), len(prefix) + len(tokens))
        steps = [forced.steps[place] for place in places]
        node = found.tree.find([*prefix, *tokens])
        fate = None if node is None else found.tree.nodes[node].fate
        likeliest = tuple(step.alternatives[0] for step in steps)
        return WhyNot(tuple(step.chosen for step in steps), likeliest, fate, compared, forced)

    def compute(
        self,
        source: str,
        path: Sequence[int],
        *,
        layer: int = 1,
        head: int = 1,
        interventions: Interventions = UNCHANGED,
        to: str | Between | None = None,
    ) -> Computation:
        """Show how one layer and head computed its weights for the last token of `path`. InputError without attention."""
        settings = self._settings({})
        self._check(path)
        if not path:
            raise InputError("there is no token to compute for; give the tokens up to it as the prefix")
        if not 1 <= layer <= len(self.lookups):
            raise InputError(f"there is no layer {layer}; this model attends in {len(self.lookups)} layers")
        with self._computing(settings):
            begun = self._begin(source, settings, to, least=len(path))
            recorder = self._recorder(interventions, begun, self.lookups[layer - 1])
            recorder.walk(begun.begin, path, begun.state)
            return computation_of(self.model.decoder, self.lookups[layer - 1], recorder.looks[-1], head=head)

    def _settings(self, decoding: dict[str, Any]) -> DecodingSettings:
        """Return the settings of a search by the model alone."""
        alone = {"mbr_samples": 0, "coverage_penalty": 0.0, "shortlist": False, "n_best": 1, **ALONE}
        chosen = self.translator.settings
        own = chosen.model_copy(update={"method": "beam", "beam": chosen.size, **alone})
        return lay_over(own, decoding, self.translator.engine.capabilities)

    def _computing(self, settings: DecodingSettings) -> AbstractContextManager[None]:
        """Compute as the translator does."""
        session = self.translator.engine.session
        return session.computing(session.pack(settings.precision), rows=settings.size)

    def _begin(self, source: str, settings: DecodingSettings, to: str | Between | None, *, least: int) -> _Begun:
        """Read a sentence, and what its target begins with."""
        (request,) = self.translator.requests([source], to=to)
        codec, ids, device = self.translator.source, request.sources[0], self.translator.device
        if not ids:
            raise InputError("the sentence is empty; give one to translate")
        read = pad([ids], previous_of([request]), self.codec.special)
        padded = map_tensors(lambda tensor: tensor.to(device), read)
        given = torch.tensor([(self.codec.special.bos, *request.start)], device=device)
        state = self.model.decoder.start(self.model.encoder(padded))
        begin, state = feed(step_of(self.model.decoder), state, given)
        maximum = settings.limits(padded.mask.sum(1) - 1).clamp(min=least)
        bound = self.translator.engine.target_bound
        if bound is not None:
            maximum = maximum.clamp(max=bound - given.shape[1])
            if least > int(maximum):
                raise InputError(f"the words given have {least} tokens, but this model writes at most {int(maximum)}")
        return _Begun(state, begin, maximum, side(codec, ids, codec.frame_of(ids)))

    def _recorder(self, interventions: Interventions, begun: _Begun, lookup: nn.Module | None = None) -> Recorder:
        """Return the step of the decoder under interventions, which are checked."""
        output = getattr(self.model.decoder, "head", None)
        known = self.translator.engine.source_heads or (0, 0)
        interventions.check(self.lookups, known[1], len(begun.source.pieces), head=output)
        return Recorder(self.model.decoder, Steering(interventions, self.lookups), lookup)

    def _check(self, prefix: Sequence[int]) -> None:
        """Raise InputError for tokens that no translation has."""
        special = self.codec.special
        for place, token in enumerate(prefix):
            last = place == len(prefix) - 1
            if not 0 <= token < len(self.codec) or token in special.unwritten or (token == special.eos and not last):
                raise InputError(f"token {token} cannot stand in a translation; give ids of the target vocabulary")

    def _exploration(
        self, tree: Tree, seen: Sequence[Seen], begun: _Begun, *, alternatives: int, beam: int
    ) -> Exploration:
        """Put together what was found and seen along the best path."""
        path = tree.path(tree.best)
        steps, weights = [], []
        for index, one in zip(path, seen, strict=False):
            row = tree.row_before(index)
            steps.append(self._step(one.log_probs[row], tree.nodes[index].token, alternatives))
            if one.attention is not None:
                weights.append(one.attention[row])
        ids, best = tree.tokens(tree.best)[:-1], tree.nodes[tree.best]
        target = side(self.codec, ids)
        reading = AttentionMap(begun.source, target, torch.stack(weights, 2).cpu()) if weights else None
        written = {node.token for node in tree.nodes}
        pieces = dict(zip(written, self.codec.pieces([*written]), strict=True))
        text = self.codec.decode(ids)
        return Exploration(
            text, best.total, best.score, tuple(steps), tree, begun.source, target, reading, pieces, beam
        )

    def _step(self, log_probs: Tensor, token: int, alternatives: int) -> Step:
        """Describe one step by its distribution."""
        allowed = log_probs.clone()
        allowed[list(self.codec.special.unwritten)] = -torch.inf
        likeliest = allowed.topk(min(alternatives, int((allowed > -torch.inf).sum()))).indices.tolist()
        probs = log_probs.exp()
        entropy = -(probs * log_probs.clamp_min(torch.finfo(log_probs.dtype).min)).sum()
        chances = [self._chance(one, log_probs, allowed) for one in (token, *likeliest)]
        return Step(chances[0], tuple(chances[1:]), float(entropy))

    def _chance(self, token: int, log_probs: Tensor, allowed: Tensor) -> Chance:
        """Describe one token by a distribution."""
        rank = int((allowed > log_probs[token]).sum()) + 1
        return Chance(token, self.codec.pieces([token])[0], float(log_probs[token]), rank)
