"""What search returns."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One translation: target ids without BOS and EOS, the model's log-probability of them with EOS, and the score."""

    ids: list[int]
    log_prob: float
    score: float


@dataclass(frozen=True)
class Hypotheses:
    """For each sentence its n best translations, best first, as three lists of the same form.

    `log_prob` is the model's own natural log-probability of the ids and EOS; `score`, by which they are ranked, is that
    after length normalisation (and penalties, where reranked).

    >>> found = Hypotheses(ids=[[[7, 8], [7]]], log_prob=[[-1.0, -1.5]], score=[[-0.5, -1.5]])
    >>> found.best()
    [Hypothesis(ids=[7, 8], log_prob=-1.0, score=-0.5)]
    """

    ids: list[list[list[int]]]
    log_prob: list[list[float]]
    score: list[list[float]]

    def __len__(self) -> int:
        """Count the sentences."""
        return len(self.ids)

    def best(self) -> list[Hypothesis]:
        """Return the best translation of each sentence."""
        return [alternatives[0] for alternatives in self.alternatives()]

    def alternatives(self) -> list[list[Hypothesis]]:
        """Return all translations of each sentence, best first."""
        return [
            [Hypothesis(*one) for one in zip(*sentence, strict=True)]
            for sentence in zip(self.ids, self.log_prob, self.score, strict=True)
        ]


def ranked(sentences: list[list[Hypothesis]], count: int) -> Hypotheses:
    """Keep the `count` best of each sentence, best first; equal scores keep their order."""
    best = [sorted(found, key=lambda one: -one.score)[:count] for found in sentences]
    return Hypotheses(
        ids=[[one.ids for one in found] for found in best],
        log_prob=[[one.log_prob for one in found] for found in best],
        score=[[one.score for one in found] for found in best],
    )
