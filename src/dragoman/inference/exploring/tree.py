"""The beam of one sentence as a tree: every continuation that a step of the search weighed, and what became of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from dragoman.decoding.hypotheses import SearchStep
from dragoman.decoding.settings import SearchSettings
from dragoman.errors import RunError

Fate = Literal["followed", "ended", "pruned"]
"""Whether a hypothesis went on, ended, or was left behind for better ones."""


@dataclass(frozen=True)
class Node:
    """A hypothesis: its last token, and the node that it continues."""

    parent: int
    """Index of the node before it; -1 at the first step."""
    step: int
    """Its place in the translation, from 0."""
    token: int
    log_prob: float
    """Log-probability of its last token."""
    total: float
    """Log-probability of the whole."""
    score: float
    """`total` after length normalisation."""
    fate: Fate
    row: int
    """Its place in the beam; -1 unless it was followed."""


@dataclass(frozen=True)
class Tree:
    """Every node, those of a step after those of the one before, and the best leaf."""

    nodes: tuple[Node, ...]
    best: int

    def path(self, leaf: int) -> list[int]:
        """Return the indices from the first step to a leaf."""
        found = []
        while leaf >= 0:
            found.append(leaf)
            leaf = self.nodes[leaf].parent
        return found[::-1]

    def tokens(self, leaf: int) -> list[int]:
        """Return the tokens of a hypothesis, EOS too if it ended."""
        return [self.nodes[index].token for index in self.path(leaf)]

    def row_before(self, index: int) -> int:
        """Return the place in the beam of what a node continues."""
        parent = self.nodes[index].parent
        return 0 if parent < 0 else self.nodes[parent].row

    def find(self, tokens: Iterable[int]) -> int | None:
        """Return the node at which a hypothesis begins with these tokens, if any step weighed it."""
        here = -1
        for token in tokens:
            after = (index for index, node in enumerate(self.nodes) if node.parent == here and node.token == token)
            found = next(after, None)
            if found is None:
                return None
            here = found
        return here


def grow(steps: Iterable[SearchStep], settings: SearchSettings) -> Tree:
    """Make the tree of a search of one sentence. RunError if the model's probabilities are NaN."""
    nodes: list[Node] = []
    beam: dict[int, int] = {0: -1}
    for number, step in enumerate(steps):
        after: dict[int, int] = {}
        for one in step.weighed().get(0, []):
            parent = beam[one.parent]
            before = nodes[parent].total if parent >= 0 else 0.0
            fate: Fate = "ended" if one.ended else "pruned" if one.place is None else "followed"
            if one.place is not None:
                after[one.place] = len(nodes)
            nodes.append(
                Node(
                    parent,
                    number,
                    one.token,
                    one.log_prob - before,
                    one.log_prob,
                    float(settings.normalise(one.log_prob, number + 1)),
                    fate,
                    -1 if one.place is None else one.place,
                )
            )
        beam = after
    ended = [index for index, node in enumerate(nodes) if node.fate == "ended"]
    if not ended:
        raise RunError("the model produces NaN probabilities; its weights are damaged, use another checkpoint")
    return Tree(tuple(nodes), max(ended, key=lambda index: nodes[index].score))
