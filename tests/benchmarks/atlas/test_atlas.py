"""The atlas trains what is not trained yet, measures it, and writes pages whose numbers are those of the results."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from benchmarks.atlas import job, schedule
from benchmarks.atlas.__main__ import main
from benchmarks.atlas.agreed import METHOD, ROOT
from benchmarks.atlas.corpora import phrasebook
from benchmarks.atlas.kinds import chosen, kinds, plan, recipe_of, takes_part
from benchmarks.atlas.pages import pages
from benchmarks.schedule import do

from dragoman.attention.scores import ScoreName
from dragoman.jobs.rules import RULES
from dragoman.runs.recipe import Recipe
from dragoman.runs.rules import refusals
from dragoman.settings import parse

pytestmark = pytest.mark.slow
KINDS = ("plain", "luong-general")


def call(work: Path, *options: str) -> int:
    """Make a quick atlas of two kinds in `work`."""
    return main(["--quick", "--work", str(work), "--only", *KINDS, *options])


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished quick atlas."""
    folder = tmp_path_factory.mktemp("atlas")
    assert call(folder) == 0
    return folder


def results(work: Path) -> dict[str, Path]:
    """Return the files of results by kind."""
    return {path.parent.name.rpartition("-1-")[0]: path for path in work.glob("phrasebook/*/result.json")}


def trainings(work: Path) -> dict[Path, int]:
    """Return when each file of a training was written."""
    return {path: path.stat().st_mtime_ns for path in work.glob("phrasebook/*-*/*")}


def read(path: Path) -> Any:
    """Read JSON."""
    return json.loads(path.read_text(encoding="utf-8"))


def row(page: str, name: str) -> list[str]:
    """Return the cells of a kind in the table."""
    line = next(line for line in page.split("\n") if f"]({name}.md) |" in line)
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_every_number_of_the_table_is_one_of_the_results(work: Path) -> None:
    found = {kind: read(path) for kind, path in results(work).items()}
    assert set(found) == set(KINDS)
    page = (work / "pages" / "README.md").read_text(encoding="utf-8")
    luong, plain = found["luong-general"], found["plain"]
    written = [f"{luong['bleu']:.1f}", f"{luong['aer']:.3f}", f"{luong['aer_shifted']:.3f}", f"{luong['entropy']:.2f}"]
    cost = [f"{luong['tokens_per_second']:,.0f}", f"{luong['memory']:,.0f}"]
    assert row(page, "luong-general") == [f"{luong['parameters']:,}", *written, *cost]
    assert row(page, "plain")[:3] == [f"{plain['parameters']:,}", f"{plain['bleu']:.1f}", "–"]
    assert set(row(page, "transformer")) == {"–"}
    assert luong["steps"] == 4 and luong["method"][0] == METHOD and luong["memory"] >= luong["memory_before"] > 0


def test_the_pages_say_what_they_are_made_from(work: Path) -> None:
    page = (work / "pages" / "README.md").read_text(encoding="utf-8")
    assert "quick try" in page and "EVBNews was left out of this run: its folder was not given" in page
    result = read(results(work)["luong-general"])
    own = (work / "pages" / "luong-general.md").read_text(encoding="utf-8")
    assert all(result[name] in own for name in ("commit", "machine", "key"))
    assert "decoder: luong" in own and "(pictures/luong-general.png)" in own and "```math" in own
    assert {path.stem for path in (work / "pages" / "pictures").glob("*.png")} == {"luong-general"}


def test_the_pages_can_be_written_again_from_the_results_beside_them(work: Path) -> None:
    drawn = {path.stem for path in (work / "pages" / "pictures").glob("*.png")}
    written = {path.name: path.read_text(encoding="utf-8") for path in (work / "pages").glob("*.md")}
    assert pages(read(work / "pages" / "results.json"), drawn) == written


def test_a_second_call_trains_nothing_and_writes_the_same_pages(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = trainings(work)
    written = {path: path.read_bytes() for path in (work / "pages").rglob("*.*")}
    assert call(work) == 0
    assert "2 of 2 trainings are done; 0 are left." in capsys.readouterr().out
    assert trainings(work) == before
    assert {path: path.read_bytes() for path in (work / "pages").rglob("*.*")} == written


def test_what_the_pages_say_is_not_trained_again(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "pages"
    shutil.copytree(work / "pages", out)
    written = {path.name: path.read_bytes() for path in out.rglob("*.*")}
    assert call(tmp_path / "elsewhere", "--out", str(out)) == 0
    assert "2 of 2 trainings are done; 0 are left." in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in out.rglob("*.*")} == written


def test_other_settings_and_other_sentences_are_other_trainings(work: Path) -> None:
    (kind,) = chosen(["luong-general"])
    corpus = phrasebook(train=300, choose=10, measure=10)

    def key(*, steps: int = 4, **changes: Any) -> str:
        (one,) = schedule.jobs(kind, "phrasebook", replace(corpus, **changes), work, seeds=[1], steps=steps)
        return one.key

    assert key() == read(results(work)["luong-general"])["key"]
    assert key() != key(steps=5)
    assert key() != key(fingerprint=phrasebook(train=300, choose=10, measure=11).fingerprint)
    assert phrasebook(train=300, choose=10, measure=10).fingerprint == corpus.fingerprint


def test_what_is_measured_in_another_way_today_is_measured_again_but_not_trained(work: Path) -> None:
    path = results(work)["plain"]
    before = read(path)
    path.write_text(json.dumps({**before, "method": [0], "bleu": 50.0}), encoding="utf-8")
    folder = path.parent
    corpus = phrasebook(train=300, choose=10, measure=10)
    (one,) = schedule.jobs(*chosen(["plain"]), "phrasebook", corpus, folder.parent, seeds=[1], steps=4)
    assert one.folder == folder and one.result() is None
    weights = (folder / "model.safetensors").stat().st_mtime_ns
    assert job.run(one.described()) == 0
    assert one.result() == before and (folder / "model.safetensors").stat().st_mtime_ns == weights


def test_a_kind_that_is_refused_has_a_sentence_and_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = recipe_of(replace(chosen(["plain"])[0], model={"decoder": "plane"}), "phrasebook", {}, 1, None)
    table = {"kind": "plain", "recipe": recipe, "folder": str(tmp_path / "run")}
    (tmp_path / "job.json").write_text(json.dumps(table), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["job", str(tmp_path / "job.json")])
    with pytest.raises(SystemExit) as end:
        do(job.run)
    assert end.value.code == 2 and "the kind `plain`" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--only", "luong-generl"], "the atlas has no kind `luong-generl`; did you mean `luong-general`?"),
        (["--evbnews", "nowhere"], "there is no file nowhere/train.en.gz"),
    ],
)
def test_mistakes_are_one_sentence(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--quick", "--work", str(tmp_path), *options]) == 2
    assert capsys.readouterr().err.startswith(f"atlas: {sentence}")


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind.family != "other"], ids=lambda kind: kind.name)
@pytest.mark.parametrize("corpus", ["phrasebook", "evbnews"])
def test_the_settings_of_every_kind_are_settings(kind: Any, corpus: str) -> None:
    data = {"source": "en", "target": "vi", "train": [{"tsv": "a"}], "dev": [{"tsv": "b"}]}
    recipe = parse(Recipe, recipe_of(kind, corpus, data, 1, None), where=kind.name)
    assert not refusals(RULES, recipe)
    assert recipe.training.supervised is None, "the atlas shows what attention learns by itself"
    has_lexicon = corpus == "evbnews" and kind.name != "plain"
    assert (recipe.training.guided is not None) == getattr(recipe.model, "lexical", None) == has_lexicon


def test_a_kind_that_a_corpus_leaves_out_is_named_with_the_reason(work: Path) -> None:
    left_out = plan()["corpora"]["evbnews"]["left_out"]
    assert [
        kind.name for kind in kinds() if takes_part(kind, "phrasebook") and not takes_part(kind, "evbnews")
    ] == left_out["kinds"]
    table = read(work / "pages" / "results.json")
    measured = {**table, "results": [*table["results"], {**table["results"][0], "corpus": "evbnews"}]}
    for given, named in ((table, False), (measured, True)):
        page = pages(given, set())["README.md"]
        assert ("[hard-marginal](hard-marginal.md) and [posterior](posterior.md): " in page) == named
        assert (f"{left_out['reason']}." in page) == named


def test_every_score_has_a_row_of_its_own() -> None:
    compared = {kind.model.get("score") for kind in kinds() if kind.family == "recurrent"}
    assert compared >= set(get_args(ScoreName))


@pytest.mark.slow
def test_every_kind_trains_and_is_drawn(tmp_path: Path) -> None:
    assert main(["--quick", "--work", str(tmp_path)]) == 0
    table = read(tmp_path / "pages" / "results.json")
    assert {one["kind"] for one in table["results"]} == {kind.name for kind in kinds() if kind.family != "other"}
    drawn = {path.stem for path in (tmp_path / "pages" / "pictures").glob("*.png")}
    assert drawn == {one["kind"] for one in table["results"] if "aer" in one}


def test_the_pages_in_the_docs_are_those_of_their_results() -> None:
    folder = ROOT / "docs" / "atlas"
    if not (folder / "results.json").exists():
        pytest.skip("docs/atlas/results.json is not there; `make atlas` writes it")
    drawn = {path.stem for path in (folder / "pictures").glob("*.png")}
    fresh = pages(read(folder / "results.json"), drawn)
    odd = [name for name, text in fresh.items() if (folder / name).read_text(encoding="utf-8") != text]
    assert odd == [], "run python -m benchmarks.atlas.pages"
