"""What a user may get wrong before training: one sentence, exit code 2, and nothing left behind."""

import gzip
import os
from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman, recipe_file, refusal

ENGLISH = "".join(
    f"the {word} sees a {other} .\n" for word in ("cat", "dog", "cow") for other in ("house", "tree", "bird")
)
FRENCH = "".join(
    f"le {word} voit un {other} .\n" for word in ("chat", "chien", "veau") for other in ("toit", "pin", "pic")
)
OWN = (
    "data.target=fr",
    "data.train=[{source: train.en, target: train.fr}]",
    "data.dev=[{source: dev.en, target: dev.fr}]",
    "data.test=[]",
    "text.size=60",
    "training.steps=1",
)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """Write a small corpus of one's own and a recipe for it."""
    for split in ("train", "dev"):
        (tmp_path / f"{split}.en").write_text(ENGLISH, encoding="utf-8")
        (tmp_path / f"{split}.fr").write_text(FRENCH, encoding="utf-8")
    return recipe_file(tmp_path, "rnn", *OWN, f"data.root={tmp_path}")


def refused(recipe: Path, *settings: str) -> str:
    """Train, which must be refused and leave no run; return the sentence."""
    options = [word for setting in settings for word in ("--set", setting)]
    sentence = refusal("train", recipe, *options, "--out", recipe.parent / "run")
    assert not (recipe.parent / "run").exists()
    return sentence


def test_the_corpus_is_good_as_it_stands(recipe: Path):
    assert dragoman("train", recipe, "--out", recipe.parent / "run").code == 0


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("model.hiden=3", "section `model`, has no setting `hiden`; did you mean `hidden`?"),
        ("trianing.steps=3", "has no setting `trianing`; did you mean `training`?"),
        ("training.steps=many", "`training.steps` is 'many', but it must be a whole number"),
        ("model.kind=transfomer", "`model.kind` cannot be `transfomer`; did you mean `transformer`?"),
        ("model.cell=gur", "`model.cell` cannot be `gur`"),
        ("model.dropout=1.5", "`model.dropout` is 1.5, but it must be below 1"),
        ("training.steps=null", "`training` needs a budget: set one of `training.steps`"),
        ("training.average=9", "`training.average` cannot exceed `training.keep`"),
        ("data.train=[]", "`data.train` names no corpus; add one"),
        (
            "data.train=[{phrasebook: train, pairs: 10}, {lines: a.txt}]",
            "a corpus is given by `source` and `target`, by",
        ),
        ("decoding.n_best=9", "`n_best` is 9, but only 3 hypotheses are kept; raise `beam`"),
        ("training.device=tpu", "`training.device` cannot be `tpu`"),
        ("steps", "`--set steps` is not of the form a.b=value"),
        ("data.train=[", "the value is not valid YAML ("),
        ("text.size=5000", "text.size is 5000, but this text allows a vocabulary of at most"),
        ("text.size=8", "text.size is 8, but the characters of this text and the special tokens alone are"),
        ("data.filters.max_words=2", "no sentence pairs are left to train on; check `data.filters`"),
        ("data.root=none", "there is no file none/train.en; check its path, and `data.root` if a recipe names it"),
        ("data.train.0.source=.", "is a directory; give the path of a file"),
        ("data.dev.0.target=none.fr", "there is no file"),
        ("data.dev.0.target=.", "is a directory; give the path of a file"),
    ],
)
def test_settings_that_do_not_fit_are_named(recipe: Path, setting, sentence):
    assert sentence in refused(recipe, setting)


@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "contains no sentence pairs; give a corpus that does"),
        (b"the cat\n", "has 1 lines but"),
        (ENGLISH.encode().replace(b"cow", b"c\xffw", 1), "line 7 is not UTF-8 text (at its byte 6)"),
        (b"\x00\x01" * 200, "lines but"),
    ],
    ids=["empty", "short", "latin", "binary"],
)
def test_corpora_that_cannot_be_read_are_named(recipe: Path, split, content, sentence):
    (recipe.parent / f"{split}.en").write_bytes(content)
    if not content:
        (recipe.parent / f"{split}.fr").write_bytes(content)
    found = refused(recipe)
    assert sentence in found and f"{split}.en" in found


def test_a_dev_corpus_of_empty_lines_is_refused(recipe: Path):
    for language in ("en", "fr"):
        (recipe.parent / f"dev.{language}").write_text("\n \n", encoding="utf-8")
    assert "the dev corpus has no pairs; set `data.dev`" in refused(recipe)


def test_a_compressed_file_that_was_cut_short_is_refused(recipe: Path):
    (recipe.parent / "train.en.gz").write_bytes(gzip.compress(ENGLISH.encode())[:-20])
    assert "is damaged or truncated" in refused(recipe, "data.train.0.source=train.en.gz")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_file_that_may_not_be_read_is_refused(recipe: Path):
    (recipe.parent / "train.en").chmod(0)
    assert "check its permissions" in refused(recipe)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="this system has no file that fails when it is read")
def test_a_file_that_fails_when_read_is_refused(recipe: Path):
    assert "/proc/self/mem cannot be read (Input/output error)" in refused(recipe, "data.train.0.source=/proc/self/mem")


@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize("side", ["en", "fr"])
def test_a_sentence_longer_than_the_positions_is_named_before_training(recipe: Path, split, side):
    path = recipe.parent / f"{split}.{side}"
    path.write_text(path.read_text(encoding="utf-8").replace(" .\n", " a" * 60 + " .\n", 1), encoding="utf-8")
    model = "model={kind: transformer, encoder_layers: 1, decoder_layers: 1, width: 8, feed_forward: 8, heads: 1, "
    found = refused(recipe, model + "positions: learned, max_positions: 50}")
    assert "more than the 50 positions of" in found and "model.max_positions" in found
    assert ("`the cat sees" in found or "`le chat voit" in found) if split == "train" else "sentence 1 has" in found


def test_one_matrix_for_two_vocabularies_is_refused(recipe: Path):
    model = "model={kind: transformer, encoder_layers: 1, decoder_layers: 1, width: 8, feed_forward: 8, heads: 1}"
    found = refused(recipe, model, "text.joint=false")
    assert "`model.tied: all` needs one vocabulary for both languages" in found
    assert refused(recipe, model, "text.joint=false", "data.train=[{source: none.en, target: none.fr}]") == found


def test_recipes_that_cannot_be_read_are_named(tmp_path: Path):
    def train(path: object) -> str:
        return refusal("train", path, "--out", tmp_path / "run")

    assert "did you mean `own-files`?" in train("own-file")
    assert f"there is no file {tmp_path / 'none.yaml'}" in train(tmp_path / "none.yaml")
    assert f"{tmp_path} is a directory; give the path of a recipe" in train(tmp_path)
    (tmp_path / "bad.yaml").write_text("data: [\nmodel: x\n", encoding="utf-8")
    assert "bad.yaml is not valid YAML at line" in train(tmp_path / "bad.yaml")
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe")
    assert "bad.yaml is not UTF-8 text (byte 0); is it a recipe?" in train(tmp_path / "bad.yaml")
    (tmp_path / "bad.yaml").write_text("just text\n", encoding="utf-8")
    assert "must hold sections such as `data:` and `model:`, but it holds text" in train(tmp_path / "bad.yaml")
    (tmp_path / "bad.yaml").write_text("seed: 1\n", encoding="utf-8")
    assert "lacks the setting `data`; add it" in train(tmp_path / "bad.yaml")


def test_places_that_cannot_hold_a_run_are_named(recipe: Path, trained: Trained):
    file = recipe.parent / "train.en"
    assert refusal("train", recipe, "--out", file) == f"{file} is a file; choose another folder with --out"
    assert "(Not a directory)" in refusal("train", recipe, "--out", file / "run")
    run = trained("rnn")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert "already holds a run; add --resume" in refusal("train", recipe, "--out", run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("setting", "place"),
    [
        ("data.source=de", "data.source"),
        ("text.lower=true", "text.lower"),
        ("model.hidden=64", "model.hidden"),
        ("seed=2", "seed"),
        ("training.batch_tokens=300", "training.batch_tokens"),
        ("model={kind: transformer}", "model."),
    ],
)
def test_another_recipe_cannot_be_resumed_with(recipe: Path, setting, place):
    out = ("--out", recipe.parent / "run")
    assert dragoman("train", recipe, *out).code == 0
    before = (recipe.parent / "run" / "recipe.yaml").read_bytes()
    sentence = refusal("train", recipe, "--set", setting, *out, "--resume")
    assert f"was trained with another recipe: `{place}" in sentence
    assert (recipe.parent / "run" / "recipe.yaml").read_bytes() == before


def test_a_run_is_resumed_by_its_folder_alone_with_a_corpus_that_was_moved(recipe: Path):
    run, moved = recipe.parent / "run", recipe.parent / "moved"
    assert dragoman("train", recipe, "--out", run).code == 0
    moved.mkdir()
    for path in recipe.parent.glob("*.en"):
        for side in (path, path.with_suffix(".fr")):
            side.rename(moved / side.name)
    more = ("--set", "training.steps=2", "--set", f"data.root={moved}")
    found = dragoman("train", "--resume", run, *more)
    assert found.code == 0 and "Resuming at step 1." in found.errors
    assert found.lines == [str(run)]


def test_a_corpus_that_has_changed_cannot_be_resumed_with(recipe: Path):
    command = ("train", recipe, "--out", recipe.parent / "run")
    assert dragoman(*command).code == 0
    (recipe.parent / "train.fr").write_text(FRENCH.replace("chat", "lion"), encoding="utf-8")
    sentence = refusal(*command, "--resume", "--set", "training.steps=2")
    assert f"{recipe.parent / 'train.fr'} has changed since {recipe.parent / 'run'}" in sentence
