"""Generate text with a trained decoder-only language model."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch

from dragoman.data.collate import collate, pad
from dragoman.decoding.beam import beam_search
from dragoman.decoding.constraints import forbid
from dragoman.decoding.hypotheses import Hypothesis, different
from dragoman.decoding.sample import sample
from dragoman.decoding.score import score_target
from dragoman.decoding.settings import DecodingSettings, SearchSettings
from dragoman.decoding.step import step_of
from dragoman.inference.batching import batches, batches_of_one_length, cells_of_logits, check_memory
from dragoman.inference.checks import lay_over
from dragoman.inference.session import Session, open_runs
from dragoman.models.seq2seq import Seq2Seq
from dragoman.text.codec import Codec, encode_within
from dragoman.text.given import given_texts
from dragoman.tree import map_tensors

ROWS = 64
"""Maximum number of texts in a batch."""
SCORED_TOKENS = 6000
"""Maximum number of tokens in a batch of texts that are scored, padding included."""


@dataclass(frozen=True)
class Continuation:
    """A text with its continuation, and the log-probability of the continuation, including its end."""

    text: str
    score: float
    log_prob: float


class TextGenerator:
    """Continues text with a trained decoder-only language model.

    >>> generator = TextGenerator.load("runs/phrasebook-continue-en")  # doctest: +SKIP
    >>> generator.generate_texts(["I like"])[0][0].text  # doctest: +SKIP
    'I like the green book.'
    """

    def __init__(self, model: Seq2Seq | Session[Seq2Seq], codec: Codec, settings: SearchSettings | None = None) -> None:
        self.session = model if isinstance(model, Session) else Session([model])
        self.model = self.session.models[0]
        self.codec = codec
        self.settings = settings.of_search() if isinstance(settings, DecodingSettings) else settings or SearchSettings()
        self.device = self.session.device

    @classmethod
    def load(cls, run: str | Path, *, device: str = "auto", **decoding: Any) -> "TextGenerator":
        """Load a run; keyword arguments change settings of its `decoding` section.

        InputError for a run of another kind, SettingsError for settings that do not exist or do not apply.
        """
        (opened,), place = open_runs([run], "generate", device)
        settings = lay_over(opened.recipe.decoding.of_search(), decoding)
        return cls(Session([opened.load_model(place)], fixed=True), opened.target, settings)

    def generate_texts(
        self, texts: Iterable[str], *, first: int = 1, settings: SearchSettings | None = None, **decoding: Any
    ) -> list[list[Continuation]]:
        """Return the `n_best` continuations of each text, best first, without unknown tokens; a text may be empty.

        `settings` replace the generator's own, and further keyword arguments change some of them, for this call only.
        Lengths count generated tokens; the length of the text stands in for that of a source. InputError names a text longer
        than the model's positions, counted from `first`.
        """
        begun = given_texts(texts, "text", first=first)
        chosen = lay_over(settings or self.settings, decoding)
        check_memory(chosen, len(self.codec), device=self.device.type)
        encoded = encode_within(self.codec, begun, self.model.target_positions, name="text", first=first)
        search = chosen.model_copy(update={"n_best": chosen.candidates})
        results: list[list[Continuation]] = [[] for _ in begun]
        for rows in batches_of_one_length([len(ids) for ids in encoded], ROWS):
            found = self._search([encoded[row] for row in rows], [first + row for row in rows], search)
            for row, hypotheses in zip(rows, found, strict=True):
                text = partial(self._continued, self.codec.split(begun[row]))
                if chosen.method != "sample":
                    hypotheses = different(hypotheses, text, chosen.n_best)
                results[row] = [Continuation(text(one.ids), one.score, one.log_prob) for one in hypotheses]
        return results

    def score(self, texts: Iterable[str]) -> list[tuple[float, int]]:
        """Return the log-probability of each whole text, and its length in tokens with </s>.

        InputError names a text longer than the model's positions.
        """
        encoded = encode_within(self.codec, given_texts(texts, "text"), self.model.target_positions, name="text")
        results: dict[int, tuple[float, int]] = {}
        each = cells_of_logits(len(self.codec), SCORED_TOKENS)
        for rows in batches([(len(ids) + 1) * each for ids in encoded], SCORED_TOKENS):
            with self.session.computing(self.session.pack(self.settings.precision)):
                batch = collate([([], encoded[row]) for row in rows], special=self.codec.special).to(self.device)
                scored = score_target(self.model.decoder, self.model.encoder(batch.source), batch.target)
            for row, log_prob in zip(rows, scored.log_prob.tolist(), strict=True):
                results[row] = (log_prob, len(encoded[row]) + 1)
        return [results[row] for row in range(len(encoded))]

    continue_texts = generate_texts
    """The name in earlier releases, which still works."""

    def _continued(self, begun: list[str], ids: list[int]) -> str:
        """Return a text that begins with some tokens and goes on with ids."""
        return self.codec.join([*begun, *self.codec.pieces(ids)])

    def _search(self, texts: list[list[int]], numbers: list[int], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Continue texts of equal length: all but their last token are processed at once, and search starts from that one."""
        length, special = len(texts[0]), self.codec.special
        packed = None if settings.precision == "float32" else self.session.pack(settings.precision)
        with self.session.computing(packed):
            begun = torch.tensor([[special.bos, *ids] for ids in texts], device=self.device)
            source = map_tensors(lambda tensor: tensor.to(self.device), pad(texts, special=special))
            state = self.model.decoder.start(self.model.encoder(source))
            if length > 0:
                _, state = self.model.decoder(begun[:, :-1], state)
            maximum = settings.limits(torch.full((len(texts),), length, device=self.device))
            if self.model.target_positions is not None:
                maximum = maximum.clamp(max=self.model.target_positions - length - 1)
            step, begin, rules = step_of(self.model.decoder), begun[:, -1], [forbid([special.unk])]
            options: dict[str, Any] = {"constraints": rules, "begin": begin, "special": special}
            if settings.method == "sample":
                chances = [Random(f"{settings.seed} {number}") for number in numbers]
                found = sample(step, state, maximum, settings=settings, generator=chances, **options)
            else:
                found = beam_search(step, state, maximum, settings=settings, **options)
        return found.alternatives()
