"""Teacher and student: what `dragoman distill` loses and what it gains, on a real test set."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.bench import Bench, Contestant, take_turns
from benchmarks.speed.children import Child
from benchmarks.speed.corpus import TEST_FILES, Pair, read_pairs
from benchmarks.speed.page import compare, memory, table, turns
from benchmarks.speed.parts.translate import OWN
from benchmarks.speed.records import Record, matching
from benchmarks.speed.statistics import spread

from dragoman.conversion.job import export
from dragoman.data.checksums import weights_digest
from dragoman.metrics.scores import bleu, chrf
from dragoman.runs.folder import open_run

TITLE = "Teacher and student"
WORK = (("single", 1, 24), ("bulk", 64, 192))
"""Name, batch, and how many sentences a turn translates so."""
BEAMS = (1, 5)
YARDSTICK = "teacher/int8/5"
"""What the others are compared with: what a user would set up without a student."""


def run(bench: Bench) -> None:
    """Measure a teacher and its students, where runs are given."""
    if bench.teacher is None or bench.data is None:
        bench.say("student: measured where --teacher RUN, --student RUN and --data are given")
        return
    runs = {"teacher": bench.teacher, **{f"student {at}": folder for at, folder in enumerate(bench.students, 1)}}
    pairs = read_pairs(bench.data, TEST_FILES)
    settings = {
        "weights": {name: weights_digest(open_run(folder).weights) for name, folder in runs.items()},
        "work": WORK,
    }
    records = bench.records("student", settings)
    if not records.all("plan"):
        about = {name: described(folder) for name, folder in runs.items()}
        records.add("plan", sentences=len(pairs), files=TEST_FILES, runs=about)
    contestants = [one for name, folder in runs.items() for one in contestants_of(name, folder)]

    def turn(child: Child, number: int, name: str) -> Mapping[str, Any]:
        beam = beam_of(name)
        numbers: dict[str, Any] = {}
        for kind, batch, count in WORK:
            texts = [pairs[at % len(pairs)][0] for at in range(number * count, (number + 1) * count)]
            answer = child.ask("translate", texts=texts, batch=batch, beam=beam)
            numbers |= {kind: answer["seconds"], "memory": answer["memory"]}
        return numbers if number else numbers | scores(child, pairs, beam)

    def ready(child: Child) -> None:
        child.ask("translate", texts=[pairs[0][0]] * 2, batch=2, beam=5)

    take_turns(bench, records, contestants, turn, ready=ready)


def contestants_of(name: str, folder: Path) -> list[Contestant]:
    """Return a run in torch and as an int8 export, which is made again, greedily and with a beam."""
    exported, _ = export(folder, quantization="int8")
    return [
        Contestant(f"{name}/{key}/{beam}", f"{name}, {title}, {said(beam)}", OWN, {"folder": str(place)})
        for key, title, place in (("torch", "torch", folder), ("int8", "exported in int8", exported))
        for beam in BEAMS
    ]


def scores(child: Child, pairs: Sequence[Pair], beam: int) -> dict[str, Any]:
    """Return BLEU and chrF of the whole test set."""
    hypotheses = child.ask("translate", texts=[source for source, _ in pairs], batch=64, beam=beam)["hypotheses"]
    references = [[target for _, target in pairs]]
    found, other = bleu(hypotheses, references), chrf(hypotheses, references)
    return {"bleu": found.score, "signature": found.signature, "chrf": other.score}


def described(folder: Path) -> dict[str, Any]:
    """Return what a run is."""
    opened = open_run(folder)
    sizes = opened.recipe.model.model_dump(mode="json")
    cost = opened.manifest["cost"]
    return {
        "layers": f"{sizes['encoder_layers']}+{sizes['decoder_layers']}",
        "width": sizes["width"],
        "steps": cost["steps"],
        "minutes": cost["seconds"] / 60,
        "threads": opened.manifest["threads"],
        "megabytes": {
            "torch": size_of([opened.weights]),
            "int8": size_of(export(folder, quantization="int8")[0].rglob("*")),
        },
    }


def section(records: Sequence[Record], pictures: Path) -> list[str]:
    """Write one table."""
    plan = matching(records, what="plan")[-1]
    loaded = {record["contestant"]: record for record in matching(records, what="loaded")}
    found = turns(records)
    speeds = {
        kind: {name: {at: count / sum(turn[kind]) for at, turn in rounds.items()} for name, rounds in found.items()}
        for kind, _, count in WORK
    }
    scored = {turn["contestant"]: turn for turn in matching(records, what="turn") if "bleu" in turn}
    rows = [
        [
            loaded[name]["title"],
            *(f"{scored[name][score]:.2f}" if name in scored else "-" for score in ("bleu", "chrf")),
            *(
                f"{spread(list(of[name].values())).median:,.1f} ({compare(of, name, YARDSTICK)})"
                for of in speeds.values()
            ),
            f"{plan['runs'][name.split('/')[0]]['megabytes'][name.split('/')[1]]:.1f}",
            memory(rounds.values()),
        ]
        for name, rounds in found.items()
    ]
    head = ["who", "BLEU", "chrF", "sentences/s, one at a time", "batches of 64", "MB on disk", "peak MB"]
    return [*said_of(plan, {turn["signature"] for turn in scored.values()}), *table(head, rows)]


def said_of(plan: Record, signatures: Iterable[str]) -> list[str]:
    """Say what was measured."""
    runs = [
        f"{name}: {one['layers']} layers, width {one['width']}, {one['steps']:,} steps in {one['minutes']:.0f} minutes with "
        f"{one['threads']} {'thread' if one['threads'] == 1 else 'threads'}"
        for name, one in plan["runs"].items()
    ]
    return [
        f"{'; '.join(runs)}. Scores are of {plan['sentences']:,} sentences of {plan['files'][0]}; in brackets the ratio of "
        f"speeds to the teacher in int8 with a beam of 5, which is what a user would set up without a student; beams end as "
        f"CTranslate2's do (`decoding.stopping: full`). BLEU is {', '.join(signatures)}.",
        "",
    ]


def beam_of(name: str) -> int:
    """Return the beam of a contestant."""
    return int(name.rpartition("/")[2])


def said(beam: int) -> str:
    """Name a search."""
    return "greedy" if beam == 1 else f"beam {beam}"


def size_of(files: Iterable[Path]) -> float:
    """Return the size of files in MB."""
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6
