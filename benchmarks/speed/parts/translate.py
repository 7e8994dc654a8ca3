"""Translating: one model with random weights, the same sentences, one at a time and many, greedy and with a beam."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from benchmarks.speed.bench import Bench, Contestant, code, own_folder, take_turns
from benchmarks.speed.children import Child, Peer
from benchmarks.speed.page import compare, memory, table, turns
from benchmarks.speed.parts.train import PEERS
from benchmarks.speed.records import Record, matching
from benchmarks.speed.statistics import spread, tail

from dragoman.conversion.job import Quantization, export
from dragoman.errors import DragomanError
from dragoman.inference.ctranslate2.folder import is_export
from dragoman.models.luong import LuongDecoder
from dragoman.models.transformer import TransformerDecoder
from dragoman.runs.folder import Run, new_run
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse
from dragoman.text.codec import Codec
from dragoman.text.vocabulary import EOS, SPECIAL, Vocabulary
from dragoman.text.words import Words

TITLE = "Translating"
SIZES: Mapping[str, Mapping[str, int]] = {
    "small": {"width": 256, "feed_forward": 1024, "heads": 4, "layers": 3, "vocabulary": 8000},
    "base": {"width": 512, "feed_forward": 2048, "heads": 8, "layers": 6, "vocabulary": 32000},
    "recurrent": {"hidden": 512, "layers": 2, "vocabulary": 8000},
}
"""Transformers, and Luong's recurrent translator, which has a size of `hidden`."""
QUICK = {
    "tiny": {"width": 32, "feed_forward": 64, "heads": 2, "layers": 1, "vocabulary": 200},
    "recurrent": {"hidden": 16, "layers": 1, "vocabulary": 200},
}
STUDENTS = {"base": ((6, 1), (12, 1)), "tiny": ((2, 1),)}
"""Layers of encoder and decoder of models that a user would teach to translate as one of a size does."""
TARGET = 16
"""Tokens of every translation, before </s>."""
WORK = ((1, 1, 8), (1, 5, 13), (64, 1, 128), (64, 5, 64))
"""Batch, beam, and how many sentences a turn translates so; with a beam one by one so many that 8 rounds tell a p99."""
LENGTHS = (6, 24)
"""Shortest and longest source, in tokens; every length is as frequent as any other."""

SCRIPTS = Path(__file__).parents[1] / "peers"
OWN = Peer("dragoman", "Dragoman", script=SCRIPTS / "dragoman_translating.py")
RAW = Peer("ctranslate2", "CTranslate2")
TORCH_PEERS = tuple(
    Peer(one.name, one.title, one.requirements, one.without_dependencies, SCRIPTS / f"{one.name}_translating.py")
    for one, _ in PEERS
    if one.name in ("huggingface", "opennmt", "eole")
)
"""They search with torch."""
WITHOUT_LOOPS = ("huggingface",)
"""They have no recurrent translator."""
Found = Mapping[str, Mapping[tuple[int, int], Record]]
"""The turns of each contestant, by sitting and round."""


def run(bench: Bench) -> None:
    """Measure what has no record yet."""
    sizes = QUICK if bench.quick else SIZES
    students = {name: [list(layers) for layers in STUDENTS.get(name, ())] for name in sizes}
    given = {"sizes": sizes, "students": students, "work": WORK, "target": TARGET}
    records = bench.records("translate", {**given, "lengths": LENGTHS})
    if not records.all("plan"):
        records.add("plan", **given)

    def turn(child: Child, number: int, name: str) -> Mapping[str, Any]:
        vocabulary = sizes[name.partition("/")[0]]["vocabulary"]
        numbers: dict[str, Any] = {}
        for batch, beam, count in WORK:
            wanted = sentences(vocabulary, count, seed=number)
            answer = child.ask("translate", sentences=wanted, batch=batch, beam=beam)
            numbers[f"{batch}x{beam}"] = answer["seconds"]
            numbers["memory"] = answer["memory"]
        return numbers

    def ready(child: Child) -> None:
        child.ask("translate", sentences=sentences(100, 2, seed=99), batch=2, beam=5)

    for name, size in sizes.items():  # one after another: all models of all sizes may not fit into memory
        take_turns(bench, records, contestants(bench, name, size), turn, ready=ready)


def contestants(bench: Bench, name: str, size: Mapping[str, int]) -> list[Contestant]:
    """Return what translates with models of a size; the models of Dragoman and CTranslate2 are made unless they are there."""
    kinds: tuple[Quantization, ...] = () if "hidden" in size else ("float32", "int8")
    folder, reasons = model(bench, name, size, (size["layers"], size["layers"]), kinds=kinds)
    run = {"folder": str(folder)}
    own = [
        Contestant(f"{name}/dragoman-torch", "Dragoman, fp32, own engine", OWN, run),
        Contestant(
            f"{name}/dragoman-torch-auto", "Dragoman, auto precision, own engine", OWN, {**run, "precision": "auto"}
        ),
    ]
    exports = [
        Contestant(f"{name}/{key}-{kind}", title.format(word), peer, place(folder, kind), missing=reasons[kind])
        for key, title, peer in (("dragoman", "Dragoman, {}, exported", OWN), ("ctranslate2", "CTranslate2, {}", RAW))
        for kind, word in (("float32", "fp32"), ("int8", "int8"))
        if kind in kinds
    ]
    drawn = {"model": {**size, "dropout": 0.0}, "target": TARGET + 1}
    peers = [
        Contestant(f"{name}/{peer.name}", f"{peer.title}, fp32", peer, drawn)
        for peer in TORCH_PEERS
        if "hidden" not in size or peer.name not in WITHOUT_LOOPS
    ]
    return [*own, *exports, *peers, *(student(bench, name, size, layers) for layers in STUDENTS.get(name, ()))]


def student(bench: Bench, name: str, size: Mapping[str, int], layers: tuple[int, int]) -> Contestant:
    """Return Dragoman with the int8 export of a model of other layers."""
    folder, reasons = model(bench, name, size, layers, kinds=("int8",))
    stack = f"{layers[0]}+{layers[1]}"
    title = f"Dragoman, int8, exported, student of {stack} layers"
    return Contestant(f"{name}/student-{stack}", title, OWN, place(folder, "int8"), missing=reasons["int8"])


def place(folder: Path, kind: str) -> dict[str, str]:
    """Return the path of an export."""
    return {"folder": str(folder / "exports" / f"ctranslate2-{kind}")}


def sentences(vocabulary: int, count: int, *, seed: int) -> list[list[int]]:
    """Return sentences of ids, the same for everyone."""
    rng = random.Random(seed)
    return [rng.choices(range(len(SPECIAL), vocabulary), k=rng.randint(*LENGTHS)) for _ in range(count)]


def model(
    bench: Bench, name: str, size: Mapping[str, int], layers: tuple[int, int], *, kinds: Sequence[Quantization]
) -> tuple[Path, dict[str, str]]:
    """Make a run with random weights whose every translation has `TARGET` tokens, and exports of it, unless they are there.

    Return its folder, and for each export why it could not be made ("": it was).
    """
    settings = recipe(size, layers)
    key = [settings.model_dump(mode="json"), dict(size), TARGET, code()]
    folder = own_folder(bench.work / "models", f"{name}-{layers[0]}+{layers[1]}", key)
    if not (folder / "model.safetensors").exists():
        run = new_run(folder, settings, (codec(size), codec(size)), metadata={"data": {}})
        drawn = run.fresh_model()
        decoder = drawn.decoder if hasattr(drawn, "decoder") else None
        assert isinstance(decoder, TransformerDecoder | LuongDecoder)
        end_at(decoder, TARGET)
        save(run, drawn)
    reasons = dict.fromkeys(map(str, kinds), "")
    for kind in kinds:
        try:
            if not is_export(Path(place(folder, kind)["folder"])):
                export(folder, quantization=kind)
        except DragomanError as error:
            reasons[kind] = str(error)
    return folder, reasons


def save(run: Run, drawn: torch.nn.Module) -> None:
    """Write a run."""
    run.files.save_weights(run.weights, drawn, {})
    run.save()


def end_at(decoder: TransformerDecoder | LuongDecoder, length: int) -> None:
    """Let </s> follow `length` tokens, and nothing else: one feature tells the position, and </s> alone reads it.

    A recurrent decoder never ends by itself, and `recipe` forces it to.
    """
    with torch.no_grad():
        if isinstance(decoder, LuongDecoder):
            decoder.head.get_parameter("bias")[EOS] = -30.0
            return
        places = decoder.positions.get_parameter("table.weight")
        places[:, 0] = -30.0
        places[length, 0] = 30.0
        decoder.embedding.weight[:, 0] = 0
        decoder.embedding.weight[:EOS] = 0
        decoder.embedding.weight[EOS, 0] = 5.0


def codec(size: Mapping[str, int]) -> Codec:
    """Return a vocabulary of made-up words."""
    return Codec(Words(Vocabulary([f"w{index}" for index in range(len(SPECIAL), size["vocabulary"])])))


def recipe(size: Mapping[str, int], layers: tuple[int, int]) -> Recipe:
    """Return the recipe of a model; nothing is trained by it."""
    phrasebook = [{"phrasebook": "train", "pairs": 20}]
    decoding: dict[str, Any] = {"stopping": "full"}
    if "hidden" in size:
        loops = {"decoder": "luong", "cell": "lstm", "score": "general", "input_feeding": True}
        model = {
            "kind": "rnn",
            **loops,
            "embedding": size["hidden"],
            "hidden": size["hidden"],
            "layers": size["layers"],
        }
        decoding["maximum_length"] = TARGET
    else:
        sizes = {name: size[name] for name in ("width", "feed_forward", "heads")}
        stacks = {"encoder_layers": layers[0], "decoder_layers": layers[1]}
        model = {"kind": "transformer", **stacks, **sizes, "positions": "learned"}
    return parse(
        Recipe,
        {
            "data": {"source": "en", "target": "fr", "train": phrasebook, "dev": phrasebook},
            "text": {"kind": "words"},
            "model": {**model, "dropout": 0.0},
            "training": {"steps": 1, "learning_rate": 0.001},
            "decoding": decoding,
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
        "(`decoding.stopping: full`); Hugging Face, OpenNMT-py and eole are given their length. A student is a model with fewer "
        "decoder layers that `dragoman distill` teaches to translate as the larger one does; here it is its speed alone. Auto "
        "precision is `decoding.precision: auto`, which rounds where that is quicker on this CPU.",
        "",
    ]
    for size, numbers in plan["sizes"].items():
        layers = f"{numbers['layers']}+{numbers['layers']} layers"
        if "hidden" in numbers:
            about = f"Luong's general score, input feeding, LSTMs and embeddings of {numbers['hidden']}"
        else:
            about = f"width {numbers['width']}, feed-forward {numbers['feed_forward']}, {numbers['heads']} heads"
        lines += [f"### {size}: {about}, {layers}, {numbers['vocabulary']:,} pieces", ""]
        here = {name: rounds for name, rounds in found.items() if name.partition("/")[0] == size}
        titles = {name: loaded[name]["title"] for name in here}
        lines += table_of(here, loaded, plan) if here else ["Nothing was measured.", ""]
        lines += [*goals(size, here, titles, plan), ""]
    return lines


def table_of(found: Found, loaded: Mapping[str, Record], plan: Record) -> list[str]:
    """Write the table of a size."""
    waits = {name: [one for turn in rounds.values() for one in turn["1x5"]] for name, rounds in found.items()}
    tails = {name: tail(values) for name, values in waits.items()}
    named = " or ".join(sorted({called for called, _ in tails.values()}))
    rows = [
        [
            loaded[name]["title"] + (f" (**{precision}**)" if (precision := loaded[name].get("rounded")) else ""),
            *cells(found, name, plan),
            f"{spread(waits[name]).median * 1000:,.0f}",
            f"{tails[name][1] * 1000:,.0f}",
            f"{loaded[name]['load_seconds']:.2f}" if loaded[name].get("load_seconds") else "-",
            memory(rounds.values()),
        ]
        for name, rounds in found.items()
    ]
    head = ["engine", *(work_of(batch, beam) for batch, beam, _ in plan["work"])]
    return table([*head, "p50 ms", f"{named} ms", "load s", "peak MB"], rows)


def work_of(batch: int, beam: int) -> str:
    """Name a kind of work."""
    return f"batch {batch}, {'greedy' if beam == 1 else f'beam {beam}'}"


def speeds_of(found: Found, batch: int, beam: int, count: int) -> dict[str, dict[tuple[int, int], float]]:
    """Return the sentences a second of each contestant in each turn."""
    key = f"{batch}x{beam}"
    return {name: {at: count / sum(turn[key]) for at, turn in rounds.items()} for name, rounds in found.items()}


def cells(found: Found, name: str, plan: Record) -> list[str]:
    """Return the speed of each kind of work, with its ratio."""
    made = []
    for work in plan["work"]:
        speeds = speeds_of(found, *work)
        ratio = compare(speeds, name, f"{name.partition('/')[0]}/ctranslate2-int8")
        made.append(f"{spread(list(speeds[name].values())).median:,.1f} ({ratio})")
    return made


def goals(size: str, found: Found, titles: Mapping[str, str], plan: Record) -> list[str]:
    """Compare Dragoman with its goals: its own engine to the best of torch, and students to what they would replace."""
    lines = []
    speeds = {(batch, beam): speeds_of(found, batch, beam, count) for batch, beam, count in plan["work"]}
    for batch, beam in [at for at in speeds if at[1] > 1]:
        here = speeds[batch, beam]
        peers = {name: spread(list(here[name].values())).median for name in here if name in torch_names(size)}
        best = max(peers, key=peers.__getitem__, default=None)
        if best is None:
            continue
        own = {
            word: compare(here, f"{size}/dragoman-torch{key}", best) for word, key in (("fp32", ""), ("auto", "-auto"))
        }
        lines.append(
            f"- Own engine, {work_of(batch, beam)}, to the best peer that searches with torch ({titles[best]}; goal 1.5): fp32 "
            f"{own['fp32']}, auto {own['auto']}."
        )
    usual, depth = f"{size}/ctranslate2-int8", plan["sizes"][size]["layers"]
    for name in [name for name in found if "/student-" in name]:
        against = []
        for (batch, beam), here in speeds.items():
            base = speeds[batch, max(other for one, other in speeds if one == batch)]
            ratio = compare({name: here[name], usual: base.get(usual, {})}, name, usual)
            against.append(f"{work_of(batch, beam)} {ratio}")
        lines.append(
            f"- {titles[name]}, to CTranslate2 int8 of {depth}+{depth} layers with a beam of 5 (goals: 4 at batch 1, 3 in bulk): "
            f"{'; '.join(against)}."
        )
    return lines


def torch_names(size: str) -> set[str]:
    """Return the names of contestants that are peers with torch."""
    return {f"{size}/{peer.name}" for peer in TORCH_PEERS}
