"""A run becomes a folder that `transformers` loads and that translates as it does, or nothing is written."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch
import yaml
from tests.laws.architectures import ARCHITECTURES, transformer
from tests.pretrained.odd_text import ODD
from tests.slow import some
from tests.tiny import Trained, dragoman, refusal
from torch import nn
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from dragoman.attention.settings import HardSettings
from dragoman.data.collate import collate
from dragoman.errors import ExportError
from dragoman.inference.translator import Translator
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.pretrained import huggingface, huggingface_proof, huggingface_weights, tokenizer_json
from dragoman.pretrained.huggingface import export, obstacles
from dragoman.pretrained.proof import Reader
from dragoman.runs.folder import open_run

SOURCES = ["I love cats.", "No.", "The cat sits on the mat near the old school.", "</s> <unk> ▁ Cafe\u0301  x"]
TOKENS = 15
"""Tokens of a translation."""
TEXT = {
    "bpe": (),
    "unigram": ("text.algorithm=unigram", "text.size=250"),
    "lower": ("text.lower=true", "text.size=250"),
    "two": ("text.joint=false", "text.size=180"),
    "characters": ('text={"kind": "characters", "joint": true}',),
    "annotated": ("text.glossary.share=0.5",),
}
RUNS = {
    "pre, all": ("bpe", "pre", "all"),
    "post, all": ("bpe", "post", "all"),
    "pre, unigram": ("unigram", "pre", "all"),
    "post, lower": ("lower", "post", "all"),
    "pre, target, two vocabularies": ("two", "pre", "target"),
    "post, none": ("bpe", "post", "none"),
    "post, characters, target": ("characters", "post", "target"),
    "pre, annotated": ("annotated", "pre", "all"),
}

QUICK = ("pre, unigram", "post, all")
"""What is compared every time; the rest is slow."""


@pytest.fixture(autouse=True)
def short_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the first tokens of translations: those of random weights do not end."""
    monkeypatch.setattr(huggingface_proof, "WRITTEN", 12)


def recipe_of(name: str) -> tuple[str, ...]:
    """Return what to change in the tiny recipe for a run of RUNS."""
    text, norm, tied = RUNS[name]
    return (*TEXT[text], f"model.norm={norm}", f"model.tied={tied}")


def loud(run: Path, folder: Path) -> Path:
    """Copy a run, with random weights so large that every mistake shows."""
    copytree(run, folder)
    opened = open_run(folder)
    model = opened.load_model(torch.device("cpu"))
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                noise = torch.randn(parameter.shape, generator=generator)
                norm = isinstance(module, nn.LayerNorm) and name == "weight"
                parameter.copy_(1 + 0.3 * noise if norm else 0.4 * noise)
    opened.files.save_weights(opened.weights, model, {})
    return folder


def load(folder: Path) -> tuple[Any, Any]:
    """Return tokenizer and model of an export."""
    return AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder).eval()


def greedy(folder: Path, sources: list[str]) -> list[str]:
    """Translate with `transformers` as the model card shows it, one token after another."""
    tokenizer, model = load(folder)
    inputs = tokenizer(sources, return_tensors="pt", padding=True)
    written = model.generate(**inputs, num_beams=1, max_new_tokens=TOKENS)
    return [str(text) for text in tokenizer.batch_decode(written, skip_special_tokens=True)]


def own_greedy(run: Path, sources: list[str], to: str | None = None) -> list[str]:
    """Translate with Dragoman, without its `<unk>`."""
    own = Translator.load(run, device="cpu")
    found = own.translate(sources, to=to, method="greedy", maximum_ratio=0.0, maximum_extra=TOKENS)
    return [own.target.decode([index for index in one.ids if index != own.target.special.unk]) for one in found]


@pytest.mark.parametrize(
    "name",
    some(RUNS, QUICK),
)
def test_an_export_is_its_run(name: str, trained: Trained, tmp_path: Path) -> None:
    run = loud(trained("transformer", *recipe_of(name)), tmp_path / "run")
    folder, proof = export(run, tmp_path / "out")
    assert proof is not None and proof.sentences == 20 and proof.holds and proof.tokens == proof.greedy == 1
    assert greedy(folder, SOURCES) == own_greedy(run, SOURCES)
    tokenizer, source = AutoTokenizer.from_pretrained(folder), open_run(run).source
    for text in ODD:
        assert tokenizer(text).input_ids == [*source.encode(text), 2], text


@pytest.mark.parametrize(
    "name",
    [
        "pre, all",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("post, all", "post, none", "pre, target, two vocabularies")
        ),
    ],
)
def test_logits_are_equal_in_float64_and_after_another_save(name: str, trained: Trained, tmp_path: Path) -> None:
    run = open_run(loud(trained("transformer", *recipe_of(name)), tmp_path / "run"))
    folder, _ = export(run.folder, tmp_path / "out")
    tokenizer, model = load(folder)
    model.save_pretrained(tmp_path / "again")
    tokenizer.save_pretrained(tmp_path / "again")
    other_tokenizer, _ = load(tmp_path / "again")
    pairs = collate([(run.source.encode(text), run.target.encode("Tôi yêu mèo.")) for text in SOURCES[:2]])
    layout = huggingface_weights.layout_of(run.recipe.model, len(run.source), len(run.target))  # type: ignore[arg-type]
    own = run.load_model(torch.device("cpu")).double()
    readers = [Reader(tmp_path / name, layout.offset) for name in ("out", "again")]
    with torch.no_grad():
        wanted = own(pairs.source, pairs.inputs).logits[pairs.real]
        found, again = (one.logits(pairs, torch.float64) for one in readers)
    assert (found - wanted).abs().max() < 1e-6 * wanted.abs().max()
    assert torch.equal(found, again)
    assert [other_tokenizer(text).input_ids for text in ODD] == [tokenizer(text).input_ids for text in ODD]


def test_a_beam_is_that_of_the_recipe(trained: Trained, tmp_path: Path) -> None:
    folder, _ = export(trained("transformer"), tmp_path / "out")
    tokenizer, model = load(folder)
    assert (model.generation_config.num_beams, model.generation_config.min_new_tokens) == (3, 2)
    written = model.generate(**tokenizer(SOURCES, return_tensors="pt", padding=True), max_new_tokens=20)
    assert written.shape[0] == len(SOURCES) and not set(written[:, 1:2].flatten().tolist()) & {0, 1, 2}


@pytest.mark.slow
def test_a_run_of_several_languages_reads_its_tags(tmp_path: Path, trained: Trained) -> None:
    pairs = '[{"phrasebook": "train", "pairs": 60, "languages": ["en", "vi"], "both_ways": true}]'
    changes = (f"data.train={pairs}", f"data.dev={pairs}", "data.test=[]", 'data.languages=["en", "vi"]')
    run = loud(trained("transformer", *changes), tmp_path / "run")
    folder, proof = export(run, tmp_path / "out")
    assert proof is not None
    assert greedy(folder, [f"<to vi> {text}" for text in SOURCES]) == own_greedy(run, SOURCES, "vi")
    assert "`<to vi>`" in (folder / "README.md").read_text(encoding="utf-8")


def test_adapters_are_merged(trained: Trained, tmp_path: Path) -> None:
    base = trained("transformer")
    changes = (f"model.start_from.whole={base}", "model.adapters.rank=2")
    _, proof = export(trained("transformer", *changes), tmp_path / "out")
    assert proof is not None and proof.sentences == 20


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"positions": "learned"}, "model.positions: learned"),
        ({"positions": "none"}, "model.positions: none"),
        ({"relative": "rotary", "positions": "none"}, "model.relative: rotary"),
        ({"relative": "shaw"}, "model.relative: shaw"),
        ({"gated": True}, "model.gated: true"),
        ({"scaling": "none"}, "model.scaling: none"),
        ({"norm_kind": "rms"}, "model.norm_kind: rms"),
        ({"norm_epsilon": 1e-6}, "model.norm_epsilon: 1e-06"),
        ({"embedding_norm": True}, "model.embedding_norm: true"),
        ({"autoregression": "ssru"}, "model.autoregression: ssru"),
        ({"experts": ExpertSettings(experts=3, active=1)}, "model.experts"),
        ({"self_score": "additive"}, "model.self_score: additive"),
        ({"cross_weights": "sparsemax"}, "model.cross_weights: sparsemax"),
        ({"hard": HardSettings(training="gumbel")}, "model.hard"),
    ],
    ids=str,
)
def test_what_cannot_be_expressed_is_named(settings: dict[str, Any], named: str) -> None:
    assert f"`{named}`" in list(obstacles(transformer(**settings)))


def test_what_differs_from_the_default_and_is_not_known_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface, "ANY", tuple(name for name in huggingface.ANY if name != "width"))
    assert list(obstacles(transformer(width=32))) == ["`model.width: 32`"]


def test_other_models_are_named_by_their_kind() -> None:
    for name, kind in (("plain gru", "rnn"), ("document", "document"), ("decoder-only", "decoder_only")):
        assert list(obstacles(ARCHITECTURES[name])) == [f"a model of the kind `{kind}`"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("text.right_to_left=true", "right_to_left"),
        ("text.inline_casing=true", "text.inline_casing: true"),
        ('text={"kind": "words", "joint": true}', "text.kind: words"),
    ],
)
def test_text_that_cannot_be_expressed_is_named(change: str, named: str, trained: Trained, tmp_path: Path) -> None:
    run = trained("transformer", change)
    assert named in refusal("export", run, tmp_path / "out", "--to", "huggingface")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("casing", [True, False])
def test_what_to_train_instead_names_all_that_stands_in_the_way(casing: bool, trained: Trained, tmp_path: Path) -> None:
    rotary = ("model.positions=none", "model.relative=rotary")
    run = trained("transformer", *rotary, f"text.inline_casing={str(casing).lower()}")
    sentence = refusal("export", run, tmp_path / "out", "--to", "huggingface")
    assert ("model.relative=none --set text.inline_casing=false`" in sentence) is casing


def test_the_command_says_that_it_was_verified(trained: Trained, tmp_path: Path) -> None:
    found = dragoman("export", trained("transformer"), tmp_path / "out", "--to", "huggingface", "--license", "cc0-1.0")
    assert (found.code, found.lines) == (0, [str(tmp_path / "out")])
    assert "100% of 20 sentences have the same tokens, 100% the same translation" in found.errors
    names = {path.name for path in (tmp_path / "out").iterdir()}
    tables = {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}
    assert names == {"README.md", "model.safetensors", "checksums.json"} | tables
    assert len({path.stat().st_mode for path in (tmp_path / "out").iterdir()}) == 1


def test_without_transformers_it_says_that_it_was_not_verified(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface, "can_prove", lambda: False)
    found = dragoman("export", trained("transformer"), tmp_path / "out", "--to", "huggingface")
    assert found.code == 0 and "Not verified" in found.errors and "no licence was given" in found.errors


def test_options_of_the_other_format_are_refused(trained: Trained, tmp_path: Path) -> None:
    run, out = trained("transformer"), tmp_path / "out"
    assert "`--quantization` works only" in refusal("export", run, out, "--to", "huggingface", "--quantization", "int8")
    assert "`--license` works only" in refusal("export", run, out, "--license", "cc0-1.0")
    assert "name of a licence" in refusal("export", run, out, "--to", "huggingface", "--license", " ")
    assert "kind `rnn`" in refusal("export", trained("rnn"), out, "--to", "huggingface")
    assert not out.exists()


def test_what_exists_is_not_touched(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    with pytest.raises(ExportError, match="exists already"):
        export(trained("transformer"), tmp_path / "letters")
    assert not any((tmp_path / "letters").iterdir())


def test_a_folder_that_cannot_be_made_is_refused(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    message = refusal("export", trained("transformer"), tmp_path / "file" / "out", "--to", "huggingface")
    assert "cannot be written" in message


def test_by_default_the_folder_is_in_the_run(trained: Trained, tmp_path: Path) -> None:
    run = Path(copytree(trained("transformer"), tmp_path / "run"))
    folder, _ = export(run)
    assert folder == run / "exports" / "huggingface"
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"] == "pegasus"
    front = (folder / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert yaml.safe_load(front)["language"] == ["en", "vi"]


def unordered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features stay in their order."""
    monkeypatch.setattr(huggingface_weights, "sines_first", torch.arange)


def swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries and keys change places."""
    original = huggingface_weights._attention

    def attention(place: str, *given: Any, **named: Any) -> dict[str, torch.Tensor]:
        found = original(place, *given, **named)
        query, key = f"{place}.q_proj.bias", f"{place}.k_proj.bias"
        return found | {query: found[key], key: found[query]}

    monkeypatch.setattr(huggingface_weights, "_attention", attention)


def untrimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is not brought to NFC and single spaces."""
    monkeypatch.setattr(tokenizer_json, "_normalizers", lambda codec: iter([{"type": "Lowercase"}]))


@pytest.mark.parametrize("bug", [unordered, swapped, untrimmed])
def test_an_export_that_is_not_its_run_is_refused_and_nothing_is_left(
    bug: Any, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = loud(trained("transformer", "model.norm=post"), tmp_path / "run")
    bug(monkeypatch)
    with pytest.raises(ExportError, match="the export was not kept"):
        export(run, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
