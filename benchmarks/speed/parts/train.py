"""Transformer training: one model, one corpus, the same batches, every peer."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.speed.bench import Bench, Contestant, take_turns
from benchmarks.speed.children import Child, Peer
from benchmarks.speed.corpus import Prepared, prepare
from benchmarks.speed.page import compare, memory, table, turns
from benchmarks.speed.records import Record, matching
from benchmarks.speed.statistics import spread

TITLE = "Training a Transformer"
MODEL = {"width": 256, "feed_forward": 1024, "heads": 4, "layers": 3, "dropout": 0.1}
QUICK = {"width": 32, "feed_forward": 64, "heads": 2, "layers": 1, "dropout": 0.1}
PIECES = 8000
TOKENS = 4400
"""Cells of the longer side in a batch, so that it holds about 4,000 target tokens."""
MESSAGE = {"label_smoothing": 0.1, "learning_rate": 0.0005}
ENDLESS = {"steps": 10**9, "validate_every": 10**9, "save_minutes": 1e9, "log_every": 10**9}
"""Settings of a training that is only ever stopped from outside."""
WARM = 3

DRAGOMAN = Peer("dragoman", "Dragoman")
PEERS = (
    (Peer("nntransformer", "nn.Transformer"), "hand loop; post-norm"),
    (Peer("huggingface", "Hugging Face MarianMT", ("transformers",)), "hand loop; post-norm"),
    (
        Peer(
            "opennmt",
            "OpenNMT-py",
            (
                "configargparse",
                "ctranslate2",
                "fasttext-wheel",
                "pyahocorasick",
                "pyonmttok",
                "pyyaml",
                "rapidfuzz",
                "sacrebleu",
                "six",
                "spacy",
                "tensorboard",
                "waitress",
            ),
            without_dependencies=("OpenNMT-py==3.5.1",),
        ),
        "its own Trainer over these batches; pre-norm; with this torch rather than the 2.2 it asks for",
    ),
    (
        Peer("joeynmt", "JoeyNMT", ("joeynmt", "importlib_metadata", "setuptools<80")),
        "its step over these batches; post-norm",
    ),
    (
        Peer("marian", "Marian", ("pymarian",)),
        "its own trainer, reader and batches (as many target tokens, sorted within 100 batches); post-norm; a worker a core",
    ),
    (Peer("eole", "eole", ("eole", "aiohttp")), "its own Trainer over these batches; pre-norm"),
)


def run(bench: Bench) -> None:
    """Measure what has no record yet."""
    corpus = prepared(bench)
    model = model_of(bench, corpus)
    settings = {"model": model, "corpus": corpus.fingerprint, **MESSAGE, "seconds": bench.seconds}
    records = bench.records("train", settings)
    batches = corpus.read()
    costs = [cost(batch, model) for batch in batches]
    found = records.all("plan")
    plan = found[-1] if found else {}

    def turn(child: Child, number: int, name: str) -> Mapping[str, Any]:
        if not plan:
            pace = child.ask("steps", batches=[0, 1])["seconds"] / 2
            count = min(max(round(bench.seconds / pace), 2), 50)
            plan.update(records.add("plan", count=count, corpus=corpus.name, model=model, **described(batches)))
        return measured(child, batches, costs, first=number * plan["count"], count=plan["count"])

    ready = partial(warm_up, steps=WARM)
    take_turns(bench, records, contestants(corpus, model), turn, ready=ready)


def model_of(bench: Bench, corpus: Prepared) -> dict[str, Any]:
    """Return the sizes of the model."""
    return (QUICK if bench.quick else MODEL) | {"vocabulary": corpus.vocabulary}


def contestants(corpus: Prepared, model: Mapping[str, Any]) -> list[Contestant]:
    """Return Dragoman in both precisions, and its peers."""
    folder = corpus.folder.resolve()
    files = {"batches": str(folder / "batches.json"), "vocabulary": str(folder / "vocabulary.txt")}
    load = {**MESSAGE, "model": model, **files}
    own = [
        Contestant(
            f"dragoman-{precision}",
            f"Dragoman, {word}",
            DRAGOMAN,
            {**load, "shared": True, "recipe": recipe(model, precision)},
            note,
        )
        for precision, word, note in (
            ("float32", "fp32", "post-norm; through its own Trainer"),
            ("auto", "auto precision", "**not fp32**: the precision its probe chose; post-norm"),
        )
    ]
    return [*own, *(Contestant(peer.name, peer.title, peer, load, note) for peer, note in PEERS)]


def recipe(model: Mapping[str, Any], precision: str) -> dict[str, Any]:
    """Return the recipe of the same model for Dragoman; its corpora are not read."""
    sizes = {name: model[name] for name in ("width", "feed_forward", "heads", "dropout")}
    layers = {"encoder_layers": model["layers"], "decoder_layers": model["layers"]}
    phrasebook = [{"phrasebook": "train", "pairs": 1}]
    return {
        "data": {"source": "en", "target": "fr", "train": phrasebook, "dev": phrasebook},
        "text": {"kind": "sentencepiece", "size": PIECES},
        "model": {"kind": "transformer", **layers, **sizes, "norm": "post"},
        "training": {
            **MESSAGE,
            **ENDLESS,
            "optimizer": "adam",
            "schedule": "constant",
            "warmup": 0,
            "precision": precision,
            "device": "cpu",
        },
    }


def warm_up(child: Child, *, steps: int) -> None:
    """Take a few steps that are not measured."""
    child.ask("steps", batches=list(range(steps)))


def measured(
    child: Child, batches: Sequence[Mapping[str, Any]], costs: Sequence[float], *, first: int, count: int
) -> dict[str, Any]:
    """Let a child take a step over each of `count` batches, and return what it did."""
    numbers = [at % len(batches) for at in range(first, first + count)]
    answer = child.ask("steps", batches=numbers)
    own = {"source": 0, "target": 0, "flops": 0.0}
    for number in numbers:
        source, target = (tokens_of(batches[number][side]) for side in ("source", "target"))
        own = {
            "source": own["source"] + source,
            "target": own["target"] + target,
            "flops": own["flops"] + costs[number],
        }
    if "target" in answer:  # it has batches of its own
        own["flops"] *= answer["target"] / own["target"]
    return {"steps": count, **own, **answer}


def tokens_of(sentences: Sequence[Sequence[int]]) -> int:
    """Count the tokens of sentences, each with EOS."""
    return sum(len(sentence) + 1 for sentence in sentences)


def cost(batch: Mapping[str, Sequence[Sequence[int]]], model: Mapping[str, Any]) -> float:
    """Return the FLOPs of one training step by the model's arithmetic: matrix products of real tokens, once.

    Forward is one multiplication and one addition for each weight and token, backward twice as much. Padding, dropout,
    softmax, norms, the optimiser and anything computed again do not count.
    """
    width, inner, layers = model["width"], model["feed_forward"], model["layers"]
    square, feed = width * width, 2 * width * inner
    total = 0.0
    for source, target in zip(batch["source"], batch["target"], strict=True):
        s, t = len(source) + 1, len(target) + 1
        weights = (
            layers * (s * (4 * square + feed) + t * (6 * square + feed) + s * 2 * square)
            + t * width * model["vocabulary"]
        )
        attention = layers * 2 * width * (s * s + t * t + s * t)
        total += 2 * (weights + attention)
    return 3 * total


def described(batches: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Say what the batches are like."""
    cells = sum(
        len(batch[side]) * (max(map(len, batch[side])) + 1) for batch in batches for side in ("source", "target")
    )
    source, target = (sum(tokens_of(batch[side]) for batch in batches) for side in ("source", "target"))
    return {
        "batches": len(batches),
        "source_tokens": source / len(batches),
        "target_tokens": target / len(batches),
        "padding": 1 - (source + target) / cells,
    }


def section(records: Sequence[Record], pictures: Path) -> list[str]:
    """Write the table."""
    plan = matching(records, what="plan")[-1]
    found = turns(records)
    loaded = {record["contestant"]: record for record in matching(records, what="loaded")}
    speeds = {
        name: {number: (turn["source"] + turn["target"]) / turn["seconds"] for number, turn in rounds.items()}
        for name, rounds in found.items()
    }
    medians = {name: spread(list(values.values())).median for name, values in speeds.items()}
    others = {name: value for name, value in medians.items() if not name.startswith("dragoman")}
    fastest = max(others, key=others.__getitem__, default=None)
    rows = [
        [
            loaded[name]["title"],
            f"{spread(list(speeds[name].values())):,.0f}",
            compare(speeds, name, "dragoman-float32"),
            compare(speeds, name, fastest),
            f"{spread([share(turn, loaded[name]) for turn in found[name].values()]):.2f}",
            memory(found[name].values()),
            f"{loaded[name]['parameters'] / 1e6:.2f} M" if loaded[name].get("parameters") else "-",
            loaded[name]["note"] + chosen(loaded[name]),
        ]
        for name in sorted(medians, key=medians.__getitem__, reverse=True)
    ]
    head = ["trainer", "tokens/s", "to Dragoman fp32", "to the fastest peer", "MFU", "peak MB", "weights", "how"]
    return [*said(plan, found), *table(head, rows)]


def said(plan: Record, found: Mapping[str, Mapping[int, Record]]) -> list[str]:
    """Say what was measured."""
    rounds = max((len(turns) for turns in found.values()), default=0)
    model = plan["model"]
    sizes = f"Width {model['width']}, feed-forward {model['feed_forward']}, {model['heads']} heads"
    layers = f"{model['layers']}+{model['layers']} layers"
    return [
        f"{sizes}, {layers}, one joint vocabulary of {model['vocabulary']:,} pieces whose matrix serves both embeddings and the "
        f"output, dropout {model['dropout']}, label smoothing 0.1, Adam, gradient clipped at 1. Corpus: {plan['corpus']}, in "
        f"{plan['batches']} batches of like lengths with {plan['padding']:.1%} padding and {plan['target_tokens']:,.0f} target "
        f"tokens on average. {rounds} rounds; in each, every trainer takes {plan['count']} steps over the same batches. Tokens "
        "are those of source and target, without padding. Peak memory is that of the whole process.",
        "",
    ]


def share(turn: Record, loaded: Record) -> float:
    """Return the MFU of a turn, by the rate of the arithmetic that it computed in."""
    return turn["flops"] / turn["seconds"] / turn["calibration"][loaded.get("precision", "float32")]


def chosen(loaded: Record) -> str:
    """Say which precision was chosen, and how many copies of the model share a batch."""
    rounded = f"; {loaded['precision']}" if loaded.get("precision") == "bfloat16" else ""
    copies = loaded.get("replicas", 1)
    return rounded + (f"; {copies} copies of the model, a thread each" if copies > 1 else "")


def prepared(bench: Bench) -> Prepared:
    """Return the corpus of this part, for others that use it."""
    if bench.quick:
        return prepare(bench.work, bench.data, size=600, tokens=400, most=500)
    return prepare(bench.work, bench.data, size=PIECES, tokens=TOKENS)
