"""The texts of an adaptation."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.tiny import Trained

from dragoman.data.corpus import Pair
from dragoman.errors import InputError, RunError
from dragoman.jobs import mixing
from dragoman.jobs.mixing import General, Mixer, Mixture, draw, general_of, in_folder, measured, pairs_of, section
from dragoman.runs.folder import open_run


def texts(
    folder: Path, *, train: int = 40, dev: int = 12, test: int = 0, languages: tuple[str, str] = ("en", "vi")
) -> Path:
    """Write a folder as for the recipe own-files."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", train), ("dev", dev), ("test", test)):
        for language in languages if count else ():
            lines = (f"I see {part} {number} cats.\n" for number in range(count))
            (folder / f"{part}.{language}").write_text("".join(lines), encoding="utf-8")
    return folder


def rows(path: str | Path) -> list[dict[str, Any]]:
    """Read a written file."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def mixed(trained: Trained, folder: Path, share: float, **general: Any) -> tuple[Mixture, list[Any]]:
    """Mix the texts of a folder with those of a base."""
    run = open_run(trained("transformer"))
    place = folder / "mixed"
    place.mkdir()
    found = replace(general_of(run, None), **general)
    domain = in_folder(run, texts(folder / "domain"))
    return Mixer(run, place, share, measured(run, domain)).mix(domain, found)


def test_general_pairs_have_their_share_and_come_from_the_own_corpus(trained: Trained, tmp_path: Path) -> None:
    mixture, translations = mixed(trained, tmp_path, 0.25)
    assert translations == [] and mixture.pairs == 40 and 5 < mixture.tokens < 40
    domain, general = mixture.data["train"]
    found = rows(general["jsonl"])
    assert domain["repeat"] == 5 and len(found) * general.get("repeat", 1) == round(40 * 5 / 3)
    run = open_run(trained("transformer"))
    own = {(pair.source, pair.target) for pair in pairs_of(run.recipe.data, "train")}
    assert {(row["source"], row["target"]) for row in found} <= own
    order = [pair.source for pair in pairs_of(run.recipe.data, "train")]
    places = [order.index(row["source"]) for row in found]
    assert places != sorted(places)  # or the doctor might find that lines are out of step


def test_dev_has_as_many_sentences_of_each_kind(trained: Trained, tmp_path: Path) -> None:
    mixture, _ = mixed(trained, tmp_path, 0.25)
    domain, general = (rows(table["jsonl"]) for table in mixture.data["dev"])
    assert len(domain) == len(general) == 12
    assert all("dev" in row["source"] for row in domain)
    assert (mixture.tested, mixture.general_tested) == ("dev", "test")
    assert len(rows(tmp_path / "mixed" / "domain-test-1.jsonl")) == 12
    assert len(rows(tmp_path / "mixed" / "general-test-1.jsonl")) == 40  # both test corpora of the base


def test_without_a_general_corpus_the_base_translates_sentences_of_the_domain(trained: Trained, tmp_path: Path) -> None:
    mixture, (translation,) = mixed(trained, tmp_path, 0.1, train=None, held=None)
    assert [table["jsonl"] for table in mixture.data["train"][1:]] == [str(translation.path)]
    assert len(list(translation.pairs())) == len(list(translation.pairs())) == 22
    assert len(mixture.data["dev"]) == 1
    assert not (tmp_path / "mixed" / "general-test-1.jsonl").exists()


def test_without_mixing_there_are_pairs_of_the_domain_alone(trained: Trained, tmp_path: Path) -> None:
    mixture, translations = mixed(trained, tmp_path, 0.0, train=None)
    assert translations == [] and len(mixture.data["train"]) == 1


def test_corpora_that_have_changed_are_not_the_general_ones(trained: Trained, tmp_path: Path) -> None:
    folder = texts(tmp_path / "own", test=5)
    lines = [
        f"data.{part}=[{{source: {folder}/{part}.en, target: {folder}/{part}.vi}}]" for part in ("train", "dev", "test")
    ]
    run = open_run(trained("rnn", *lines, "text={kind: characters}"))
    found = general_of(run, None)
    assert found.train is not None and found.held is not None and len(found.held.test) == 1
    assert len(found.files) == 6
    (folder / "test.vi").write_text("other\n", encoding="utf-8")
    found = general_of(run, None)
    assert found.held is not None and found.held.test == () and len(found.files) == 4
    (folder / "train.en").unlink()
    found = general_of(run, None)
    assert found.train is None and found.held is not None and len(found.files) == 2
    shutil.rmtree(folder)
    assert general_of(run, None) == General(None, None)


def test_a_folder_of_general_text_may_have_dev_alone(trained: Trained, tmp_path: Path) -> None:
    run = open_run(trained("transformer"))
    found = general_of(run, texts(tmp_path / "dev", train=0))
    assert found.train is None and found.held is not None and len(list(pairs_of(found.held, "dev"))) == 12
    found = general_of(run, texts(tmp_path / "both"))
    assert found.train is not None and len(list(pairs_of(found.train, "train"))) == 40


def test_what_a_folder_lacks_is_named(trained: Trained, tmp_path: Path) -> None:
    run = open_run(trained("transformer"))
    with pytest.raises(
        InputError, match=r"there is no folder .*none; give one with train\.en, train\.vi, dev\.en and dev\.vi"
    ):
        in_folder(run, tmp_path / "none")
    with pytest.raises(InputError, match=r"has no dev files in the languages of"):
        in_folder(run, texts(tmp_path / "half", dev=0))
    with pytest.raises(
        InputError, match=r"has no train files .*from en to vi, only train\.de, train\.fr; it needs train\.en"
    ):
        in_folder(run, texts(tmp_path / "other", languages=("de", "fr")))
    with pytest.raises(InputError, match=r"has no pair that `data\.filters`"):
        folder = texts(tmp_path / "blank", train=1)
        (folder / "train.vi").write_text("\n", encoding="utf-8")
        in_folder(run, folder)


def test_compressed_files_are_read(trained: Trained, tmp_path: Path) -> None:
    import gzip

    folder = texts(tmp_path / "domain")
    for path in list(folder.glob("train.*")):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert len(list(pairs_of(in_folder(open_run(trained("transformer")), folder), "train"))) == 40


def test_each_direction_of_a_run_of_several_has_its_files(trained: Trained, tmp_path: Path) -> None:
    run = open_run(trained("transformer", "data.train.0.both_ways=true"))
    domain = in_folder(run, texts(tmp_path / "domain"))
    assert [corpus.languages for corpus in domain.train] == [("en", "vi"), ("vi", "en")]
    place = tmp_path / "mixed"
    place.mkdir()
    mixture, _ = Mixer(run, place, 0.5, measured(run, domain)).mix(domain, general_of(run, None))
    assert {tuple(table["languages"]) for table in mixture.data["train"]} == {("en", "vi"), ("vi", "en")}
    assert section(run, {})["languages"] == ["en", "vi"]


@pytest.mark.parametrize("dev", [8, 100])
def test_dev_sets_of_different_size_keep_every_direction(dev: int, trained: Trained, tmp_path: Path) -> None:
    both = "data.{}=[{{phrasebook: {}, pairs: 20, both_ways: true}}]"
    run = open_run(trained("transformer", both.format("train", "train"), both.format("dev", "dev")))
    domain = in_folder(run, texts(tmp_path / "domain", dev=dev))
    (tmp_path / "mixed").mkdir()
    mixture, _ = Mixer(run, tmp_path / "mixed", 0.5, measured(run, domain)).mix(domain, general_of(run, None))
    counts = {Path(table["jsonl"]).name: len(rows(table["jsonl"])) for table in mixture.data["dev"]}
    assert counts.keys() == {f"{kind}-dev-{number}.jsonl" for kind in ("domain", "general") for number in (1, 2)}
    half = min(2 * dev, 40) // 2
    assert all(half - 8 < count < half + 8 for count in counts.values()), counts
    assert counts["domain-dev-1.jsonl"] + counts["domain-dev-2.jsonl"] == 2 * half


def test_a_mixture_is_read_as_it_was_saved(tmp_path: Path) -> None:
    mixture = Mixture({"train": [{"jsonl": str(tmp_path / "a")}, {"tsv": "b"}], "dev": []}, 3, 4.5, "dev")
    assert Mixture.load(tmp_path) is None
    mixture.save(tmp_path)
    assert Mixture.load(tmp_path) == mixture
    (tmp_path / "texts.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match=r"texts\.json is damaged"):
        Mixture.load(tmp_path)


def test_corpora_without_any_translation_are_left_out(tmp_path: Path) -> None:
    for name, text in (("empty", ""), ("full", "{}\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    tables = [{"source": "a", "target": "b"}, *({"jsonl": str(tmp_path / name)} for name in ("empty", "full"))]
    mixture = Mixture({"train": tables, "dev": []}, 1, 1.0, "dev").without_empty()
    assert mixture.data == {"train": [tables[0], tables[2]], "dev": []}


def test_every_pair_may_be_drawn_and_none_twice() -> None:
    pairs = [Pair(str(number), "", "") for number in range(100)]
    assert draw(pairs, 200) == pairs and draw(pairs, 0) == []
    some = draw(pairs, 30)
    assert len(set(some)) == 30 and some == sorted(some, key=lambda pair: int(pair.source))
    assert int(some[-1].source) > 60


def test_a_domain_is_repeated_until_it_is_enough_and_general_pairs_until_they_have_their_share(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixing, "ENOUGH", 100)
    mixture, _ = mixed(trained, tmp_path, 0.9)
    domain, general = mixture.data["train"]
    assert domain["repeat"] == 2 and general["repeat"] > 1
    wanted, found = 40 * 2 * 9, len(rows(general["jsonl"]))
    assert abs(found * general["repeat"] - wanted) <= found / 2


def test_large_texts_are_drawn_from(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("TRANSLATED", 10), ("DEV", 5), ("TEST", 3)):
        monkeypatch.setattr(mixing, name, most)
    mixture, (translation,) = mixed(trained, tmp_path, 0.1, train=None, held=None)
    assert len(list(translation.pairs())) == 10 and mixture.data["train"][1]["repeat"] == 2  # 22 are wanted
    assert len(rows(mixture.data["dev"][0]["jsonl"])) == 5
    assert len(rows(tmp_path / "mixed" / "domain-test-1.jsonl")) == 3


def test_tokens_are_counted_in_the_first_pairs(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, folder = open_run(trained("transformer")), texts(tmp_path / "domain", train=2)
    (folder / "train.en").write_text("I see.\n" + "I see cats. " * 9 + "\n", encoding="utf-8")
    both = measured(run, in_folder(run, folder))
    monkeypatch.setattr(mixing, "TEST", 1)
    one = measured(run, in_folder(run, folder))
    assert both[0] == one[0] == 2 and one[1] < both[1]
