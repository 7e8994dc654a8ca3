"""The targets: everything that reads files of others."""

import gzip
import json
import lzma
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import yaml
import zstandard
from safetensors import safe_open
from tests.documents.generated import FORMATS, Spoiler, make
from tests.fuzz.targets import Target, write_json
from tests.tiny import recipe, table

from dragoman.arena.settings import load_arena
from dragoman.data.checksums import file_checksum
from dragoman.data.corpus import read_pairs
from dragoman.data.labelled import read_labelled
from dragoman.data.ledger import LEDGER, sealed
from dragoman.data.settings import DataSettings
from dragoman.doctor.examine import examine
from dragoman.documents.glossaries import read_glossary
from dragoman.documents.reading import Reading
from dragoman.inference.ctranslate2.folder import MANIFEST, open_export
from dragoman.inference.ctranslate2.translator import ExportedTranslator
from dragoman.jobs.translate_document import translate_document
from dragoman.jobs.verify import verify
from dragoman.runs.folder import SHORTLIST, open_run
from dragoman.runs.recipe import load_recipe, written
from dragoman.settings import dump, parse
from dragoman.training.checkpoint import save_tensors

SENTENCE = "I love cats."
CPU = torch.device("cpu")
SHORT = ("training.steps=2", "training.validate_every=1")
WORDS = ("text={kind: words}", "model.tied=target")
LINES = {
    "train.en": "I love cats.\nThe dog sleeps.\n\nA house\u2028is here.\n",
    "train.vi": "Tôi yêu mèo.\nCon chó ngủ.\n\nNgôi nhà ở đây.\n",
    "names": "a\na\nb\nb\n",
    "links": "0-0 1-1 2p2\n0-1\n\n0-0\n",
    "pairs.tsv": "I love cats.\tTôi yêu mèo.\ta\nThe dog\tCon chó\tb\n",
    "pairs.jsonl": '{"en": "cats", "vi": "mèo", "d": "a"}\n{"translation": {"en": "a dog", "vi": "chó"}, "d": 1}\n',
    "pairs.tmx": '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"><header srclang="en"/><body>\n'
    '<tu><tuv xml:lang="en-US"><seg>I &lt;3 <hi>ca<ph>x</ph>ts</hi>&nbsp;.</seg></tuv><tuv lang="vi"><seg>mèo</seg></tuv></tu>\n'
    '<tu><tuv xml:lang="vi"><seg><![CDATA[chó]]></seg></tuv><tuv xml:lang="EN"><seg>a dog</seg></tuv></tu></body></tmx>',
    "text.txt": "One sentence.\nAnd another &amp; one.\n",
    "labels.tsv": "good\tI like it. Much.\nbad\tI do not.\n",
}
"""A corpus of each kind."""
PACKED: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
GLOSSARIES = {
    "terms.tsv": "# words\ncat\tmèo\nhouse\tnhà\tngôi nhà\n",
    "terms.csv": 'source;target\n"a ""big"" house";nhà to\n',
    "terms.tbx": '<?xml version="1.0"?><tbx><text><body><termEntry id="1"><langSet xml:lang="en"><tig><term>cat</term></tig>'
    '</langSet><langSet xml:lang="vi"><tig><term>mèo</term></tig></langSet></termEntry></body></text></tbx>',
}
CORPORA: Mapping[str, dict[str, Any]] = {
    "train.en": {"source": "train.en", "target": "train.vi", "documents": "blank lines"},
    "train.vi": {"source": "train.en", "target": "train.vi"},
    "names": {"source": "train.en", "target": "train.vi", "documents": "names", "links": "links"},
    "links": {"source": "train.en", "target": "train.vi", "links": "links"},
    "pairs.tsv": {"tsv": "pairs.tsv", "document": 2},
    "pairs.jsonl": {"jsonl": "pairs.jsonl", "document": "d"},
    "pairs.tmx": {"tmx": "pairs.tmx"},
    "text.txt": {"text": "text.txt"},
}


def data_of(folder: Path, name: str) -> DataSettings:
    """Return the settings that read a file."""
    packed = next((ending for ending in PACKED if name.endswith(ending)), None)
    corpus = {"text": name} if packed else CORPORA[name]
    target = "en" if "text" in corpus else "vi"
    return parse(DataSettings, {"source": "en", "target": target, "root": folder, "train": [corpus]})


def write_corpora(folder: Path) -> None:
    """Write a corpus of each kind, and one in each form of compression."""
    folder.mkdir()
    for name, text in LINES.items():
        (folder / name).write_bytes(text.encode())
    for ending, pack in PACKED.items():
        (folder / f"packed{ending}").write_bytes(pack(LINES["text.txt"].encode()) * 2)


def read_corpora(folder: Path, name: str) -> None:
    """Read all pairs of a corpus."""
    if name == "labels.tsv":
        read_labelled(folder / name)
        return
    data = data_of(folder, name)
    for pair in read_pairs(data.train[0], data):
        assert name.endswith(".jsonl") or "\n" not in pair.source + pair.target
        (pair.source + pair.target + (pair.document or "")).encode()


def doctor_corpora(folder: Path, name: str) -> None:
    """Examine a corpus; its verdict can be written as JSON."""
    if name != "labels.tsv":
        found = examine(data_of(folder, name))
        json.dumps(found.table()).encode()
        "".join(one.sentence for one in found.findings).encode()


def write_documents(folder: Path) -> None:
    """Write a document of each format, and a glossary of each."""
    folder.mkdir()
    for kind in FORMATS:
        (folder / f"document.{kind}").write_bytes(make(kind, 1).content)
    for name, text in GLOSSARIES.items():
        (folder / name).write_bytes(text.encode())


def read_documents(folder: Path, name: str) -> None:
    """Translate a document, in which some placeholders get lost, or read a glossary."""
    if name in GLOSSARIES:
        read_glossary(folder / name, ("en", "vi"))
        return
    out = folder / f"translated{Path(name).suffix}"
    reading = Reading(column="2" if out.suffix in (".csv", ".tsv") else None, languages=("en", "vi"))
    translate_document(Spoiler(1), folder / name, out, reading=reading)
    assert out.is_file()


def write_recipes(folder: Path) -> None:
    """Write recipes: one for each kind of model, one that extends another, an arena."""
    folder.mkdir()
    for kind in ("rnn", "transformer", "masked_lm"):
        text = yaml.safe_dump(table(kind) if kind == "masked_lm" else dump_table(kind))
        (folder / f"{kind}.yaml").write_text(text, encoding="utf-8")
    (folder / "more.yaml").write_text("extends: rnn.yaml\nabout: &a more\nmodel: {hidden: 8}\nseed: auto\n")
    (folder / "arena.yaml").write_text(
        "base: rnn.yaml\nbudget: {minutes: 1}\nseeds: [1]\nsystems: {a: {}, b: {recipe: rnn.yaml, set: {model.hidden: 8}}}\n"
    )


def dump_table(kind: str) -> Any:
    """Return a whole recipe, every setting of it."""
    return yaml.safe_load(dump(recipe(kind)))


def read_recipes(folder: Path, name: str) -> None:
    """Read a recipe, write it, and read that again: it is the same."""
    if name == "arena.yaml":
        load_arena(folder / name)
        return
    found = load_recipe(folder / ("more.yaml" if name == "rnn.yaml" else name))
    (folder / "again.yaml").write_text(written(found), encoding="utf-8")
    again = load_recipe(folder / "again.yaml")
    assert again.model_dump_json() == found.model_dump_json()


def write_run(folder: Path) -> None:
    """Train a run with all that can be in it."""
    from dragoman.jobs.evaluate import measure_tests
    from dragoman.jobs.shortlist import make_shortlist
    from dragoman.jobs.train import fit

    fit(recipe("transformer", *SHORT, *WORDS), folder)
    measure_tests(folder)
    make_shortlist(folder)


def read_run(folder: Path, name: str) -> None:
    """Open a run and everything in it."""
    verify(folder)
    run = open_run(folder)
    run.files.metrics.read()
    assert run.directions.first
    for codec in (run.source, run.target):
        codec.decode(codec.encode(SENTENCE))
    if (folder / SHORTLIST).exists():
        run.load_shortlist(CPU)
    if run.files.last.exists():
        run.files.load(run.files.last)
    run.load_any(CPU)


def seal_run(folder: Path, name: str) -> None:
    """Make the checksums of a run fit its files; those of other files than the changed one are left out."""
    (folder / LEDGER).unlink(missing_ok=True)
    if name.endswith(".safetensors"):
        with safe_open(folder / name, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get("about", "{}"))
            tensors = {one: file.get_tensor(one) for one in file.keys()}  # noqa: SIM118  # not a dict
        save_tensors(folder / name, tensors, about)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest.pop("checksum", None)
    if name == "recipe.yaml":
        manifest["recipe"] = yaml.safe_load((folder / name).read_bytes())
    write_json(folder / "manifest.json", sealed(manifest))


def write_ctranslate2(folder: Path) -> None:
    """Export a run."""
    from dragoman.conversion.job import export

    run = folder.with_name(f"{folder.name}-run")
    write_run(run)
    export(run, folder, quantization="float32")


def read_ctranslate2(folder: Path, name: str) -> None:
    """Open an export; load and use its model unless that is the changed file, which only CTranslate2 itself reads."""
    found = open_export(folder)
    assert found.directions.first and found.positions
    verify(folder)
    if name in ("source.json", "target.json", MANIFEST):
        ExportedTranslator(found, threads=1)


def seal_ctranslate2(folder: Path, name: str) -> None:
    """Make the checksums of an export fit its files."""
    (folder / LEDGER).unlink(missing_ok=True)
    manifest = json.loads((folder / MANIFEST).read_bytes())
    manifest.pop("checksum", None)
    if name != MANIFEST:
        manifest["files"][name] = file_checksum(folder / name)
    write_json(folder / MANIFEST, sealed(manifest))


def write_huggingface(folder: Path) -> None:
    """Export runs for Hugging Face, one in each kind of text."""
    from dragoman.jobs.train import fit
    from dragoman.pretrained.huggingface import export

    folder.mkdir()
    for kind, text in (("pieces", ()), ("characters", ("text={kind: characters, joint: true}",))):
        run = folder.with_name(f"{folder.name}-{kind}")
        fit(recipe("transformer", *SHORT, *text), run)
        export(run, folder / kind)


def write_pretrained(folder: Path) -> None:
    """Write a small random model of each family."""
    from tests.pretrained.folders import FAMILIES, write_model
    from tests.pretrained.test_marian import write_raw

    folder.mkdir()
    for family in FAMILIES:
        write_model(folder / family, family)
    write_raw(folder / "raw")


def read_pretrained(folder: Path, name: str) -> None:
    """Import the model whose file was changed, without comparing it with what another library computes."""
    import_from(folder / name.partition("/")[0])


def import_from(place: Path) -> None:
    """Import a model, and read the run that it became."""
    from dragoman.pretrained import job

    out = place.parent.with_name("imported")
    shutil.rmtree(out, ignore_errors=True)
    ways = {"raw": ("en", "vi"), "nllb": ("eng_Latn", "vie_Latn"), "mbart50": ("en_XX", "vi_VN")}
    with patch.object(job, "can_prove", lambda: False):
        job.import_model(str(place), out, languages=ways.get(place.name, ("en", "vi")))
    read_run(out, "manifest.json")


def write_archives(folder: Path) -> None:
    """Write two models as a .zip each."""
    inside = folder.with_name(f"{folder.name}-inside")
    write_pretrained(inside)
    folder.mkdir()
    for family in ("t5", "raw"):
        for path in (inside / family).glob("pytorch_model.bin"):
            path.unlink()
        shutil.make_archive(str(folder / family), "zip", inside / family)


def read_archives(folder: Path, name: str) -> None:
    """Import a .zip; nothing is written elsewhere."""
    place = folder / name
    try:
        import_from(place)
    finally:
        assert {path.name for path in folder.iterdir()} == {"t5.zip", "raw.zip"}


TARGETS: Mapping[str, Target] = {
    "corpora": Target(write_corpora, read_corpora),
    "doctor": Target(write_corpora, doctor_corpora),
    "documents": Target(write_documents, read_documents),
    "recipes": Target(write_recipes, read_recipes),
    "runs": Target(write_run, read_run, seal_run),
    "ctranslate2": Target(write_ctranslate2, read_ctranslate2, seal_ctranslate2),
    "huggingface": Target(write_huggingface, read_pretrained),
    "pretrained": Target(write_pretrained, read_pretrained),
    "archives": Target(write_archives, read_archives),
}
