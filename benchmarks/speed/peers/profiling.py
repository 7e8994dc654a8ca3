"""Dragoman's training under torch's profiler: what a step's time goes to, by kind of operation."""

from collections import Counter
from typing import Any

from benchmarks.speed.peers.child import serve
from benchmarks.speed.peers.dragoman import Peer
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile

KINDS = {
    "recurrent loop": ("dragoman_native::forward", "dragoman_native::backward"),
    "matrix products": ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::linear", "mkldnn::"),
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
OPTIMISER, OTHER, OUTSIDE = "optimiser", "sums and elementwise", "outside of operations"


class Profiled(Peer):
    """Dragoman as it is measured elsewhere, watched."""

    def profile(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take a step over each batch named, and return the seconds and the number of operations, by kind.

        After the last batch that there is comes the first again.
        """
        many = len(self.listener.stream.batches)
        message = {**message, "batches": [at % many for at in message["batches"]]}
        with profile(activities=[ProfilerActivity.CPU]) as watched:
            answer = self.steps(message)
        seconds: Counter[str] = Counter()
        operations = 0
        for event in watched.events():
            if event.name.startswith(("aten::", "mkldnn::", "dragoman_native::")):
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
