"""Random shapes for the C++ parts, under sanitizers of addresses and undefined behaviour: `python -m tests.fuzz kernels`.

The first line that reads or writes beyond its memory, or does what C++ does not define, ends the process with a report. What is
computed is compared with torch or Python. A case is a number, from which its shapes are drawn.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dragoman.data.sampling import segment_words
from dragoman.layers.cross_entropy import linear_cross_entropy
from dragoman.native.compilation import DECODING, LOSS, RECURRENCE, SEGMENTATION, prepare
from dragoman.native.decoding import in_panels, likeliest, multiplier
from dragoman.native.recurrence import AttentionInputs, CellWeights, LayerWeights, run_fused
from dragoman.text.pieces import SPACE
from dragoman.text.sampling import BpeDropout
from dragoman.text.vocabulary import Vocabulary

SANITIZERS = "-g1 -fno-omit-frame-pointer -fsanitize=address,undefined,float-divide-by-zero -fno-sanitize-recover=all"
SIZES = (1, 1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33)
LARGE = (*SIZES, 63, 64, 65, 127, 128, 129, 200)
ODD = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e30, -1e30, 1e-40)
"""Numbers that are put among the others now and then, where what comes out is not compared."""


def environment(place: Path) -> dict[str, str]:
    """Return the variables of a process whose C++ parts are compiled with sanitizers, into a folder of their own."""
    compiler = os.environ.get("CXX") or "g++"
    library = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o700)
    return os.environ | {
        "CXX": f"{compiler} {SANITIZERS}",
        "XDG_CACHE_HOME": str(place.resolve()),
        "LD_PRELOAD": library.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "OMP_NUM_THREADS": "2",
    }


def numbers(rng: random.Random, *shape: int, dtype: torch.dtype = torch.float32, odd: bool = False) -> Tensor:
    """Return random numbers, with odd ones among them if asked for."""
    made = torch.randn(shape, generator=torch.Generator().manual_seed(rng.getrandbits(32)), dtype=torch.float64)
    made = made.to(dtype) * rng.choice((0.1, 1.0, 5.0))
    if odd and made.numel():
        for _ in range(rng.randrange(1, 4)):
            made.view(-1)[rng.randrange(made.numel())] = rng.choice(ODD)
    return made


def spread(rng: random.Random, tensor: Tensor) -> Tensor:
    """Return a tensor as it is, or laid out otherwise in memory."""
    if tensor.dim() < 2 or rng.random() < 0.7:
        return tensor
    return tensor.transpose(0, 1).contiguous().transpose(0, 1)


def products(rng: random.Random) -> None:
    """Multiply a few rows with a packed weight."""
    rows, width, outputs = rng.choice((0, *SIZES)), rng.choice(LARGE), rng.choice(LARGE)
    kind, odd = rng.choice((torch.float32, torch.bfloat16)), rng.random() < 0.3
    inputs, weight = spread(rng, numbers(rng, rows, width, odd=odd)), numbers(rng, outputs, width)
    bias = rng.choice((None, numbers(rng, outputs)))
    found = multiplier(in_panels(weight.to(kind)), outputs)(inputs, bias)
    if not odd:
        read = inputs.to(kind).float(), weight.to(kind).float()
        added = torch.zeros(outputs) if bias is None else bias
        largest = functional.linear(
            read[0].abs(), read[1].abs(), added.abs()
        )  # a sum may be much smaller than its terms
        rounding = (width + 1) * torch.finfo(torch.float32).eps + torch.finfo(kind).eps
        torch.testing.assert_close(
            found / (largest + 1e-9), functional.linear(*read, bias) / (largest + 1e-9), atol=rounding, rtol=0.0
        )


def tokens(rng: random.Random) -> None:
    """Find the likeliest tokens."""
    rows, vocabulary, odd = rng.choice((0, *SIZES)), rng.choice((*LARGE, 1000, 4097)), rng.random() < 0.4
    count = rng.choice((1, vocabulary, rng.randrange(1, vocabulary + 1), min(vocabulary, 12)))
    logits = spread(rng, numbers(rng, rows, vocabulary, odd=odd))
    if rng.random() < 0.3:
        logits = logits.masked_fill(torch.rand(logits.shape) < 0.9, -torch.inf)
    log_probs, ids = likeliest(logits, count)
    assert ids.numel() == 0 or 0 <= int(ids.min()) <= int(ids.max()) < vocabulary
    sure = logits.isfinite().all(-1)
    torch.testing.assert_close(log_probs[sure], logits[sure].log_softmax(-1).topk(count).values, atol=1e-4, rtol=1e-5)


def losses(rng: random.Random) -> None:
    """Compute a loss and its gradients; under autocast in bfloat16 now and then."""
    count, width, vocabulary = rng.choice((1, 2, 30, 1023, 1025)), rng.choice(SIZES), rng.choice(LARGE)
    kind, low, odd = rng.choice((torch.float32, torch.float64)), rng.random() < 0.3, rng.random() < 0.2
    features = numbers(rng, count, width, dtype=kind, odd=odd).requires_grad_(rng.random() < 0.9)
    weight = numbers(rng, vocabulary, width, dtype=kind).requires_grad_()
    bias = numbers(rng, vocabulary, dtype=kind).requires_grad_() if rng.random() < 0.5 else None
    labels = torch.tensor([rng.randrange(vocabulary) for _ in range(count)])
    smoothing = rng.choice((0.0, 0.1, 0.9))
    low = low and kind == torch.float32
    with torch.autocast("cpu", torch.bfloat16, enabled=low):
        total, _ = linear_cross_entropy(features, weight, bias, labels=labels, smoothing=smoothing, native=True)
    total.backward()
    if not odd and not low:
        logits = functional.linear(features, weight, bias)
        wanted = functional.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
        torch.testing.assert_close(total, wanted, rtol=1e-3, atol=1e-3 * count)


def loops(rng: random.Random) -> None:
    """Run a recurrent loop forwards and backwards, with everything that it can have."""
    time_, rows, width, lstm = rng.choice(SIZES), rng.choice(SIZES), rng.choice(SIZES), rng.random() < 0.5
    hidden, layers, dtype = rng.choice(SIZES), rng.choice((1, 1, 2, 3)), rng.choice((torch.float32, torch.float64))
    low = rng.random() < 0.03
    if low:
        time_, rows, hidden, layers, dtype = 2, 128, rng.choice((128, 130)), 1, torch.float32
    projected = lstm and layers == 1 and rng.random() < 0.3
    size = rng.choice(SIZES) if projected else hidden
    draw: Callable[..., Tensor] = lambda *shape: numbers(rng, *shape, dtype=dtype).requires_grad_()  # noqa: E731
    source, entering = _source(rng, (time_, rows, size), draw) if rng.random() < 0.7 else (None, 0)
    gates = (4 if lstm else 3) * hidden
    cells = [
        CellWeights(draw(gates, width + entering if layer == 0 else size), draw(gates), draw(gates, size), draw(gates))
        for layer in range(layers)
    ]
    keep = numbers(rng, layers - 1, time_, rows, hidden, dtype=dtype) if layers > 1 and rng.random() < 0.5 else None
    given = LayerWeights(tuple(cells), keep, draw(size, hidden) if projected else None)
    first = (draw(layers, rows, size), *((draw(layers, rows, hidden),) if lstm else ()))
    lengths = torch.tensor([rng.randrange(time_ + 1) for _ in range(rows)])
    alive = torch.arange(time_)[:, None] < lengths if source is None and rng.random() < 0.5 else None
    inputs = spread(rng, draw(time_, rows, width).detach()).requires_grad_(rng.random() < 0.9)
    with torch.autocast("cpu", torch.bfloat16, enabled=low):
        found = run_fused(
            inputs, first, given, source=source, alive=alive, reverse=source is None and rng.random() < 0.3
        )
    parts: Sequence[Tensor] = [found.states, *found.last, found.contexts, found.weights, found.fed]
    used = [part for part in parts if part.numel() and part.requires_grad and rng.random() < 0.7]
    if used:
        torch.stack([part.double().square().sum() for part in used]).sum().backward()


def _source(
    rng: random.Random, shape: tuple[int, int, int], draw: Callable[..., Tensor]
) -> tuple[AttentionInputs, int]:
    """Return a source to attend to, and the size of what enters the first layer besides the inputs."""
    time_, rows, size = shape
    length, values, dim = rng.choice(SIZES), rng.choice(SIZES), rng.choice(SIZES)
    additive, after = rng.random() < 0.5, rng.random() < 0.4
    keyed = rng.choice(SIZES) if additive or rng.random() < 0.5 else size
    real = torch.arange(length) < torch.tensor([[rng.randrange(1, length + 1)] for _ in range(rows)])
    parts: dict[str, Any] = {"squashed": rng.random() < 0.3, "scale": rng.choice((1.0, 0.3))}
    if additive or keyed != size or parts["squashed"]:
        parts["query"] = draw(keyed, size)
    if additive:
        parts["energy"] = draw(keyed)
    if after:
        parts |= {"combine": draw(dim, values + size), "fed": draw(rows, dim)}
    elif rng.random() < 0.3:
        parts["keep"] = draw(time_, rows, values).detach()
    return AttentionInputs(
        draw(rows, length, keyed), draw(rows, length, values), real, **parts
    ), dim if after else values


def segments(rng: random.Random) -> None:
    """Segment words at random, and compare with what Python makes of them with the same random numbers."""
    letters = rng.choice(("ab", "abcdefgh", "aé😀"))
    draw = lambda most: "".join(rng.choices(letters + "z", k=rng.randrange(1, most + 1)))  # noqa: E731
    pieces = [*letters, *(draw(rng.choice((2, 3, 8))) for _ in range(rng.randrange(40)))]
    dropout = BpeDropout(Vocabulary(list(dict.fromkeys([SPACE, *pieces]))))
    texts = [[draw(rng.choice((1, 9, 60))) for _ in range(rng.randrange(8))] for _ in range(rng.randrange(9))]
    rate, seed = rng.choice((1e-9, 0.1, 0.5, 0.999)), rng.getrandbits(32)
    single, together = random.Random(seed), random.Random(seed)
    found = [ids.tolist() for ids in segment_words(dropout, texts, rng=together, rate=rate)]
    assert found == [[index for word in words for index in dropout(SPACE + word, single, rate)] for words in texts]
    assert together.getstate() == single.getstate()


CASES = (products, tokens, losses, loops, loops, segments)


def try_number(number: int) -> str:
    """Try the case of a number; return what it was."""
    rng = random.Random(number)
    case = rng.choice(CASES)
    case(rng)
    return case.__name__


def main(place: Path, seconds: float, seed: int) -> None:
    """Try cases until so many seconds have passed; the number of each is written down before it."""
    prepare_all()
    until, first = time.monotonic() + seconds, seed * 1_000_000
    number = first
    while time.monotonic() < until:
        (place / "last.case").write_text(str(number))
        try_number(number)
        number += 1
        (place / f"cases-{seed}.json").write_text(str(number - first))


def prepare_all() -> None:
    """Compile and load all parts."""
    for part in (DECODING, LOSS, RECURRENCE, SEGMENTATION):
        prepare(part)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        prepare_all()
        try_number(int(sys.argv[1]))
    else:
        main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
