"""Dragoman under torch's profiler, training or translating: what its time goes to, by kind of operation."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from benchmarks.speed.peers import dragoman, dragoman_translating
from benchmarks.speed.peers.child import serve
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile

KINDS = {
    "recurrent loop": ("dragoman_native::forward", "dragoman_native::backward"),
    "matrix products": (
        "aten::mm",
        "aten::addmm",
        "aten::bmm",
        "aten::baddbmm",
        "aten::linear",
        "mkldnn::",
        "dragoman_decoding::multiply",
    ),
    "attention": ("aten::_scaled_dot_product",),
    "random numbers": ("aten::bernoulli", "aten::random_", "aten::rand", "aten::native_dropout"),
    "softmax and loss": (
        "aten::_softmax",
        "aten::_log_softmax",
        "aten::nll",
        "aten::logsumexp",
        "aten::exp",
        "aten::log",
        "dragoman_native::cross_entropy",
        "dragoman_decoding::likeliest",
    ),
    "normalisation": ("aten::native_layer_norm",),
    "copies and casts": (
        "aten::copy_",
        "aten::cat",
        "aten::index",
        "aten::gather",
        "aten::scatter",
        "aten::embedding",
        "aten::fill_",
        "aten::zero_",
        "aten::_index_put_impl_",
    ),
}
"""From a kind to what the names of its operations begin with."""
COUNTED = ("aten::", "mkldnn::", "dragoman_")
"""What the names of operations begin with that are counted."""
OPTIMISER, OTHER, OUTSIDE = "optimiser", "sums and elementwise", "outside of operations"


class Profiled:
    """Dragoman as it is measured elsewhere, watched: a trainer, or a translator where it is given batches of `sentences`."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Load what is to be watched."""
        if "sentences" in message:
            self.batches, self.translator = message["sentences"], dragoman_translating.Peer()
            self.work = self._translate
            return self.translator.load(message)
        self.trainer = dragoman.Peer()
        answer = self.trainer.load(message)
        trainer = self.trainer.listener.trainer
        if trainer.replicas is not None:  # the profiler does not see what their threads compute
            trainer.replicas.close()
            trainer.replicas = None
        self.batches, self.work = self.trainer.listener.stream.batches, self._train
        return answer

    def profile(self, message: dict[str, Any]) -> dict[str, Any]:
        """Work on each batch named, and return the seconds and the number of operations, by kind.

        After the last batch that there is comes the first again.
        """
        return watched(lambda: self.work([at % len(self.batches) for at in message["batches"]]))

    def _train(self, batches: list[int]) -> dict[str, Any]:
        """Take a step with each batch."""
        return self.trainer.steps({"batches": batches})

    def _translate(self, batches: list[int]) -> dict[str, Any]:
        """Translate each batch with a beam of 5."""
        sentences = [sentence for at in batches for sentence in self.batches[at]]
        given = {"sentences": sentences, "batch": len(self.batches[0]), "beam": 5}
        return {"seconds": sum(self.translator.translate(given)["seconds"])}


def watched(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do some work, and add to the seconds that it says how many went to each kind of operation, and how many operations."""
    with profile(activities=[ProfilerActivity.CPU]) as watching:
        answer = work()
    seconds: Counter[str] = Counter()
    operations = 0
    for event in watching.events():
        if event.name.startswith(COUNTED):
            seconds[kind_of(event)] += event.self_cpu_time_total / 1e6
            operations += event.cpu_parent is None or "::" not in event.cpu_parent.name
    seconds[OUTSIDE] = max(answer["seconds"] - seconds.total(), 0.0)
    return {**answer, "kinds": dict(seconds), "operations": operations}


def kind_of(event: FunctionEvent) -> str:
    """Return the kind of an operation; whatever the optimiser does is its own."""
    above: FunctionEvent | None = event
    while above is not None:
        if above.name.startswith("Optimizer."):
            return OPTIMISER
        above = above.cpu_parent
    return next((kind for kind, beginnings in KINDS.items() if event.name.startswith(beginnings)), OTHER)


if __name__ == "__main__":
    serve(Profiled())
