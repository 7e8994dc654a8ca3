"""One model of three languages, learned by heart: the tag alone decides into which one it translates."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from tests.tiny import TRANSFORMER, dragoman, refusal

from dragoman.conversion.job import export
from dragoman.data.corpus import read_pairs
from dragoman.errors import InputError, SettingsError, TextError
from dragoman.inference.attention_map import AttentionMap
from dragoman.inference.confidence.assessor import Assessor
from dragoman.inference.confidence.evidence import PassSettings, gather, without_word
from dragoman.inference.ctranslate2.translator import ExportedTranslator
from dragoman.inference.engines import load_translator
from dragoman.inference.translator import Translator
from dragoman.jobs.evaluate import measure_tests
from dragoman.jobs.shortlist import make_shortlist
from dragoman.jobs.train import fit
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import Recipe
from dragoman.settings import override, parse
from dragoman.text.codec import Codec
from dragoman.text.links import parse_links
from dragoman.training.checkpoint import load_tensors
from dragoman.training.reports import MetricsFile

PAIRS = [
    {"phrasebook": "train", "pairs": 8, "languages": ["en", "vi"], "both_ways": True},
    {"phrasebook": "train", "pairs": 8, "languages": ["en", "fr"], "both_ways": True},
]
STEPS = 200
TABLE = {
    "data": {"languages": ["en", "vi", "fr"], "train": PAIRS, "dev": PAIRS, "test": [PAIRS[1]]},
    "text": {"kind": "sentencepiece", "size": 180},
    "model": TRANSFORMER | {"decoder_layers": 1, "width": 64, "feed_forward": 64, "dropout": 0.0},
    "training": {
        "steps": STEPS,
        "batch_tokens": 900,
        "learning_rate": 0.006,
        "warmup": 20,
        "label_smoothing": 0.0,
        "validate_every": STEPS,
        "precision": "float32",
        "threads": 1,
        "device": "cpu",
    },
    "decoding": {"beam": 2},
}


def recipe(*assignments: str) -> Recipe:
    """Return the recipe of many languages, with `a.b=value` laid over it."""
    return parse(Recipe, override(TABLE, assignments))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a model that knows its sixteen sentences in three languages by heart."""
    folder = tmp_path_factory.mktemp("many") / "run"
    fit(recipe(), folder)
    return folder


@pytest.fixture(scope="module")
def sentences() -> dict[str, dict[str, str]]:
    """Return the translations of each English sentence, by language."""
    data = recipe().data
    found: dict[str, dict[str, str]] = {}
    for corpus in data.train:
        for pair in read_pairs(corpus, data):
            if pair.languages is not None and pair.languages[0] == "en":
                found.setdefault(pair.source, {})[pair.languages[1]] = pair.target
    return {source: known for source, known in found.items() if len(known) == 2}


def test_the_tag_decides_the_language(run: Path, sentences: dict[str, dict[str, str]]) -> None:
    translator = Translator.load(run, device="cpu")
    sources = list(sentences)
    assert len(sources) >= 4
    found = {to: [one.text for one in translator.translate(sources, to=to)] for to in ("vi", "fr")}
    assert found == {to: [sentences[source][to] for source in sources] for to in ("vi", "fr")}
    mixed = translator.translate([sources[0]] * 2, to=["fr", "vi"])
    assert [one.text for one in mixed] == [found["fr"][0], found["vi"][0]]
    assert [one.text for one in translator.translate(found["fr"], to="en")] == sources


def test_the_tag_decides_the_probability(run: Path, sentences: dict[str, dict[str, str]]) -> None:
    translator = Translator.load(run, device="cpu")
    source, known = next(iter(sentences.items()))
    (right, tokens), (wrong, same) = (translator.score([source], [known["fr"]], to=to)[0] for to in ("fr", "vi"))
    assert tokens == same and right > wrong + 5


def test_no_search_writes_a_tag(run: Path) -> None:
    translator = Translator.load(run, device="cpu")
    tags = set(translator.target.special.tags)
    with torch.no_grad():
        translator.models[0].decoder.head.weight[list(tags)] = translator.models[0].decoder.head.weight[5:8] * 99
    for settings in (
        {"beam": 3, "n_best": 3},
        {"method": "greedy"},
        {"method": "sample", "seed": 2},
        {"minimum_length": 3},
    ):
        (found,) = translator.translate(["I am here."], to="fr", **settings)
        texts = [found.text, *(one.text for one in found.alternatives)]
        assert not any("<to" in text for text in texts)


def test_training_measures_each_direction(run: Path) -> None:
    last = MetricsFile(run / "metrics.jsonl").read()[-1]
    scores = [last[f"dev_bleu_{name}"] for name in ("en-vi", "vi-en", "en-fr", "fr-en")]
    assert last["dev_bleu"] == pytest.approx(sum(scores) / 4) and min(scores) > 90
    measured = measure_tests(run)
    assert list(measured) == ["phrasebook train (en-fr)", "phrasebook train (fr-en)"]
    assert min(bleu.score for bleu, _ in measured.values()) > 90
    assert set(json.loads((run / "test.json").read_text(encoding="utf-8"))) == set(measured)


def test_attention_leaves_the_tag_out_of_words(run: Path, sentences: dict[str, dict[str, str]]) -> None:
    translator = Translator.load(run, device="cpu")
    source = next(iter(sentences))
    (found,) = translator.translate([source], to="fr", attention=True)
    (given,) = translator.attention_maps([source], [found.text], to="fr")
    for reading in (found.reading, given):
        assert reading is not None
        assert reading.source.pieces[0] == "<to fr>" and reading.source.owners[0] is None
        assert len(reading.source.pieces) == len(reading.source.owners) == reading.weights.shape[-1]
        assert reading.source.words == source.split()
        assert reading.by_words().shape[-1] == len(source.split())
        first = [number for number, owner in enumerate(reading.source.owners) if owner == 0]
        assert torch.allclose(
            reading.by_words()[:, :, 0, 0], reading.weights[:, :, _rows(reading, 0)][..., first].sum(-1).mean(-1)
        )
        assert reading.mean_of_text().shape == (len(reading.target.pieces) - 1, len(reading.source.pieces) - 2)
    assert torch.equal(found.reading.weights, given.weights) if found.reading else False
    assert "<to fr>" in given.picture(pieces=True).source_words
    assert "<to fr>" not in given.picture().source_words


def _rows(reading: AttentionMap, word: int) -> list[int]:
    """Return the tokens of a target word."""
    return [number for number, owner in enumerate(reading.target.owners) if owner == word]


def test_commands_take_the_languages(run: Path, sentences: dict[str, dict[str, str]], tmp_path: Path) -> None:
    source, known = next(iter(sentences.items()))
    assert dragoman("translate", run, "--to", "fr", stdin=f"{source}\n\n").lines == [known["fr"], ""]
    assert (
        dragoman("translate", run, "--to", "vi", "--from", "en", "--align", stdin=source)
        .lines[0]
        .startswith(known["vi"])
    )
    for name, text in (("a.en", source), ("a.fr", known["fr"])):
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    files = (tmp_path / "a.en", tmp_path / "a.fr")
    assert float(dragoman("score", run, *files, "--to", "fr").lines[0]) > -3
    assert dragoman("evaluate", run, *files, "--to", "fr").lines[0].startswith("BLEU 100.00")
    (links,) = dragoman("align", run, *files, "--to", "fr", "--from", "en", "--reverse", run).lines
    last = [len(text.split()) - 1 for text in (source, known["fr"])]
    assert links and all(0 <= i <= last[0] and 0 <= j <= last[1] for i, j in parse_links(links).sure)
    picture = tmp_path / "it.svg"
    assert dragoman("attend", run, source, "-o", picture, "--to", "fr").code == 0 and picture.exists()
    assert "looks like `fr`" in refusal("evaluate", run, *reversed(files), "--to", "fr")


def test_translations_are_assessed_with_the_tag(run: Path, sentences: dict[str, dict[str, str]]) -> None:
    source, known = next(iter(sentences.items()))
    assessor = Assessor.load(run)
    requests = assessor.translator.requests([source], [known["fr"]], to="fr")
    (seen,) = gather(assessor.translator, requests, PassSettings())
    assert seen.emptied is not None and seen.erased is not None
    tagged = [
        replace(
            requests[0], sources=tuple([*codec.tag("fr"), *rest] for codec, rest in _without_words(assessor, source))
        )
    ]
    (bare,) = assessor.translator.engine.score(tagged, assessor.translator.settings)
    assert seen.emptied == pytest.approx(seen.log_probs - np.array(bare.token_log_probs), abs=1e-3)
    found = dragoman("translate", run, "--to", "fr", "--alarms", "--rescue", "--json", stdin=source)
    assert json.loads(found.lines[0])["translation"] == known["fr"]
    assert "in several directions" in refusal("calibrate", run)


def _without_words(assessor: Assessor, source: str) -> list[tuple[Codec, list[int]]]:
    """Return what is left of a source without its words, for each codec."""
    return [(codec, without_word(codec, source, None) or []) for codec in assessor.translator.sources]


def test_an_unseen_pair_is_translated_with_a_note(run: Path) -> None:
    found = dragoman("translate", run, "--from", "vi", "--to", "fr", stdin="Tôi ở đây.")
    assert found.code == 0 and len(found.lines) == 1
    assert found.errors.count("zero-shot") == 1 and "from `vi` to `fr`" in found.errors
    seen = dragoman("translate", run, "--from", "vi", "--to", "en", stdin="Tôi ở đây.")
    assert "zero-shot" not in seen.errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "several languages (vi, en, fr); say which one with `--to`"),
        (("--to", "de"), "does not translate into `de`; it knows vi, en, fr"),
        (("--to", "fr", "--from", "de"), "does not translate from `de`"),
        (("--to", "fr", "--from", "fr"), "are both `fr`"),
    ],
)
def test_languages_that_the_run_does_not_know_are_refused(options: tuple[str, ...], message: str, run: Path) -> None:
    assert message in refusal("translate", run, *options, stdin="I am here.")


def test_a_run_of_one_direction_refuses_another(trained: object) -> None:
    one = trained("transformer")  # type: ignore[operator]
    assert "not from `en` to `fr`" in refusal("translate", one, "--to", "fr", stdin="I am here.")
    assert dragoman("translate", one, "--to", "vi", "--from", "en", stdin="I am here.").code == 0
    with pytest.raises(InputError, match=r"not from `en` to `fr`"):
        Translator.load(one).translate(["I am here."], to="fr")


def test_an_export_keeps_the_tags(run: Path, sentences: dict[str, dict[str, str]], tmp_path: Path) -> None:
    folder, agreement = export(run, tmp_path / "out", quantization="float32")
    assert agreement.equal_greedy == 1.0
    assert json.loads((folder / "export.json").read_text(encoding="utf-8"))["format"] == 2
    exported = load_translator(folder)
    assert isinstance(exported, ExportedTranslator)
    own = Translator.load(run, device="cpu")
    for to in ("fr", "vi"):
        pairs = zip(own.translate([*sentences], to=to), exported.translate([*sentences], to=to), strict=True)
        assert all(one.text == two.text for one, two in pairs)
    with pytest.raises(InputError, match=r"several languages \(vi, en, fr\)"):
        exported.translate([*sentences])
    assert dragoman("translate", folder, "--to", "fr", stdin=next(iter(sentences))).code == 0


def test_an_ensemble_needs_the_same_directions(run: Path, tmp_path: Path) -> None:
    both = dragoman("translate", run, run, "--to", "fr", stdin="I am here.")
    assert both.lines == dragoman("translate", run, "--to", "fr", stdin="I am here.").lines
    other = shutil.copytree(run, tmp_path / "other")
    changed = yaml.safe_load((other / "recipe.yaml").read_text(encoding="utf-8"))
    for part in ("train", "dev", "test"):
        changed["data"][part] = [
            corpus | {"both_ways": False, "languages": ["en", "fr"]} for corpus in changed["data"][part][-1:]
        ]
    (other / "recipe.yaml").write_text(yaml.safe_dump(changed), encoding="utf-8")
    assert "give runs of the same directions" in refusal("translate", run, other, "--to", "fr", stdin="I am here.")


def test_a_resumed_run_equals_the_uninterrupted_one(tmp_path: Path) -> None:
    short = (
        "text.sampling=0.1",
        "training.validate_every=4",
        "model.width=16",
        "model.feed_forward=16",
        "model.dropout=0.1",
    )
    fit(recipe(*short, "training.epochs=2", "training.steps=null"), tmp_path / "whole")
    fit(recipe(*short, "training.epochs=1", "training.steps=null"), tmp_path / "part")
    fit(recipe(*short, "training.epochs=2", "training.steps=null"), tmp_path / "part", resume=True)
    one, two = (load_tensors(tmp_path / name / "training" / "last.safetensors")[0] for name in ("whole", "part"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one if name.startswith("model"))


def test_one_direction_is_learned_on_top(run: Path, tmp_path: Path) -> None:
    alone = ("data.train=[{phrasebook: train, pairs: 8, languages: [en, fr]}]", "data.test=[]", "training.steps=2")
    dev = "data.dev=[{phrasebook: train, pairs: 8, languages: [en, fr]}]"
    own = recipe(
        *alone, dev, "training.validate_every=1", "training.learning_rate=1e-9", f"model.start_from.whole={run}"
    )
    fit(own, tmp_path / "run")
    tuned = open_run(tmp_path / "run")
    assert tuned.source == open_run(run).source and tuned.directions.targets == ("fr",)
    source = "Your husband buys a bottle of beer."
    by_itself = Translator.load(tmp_path / "run", device="cpu").translate([source])[0]
    assert by_itself.text == Translator.load(run, device="cpu").translate([source], to="fr")[0].text
    with pytest.raises(TextError, match=r"no tag of `de`, only of en, vi, fr"):
        fit(recipe(*alone, dev, "data.languages=[en, fr, de]", f"model.start_from.whole={run}"), tmp_path / "other")


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (("model={kind: document, width: 16, heads: 2}",), r"`data\.languages.*sentence by sentence"),
        (
            ("model={kind: decoder_only, width: 16, heads: 2}", "training.metric=loss"),
            r"`data\.languages.*sentence by sentence",
        ),
        (("text={kind: words, unknown: positional}",), r"`text\.unknown: positional` needs"),
    ],
)
def test_what_tags_do_not_work_with_is_refused(assignments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=message):
        fit(recipe(*assignments), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_shortlist_is_for_one_direction(run: Path) -> None:
    with pytest.raises(InputError, match=r"in several directions .*; give a run of one direction"):
        make_shortlist(run)


@pytest.mark.slow
def test_a_student_learns_every_direction(run: Path, tmp_path: Path) -> None:
    student = {name: TABLE[name] for name in ("data", "text", "model")} | {
        "training": {**TABLE["training"], "steps": 2}
    }
    (tmp_path / "student.yaml").write_text(yaml.safe_dump(student), encoding="utf-8")
    found = dragoman("distill", run, "--recipe", tmp_path / "student.yaml", "--out", tmp_path / "new")
    assert found.code == 0, found.errors
    files = sorted((tmp_path / "new" / "distilled").glob("*.jsonl"))
    assert len(files) == 4
    first = [json.loads(file.read_text(encoding="utf-8").split("\n")[0]) for file in files]
    assert first[0]["source"] == first[1]["target"] == first[2]["source"] == first[3]["target"]
    assert set(open_run(tmp_path / "new").directions.trained) == set(open_run(run).directions.trained)
