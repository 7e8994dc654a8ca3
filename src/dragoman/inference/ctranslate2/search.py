"""Search with CTranslate2 that gives the same results as Dragoman's own.

CTranslate2 follows the same beams, but ends a search after a number of hypotheses rather than when nothing better is
possible, normalises scores by length differently, and truncates at the maximum length without </s>. So it is asked for raw
log-probabilities of finished hypotheses and of those still open after a number of steps. If these prove that Dragoman's
search would have returned the same, they are ranked by Dragoman's score; if not, the sentence is searched again with more
steps. Hypotheses truncated at the maximum length get </s> by forced scoring.

Deviations, only in which hypotheses share a beam, never in a score: <pad>, <s>, language tags, and </s> before
`minimum_length`, are excluded only if they would occur, and the rest is then renormalised during search; at the maximum length
the `beam` best continue, fewer if some of these end.
"""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.decoding.hypotheses import Hypothesis
from dragoman.decoding.settings import DecodingSettings
from dragoman.inference.batching import batches
from dragoman.machine.cores import usable_cores
from dragoman.special_ids import SPECIAL_IDS, SpecialIds
from dragoman.text.codec import Codec

BATCH_TOKENS = 2048
"""Source tokens of a batch, padding included."""
RAW = 1e-9
"""Length exponent that leaves scores unchanged; 0 would let CTranslate2 end a search early."""


@dataclass(frozen=True)
class Task:
    """One sentence to be searched."""

    row: int
    pieces: list[str]
    limit: int
    """Maximum number of tokens of its translation, before </s>."""
    steps: int
    """Steps to take, at most `limit`; fewer if others in the batch take fewer."""
    complete: bool
    """Take all these steps and collect everything that ended, rather than stop when the beam is full."""
    strict: bool = False
    """Exclude tokens that may not occur, rather than check whether they did."""
    again: bool = False
    """Whether it was searched before; then all these steps are taken."""


@dataclass(frozen=True)
class Candidate:
    """One hypothesis from CTranslate2, without </s>; `log_prob` includes </s> if it has `ended`."""

    ids: list[int]
    log_prob: float
    ended: bool


class Engine:
    """A model that CTranslate2 has loaded, and the vocabularies of its input and output."""

    def __init__(
        self, folder: Path, source: Codec, target: Codec, *, positions: int, threads: int | None = None
    ) -> None:
        """Load the model in `folder`; `positions` limits the tokens of a sentence, `threads` are those per product."""
        import ctranslate2

        self.source = source
        self.positions = positions
        self.special = target.special
        self._names = list(target.tokenizer.vocabulary)
        self._ids = {piece: index for index, piece in enumerate(self._names)}
        self._model = ctranslate2.Translator(str(folder), device="cpu", intra_threads=threads or _threads())

    def search(self, sources: Sequence[Sequence[int]], settings: DecodingSettings) -> list[list[Hypothesis]]:
        """Return the `n_best` translations of each sentence of ids, best first, for settings without an `obstacle`."""
        todo = [self._task(row, ids, settings) for row, ids in enumerate(sources)]
        results: dict[int, list[Hypothesis]] = {}
        while todo:
            again: list[Task] = []
            for batch in batches_of(todo):
                steps = (max if settings.size == 1 else min)(task.steps for task in batch)
                for task, found in zip(batch, self._decode(batch, steps, settings), strict=True):
                    outcome = self._judge(replace(task, steps=steps), found, settings)
                    if isinstance(outcome, Task):
                        again.append(outcome)
                    else:
                        results[task.row] = outcome
            todo = again
        return [results[row] for row in range(len(sources))]

    def score(self, pairs: Sequence[tuple[Sequence[str], Sequence[int]]]) -> list[list[float]]:
        """Return the log-probability of each token of given translations, that of </s> last; sources are tokens."""
        sources, targets = [list(source) for source, _ in pairs], [[self._names[i] for i in ids] for _, ids in pairs]
        sizes: dict[str, Any] = {"max_batch_size": BATCH_TOKENS, "batch_type": "tokens", "max_input_length": 0}
        return [list(one.log_probs) for one in self._model.score_batch(sources, targets, **sizes)] if pairs else []

    def _task(self, row: int, ids: Sequence[int], settings: DecodingSettings) -> Task:
        """Return the first task of a sentence: exact search checks after some steps whether it is done."""
        limit = min(settings.limit(len(ids)), self.positions - 1)
        exact = settings.size > 1 and settings.stopping == "exact"
        steps = min(limit, len(ids) + len(ids) // 4 + 8) if exact else limit
        return Task(row, self.source.pieces(ids), limit, steps, exact, strict=settings.no_repeat_ngram > 0)

    def _decode(self, batch: Sequence[Task], steps: int, settings: DecodingSettings) -> list[list[Candidate]]:
        """Take at most `steps` steps of search; return finished and unfinished hypotheses, most probable first."""
        patience = steps + 2 if batch[0].complete else 1
        rules: dict[str, Any] = {"min_decoding_length": 0}
        if batch[0].strict:
            rules = {
                "min_decoding_length": min(settings.minimum_length, steps),
                "no_repeat_ngram_size": settings.no_repeat_ngram,
            }
            rules["suppress_sequences"] = [[self._names[token]] for token in self.special.unwritten]
        results = self._model.translate_batch(
            [task.pieces for task in batch],
            beam_size=settings.size,
            patience=patience,
            num_hypotheses=settings.size * patience,
            length_penalty=RAW,
            max_decoding_length=steps,
            max_input_length=0,
            return_scores=True,
            return_end_token=True,
            **rules,
        )
        return [self._read(result) for result in results]

    def _read(self, result: Any) -> list[Candidate]:
        """Turn tokens into ids."""
        found = []
        for pieces, log_prob in zip(result.hypotheses, result.scores, strict=True):
            ids = [self._ids[piece] for piece in pieces]
            ended = ids[-1:] == [self.special.eos]
            found.append(Candidate(ids[:-1] if ended else ids, float(log_prob), ended))
        return found

    def _judge(self, task: Task, found: list[Candidate], settings: DecodingSettings) -> list[Hypothesis] | Task:
        """Return the translations of a sentence, or a task to search it again."""
        if not task.strict and any(forbidden(one, settings, self.special) for one in found):
            return replace(task, steps=task.limit, complete=settings.size > 1, strict=True, again=True)
        if settings.size == 1:
            return self._greedy(task, found[0], settings)
        ended, still_open = [one for one in found if one.ended], [one for one in found if not one.ended]
        if settings.stopping == "full" and len(ended) >= settings.size:
            ended, still_open = first_to_fill(ended, settings.size), []
            unseen = -math.inf if task.complete else min(one.log_prob for one in ended)
            longest = max(len(one.ids) for one in ended)
        else:
            unseen, longest = best_open(found, task.steps), task.limit
        enough = nth_best(ended, settings)
        if enough >= settings.normalise(unseen, longest + 1) and len(ended) >= settings.n_best:
            return self._ranked(task, ended, settings)
        if task.steps < task.limit or not task.complete:
            more = longest + 1 if longest < task.limit else max(2 * task.steps, 1)
            return replace(task, steps=min(more, task.limit), complete=True, again=True)
        possible = [one for one in still_open if settings.normalise(one.log_prob, task.limit + 1) > enough]
        return self._ranked(task, [*ended, *self._closed(task, possible)], settings)

    def _greedy(self, task: Task, one: Candidate, settings: DecodingSettings) -> list[Hypothesis]:
        """Return the translation of greedy search, whose path does not depend on the maximum length."""
        fits = one.ended and len(one.ids) <= task.limit
        kept = [one] if fits else self._closed(task, [replace(one, ids=one.ids[: task.limit])])
        return self._ranked(task, kept, settings)

    def _closed(self, task: Task, found: Sequence[Candidate]) -> list[Candidate]:
        """Return hypotheses with </s> at their end and the model's own log-probability."""
        scores = self.score([(task.pieces, one.ids) for one in found])
        return [Candidate(one.ids, sum(tokens), True) for one, tokens in zip(found, scores, strict=True)]

    def _ranked(self, task: Task, found: Sequence[Candidate], settings: DecodingSettings) -> list[Hypothesis]:
        """Return the `n_best` by Dragoman's score; hypotheses renormalised during search are rescored."""
        own = self._closed(task, found) if task.strict else found
        scored = [Hypothesis(one.ids, one.log_prob, score_of(one, settings)) for one in own]
        return sorted(scored, key=lambda one: -one.score)[: settings.n_best]


def obstacle(settings: DecodingSettings) -> str | None:
    """Return what CTranslate2 does not support with the same meaning, the name of a setting in backticks, or None."""
    if settings.method == "sample":
        return "`decoding.method: sample`"
    if settings.mbr_samples:
        return "`decoding.mbr_samples`"
    if settings.reranks:
        return "`decoding.rerank`"
    if settings.glossary:
        return "`decoding.glossary`"
    if settings.shortlist:
        return "`decoding.shortlist`"
    if settings.coverage_penalty > 0:
        return "`decoding.coverage_penalty`"
    if settings.no_repeat_ngram > 0 and settings.size > 1:
        return "`decoding.no_repeat_ngram` with a beam"
    return None


def batches_of(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    """Group tasks into batches of similar length; repeated searches are grouped by their number of steps."""
    groups: dict[tuple[Any, ...], list[Task]] = {}
    for task in tasks:
        groups.setdefault((task.strict, task.complete, task.steps if task.again else 0), []).append(task)
    for group in groups.values():
        for rows in batches([len(task.pieces) + 1 for task in group], BATCH_TOKENS):
            yield [group[row] for row in rows]


def forbidden(found: Candidate, settings: DecodingSettings, special: SpecialIds = SPECIAL_IDS) -> bool:
    """Tell whether a hypothesis contains something that Dragoman's search would have excluded."""
    return any(token in found.ids for token in special.unwritten) or (
        found.ended and len(found.ids) < settings.minimum_length
    )


def score_of(found: Candidate, settings: DecodingSettings) -> float:
    """Return the score by which Dragoman ranks a hypothesis."""
    return float(settings.normalise(found.log_prob, len(found.ids) + 1))


def nth_best(found: Sequence[Candidate], settings: DecodingSettings) -> float:
    """Return the score of the last of the `n_best`; minus infinity if there are fewer."""
    scores = sorted((score_of(one, settings) for one in found), reverse=True)
    return scores[settings.n_best - 1] if len(scores) >= settings.n_best else -math.inf


def first_to_fill(ended: Sequence[Candidate], size: int) -> list[Candidate]:
    """Return the hypotheses that had ended when their number first reached `size`."""
    lengths = sorted(len(one.ids) for one in ended)
    return [one for one in ended if len(one.ids) <= lengths[size - 1]]


def best_open(found: Sequence[Candidate], steps: int) -> float:
    """Return a bound on the log-probability of hypotheses still open after `steps` steps.

    That is the best that was open; where all of the best candidates ended in the last step, what continued is below them.
    """
    still_open = [one.log_prob for one in found if not one.ended]
    last = [one.log_prob for one in found if one.ended and len(one.ids) == steps - 1]
    return max(still_open) if still_open else min(last, default=math.inf)


def _threads() -> int:
    """Return the number of threads: from the environment, or all cores."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdigit() and int(given) else usable_cores()
