"""Weights between those of a run and of its adaptation, so that general text is not forgotten."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from dragoman.data.corpus import Pair
from dragoman.inference.translator import Translator
from dragoman.jobs.mixing import FOLDER, Mixture, written_pairs
from dragoman.machine.devices import choose_device
from dragoman.models.seq2seq import Seq2Seq
from dragoman.runs.folder import Run, open_run
from dragoman.runs.lock import run_lock
from dragoman.training.checkpoint import own_tensors

FORGOTTEN = 0.02
"""Nats per token by which the loss on general dev sentences may grow: their perplexity grows by at most 2%."""
PARTS = 10
"""The share that is kept is a whole number of these parts."""
SHARE = "share"
"""Where the file of weights says which share was kept."""


def interpolate(folder: Path, *, say: Callable[[str], None]) -> None:
    """Keep only as much of what adaptation changed in the run `folder` as general text bears, and say how much.

    The weights become base + share (adapted - base) with the largest share, found by bisection, at which the loss on general dev
    sentences exceeds that of the base by at most FORGOTTEN; one part of PARTS is kept in any case, or nothing would be learned.
    Does nothing to weights that it has chosen, or without general dev.
    Source: Wortsman et al. 2022 (Robust fine-tuning of zero-shot models, section 3), who choose the share on the domain's dev
    set or take one half. Of low-rank adapters, `up` is multiplied, which gives the same weights.
    """
    with run_lock(folder):
        run = open_run(folder)
        mixture = Mixture.load(folder / FOLDER)
        pairs = [] if mixture is None else written_pairs(run, mixture, "general-dev")
        tensors, about = run.files.load(run.weights)
        if not pairs or SHARE in about:
            return
        between = _Between.of(run, pairs)
        before, full = between.loss(0), between.loss(PARTS)
        kept, excess = (PARTS, PARTS) if full <= before + FORGOTTEN else (0, PARTS)
        while excess - kept > 1:
            middle = (kept + excess) // 2
            kept, excess = (middle, excess) if between.loss(middle) <= before + FORGOTTEN else (kept, middle)
        kept = max(kept, 1)
        share = kept / PARTS
        if share < 1:
            now = between.loss(kept)
            why = "so that general text is not forgotten" if now <= before + FORGOTTEN else "the least share there is"
            say(
                f"Of what training changed, {share:.0%} is kept, {why}: the dev loss of general text was {before:.3f} before "
                f"and {full:.3f} after training, and is {now:.3f} now (--mix 0 keeps all)."
            )
            adapters = getattr(run.recipe.model, "adapters", None) is not None
            tensors = _scaled(tensors, share) if adapters else between.weights(share)
        run.files.save(run.weights, tensors, {**about, SHARE: share})


@dataclass(frozen=True)
class _Between:
    """A model whose weights lie between those of a base and of its adaptation, and general pairs to measure it on."""

    model: Seq2Seq
    base: dict[str, Tensor]
    adapted: dict[str, Tensor]
    translator: Translator
    pairs: list[Pair]

    @classmethod
    def of(cls, run: Run, pairs: list[Pair]) -> "_Between":
        """Load both models."""
        device = choose_device(run.recipe.training.device)
        model = run.load_model(device)
        adapted = {name: tensor.clone() for name, tensor in own_tensors(model).items()}
        base = own_tensors(run.base().load_model(device))
        translator = Translator([model], run.source, run.target, languages=run.directions, dictionary=run.dictionary)
        return cls(model, base, adapted, translator=translator, pairs=pairs)

    def weights(self, share: float) -> dict[str, Tensor]:
        """Return the weights at a share of the way from the base to the adaptation."""
        return {
            name: torch.lerp(self.base[name], tensor, share) if tensor.is_floating_point() else tensor
            for name, tensor in self.adapted.items()
        }

    @torch.no_grad()
    def loss(self, parts: int) -> float:
        """Return the loss per token of the general pairs at a share of so many parts."""
        for name, tensor in self.weights(parts / PARTS).items():
            own_tensors(self.model)[name].copy_(tensor)
        scored = self.translator.score(
            [pair.source for pair in self.pairs],
            [pair.target for pair in self.pairs],
            to=[pair.between for pair in self.pairs],
        )
        return -sum(total for total, _ in scored) / sum(tokens for _, tokens in scored)


def _scaled(tensors: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """Return the tensors of low-rank adapters with a share of their correction."""
    return {name: tensor * share if name.startswith("up.") else tensor for name, tensor in tensors.items()}
