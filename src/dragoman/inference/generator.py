"""Text in, more text out: a trained decoder-only language model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dragoman.data.collate import pad
from dragoman.decoding.beam import beam_search
from dragoman.decoding.constraints import forbid
from dragoman.decoding.hypotheses import Hypothesis
from dragoman.decoding.sample import sample
from dragoman.decoding.settings import DecodingSettings
from dragoman.decoding.step import step_of
from dragoman.interfaces import BOS, UNK
from dragoman.machine.devices import choose_device
from dragoman.models.seq2seq import Seq2Seq
from dragoman.runs.folder import open_run
from dragoman.settings import parse
from dragoman.text.codec import Codec, encode_within
from dragoman.tree import map_tensors

ROWS = 64
"""Texts continued together at the most."""


@dataclass(frozen=True)
class Continuation:
    """A text with what was written after it, and the log-probability of what was written, its end included."""

    text: str
    score: float
    log_prob: float


class TextGenerator:
    """Continues text with a trained decoder-only language model.

    >>> continuer = TextGenerator.load("runs/phrasebook-continue-en")  # doctest: +SKIP
    >>> continuer.generate_texts(["I like"])[0][0].text  # doctest: +SKIP
    'I like the green book.'
    """

    def __init__(self, model: Seq2Seq, codec: Codec, settings: DecodingSettings | None = None) -> None:
        self.model = model
        self.codec = codec
        self.settings = settings or DecodingSettings()
        self.device = next(model.parameters()).device

    @classmethod
    def load(cls, run: str | Path, *, device: str = "auto", **decoding: Any) -> "TextGenerator":
        """Load a run; keyword arguments change settings of its `decoding` section. InputError for a run of another kind."""
        opened = open_run(Path(run))
        opened.require("generate")
        settings = parse(DecodingSettings, opened.recipe.decoding.model_dump() | decoding, where="the decoding section")
        return cls(opened.load_model(choose_device(device)), opened.target, settings)

    def generate_texts(self, texts: Sequence[str], *, first: int = 1) -> list[list[Continuation]]:
        """Return the `n_best` continuations of each text, best first; an empty text may become anything. No unknown
        piece is written.

        Lengths in the decoding settings count what is written; the length of the text stands for that of a source. InputError
        names a text longer than the model's positions, counted from `first`.
        """
        encoded = encode_within(self.codec, texts, self.model.target_positions, name="text", first=first)
        results: list[list[Continuation]] = [[] for _ in texts]
        generator = torch.Generator(self.device).manual_seed(self.settings.seed)
        for rows in _of_one_length(encoded):
            for row, found in zip(rows, self._search([encoded[row] for row in rows], generator), strict=True):
                kept = self.codec.split(texts[row])
                results[row] = [
                    Continuation(self.codec.join([*kept, *self.codec.pieces(one.ids)]), one.score, one.log_prob)
                    for one in found
                ]
        return results

    def _search(self, texts: list[list[int]], generator: torch.Generator) -> list[list[Hypothesis]]:
        """Continue texts of one length: all but their last token are read at once, and search goes on from that one."""
        length = len(texts[0])
        with torch.inference_mode():
            begun = torch.tensor([[BOS, *ids] for ids in texts], device=self.device)
            source = map_tensors(lambda tensor: tensor.to(self.device), pad(texts))
            state = self.model.decoder.start(self.model.encoder(source))
            if length > 0:
                _, state = self.model.decoder(begun[:, :-1], state)
            maximum = self.settings.limits(torch.full((len(texts),), length, device=self.device))
            if self.model.target_positions is not None:
                maximum = maximum.clamp(max=self.model.target_positions - length - 1)
            step, begin, rules = step_of(self.model.decoder), begun[:, -1], [forbid([UNK])]
            if self.settings.method == "sample":
                found = sample(
                    step, state, maximum, constraints=rules, generator=generator, begin=begin, settings=self.settings
                )
            else:
                found = beam_search(step, state, maximum, settings=self.settings, constraints=rules, begin=begin)
        return [alternatives[: self.settings.n_best] for alternatives in found.alternatives()]


def _of_one_length(texts: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the places of texts in groups of one length, of `ROWS` at the most.

    >>> _of_one_length([[7], [], [8]])
    [[1], [0, 2]]
    """
    groups: dict[int, list[int]] = {}
    for place, text in enumerate(texts):
        groups.setdefault(len(text), []).append(place)
    return [group[first : first + ROWS] for _, group in sorted(groups.items()) for first in range(0, len(group), ROWS)]
