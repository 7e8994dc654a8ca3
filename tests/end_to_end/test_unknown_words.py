"""Names that no vocabulary knows reach the translation through `--unknown replace`."""

import random
from pathlib import Path

import pytest
from tests.tiny import dragoman, recipe_file, refusal

FRENCH = {
    "red": "rouge",
    "cat": "chat",
    "sees": "voit",
    "loves": "aime",
    "old": "vieux",
    "and": "et",
    "little": "petit",
}
SENTENCES = ["red Zorblax sees cat", "old cat loves Quimby", "Vexnar and little red cat"]


def sentences(count: int, rng: random.Random) -> list[tuple[str, str]]:
    """Make sentences that are translated word by word, each with a name that stands nowhere else."""
    made = []
    for _ in range(count):
        words = rng.choices(sorted(FRENCH), k=rng.randint(2, 4))
        words.insert(rng.randint(0, len(words)), "".join(rng.choices("bdfgklmnprstvz", k=7)).capitalize())
        made.append((" ".join(words), " ".join(FRENCH.get(word, word) for word in words)))
    return made


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a translator of words."""
    folder = tmp_path_factory.mktemp("names")
    rng = random.Random(1)
    for split, count in (("train", 400), ("dev", 20)):
        made = sentences(count, rng)
        for side, language in enumerate(("en", "fr")):
            text = "".join(f"{pair[side]}\n" for pair in made)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8")
    recipe = recipe_file(
        folder,
        "rnn",
        "data.target=fr",
        f"data.root={folder}",
        "data.train=[{source: train.en, target: train.fr}]",
        "data.dev=[{source: dev.en, target: dev.fr}]",
        "data.test=[]",
        "text={kind: words}",
        "model.hidden=64",
        "training.steps=200",
        "training.validate_every=200",
        "training.label_smoothing=0",
    )
    assert dragoman("train", recipe, "--out", folder / "run").code == 0
    return folder / "run"


@pytest.mark.slow
def test_unknown_names_are_copied(run: Path):
    given = "".join(f"{sentence}\n" for sentence in SENTENCES)
    found = dragoman("translate", run, "--unknown", "replace", stdin=given).lines
    assert found == [" ".join(FRENCH.get(word, word) for word in sentence.split()) for sentence in SENTENCES]


def test_unknown_names_are_shown_as_such_otherwise(run: Path):
    found = dragoman("translate", run, stdin=f"{SENTENCES[0]}\n").lines
    assert found == ["rouge <unk> voit chat"]


def test_names_are_copied_into_every_translation_asked_for(run: Path):
    options = ("--unknown", "replace", "--n-best", 2, "--beam", 2)
    found = dragoman("translate", run, *options, stdin=f"{SENTENCES[0]}\n").lines
    assert len(found) == 2
    assert all("<unk>" not in line for line in found)


@pytest.fixture(scope="module")
def positional(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a translator of words whose unknown words tell where they come from; its translations begin with "voici"."""
    folder = tmp_path_factory.mktemp("positions")
    rng = random.Random(1)
    for split, count in (("train", 400), ("dev", 20)):
        made = sentences(count, rng)
        for side, language in enumerate(("en", "fr")):
            text = "".join(f"{'voici ' * side}{pair[side]}\n" for pair in made)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8")
        text = "".join(" ".join(f"{i}-{i + 1}" for i in range(len(pair[0].split()))) + "\n" for pair in made)
        (folder / f"{split}.links").write_text(text, encoding="utf-8")
    recipe = recipe_file(
        folder,
        "rnn",
        "data.target=fr",
        f"data.root={folder}",
        "data.train=[{source: train.en, target: train.fr, links: train.links}]",
        "data.dev=[{source: dev.en, target: dev.fr}]",
        "data.test=[]",
        "text={kind: words, unknown: positional, reach: 4}",
        "model.hidden=64",
        "training.steps=150",
        "training.validate_every=150",
        "training.label_smoothing=0",
    )
    assert dragoman("train", recipe, "--out", folder / "run").code == 0
    return folder / "run"


@pytest.mark.slow
def test_unknown_names_that_tell_where_they_stand_are_copied_without_asking(positional: Path):
    given = "".join(f"{sentence}\n" for sentence in SENTENCES)
    found = dragoman("translate", positional, stdin=given).lines
    assert found == [" ".join(["voici", *(FRENCH.get(word, word) for word in one.split())]) for one in SENTENCES]


@pytest.mark.slow
def test_the_links_of_training_make_a_dictionary_that_travels_with_the_run(positional: Path):
    lines = (positional / "dictionary.tsv").read_text(encoding="utf-8").splitlines()
    words = dict(line.split("\t") for line in lines)
    assert {word: words[word] for word in FRENCH} == FRENCH


@pytest.mark.slow
def test_a_dictionary_of_one_s_own_translates_names(positional: Path, tmp_path: Path):
    (tmp_path / "names.tsv").write_text("Quimby\tGaston\n", encoding="utf-8")
    setting = f"dictionary={tmp_path / 'names.tsv'}"
    found = dragoman("translate", positional, "--set", setting, stdin=f"{SENTENCES[1]}\n").lines
    assert found == ["voici vieux chat aime Gaston"]


@pytest.mark.slow
def test_unknown_words_that_tell_where_they_come_from_need_links(positional: Path):
    recipe = recipe_file(positional.parent, "rnn", "text={kind: words, unknown: positional}")
    sentence = refusal("train", recipe, "--out", positional.parent / "other")
    assert all(word in sentence for word in ("`text.unknown: positional`", "`dragoman align`", "`links`"))
    assert not (positional.parent / "other").exists()
