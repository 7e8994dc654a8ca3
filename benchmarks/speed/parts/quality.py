"""Time to a peer's BLEU: every peer trains for so many minutes; how soon does Dragoman translate dev as well?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.speed.bench import Bench, Contestant, begin_sitting, code
from benchmarks.speed.calibration import pauses, rates
from benchmarks.speed.children import Child, Peer, PeerError, python_of
from benchmarks.speed.corpus import DEV_FILES, Pair, Prepared, folder_of, prepare, read_pairs
from benchmarks.speed.fitting import SCRIPT, translate
from benchmarks.speed.own_training import train
from benchmarks.speed.page import table
from benchmarks.speed.parts.train import MODEL, PEERS, PIECES, QUICK, TOKENS
from benchmarks.speed.quality_page import described, draw, own_rows, peer_rows
from benchmarks.speed.records import Record, Records, digest, matching

from dragoman.errors import DragomanError
from dragoman.metrics.scores import bleu, chrf
from dragoman.runs.recipe import load_recipe
from dragoman.text.codec import Codec

TITLE = "Time to a peer's BLEU"
RATE = 0.0007
"""Peak of the peers' learning rate."""
WARM = 400
"""Steps to it."""
QUICK_SIZES = {"text.size": 600, "model.width": 32, "model.feed_forward": 64, "model.heads": 2}
QUICK_LAYERS = {"model.encoder_layers": 1, "model.decoder_layers": 1}
QUICK_STEPS = {"training.batch_tokens": 400, "training.warmup": 5, "training.validate_every": 20}

OWN = Peer("dragoman", "Dragoman")
NOTES = {
    "nntransformer": "hand loop; post-norm; greedy search by hand",
    "huggingface": "hand loop; post-norm; `generate` with one beam",
    "opennmt": "its own Trainer and Translator; pre-norm",
    "eole": "its own Trainer and Translator; pre-norm",
    "marian": "its own trainer, batches (as many target tokens) and decoder; post-norm; learning rate falls as the inverse root; "
    "weights averaged exponentially",
}


@dataclass(frozen=True)
class Task:
    """What is learned, and what is translated."""

    folder: Path
    corpus: Prepared
    dev: Sequence[Pair]

    def score(self, hypotheses: Sequence[str]) -> dict[str, Any]:
        """Score translations of dev."""
        references = [[target for _, target in self.dev]]
        found, other = bleu(hypotheses, references), chrf(hypotheses, references)
        return {"bleu": found.score, "signature": found.signature, "chrf": other.score}


def run(bench: Bench) -> None:
    """Train and measure, one after another, what has no record yet; Dragoman again where its code or recipe changed."""
    task = task_of(bench)
    model = (QUICK if bench.quick else MODEL) | {"vocabulary": task.corpus.vocabulary}
    fitting = {"seconds": 60 * bench.minutes, "learning_rate": RATE, "warm": 10 if bench.quick else WARM}
    settings = {"model": model, "corpus": task.corpus.fingerprint, "dev": digest(task.dev), "fitting": fitting}
    records = bench.records("quality", settings, of_code=False)
    folder = task.corpus.folder.resolve()
    files = {"batches": str(folder / "batches.json"), "vocabulary": str(folder / "vocabulary.txt")}
    load = {**files, "model": model, "label_smoothing": 0.1, "learning_rate": RATE}
    wanted = [one for one in contestants(bench, load) if bench.wants(one.peer)]
    if bench.again and bench.peers:
        records.forget([one.name for one in wanted])
    wanted = [one for one in wanted if not finished(records, one)]
    sitting = begin_sitting(records) if wanted else 0
    if wanted:
        shape = described(task.corpus.read(), task.dev)
        records.add("plan", model=model, corpus=task.corpus.name, **shape, **fitting)
    for number, one in enumerate(wanted, 1):
        bench.say(f"quality: {one.title} ({number} of {len(wanted)})")
        try:
            before = rates()
            measured = own(bench, task, one) if one.peer is OWN else peer(bench, task, one, fitting)
            after = rates()
        except PeerError as error:
            bench.say(f"quality: {one.title} is skipped: {error}")
            records.add("skipped", contestant=one.name, title=one.title, reason=str(error), of=one.load.get("of"))
            continue
        versions = measured.pop("versions", None) or {}
        records.add("loaded", contestant=one.name, title=one.title, versions=versions)
        calibrated = {"before": before, "during": measured.pop("during"), "after": after}
        given = {"contestant": one.name, "title": one.title, "note": one.note, "of": one.load.get("of")}
        records.add("turn", round=0, sitting=sitting, **given, calibration=calibrated, **measured)


def task_of(bench: Bench) -> Task:
    """Return the corpus of the part `train`, and dev."""
    folder = folder_of(bench.work, bench.data, **({"train": 500, "dev": 60} if bench.quick else {}))
    size, tokens = (600, 400) if bench.quick else (PIECES, bench.batch_tokens or TOKENS)
    return Task(folder, prepare(bench.work, folder, size=size, tokens=tokens), read_pairs(folder, DEV_FILES))


def contestants(bench: Bench, load: Mapping[str, Any]) -> list[Contestant]:
    """Return the peers that can translate what they learned, then Dragoman."""
    peers = [
        Contestant(
            one.name,
            one.title,
            Peer(one.name, one.title, one.requirements, one.without_dependencies, SCRIPT.get(one.name)),
            load,
            NOTES[one.name],
        )
        for one, _ in PEERS
        if one.name in NOTES
    ]
    own_minutes = bench.own_minutes or (bench.minutes / 3,)
    return peers + [
        Contestant(
            f"dragoman-{minutes:.3g}",
            f"Dragoman, {minutes:.3g} minutes",
            OWN,
            {"minutes": minutes, "of": digest([code(), resolved(bench.recipe)])},
            f"`dragoman train {Path(bench.recipe).stem}`; the weights that it keeps",
        )
        for minutes in own_minutes
    ]


def resolved(recipe: str) -> Any:
    """Return all settings of a recipe, or what is wrong with it."""
    try:
        return load_recipe(recipe).model_dump(mode="json")
    except DragomanError as error:
        return str(error)


def finished(records: Records, one: Contestant) -> bool:
    """Say whether a contestant was measured, or skipped, as it is now."""
    last = [record for record in records.all(contestant=one.name) if record["what"] in ("turn", "skipped")]
    return bool(last) and last[-1]["of"] == one.load.get("of")


def peer(bench: Bench, task: Task, one: Contestant, fitting: Mapping[str, Any]) -> dict[str, Any]:
    """Train a peer, and score its translations."""
    codec = Codec.load(task.corpus.folder, "pieces")
    child = Child(one.peer, python_of(one.peer, bench.work, bench.say), bench.work / "logs" / f"quality-{one.name}.log")
    try:
        loaded = child.ask("load", **one.load)
        with pauses(child.process.pid, fitting["seconds"] / 6) as during:
            trained = child.ask("fit", within=2 * fitting["seconds"] + 600, **fitting)
        hypotheses, seconds = translate(child, codec, [source for source, _ in task.dev], beam=1)
    finally:
        child.close()
    scores = task.score(hypotheses)
    about_it = {name: loaded.get(name) for name in ("parameters", "threads", "versions")}
    return {**about_it, **trained, **scores, "during": during, "translating": seconds}


def own(bench: Bench, task: Task, one: Contestant) -> dict[str, Any]:
    """Train Dragoman as its command line does, and score its translations."""
    minutes = one.load["minutes"]
    settings: dict[str, Any] = {
        "data.root": str(task.folder.resolve()),
        "data.test": "[]",
        "training.minutes": minutes,
        "training.validate_sentences": len(task.dev),
        "training.log_every": 1,
    }
    if bench.quick:
        settings |= QUICK_SIZES | QUICK_LAYERS | QUICK_STEPS
    log = bench.work / "logs" / f"quality-{one.name}.log"
    folder = bench.work / "runs" / f"quality-{one.load['of']}-{minutes:.3g}"
    trained = train(bench.recipe, settings, folder, log=log, every=10 * minutes, sources=[pair[0] for pair in task.dev])
    scores = task.score(trained.pop("hypotheses"))
    whole, spent = trained["whole"], trained["validating"]
    last = {"seconds": whole, "training": whole - spent, "bleu": scores["bleu"], "end": True}
    return {**trained, **scores, "curve": [*trained["curve"], last]}


def section(records: Sequence[Record], pictures: Path) -> list[str]:
    """Write what the peers reached, and how soon Dragoman did."""
    plan = matching(records, what="plan")[-1]
    trained = matching(records, what="turn")
    peers = newest([turn for turn in trained if "curve" not in turn])
    runs = newest([turn for turn in trained if "curve" in turn])
    draw(peers, runs, pictures / "quality.png")
    head = ["trainer", "dev BLEU", "chrF", "minutes", "epochs", "target tokens/s", "product GFLOP/s", "how"]
    lines = [*said(plan), *table(head, [*peer_rows(peers), *peer_rows(runs)])]
    if runs:
        lines += own_rows(runs, peers)
    lines += [f"![Dev BLEU of Dragoman over time, and of its peers at their end]({pictures.name}/quality.png)", ""]
    signatures = sorted({record["signature"] for record in [*peers, *runs]})
    return [*lines, f"BLEU is sacreBLEU's: {', '.join(signatures)}.", ""]


def newest(trained: Sequence[Record]) -> list[Record]:
    """Return the last turn of each contestant, of the code and recipe of the last one: others are another Dragoman's."""
    return list({turn["contestant"]: turn for turn in trained if turn.get("of") == trained[-1].get("of")}.values())


def said(plan: Record) -> list[str]:
    """Say what was done."""
    model, minutes = plan["model"], plan["seconds"] / 60
    sizes = (
        f"{model['layers']}+{model['layers']} layers, width {model['width']}, feed-forward {model['feed_forward']}, "
        f"{model['heads']} heads, a joint vocabulary of {model['vocabulary']:,} pieces, dropout {model['dropout']}"
    )
    rate = f"a learning rate that rises to {plan['learning_rate']:g} in {plan['warm']} steps and falls in a line to 0"
    batches = f"batches of {plan['target_tokens']:,.0f} target tokens ({plan['pairs']:,} pairs of like lengths)"
    return [
        f"Each peer trains for {minutes:g} minutes, alone on the machine, and then translates the {plan['dev']:,} sentences of "
        f"dev greedily. Corpus: {plan['corpus']}. The peers have {sizes}, label smoothing 0.1, Adam (0.9, 0.98), {rate} at the "
        f"end of the time, and {batches}, in a new order each epoch. Their pieces and batches were made before. Dragoman trains "
        "by a recipe of its own, as a process of its own; its time is that of training with all validations (each of all of "
        "dev), and next to it without. Seconds of several runs are not of one moment: the rate of a matrix product, taken "
        "before, five times during (each process is held for it) and after, says how fast the machine was.",
        "",
    ]
