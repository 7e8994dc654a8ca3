"""What search returns."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Hypothesis:
    """One translation: target ids without BOS and EOS, the model's log-probability of them with EOS, and the score."""

    ids: list[int]
    log_prob: float
    score: float
    token_log_probs: tuple[float, ...] = ()
    """The log-probability of each of the ids, that of EOS last; their sum is `log_prob`."""
    token_entropies: tuple[float, ...] = ()
    """Where a given translation was scored: the entropy of the models' distributions at each token, averaged, in nats."""

    @property
    def per_token(self) -> float:
        """The log-probability divided by the number of tokens, EOS included."""
        return self.log_prob / (len(self.ids) + 1)


@dataclass(frozen=True)
class Hypotheses:
    """For each sentence its n best translations, best first.

    `log_prob` is the model's own natural log-probability of the ids and EOS; `score`, by which they are ranked, is that
    after length normalisation (and penalties, where reranked).

    >>> found = Hypotheses([[Hypothesis([7, 8], -1.0, -0.5), Hypothesis([7], -1.5, -1.5)]])
    >>> found.best()[0].ids, found.log_prob
    ([7, 8], [[-1.0, -1.5]])
    """

    sentences: list[list[Hypothesis]]

    def __len__(self) -> int:
        """Count the sentences."""
        return len(self.sentences)

    @property
    def ids(self) -> list[list[list[int]]]:
        """The target ids of all translations."""
        return [[one.ids for one in found] for found in self.sentences]

    @property
    def log_prob(self) -> list[list[float]]:
        """The log-probabilities of all translations."""
        return [[one.log_prob for one in found] for found in self.sentences]

    @property
    def score(self) -> list[list[float]]:
        """The scores of all translations."""
        return [[one.score for one in found] for found in self.sentences]

    def best(self) -> list[Hypothesis]:
        """Return the best translation of each sentence."""
        return [found[0] for found in self.sentences]

    def alternatives(self) -> list[list[Hypothesis]]:
        """Return all translations of each sentence, best first."""
        return self.sentences


@dataclass(frozen=True)
class Candidate:
    """A continuation by one token that a step of search weighed."""

    parent: int
    """The place in the beam of the hypothesis that it continues."""
    token: int
    log_prob: float
    """The log-probability of the whole hypothesis, with this token."""
    place: int | None = None
    """Its place in the next beam; None if it was not followed."""
    ended: bool = False
    """Whether it ended here, among the best of the beam."""


@dataclass(frozen=True)
class SearchStep:
    """The result of one step of search or sampling. Sentences are identified by their indices in the batch."""

    completed: Mapping[int, list[Hypothesis]]
    """The sentences that this step completed, with all their finished hypotheses."""
    open_hypotheses: Callable[[], dict[int, list[Hypothesis]]]
    """Returns the unfinished hypotheses, most probable first; their score is their log-probability."""
    weighed: Callable[[], dict[int, list[Candidate]]] = dict
    """Returns the continuations among which this step chose, best first; none where it samples."""


@runtime_checkable
class Watch(Protocol):
    """Somebody who watches a search, and may give up sentences. Sentences are identified by their indices in what was given."""

    def abandoned(self) -> Collection[int]:
        """Return the sentences that nobody waits for any more, asked before each step; they end without a translation."""
        ...

    def see(self, step: SearchStep) -> None:
        """Look at the result of a step."""
        ...


@dataclass(frozen=True)
class Unwatched:
    """A search that nobody watches."""

    def abandoned(self) -> Collection[int]:
        """Give up nothing."""
        return ()

    def see(self, step: SearchStep) -> None:
        """Look away."""


@dataclass(frozen=True)
class WatchedPart:
    """The watch over a batch: some of the sentences that somebody watches."""

    watch: Watch
    sentences: tuple[int, ...]
    """The index of each sentence of the batch among all."""

    def abandoned(self) -> Collection[int]:
        """Return the sentences of the batch that nobody waits for."""
        gone = self.watch.abandoned()
        return [row for row, sentence in enumerate(self.sentences) if sentence in gone] if gone else ()

    def see(self, step: SearchStep) -> None:
        """Show a step of the batch as one of all sentences."""
        self.watch.see(SearchStep(self._among_all(step.completed), lambda: self._among_all(step.open_hypotheses())))

    def _among_all(self, found: Mapping[int, list[Hypothesis]]) -> dict[int, list[Hypothesis]]:
        """Return what was found by the indices of the sentences among all."""
        return {self.sentences[row]: some for row, some in found.items()}


def different(found: Iterable[Hypothesis], text: Callable[[list[int]], str], count: int) -> list[Hypothesis]:
    """Return the first `count` hypotheses of different texts, which `text` makes of ids; of equal ones, the first stays.

    >>> found = [Hypothesis(ids, -1.0, -1.0) for ids in ([7, 8], [78], [9])]
    >>> [one.ids for one in different(found, lambda ids: "".join(map(str, ids)), 2)]
    [[7, 8], [9]]
    """
    if count == 1:
        return [*found][:1]
    first: dict[str, Hypothesis] = {}
    for one in found:
        first.setdefault(text(one.ids), one)
    return [*first.values()][:count]


def ranked(sentences: list[list[Hypothesis]], count: int) -> Hypotheses:
    """Keep the `count` best of each sentence, best first; equal scores keep their order."""
    return Hypotheses([sorted(found, key=lambda one: -one.score)[:count] for found in sentences])
