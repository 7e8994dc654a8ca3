"""Models of documents learn what stands only in the sentences before, and read them wherever they are used."""

import json
import random
from functools import cache
from pathlib import Path

import pytest
from safetensors.torch import load_file
from tests.tiny import dragoman, refusal

from dragoman.errors import CorpusError
from dragoman.inference.confidence.evidence import PassSettings, gather
from dragoman.inference.translator import Translator
from dragoman.jobs.train import fit
from dragoman.runs.recipe import Recipe
from dragoman.settings import merge, parse
from dragoman.training.reports import MetricsFile

NOUNS = {"cat": "mèo", "dog": "chó", "sea": "biển", "boat": "thuyền", "tree": "cây", "book": "sách"}
"""What a document is about: named in its first sentence; later ones say `it`, which is translated by the noun."""

SMALL = {"encoder_layers": 1, "decoder_layers": 1, "width": 32, "feed_forward": 32, "heads": 2, "dropout": 0.0}
RECIPE = {
    "data": {"source": "en", "target": "vi"},
    "text": {"kind": "words", "minimum_count": 1, "joint": True},
    "model": {"kind": "document", "previous": 2, **SMALL},
    "training": {
        "steps": 150,
        "batch_tokens": 300,
        "learning_rate": 0.01,
        "warmup": 20,
        "validate_every": 75,
        "metric": "loss",
        "label_smoothing": 0.0,
        "keep": 0,
        "precision": "float32",
        "threads": 1,
        "device": "cpu",
    },
    "decoding": {"beam": 2},
}


def documents(count: int, seed: int) -> list[list[tuple[str, str]]]:
    """Return documents in which `it` stands one or two sentences after its noun."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        english, vietnamese = rng.choice(list(NOUNS.items()))
        between = [("yes .", "vâng .")] * rng.randint(0, 1)
        made.append([(f"a {english} .", f"một {vietnamese} ."), *between, ("it sleeps .", f"{vietnamese} ngủ .")])
    return made


def write(folder: Path, name: str, texts: list[list[tuple[str, str]]]) -> tuple[Path, Path]:
    """Write documents with blank lines between them."""
    paths = (folder / f"{name}.en", folder / f"{name}.vi")
    for side, path in enumerate(paths):
        path.write_text("\n".join("".join(f"{pair[side]}\n" for pair in text) for text in texts), encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training and a dev corpus."""
    folder = tmp_path_factory.mktemp("documents")
    write(folder, "train", documents(200, 1))
    write(folder, "dev", documents(30, 2))
    return folder


@pytest.fixture(scope="module")
def run_of(corpus: Path):
    """Return a function that trains a model of a kind, once, and gives its run."""

    @cache
    def train(kind: str) -> Path:
        fit(recipe(corpus, kind), corpus / kind)
        return corpus / kind

    return train


def recipe(corpus: Path, kind: str, **data: object) -> Recipe:
    """Return the recipe of one kind of model."""
    split = {"documents": "blank lines"}
    parts = {
        name: [{"source": str(corpus / f"{name}.en"), "target": str(corpus / f"{name}.vi"), **split}]
        for name in ("train", "dev")
    }
    model = {"kind": kind, **SMALL} | ({"previous": 2} if kind == "document" else {})
    return parse(Recipe, merge({**RECIPE, "model": model}, {"data": {**parts, **data}}))


def right(run: Path) -> float:
    """Return the share of dev documents whose `it` is translated by its noun."""
    translator, texts = Translator.load(run), documents(30, 2)
    lines = [line for text in texts for line in (*(source for source, _ in text), "")]
    found = iter(one.text for one in translator.translate(lines))
    return sum([next(found) for _ in (*text, None)][-2] == text[-1][1] for text in texts) / len(texts)


@pytest.mark.slow
def test_what_stands_only_before_is_learned_by_the_model_that_reads_it(run_of):
    assert right(run_of("document")) == 1.0
    assert right(run_of("transformer")) < 0.5
    losses = {
        kind: [one["dev_loss"] for one in MetricsFile(run_of(kind) / "metrics.jsonl").read() if "dev_loss" in one][-1]
        for kind in ("document", "transformer")
    }
    assert losses["document"] < 0.1 < 0.15 < losses["transformer"]


def test_blank_lines_begin_a_document_and_given_sentences_take_the_place_of_those_in_the_list(run_of):
    translator = Translator.load(run_of("document"))
    lines = ["a cat .", "yes .", "it sleeps .", "", "it sleeps ."]
    found = [one.text for one in translator.translate(lines)]
    assert found[:4] == ["một mèo .", "vâng .", "mèo ngủ .", ""]
    assert translator.preceding(lines) == [[], ["a cat ."], ["a cat .", "yes ."], [], []]
    for noun, translated in NOUNS.items():
        before = [["a sea .", f"a {noun} .", "yes ."]]
        (one,) = translator.translate(["it sleeps ."], previous=before, attention=True)
        assert one.text == f"{translated} ngủ ."
        ((given, _),) = translator.score(["it sleeps ."], [one.text], previous=before)
        ((alone, _),) = translator.score(["it sleeps ."], [one.text])
        ((nearest, _),) = translator.score(["it sleeps ."], [one.text], previous=[before[0][1:]])
        assert given > alone + 0.5
        assert given == pytest.approx(nearest, abs=1e-5)
        assert one.log_prob == pytest.approx(given, abs=1e-3)
    assert translator.preceding(["a", "b", "c"], ["x", "x", None]) == [[], ["a"], []]


def test_context_crosses_the_chunks_of_standard_input(run_of, monkeypatch: pytest.MonkeyPatch):
    lines = "a cat .\nyes .\nit sleeps .\n\na dog .\nit sleeps .\n"
    whole = dragoman("translate", run_of("document"), stdin=lines).lines
    assert whole == ["một mèo .", "vâng .", "mèo ngủ .", "", "một chó .", "chó ngủ ."]
    for chunk in (1, 2):
        monkeypatch.setattr("dragoman.cli.translate.CHUNK", chunk)
        assert dragoman("translate", run_of("document"), stdin=lines).lines == whole


def test_an_ensemble_reads_as_far_back_as_each_of_its_models(run_of):
    alone, both = (
        Translator.load(*(run_of(kind) for kind in kinds)) for kinds in (["document"], ["document", "transformer"])
    )
    assert (alone.previous, both.previous) == (2, 2)
    assert both.translate(["it sleeps ."], previous=[["a dog ."]])[0].text == "chó ngủ ."


def test_a_reverse_run_of_documents_reads_each_translation_alone(run_of):
    translator, reverse = (Translator.load(run_of(kind)) for kind in ("transformer", "document"))
    requests = translator.requests(["a cat .", "it sleeps ."], ["một mèo .", "mèo ngủ ."])
    together = gather(translator, requests, PassSettings(erasure=False), reverse=reverse)
    alone = gather(translator, requests[1:], PassSettings(erasure=False), reverse=reverse)
    assert together[1].reverse == pytest.approx(alone[0].reverse, abs=1e-4)


def test_what_reads_sentences_one_by_one_refuses_it(run_of, corpus: Path, tmp_path: Path):
    run, out = run_of("document"), ("--out", tmp_path / "out")
    for job in (
        ("adapt", run, "--data", corpus, *out),
        ("backtranslate", run, corpus / "dev.en", *out),
        ("diversify", run, *out),
        ("translate", run_of("transformer"), "--rerank", run),
    ):
        assert f"{run} reads documents, but " in refusal(*job), job[0]
    assert not (tmp_path / "out").exists()


def test_evaluate_and_score_know_documents_from_blank_lines_or_names(run_of, corpus: Path, tmp_path: Path):
    texts = documents(30, 2)
    run, dev = run_of("document"), (corpus / "dev.en", corpus / "dev.vi")
    flat = [pair for text in texts for pair in text]
    plain = (tmp_path / "flat.en", tmp_path / "flat.vi", tmp_path / "flat.ids")
    names = [f"D{number}\t{line}" for number, text in enumerate(texts) for line, _ in enumerate(text)]
    for path, lines in zip(plain, ([s for s, _ in flat], [t for _, t in flat], names), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    scores = [
        json.loads(dragoman("evaluate", run, *files, "--json").output)["chrf"]
        for files in (dev, (*plain[:2], "--documents", plain[2]))
    ]
    assert scores[0]["score"] == scores[1]["score"] == pytest.approx(100)
    between = [
        line
        for line, text in zip(dragoman("score", run, *dev).lines, dev[0].read_text().split("\n"), strict=False)
        if text
    ]
    named = dragoman("score", run, *plain[:2], "--documents", plain[2]).lines
    assert [float(one) for one in named] == pytest.approx([float(one) for one in between], abs=1e-3)
    refused = refusal("score", run_of("transformer"), *plain[:2], "--documents", plain[2])
    assert "--documents is for document models" in refused


def test_both_levels_of_attention_are_drawn(run_of, tmp_path: Path):
    run, picture = run_of("document"), tmp_path / "it.svg"
    before = [word for noun in ("cat", "dog") for word in ("--previous", f"a {noun} .")]
    found = dragoman("attend", run, "it sleeps .", "-o", picture, *before)
    assert found.lines == [
        str(picture),
        *(str(tmp_path / f"it-previous-{level}.svg") for level in ("words", "sentences")),
    ]
    assert "it sleeps .  →  chó ngủ ." in found.errors
    header, *rows = [line.split() for line in found.errors.splitlines()[1:]]
    assert header == ["word", "kept", "[-2]", "[-1]"]
    assert [row[0] for row in rows] == ["it", "sleeps", "."]
    assert all(float(row[2]) + float(row[3]) == pytest.approx(1, abs=0.011) for row in rows)
    assert "[-2] a" in (tmp_path / "it-previous-words.svg").read_text()
    assert "[-1] a dog ." in (tmp_path / "it-previous-sentences.svg").read_text()
    refused = refusal("attend", run_of("transformer"), "it sleeps .", "-o", picture, *before)
    assert refused == "this run does not read previous sentences; choose one whose model has `kind: document`"


@pytest.mark.parametrize("part", ["train", "dev"])
def test_a_corpus_without_documents_is_refused_before_anything_is_written(corpus: Path, tmp_path: Path, part: str):
    files = {"source": str(corpus / "train.en"), "target": str(corpus / "train.vi")}
    with pytest.raises(
        CorpusError, match=r"`model.kind: document` needs documents, but .*train\.en does not say where"
    ):
        fit(recipe(corpus, "document", **{part: [files]}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_resumed_run_of_documents_is_the_unbroken_one(corpus: Path, tmp_path: Path):
    short = recipe(corpus, "document")
    budgets = [short.model_copy(update={"training": short.training.model_copy(update={"steps": n})}) for n in (3, 6)]
    fit(budgets[1], tmp_path / "unbroken")
    fit(budgets[0], tmp_path / "broken")
    fit(budgets[1], tmp_path / "broken", resume=True)
    weights = [load_file(tmp_path / name / "training" / "last.safetensors") for name in ("unbroken", "broken")]
    assert weights[0].keys() == weights[1].keys()
    assert all(tensor.equal(weights[1][name]) for name, tensor in weights[0].items())


@pytest.mark.slow
def test_a_model_of_documents_starts_from_one_of_sentences(run_of, corpus: Path, tmp_path: Path):
    start = {
        "model": {"start_from": {"whole": str(run_of("transformer"))}},
        "training": {"steps": 1, "learning_rate": 1e-12},
    }
    fit(parse(Recipe, merge(recipe(corpus, "document").model_dump(mode="json"), start)), tmp_path / "run")
    before, after = (load_file(run / "model.safetensors") for run in (run_of("transformer"), tmp_path / "run"))
    assert all(name.startswith("encoder.hierarchy.") for name in after.keys() - before.keys())
    assert before.keys() < after.keys()
    assert all(tensor.allclose(after[name], atol=1e-6) for name, tensor in before.items())
