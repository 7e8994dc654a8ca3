"""Compile the model of a training step with torch, or record its loop as CUDA graphs, which a GPU replays without Python.

Not yet measured on a GPU. Tests compare losses and gradients on a CPU.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import nn

from dragoman.errors import SettingsError
from dragoman.interfaces import Batch, Loss, Padded
from dragoman.machine.private_cache import COMPILER_CACHE, CacheError, require_compiler_cache
from dragoman.models.masked_lm import MaskedLanguageModel
from dragoman.models.seq2seq import Seq2Seq
from dragoman.special_ids import SPECIAL_IDS, SpecialIds
from dragoman.training.contracts import Objective, Objectives
from dragoman.training.flops import is_counting

MOST = {"model": 8, "graphs": 64}
"""Maximum number of compiled programs; after that, other shapes run without compilation."""


class Compiled:
    """Compute objectives with a model's `forward` compiled; everything else about the model, including names, is unchanged.

    `model`: the whole model is one program for batches of all shapes; output layer and loss are not compiled. `graphs`: the
    loop of a recurrent decoder is recorded, forward and backward, for each shape that `rounded` leaves. It is recorded by
    torch's compiler with the backend "cudagraphs", for three reasons: the compiler tracks which memory recordings can share
    and when gradients may be overwritten, which `torch.cuda.make_graphed_callables` leaves to its caller; generating kernels
    for an unrolled loop ("reduce-overhead") would take minutes per shape; and everything but the recording itself also runs
    on a CPU, where tests can check it. A decoder's parameters are copied at each call.

    Beyond `most` programs, or if compilation fails, it reports so once and continues without compiling more. Random numbers
    are those of the plain model. Steps whose FLOPs are counted run uncompiled: otherwise torch would stop compiling for
    good.
    """

    def __init__(
        self,
        model: nn.Module,
        way: Literal["model", "graphs"],
        say: Callable[[str], object],
        *,
        backend: str | Callable[..., Any] | None = None,
        most: int | None = None,
    ) -> None:
        """Prepare; compilation starts with the first batch. `backend` is the compiler backend, as torch names it.

        Raises SettingsError if other users could write the code that the compiler would load.
        """
        try:
            require_compiler_cache()
        except (CacheError, OSError) as error:
            raise SettingsError(
                f"`training.compile: {way}` keeps compiled code in a folder that only you can write to, but {error}; "
                f"remove what is there, set {COMPILER_CACHE} to a folder of your own, or set `training.compile: none`"
            ) from None
        whole = model.encoder if isinstance(model, MaskedLanguageModel) else model
        part: Any = model.decoder if way == "graphs" and isinstance(model, Seq2Seq) else whole
        self.part = part
        self.graphs = way == "graphs"
        self.say = say
        self.most = most or MOST[way]
        self.stance = "default"
        chosen = backend or ("cudagraphs" if self.graphs else "inductor")
        options: Any = {"fallback_random": True} if chosen == "inductor" else None
        self.forward = torch.compile(self.part.forward, backend=chosen, dynamic=not self.graphs, options=options)

    def around(self, objectives: Objectives) -> Objectives:
        """Return a factory of the same objectives, computed with the compiled part."""
        return lambda settings: partial(self._loss, objectives(settings))

    def _loss(self, objective: Objective, model: Any, batch: Batch) -> Loss:
        """Compute the loss; if no further program can be compiled, compute it again, uncompiled if necessary."""
        from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException

        if self.stance == "force_eager" or is_counting():
            return objective(model, batch)
        if self.graphs:
            torch.compiler.cudagraph_mark_step_begin()
            batch = rounded(batch, model.special)
        try:
            with self._in_use():
                return objective(model, batch)
        except FailOnRecompileLimitHit:
            self.stance = "eager_on_recompile"
            self.say(
                f"{self.most} programs were compiled, and there are more shapes; those run without compilation, more slowly."
            )
        except TorchDynamoException as error:
            self.stance = "force_eager"
            reason = str(getattr(error, "inner_exception", error)).strip().split("\n")[0]
            self.say(
                f"The model could not be compiled ({reason[:200]}); training continues without compilation, more slowly."
            )
        return self._loss(objective, model, batch)

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Replace the part by its compiled version, with compiler settings that apply here only."""
        from torch._dynamo import config

        limits: dict[str, Any] = {
            "recompile_limit": self.most,
            "accumulated_recompile_limit": 4 * self.most,
            "fail_on_recompile_limit_hit": self.stance == "default",
            "allow_rnn": True,
        }
        self.part.forward = self.forward
        try:
            with (
                config.patch(limits),
                torch.compiler.set_stance(self.stance),
            ):
                yield
        finally:
            del self.part.forward


def round_up(size: int) -> int:
    """Round up to one of four sizes between each power of two and the next.

    >>> [round_up(size) for size in (3, 8, 9, 17, 100)]
    [3, 8, 10, 20, 112]
    """
    step = 1 << max(size.bit_length() - 3, 0)
    return -(-size // step) * step


def rounded(batch: Batch, special: SpecialIds = SPECIAL_IDS) -> Batch:
    """Pad a batch so that few shapes remain, on its device and without synchronising.

    An added row has the source </s> and a target of padding only, which has no loss. Alignment links are dropped.
    """
    rows, length = batch.inputs.shape
    source, target = (
        _padded(side, round_up(rows), round_up(side.ids.shape[1] - extra) + extra, padding=special.pad)
        for side, extra in ((batch.source, 0), (batch.target, 1))
    )
    source.ids[rows:, 0] = special.eos
    source.mask[rows:, 0] = True
    label_positions = batch.label_positions
    wider = target.ids.shape[1] - 1
    return Batch(source, target, cached_label_positions=label_positions // length * wider + label_positions % length)


def _padded(side: Padded, rows: int, length: int, *, padding: int) -> Padded:
    """Return a copy padded to this number of rows and this length."""
    more = (0, length - side.ids.shape[1], 0, rows - side.ids.shape[0])
    ids, mask = F.pad(side.ids, more, value=padding), F.pad(side.mask, more, value=False)
    return replace(side, ids=ids.clone(), mask=mask.clone())
