"""One training of the sweep by another toolkit: its own trainer and search, on Dragoman's pieces and batches."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.speed.children import ROOT, Child, PeerError, python_of
from benchmarks.speed.corpus import Prepared, prepare_pairs
from benchmarks.speed.fitting import SCRIPT, translate
from benchmarks.speed.parts.train import PEERS

from dragoman.data.corpus import read_pairs
from dragoman.data.filters import PairFilter
from dragoman.data.settings import DataSettings
from dragoman.errors import InputError
from dragoman.metrics.scores import bleu, chrf
from dragoman.settings import parse
from dragoman.text.codec import Codec

WORK = ROOT / ".bench"
"""Environments of peers, as those of `benchmarks.speed`."""


def train_peer(job: dict[str, Any]) -> dict[str, Any]:
    """Train a peer for the budget, in minutes of a processor for each thread, and return what was measured."""
    recipe = job["recipe"]
    data = parse(DataSettings, recipe["data"], where=job["variant"])
    corpus = _prepared(data, recipe, work=Path(job["folder"]).parent)
    codec = Codec.load(corpus.folder, "pieces")
    training = recipe["training"]
    files = {"batches": str(corpus.batches.resolve()), "vocabulary": str(corpus.folder.resolve() / "vocabulary.txt")}
    load = {name: training[name] for name in ("label_smoothing", "learning_rate")}
    fitting = {"seconds": 60 * job["budget"]["minutes"], "warm": training["warmup"], "processor": True}
    model = recipe["model"] | {"vocabulary": corpus.vocabulary}
    try:
        child = _start(recipe["peer"], Path(job["folder"]))
        try:
            loaded = child.ask("load", **files, **load, model=model)
            fitted = child.ask(
                "fit", within=10 * fitting["seconds"] + 600, learning_rate=training["learning_rate"], **fitting
            )
            scores = [
                _scored(child, codec, [pair[:2] for pair in read_pairs(test, data)], beam=recipe["decoding"]["beam"])
                for test in data.test
            ]
        finally:
            child.close()
    except PeerError as error:
        raise InputError(f"{recipe['peer']} could not be measured: {error}") from error
    return {
        "bleu": {name: score["bleu"] for name, score in zip(job["tests"], scores, strict=True)},
        "chrf": {name: score["chrf"] for name, score in zip(job["tests"], scores, strict=True)},
        "signature": scores[0]["signature"],
        "steps": fitted["steps"],
        "tokens": fitted["target"],
        "seconds": round(fitted["seconds"], 1),
        "epochs": fitted["epochs"],
        "parameters": loaded.get("parameters"),
        "precision": "float32",
        "settings": {name: recipe[name] for name in ("text", "model", "training")},
        "versions": loaded["versions"],
    }


def _prepared(data: DataSettings, recipe: dict[str, Any], *, work: Path) -> Prepared:
    """Cut the training corpora into batches, filtered and repeated as Dragoman's own training filters and repeats them."""
    keep = PairFilter(data.filters).keep
    pairs = [
        (pair.source, pair.target)
        for corpus in data.train
        for pair in keep(read_pairs(corpus, data))
        for _ in range(corpus.repeat)
    ]
    tokens = recipe["training"]["batch_tokens"]
    return prepare_pairs(work, pairs, name="", size=recipe["text"]["size"], tokens=tokens)


def _start(name: str, folder: Path) -> Child:
    """Start a peer, in its environment, which is made where it is missing; InputError for an unknown one."""
    named = {peer.name: peer for peer, _ in PEERS}
    if name not in named:
        raise InputError(f"there is no peer `{name}`; there are {', '.join(sorted(named))}")
    peer = replace(named[name], script=SCRIPT.get(name, named[name].script))
    return Child(peer, python_of(peer, WORK, print), folder.with_name(f"{folder.name}-peer.log"))


def _scored(child: Child, codec: Codec, pairs: list[tuple[str, str]], *, beam: int) -> dict[str, Any]:
    """Score a peer's translations of pairs."""
    hypotheses, _ = translate(child, codec, [source for source, _ in pairs], beam=beam)
    references = [[target for _, target in pairs]]
    found = bleu(hypotheses, references)
    return {"bleu": found.score, "signature": found.signature, "chrf": chrf(hypotheses, references).score}
