"""The sweep behind `auto`: its plan, its trainings and its page."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.quality import __main__ as command
from benchmarks.quality import job as jobs_module
from benchmarks.quality import peer as peer_module
from benchmarks.quality import plan as plan_module
from benchmarks.quality.page import PAGE, expected, write_page
from benchmarks.quality.picture import OWN, compared
from benchmarks.quality.plan import chosen, jobs, plan
from benchmarks.speed.children import Peer
from benchmarks.speed.parts.train import PEERS

from dragoman.errors import InputError
from dragoman.jobs.checks import check_recipe
from dragoman.metrics.scores import bleu, chrf
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse

LINES = [(f"{noun} {verb} .", f"{verb} {noun} !") for noun in ("cat", "dog", "cow") for verb in ("ran", "sat", "ate")]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a small corpus and let the plan be one training on it, of what `auto` chooses."""
    for number, side in enumerate(("en", "vi")):
        text = "".join(f"{pair[number]}\n" for pair in LINES * 4)
        (tmp_path / f"a.{side}").write_text(text, encoding="utf-8")
    files = {"source": "a.en", "target": "a.vi"}
    corpus = {
        "title": "Small",
        "source": "en",
        "target": "vi",
        "train": [files],
        "dev": [files],
        "tests": {"All": files},
    }
    variants = {
        "auto": {"recipe": "own-files", "set": {"model": {"width": 16}}},
        "fake": {"peer": "fake"},
        "worse": {"recipe": "no-such"},
    }
    table = {
        "corpora": {"small": corpus},
        "filters": {},
        "base": {},
        "peers": {
            "text": {"size": 40},
            "model": {"layers": 1},
            "training": {"batch_tokens": 40, "label_smoothing": 0.1, "learning_rate": 0.001, "warmup": 2},
        },
        "variants": variants,
        "sweep": [{"corpora": ["small"], "budget": {"steps": 6}, "variants": ["auto"]}],
    }
    monkeypatch.setattr(plan_module, "plan", lambda: table)
    return tmp_path


def test_every_training_of_the_plan_is_a_recipe() -> None:
    found = list(jobs(Path("parallel"), Path("work"), earlier={}))
    assert len({job.key for job in found}) == len(found) > 5
    for job in found:
        if "peer" in job.recipe:
            assert job.recipe["peer"] in {peer.name for peer, _ in PEERS} and "minutes" in job.budget
            continue
        recipe = parse(Recipe, job.recipe, where=job.name)
        check_recipe(recipe)
        assert recipe.training.threads == job.threads
        assert len(job.tests) == sum(1 + corpus.both_ways for corpus in recipe.data.test)
        assert bool(recipe.auto) == (plan_module.plan()["variants"][job.variant].get("recipe") == "own-files")
    (joined,) = chosen(found, ["joined"])
    assert joined.recipe["data"]["joined"] > 0 and joined.recipe["data"]["source"] == "en"
    assert {job.corpus for job in chosen(found, ["vi-8k"])} == {"vi-8k"}
    assert chosen(found, []) == found


def test_a_training_is_measured_once_and_shown(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page = small / "results.json", small / "quality.md"
    options = ["--parallel", str(small), "--work", str(small / "work"), "--results", str(out), "--page", str(page)]
    given = list(jobs(small, small / "work", earlier={}))
    described: dict[str, Any] = given[0].described()
    assert jobs_module.run(json.loads(json.dumps(described))) == 0
    (found,) = [one.result() for one in given]
    assert found is not None and found["steps"] == 6 and found["settings"]["model"]["width"] == 16
    assert 0 <= found["bleu"]["All"] <= 100 and found["settings"]["training"]["optimizer"] == "muon"
    assert command.main(options) == 0
    assert "1 of 1 trainings are done; 0 are left." in capsys.readouterr().out
    assert json.loads(out.read_text(encoding="utf-8")) == [found]
    assert "## Small: 6 steps, one core" in page.read_text(encoding="utf-8")
    assert f"| auto | {found['bleu']['All']:.1f} |" in page.read_text(encoding="utf-8")


def test_another_toolkit_learns_the_same_pairs_and_is_scored_alike(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_module.plan()["sweep"][0] |= {"budget": {"minutes": 0.1}, "variants": ["fake"]}
    small_corpus = plan_module.plan()["corpora"]["small"]
    small_corpus["train"] = [small_corpus["dev"][0] | {"repeat": 2}]
    fake = Peer("fake", "Fake", script=Path(__file__).parents[1] / "speed" / "fake.py")
    monkeypatch.setattr(peer_module, "PEERS", ((fake, ""),))
    (given,) = jobs(small, small / "work", earlier={})
    assert jobs_module.run(json.loads(json.dumps(given.described()))) == 0
    found = given.result()
    assert found is not None and found["variant"] == "fake" and found["versions"] == {"fake": "1.0"}
    sources, targets = zip(*LINES * 4, strict=True)
    assert found["bleu"]["All"] == pytest.approx(bleu(sources, [targets]).score)
    assert found["chrf"]["All"] == pytest.approx(chrf(sources, [targets]).score) and found["seconds"] == 6.0
    (cut,) = (small / "work" / "data").glob("*/batches.json")
    assert sum(len(batch["source"]) for batch in json.loads(cut.read_text(encoding="utf-8"))) > len(sources), "twice"
    write_page([given], {given.key: found}, small / "page.md")
    page = (small / "page.md").read_text(encoding="utf-8")
    assert "| fake | " in page and "Small](page/small.png)" in page
    assert (small / "page" / "small.png").read_bytes().startswith(b"\x89PNG")
    assert compared([given], {given.key: found}) == {"small": {"fake": [(0.1, found["bleu"]["All"])]}}
    auto = replace(given, variant="auto", recipe={}, threads=2)
    assert compared([auto], {auto.key: found}) == {}
    lines = compared([given, auto, replace(auto, threads=1)], {given.key: found})["small"]
    assert [lines[name] for name in OWN] == [[(0.1 * cores, found["bleu"]["All"])] for cores in (1, 2)]
    table = list(expected([given, auto, replace(auto, threads=1, key="one")], {given.key: found, "one": found}))
    assert table[0] == "| trained on | translated | 0.1 minutes |"
    assert table[2:] == [f"| Small | All | {found['bleu']['All']:.1f} |"]
    assert list(expected([given, auto], {given.key: found})) == []
    slow, quick = (
        replace(auto, threads=1, key=one, budget={"minutes": minutes}) for one, minutes in (("a", 1), ("b", 2))
    )
    bleu_of = {"a": {"precision": "float32", "bleu": {"All": 1}}, "b": {"precision": "bfloat16", "bleu": {"All": 2}}}
    assert list(expected([slow, quick], bleu_of))[2:] == [r"| Small | All | 1.0 \* | 2.0 |"]


def test_a_toolkit_that_is_unknown_is_named(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_module, "PEERS", ((Peer("other", "Other"), ""),))
    plan_module.plan()["sweep"][0] |= {"budget": {"minutes": 0.1}, "variants": ["fake"]}
    (given,) = jobs(small, small / "work", earlier={})
    with pytest.raises(InputError, match=r"no peer `fake`.*other"):
        jobs_module.run(json.loads(json.dumps(given.described())))


def test_a_folder_that_is_missing_is_one_sentence(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--parallel", str(small / "nowhere"), "--work", str(small)]) == 2
    assert (
        capsys.readouterr().err
        == f"quality: there is no folder {small / 'nowhere'}; give the corpora's with --parallel\n"
    )


def test_own_files_are_compared_with_every_toolkit(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for part in ("train", "dev"):
        for side in ("en", "vi"):
            (small / f"{part}.{side}").write_bytes((small / f"a.{side}").read_bytes())
    planned = plan_module.own_plan(small, "en", "vi", [15, 60])
    found = list(jobs(small, small / "work", earlier={}, planned=planned))
    assert [(job.variant, job.budget) for job in found] == [
        (name, {"minutes": time}) for time in (15, 60) for name in ("auto", "fake")
    ]
    assert found[0].recipe["data"]["train"] == [{"source": "train.{source}", "target": "train.{target}"}]
    peer = found[1].recipe
    assert peer["text"]["size"] < 8000 and peer["model"]["dropout"] == 0.3, "as fits a tiny text"
    options = ["--files", str(small), "--from", "en", "--to", "vi", "--minutes", "0.1", "--work", str(small / "work")]
    assert command.main([*options, "--only", "auto"]) == 0
    assert "own, 0.1 minutes, auto: BLEU" in capsys.readouterr().out
    (result,) = json.loads((small / "work" / "own.json").read_text(encoding="utf-8"))
    page = (small / "work" / "own.md").read_text(encoding="utf-8")
    assert f"| {small.name}, en to vi | dev | {result['bleu']['dev']:.1f} |" in page
    assert f"## {small.name}, en to vi: 0.1 minutes, one core" in page
    (small / "train.en").write_text((small / "train.en").read_text(encoding="utf-8") + "a\n", encoding="utf-8")
    other = list(jobs(small, small / "work", earlier={}, planned=plan_module.own_plan(small, "en", "vi", [15, 60])))
    assert not {job.key for job in other} & {job.key for job in found}, "other files are another training"


@pytest.mark.parametrize(("passes", "dropout"), [(11, 0.0), (13, 0.1), (40, 0.2)])
def test_other_toolkits_need_more_passes_for_as_much_dropout(
    small: Path, monkeypatch: pytest.MonkeyPatch, passes: int, dropout: float
) -> None:
    for part in ("train", "dev"):
        for side in ("en", "vi"):
            (small / f"{part}.{side}").write_bytes((small / f"a.{side}").read_bytes())
    length = len((small / "train.vi").read_text(encoding="utf-8")) / 4
    monkeypatch.setattr(plan_module, "PEER_TOKENS", passes * length / 60)
    assert plan_module.own_plan(small, "en", "vi", [15, 60])["peers"]["model"]["dropout"] == dropout


def test_own_files_need_their_languages(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["--files", str(small)])
    assert ended.value.code == 2 and "--files needs the languages too" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["--parallel", str(small), "--minutes", "1"])
    assert "are for --files" in capsys.readouterr().err
    assert command.main(["--files", str(small), "--from", "en", "--to", "vi"]) == 2
    assert (
        f"there is no {small / 'train.en'}; --files must name a folder with train.en, train.vi"
        in capsys.readouterr().err
    )


def test_the_page_shows_the_results(tmp_path: Path) -> None:
    known = json.loads(command.RESULTS.read_text(encoding="utf-8"))
    write_page(
        list(jobs(Path("."), Path("."), earlier={})),
        {result["key"]: result for result in known},
        tmp_path / "quality.md",
    )
    assert (tmp_path / "quality.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    assert len(known) > 3 and all(result["variant"] in plan()["variants"] for result in known)
