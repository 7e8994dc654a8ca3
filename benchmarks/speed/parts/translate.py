"""Translating: one model with random weights, the same sentences, one at a time and many, greedy and with a beam."""

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from benchmarks.speed.bench import Bench, Contestant, take_turns
from benchmarks.speed.children import Child, Peer
from benchmarks.speed.page import compare, memory, table, turns
from benchmarks.speed.records import Record, matching
from benchmarks.speed.statistics import spread

from dragoman.export.job import export
from dragoman.models.transformer import TransformerDecoder
from dragoman.recipe import Recipe
from dragoman.run import Run, new_run
from dragoman.settings import parse
from dragoman.text.codec import Codec
from dragoman.text.vocabulary import EOS, SPECIAL, Vocabulary
from dragoman.text.words import Words
from dragoman.training.checkpoint import save_weights

TITLE = "Translating"
SIZES: Mapping[str, Mapping[str, int]] = {
    "small": {"width": 256, "feed_forward": 1024, "heads": 4, "layers": 3, "vocabulary": 8000},
    "base": {"width": 512, "feed_forward": 2048, "heads": 8, "layers": 6, "vocabulary": 32000},
}
QUICK = {"tiny": {"width": 32, "feed_forward": 64, "heads": 2, "layers": 1, "vocabulary": 200}}
TARGET = 16
"""Tokens of every translation, before </s>."""
WORK = ((1, 1, 8), (1, 5, 4), (64, 1, 128), (64, 5, 64))
"""Batch, beam, and how many sentences a turn translates so."""
LENGTHS = (6, 24)
"""Shortest and longest source, in tokens; every length is as frequent as any other."""

SCRIPTS = Path(__file__).parents[1] / "peers"
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE"}
"""Threads that spin while they wait stop everyone where cores are shared; Dragoman's command line sets this by itself."""
OWN = Peer("dragoman", "Dragoman", script=SCRIPTS / "dragoman_translating.py", environment=PASSIVE)
RAW = Peer("ctranslate2", "CTranslate2", environment=PASSIVE)
HUGGINGFACE = Peer(
    "huggingface",
    "Hugging Face MarianMT",
    ("transformers",),
    script=SCRIPTS / "huggingface_translating.py",
    environment=PASSIVE,
)


def run(bench: Bench) -> None:
    """Measure what has no record yet."""
    sizes = QUICK if bench.quick else SIZES
    records = bench.records("translate", {"sizes": sizes, "work": WORK, "target": TARGET, "lengths": LENGTHS})
    if not records.all("plan"):
        records.add("plan", sizes=sizes, work=WORK, target=TARGET)
    made = {name: model(bench.work / "models" / f"{name}-{records.key}", size) for name, size in sizes.items()}

    def turn(child: Child, number: int, name: str) -> Mapping[str, Any]:
        size = sizes[name.partition("/")[0]]
        numbers: dict[str, Any] = {}
        for batch, beam, count in WORK:
            given = sentences(size["vocabulary"], count, seed=number)
            answer = child.ask("translate", sentences=given, batch=batch, beam=beam)
            numbers[f"{batch}x{beam}"] = answer["seconds"]
            numbers["memory"] = answer["memory"]
        return numbers

    def ready(child: Child) -> None:
        child.ask("translate", sentences=sentences(100, 2, seed=99), batch=2, beam=5)

    everyone = [one for name, folder in made.items() for one in contestants(name, folder, sizes[name])]
    take_turns(bench, records, everyone, turn, ready=ready)


def contestants(name: str, folder: Path, size: Mapping[str, int]) -> list[Contestant]:
    """Return what translates with the model in `folder`, of the size called `name`."""
    exports = {kind: str(folder / "exports" / f"ctranslate2-{kind}") for kind in ("float32", "int8")}
    own = [
        ("torch", "fp32, torch", str(folder)),
        *((kind, f"{kind}, exported", place) for kind, place in exports.items()),
    ]
    return [
        *(
            Contestant(f"{name}/dragoman-{key}", f"Dragoman, {what}", OWN, {"folder": place})
            for key, what, place in own
        ),
        *(
            Contestant(f"{name}/ctranslate2-{kind}", f"CTranslate2, {kind}", RAW, {"folder": place}, "its own API")
            for kind, place in exports.items()
        ),
        Contestant(
            f"{name}/huggingface",
            "Hugging Face MarianMT",
            HUGGINGFACE,
            {"model": dict(size), "target": TARGET + 1},
            "fp32; length forced",
        ),
    ]


def sentences(vocabulary: int, count: int, *, seed: int) -> list[list[int]]:
    """Return sentences of ids, the same for everyone."""
    rng = random.Random(seed)
    return [rng.choices(range(len(SPECIAL), vocabulary), k=rng.randint(*LENGTHS)) for _ in range(count)]


def model(folder: Path, size: Mapping[str, int]) -> Path:
    """Make a run with random weights whose every translation has `TARGET` tokens, and its exports, unless they are there."""
    if not (folder / "exports" / "ctranslate2-int8" / "export.json").exists():
        run = new_run(folder, recipe(size), (codec(size), codec(size)), {"data": {}})
        drawn = run.fresh_model()
        decoder = drawn.decoder if hasattr(drawn, "decoder") else None
        assert isinstance(decoder, TransformerDecoder)
        end_at(decoder, TARGET)
        save(run, drawn)
        for kind in ("float32", "int8"):
            export(folder, quantization=kind)  # type: ignore[arg-type]  # a name of one
    return folder


def save(run: Run, drawn: torch.nn.Module) -> None:
    """Write a run."""
    save_weights(run.weights, drawn)
    run.save()


def end_at(decoder: TransformerDecoder, length: int) -> None:
    """Let </s> follow `length` tokens, and nothing else: one feature tells the position, and </s> alone reads it."""
    with torch.no_grad():
        places = decoder.positions.get_parameter("table.weight")
        places[:, 0] = -30.0
        places[length, 0] = 30.0
        decoder.embedding.weight[:, 0] = 0
        decoder.embedding.weight[:EOS] = 0
        decoder.embedding.weight[EOS, 0] = 5.0


def codec(size: Mapping[str, int]) -> Codec:
    """Return a vocabulary of made-up words."""
    return Codec(Words(Vocabulary([f"w{index}" for index in range(len(SPECIAL), size["vocabulary"])])))


def recipe(size: Mapping[str, int]) -> Recipe:
    """Return the recipe of a model; nothing is trained by it."""
    phrasebook = [{"phrasebook": "train", "pairs": 20}]
    sizes = {name: size[name] for name in ("width", "feed_forward", "heads")}
    layers = {"encoder_layers": size["layers"], "decoder_layers": size["layers"]}
    return parse(
        Recipe,
        {
            "data": {"source": "en", "target": "fr", "train": phrasebook, "dev": phrasebook},
            "text": {"kind": "words"},
            "model": {"kind": "transformer", **layers, **sizes, "positions": "learned", "dropout": 0.0},
            "training": {"steps": 1, "learning_rate": 0.001},
            "decoding": {"stopping": "full"},
        },
    )


def section(records: Sequence[Record], pictures: Path) -> list[str]:
    """Write a table for each size."""
    plan = matching(records, what="plan")[-1]
    found, loaded = turns(records), {record["contestant"]: record for record in matching(records, what="loaded")}
    lines = [
        f"Random weights, sources of {LENGTHS[0]} to {LENGTHS[1]} tokens, every translation of {plan['target']} tokens and </s>. "
        "Sentences a second; behind each the ratio to CTranslate2 int8 used directly. Latency is that of one sentence with a "
        "beam of 5, batch 1. Peak memory is that of the whole process. Dragoman ends a beam as CTranslate2 does "
        "(`decoding.stopping: full`).",
        "",
    ]
    for size, numbers in plan["sizes"].items():
        layers = f"{numbers['layers']}+{numbers['layers']} layers"
        about = f"width {numbers['width']}, feed-forward {numbers['feed_forward']}, {numbers['heads']} heads"
        lines += [f"### {size}: {about}, {layers}, {numbers['vocabulary']:,} pieces", ""]
        names = [name for name in found if name.partition("/")[0] == size]
        head = ["engine", *(f"batch {b}, {'greedy' if k == 1 else f'beam {k}'}" for b, k, _ in plan["work"])]
        rows = [
            [loaded[name]["title"], *cells(found, names, name, plan), *rest(found[name], loaded[name])]
            for name in names
        ]
        lines += table([*head, "p50 ms", "p99 ms", "load s", "peak MB"], rows)
    return lines


def cells(found: Mapping[str, Mapping[int, Record]], names: Iterable[str], name: str, plan: Record) -> list[str]:
    """Return the speed of each kind of work, with its ratio."""
    made = []
    for batch, beam, count in plan["work"]:
        key = f"{batch}x{beam}"
        speeds = {one: {at: count / sum(turn[key]) for at, turn in found[one].items()} for one in names}
        ratio = compare(speeds, name, f"{name.partition('/')[0]}/ctranslate2-int8")
        made.append(f"{spread(list(speeds[name].values())).median:,.1f} ({ratio})")
    return made


def rest(rounds: Mapping[int, Record], loaded: Record) -> list[str]:
    """Return latency, load time and memory."""
    waits = sorted(seconds for turn in rounds.values() for seconds in turn["1x5"])
    p50, p99 = (waits[min(int(len(waits) * share), len(waits) - 1)] * 1000 for share in (0.5, 0.99))
    return [f"{p50:,.0f}", f"{p99:,.0f}", f"{loaded['load_seconds']:.2f}", memory(rounds.values())]
