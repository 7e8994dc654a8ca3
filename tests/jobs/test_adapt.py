"""Adaptation: a run is trained on with pairs of a domain."""

import json
import signal
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import NoReturn

import pytest
from tests.jobs.test_mixing import rows, texts
from tests.jobs.test_train import Ear
from tests.slow import some
from tests.tiny import Trained, dragoman, refusal

from dragoman.errors import DragomanError, InputError, RunError, SettingsError
from dragoman.jobs import translate_corpus
from dragoman.jobs.adapt import AdaptationSettings, MethodName, adapt, share_of
from dragoman.jobs.mixing import Mixer, files_of, general_of, in_folder, measured
from dragoman.jobs.train import fit
from dragoman.jobs.translate_corpus import TranslationProgress
from dragoman.jobs.verdict import judge
from dragoman.runs.folder import open_run, read_manifest
from dragoman.runs.recipe import load_recipe
from dragoman.training.checkpoint import load_tensors, save_tensors

FEW = ("training.steps=4", "training.validate_every=2", "training.threads=1")
RANK = (*FEW, "model.adapters.rank=2")


def few(method: MethodName = "full", **given: object) -> AdaptationSettings:
    """Settings for four steps."""
    return AdaptationSettings(method=method, assignments=RANK if method == "adapters" else FEW, **given)  # type: ignore[arg-type]


@pytest.fixture
def domain(tmp_path: Path) -> Path:
    """A folder of pairs."""
    return texts(tmp_path / "domain", test=8)


@pytest.mark.parametrize("kind", some(("rnn", "transformer"), ("transformer",)))
@pytest.mark.parametrize("method", ["full", "frozen-embeddings", "adapters"])
def test_a_run_is_adapted_and_judged(
    kind: str, method: MethodName, trained: Trained, domain: Path, tmp_path: Path
) -> None:
    base, out, listener = trained(kind), tmp_path / "run", Ear()
    progress = adapt(base, domain, out, settings=few(method), listener=listener)
    assert (progress.step, progress.finished) == (4, True)
    run, first = open_run(out), open_run(base)
    assert (run.source, run.target) == (first.source, first.target)
    assert run.manifest["adapted"]["runs"] == [str(base)] and run.manifest["adapted"]["method"] == method
    assert run.recipe.training.frozen == ("embeddings" if method == "frozen-embeddings" else "none")
    trainable, every = (run.manifest["cost"][name] for name in ("trained_parameters", "parameters"))
    assert (trainable == every) == (method == "full")
    assert all(name.startswith(("up.", "down.")) for name in load_tensors(run.weights)[0]) == (method == "adapters")
    verdict = judge(out)
    assert (verdict.tested, verdict.domain.sentences) == ("test", 8)
    assert verdict.general is not None and verdict.general.sentences == 40
    assert json.loads((out / "adaptation.json").read_text(encoding="utf-8"))["advice"] == verdict.advice
    assert not any("is not here" in one or "no general dev" in one for one in listener.said)


def test_rates_suit_the_base_and_the_method(trained: Trained, domain: Path, tmp_path: Path) -> None:
    rates = {}
    for method in ("full", "adapters"):
        adapt(trained("transformer"), domain, tmp_path / method, settings=few(method))  # type: ignore[arg-type]
        rates[method] = open_run(tmp_path / method).recipe.training.learning_rate
    assert rates == {"full": 5e-4, "adapters": pytest.approx(2.5e-3)}


def test_where_the_corpus_is_gone_the_base_translates_and_resumes_where_it_was_killed(
    trained: Trained, domain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    own = texts(tmp_path / "own")
    lines = [f"data.{part}=[{{source: {own}/{part}.en, target: {own}/{part}.vi}}]" for part in ("train", "dev")]
    base = trained("rnn", *lines, "data.test=[]", "text={kind: characters}", "decoding.maximum_ratio=1.0")
    shutil.rmtree(own)
    monkeypatch.setattr(translate_corpus, "CHUNK", 16)

    class Killed(BaseException):
        """Nobody catches it."""

    def stop(where: TranslationProgress) -> None:
        if where.sentences == 32:
            raise Killed

    out, listener = tmp_path / "run", Ear()
    with pytest.raises(Killed):
        adapt(base, domain, out, settings=few(), report=stop)
    with pytest.raises(RunError, match=r"already contains texts for a run; add --resume"):
        adapt(base, domain, out, settings=few())
    with pytest.raises(InputError, match=r"`mix` differs"):
        adapt(base, domain, out, settings=few(mix=0.4), resume=True)
    table = (base / "recipe.yaml").read_text(encoding="utf-8")
    (base / "recipe.yaml").write_text(table.replace("max_words: 250", "max_words: 200"), encoding="utf-8")
    with pytest.raises(InputError, match=r"`filters` differs"):
        adapt(base, domain, out, settings=few(), resume=True)
    (base / "recipe.yaml").write_text(table, encoding="utf-8")
    told: list[TranslationProgress] = []
    adapt(base, domain, out, settings=few(), resume=True, listener=listener, report=told.append)
    assert [one.sentences for one in told] == [40]
    assert any("base translates sentences of the domain" in one for one in listener.said)
    assert any("no general dev set" in one for one in listener.said)
    assert {row["source"] for row in rows(out / "mixed" / "general-train-1.jsonl")} <= set(
        (domain / "train.en").read_text(encoding="utf-8").splitlines()
    )
    assert judge(out).general is None and "not measured" in str(judge(out))


@pytest.mark.slow
def test_a_stopped_training_goes_on_with_another_budget_and_the_same_texts(
    trained: Trained, domain: Path, tmp_path: Path
) -> None:
    base, out = trained("transformer"), tmp_path / "run"
    first = adapt(base, domain, out, settings=few(), listener=Ear({2: signal.SIGINT}))
    assert (first.step, first.finished) == (2, False)
    adapt(base, domain, tmp_path / "unbroken", settings=few())
    again = adapt(base, domain, out, settings=few(minutes=60.0), resume=True)
    assert (again.step, again.finished) == (4, True)
    one, other = (load_tensors(open_run(run).weights)[0] for run in (out, tmp_path / "unbroken"))
    assert all((one[name] == other[name]).all() for name in one)
    with pytest.raises(RunError, match=r"already holds a run"):
        adapt(base, domain, out, settings=few())


def test_a_stopped_training_goes_on_in_a_folder_that_was_moved(trained: Trained, domain: Path, tmp_path: Path) -> None:
    base, out, moved = trained("transformer"), tmp_path / "run", tmp_path / "moved"
    adapt(base, domain, out, settings=few(), listener=Ear({2: signal.SIGINT}))
    out.rename(moved)
    progress = adapt(base, domain, moved, settings=few(), resume=True)
    assert (progress.step, progress.finished) == (4, True)
    files = [corpus.paths[0] for corpus in (*open_run(moved).recipe.data.train, *open_run(moved).recipe.data.dev)]
    assert {path.parent for path in files} == {domain, moved / "mixed"} and not out.exists()


def test_stopped_adapters_go_on_where_they_were_moved_with_their_base(
    trained: Trained, domain: Path, tmp_path: Path
) -> None:
    runs, moved = tmp_path / "runs", tmp_path / "moved"
    base = Path(copytree(trained("transformer"), runs / "base"))
    adapt(base, domain, runs / "run", settings=few(method="adapters"), listener=Ear({2: signal.SIGINT}))
    runs.rename(moved)
    progress = fit(load_recipe(moved / "run" / "recipe.yaml"), moved / "run", resume=True)
    assert (progress.step, progress.finished) == (4, True)
    weights, _ = load_tensors(open_run(moved / "base").weights)
    weights = {name: one + 0.001 for name, one in weights.items()}
    save_tensors(moved / "base" / "model.safetensors", weights, {}, run=moved / "base")
    with pytest.raises(RunError, match=r"holds adapters of another base than"):
        fit(load_recipe(moved / "run" / "recipe.yaml"), moved / "run", resume=True)


def test_the_texts_of_an_adapted_run_are_found_after_it_was_moved(
    trained: Trained, domain: Path, tmp_path: Path
) -> None:
    base, out, moved = trained("transformer"), tmp_path / "run", tmp_path / "moved"
    adapt(base, domain, out, settings=few(), listener=Ear({2: signal.SIGINT}))
    before = open_run(out)
    assert before.recipe.data == load_recipe(out / "recipe.yaml").data and before.manifest == read_manifest(out)
    out.rename(moved)
    run = open_run(moved)
    general = general_of(run, None)
    assert general.held is not None and general.train is not None
    assert {path.parent for path in files_of(run.recipe.data, "dev")} == {moved / "mixed"}
    assert sorted(run.manifest["data"].values()) == sorted(before.manifest["data"].values())
    progress = fit(load_recipe(moved / "recipe.yaml"), moved, resume=True)
    assert (progress.step, progress.finished) == (4, True)
    assert [str(path) for path in files_of(load_recipe(moved / "recipe.yaml").data, "dev")] == [
        str(moved / "mixed" / name) for name in ("domain-dev-1.jsonl", "general-dev-1.jsonl")
    ]


@pytest.mark.slow
def test_an_adapted_run_can_be_adapted_again(trained: Trained, domain: Path, tmp_path: Path) -> None:
    adapt(trained("transformer"), domain, tmp_path / "first", settings=few("adapters"))
    adapt(tmp_path / "first", domain, tmp_path / "second", settings=few("full"))
    assert open_run(tmp_path / "second").recipe.model.adapters is None
    assert judge(tmp_path / "second").domain.sentences == 8


def test_a_run_of_several_directions_is_adapted_in_those_of_the_folder(
    trained: Trained, domain: Path, tmp_path: Path
) -> None:
    adapt(trained("transformer", "data.train.0.both_ways=true"), domain, tmp_path / "run", settings=few())
    assert judge(tmp_path / "run").domain.sentences == 2 * 8


def test_what_cannot_be_adapted_is_refused_before_any_work(trained: Trained, domain: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    more = ("--data", domain, "--out", out)
    assert "there is no run folder nothing" in refusal("adapt", "nothing", *more)
    assert "is a masked language model, but a translator" in refusal("adapt", trained("masked_lm"), *more)
    base = trained("transformer")
    assert "there is no folder" in refusal("adapt", base, "--data", tmp_path / "no", "--out", out)
    assert "from `en` to `vi` alone" in refusal("adapt", base, *more, "--set", "data.target=fr")
    other = texts(tmp_path / "other", languages=("de", "fr"))
    assert "translates from en to vi, only train.de" in refusal("adapt", base, "--data", other, "--out", out)
    assert "no dev files" in refusal("adapt", base, "--data", texts(tmp_path / "half", dev=0), "--out", out)
    assert "`model.adapters.rank` is 16" in refusal(
        "adapt", base, *more, "--method", "adapters", "--set", "model.adapters.rank=16"
    )
    assert "`droput`" in refusal("adapt", base, *more, "--set", "model.droput=1")
    assert "`text.size: 1000` has no effect" in refusal("adapt", base, *more, "--set", "text.size=1000")
    wrong = dragoman("adapt", base, *more, "--mix", "nan")
    assert wrong.code == 2 and "nan is not a share from 0 to 0.9" in wrong.errors
    assert "to resume; remove --resume" in refusal("adapt", base, *more, "--resume")
    assert not out.exists()
    out.mkdir()
    (out / "notes.txt").write_text("", encoding="utf-8")
    for given in (more, (*more, "--resume")):
        assert "files that do not belong to a run" in refusal("adapt", base, *given)
        assert "already holds a run; choose another folder" in refusal(
            "adapt", base, "--data", domain, "--out", base, *given[4:]
        )
    assert not (base / "mixed").exists()


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_a_file_without_a_pair_is_refused_before_any_work(
    part: str, trained: Trained, domain: Path, tmp_path: Path
) -> None:
    for language in ("en", "vi"):
        (domain / f"{part}.{language}").write_text("\n", encoding="utf-8")
    base, out = trained("transformer"), tmp_path / "run"
    message = refusal("adapt", base, "--data", domain, "--out", out)
    assert f"{part}.en has no pair that `data.filters` of {base} keeps" in message and not out.exists()


def test_one_pair_is_enough_and_it_may_be_general_text(trained: Trained, tmp_path: Path) -> None:
    base = trained("transformer")
    one = texts(tmp_path / "one", train=1, dev=1, test=1)
    adapt(base, one, tmp_path / "first", settings=few(general=one))
    verdict = judge(tmp_path / "first")
    assert verdict.domain.sentences == verdict.general.sentences == 1  # type: ignore[union-attr]
    assert verdict.domain.difference == verdict.general.difference  # type: ignore[union-attr]


def test_no_vocabulary_is_learned(trained: Trained, domain: Path, tmp_path: Path) -> None:
    listener = Ear()
    adapt(trained("transformer"), domain, tmp_path / "run", settings=few(), listener=listener)
    assert not any("learning the vocabulary" in one for one in listener.said), listener.said


@pytest.mark.parametrize(
    ("minutes", "pairs", "share"),
    [
        (30, 5_000, 0.9),  # 5 passes are 500,000 of 9,000,000 tokens
        (30, 15_000, 0.83),
        (30, 20_000, 0.78),
        (30, 100_000, 0.75),
        (5, 5_000, 0.75),
        (10, 5_000, 0.83),
    ],
)
def test_more_general_pairs_are_mixed_in_where_there_is_time(
    minutes: float, pairs: int, share: float, trained: Trained
) -> None:
    run = open_run(trained("transformer"))
    known = replace(run, manifest={**run.manifest, "cost": {"tokens": 50_000, "seconds": 10.0}})
    assert share_of(known, pairs, 20.0, minutes=minutes) == share
    for unknown in ({}, {"tokens": 0, "seconds": 0.0}):
        assert share_of(replace(run, manifest={**run.manifest, "cost": unknown}), pairs, 20.0, minutes=minutes) == 0.75


def test_the_share_of_general_pairs_depends_on_where_they_come_from(
    trained: Trained, domain: Path, tmp_path: Path
) -> None:
    base = trained("transformer")
    for name, given, share in (
        (
            "own",
            {},
            share_of(open_run(base), *measured(open_run(base), in_folder(open_run(base), domain)), minutes=30.0),
        ),
        ("none", {"mix": 0.0}, 0.0),
        ("translated", {"general": texts(tmp_path / "general", train=0)}, 0.5),
    ):
        adapt(base, domain, tmp_path / name, settings=few(**given))
        assert open_run(tmp_path / name).manifest["adapted"]["mix"] == share


def test_an_adaptation_is_resumed_with_the_texts_that_it_has(trained: Trained, domain: Path, tmp_path: Path) -> None:
    base, out = trained("transformer"), tmp_path / "run"
    adapt(base, domain, out, settings=few(mix=0.6))
    adapt(base, domain, out, settings=few(minutes=60.0), resume=True)
    assert open_run(out).manifest["adapted"]["mix"] == 0.6
    with pytest.raises(InputError, match="`mix` differs"):
        adapt(base, domain, out, settings=few(mix=0.7), resume=True)


@pytest.mark.parametrize("given", [{"mix": 1.0}, {"mix": float("nan")}, {"minutes": 0.0}, {"minutes": float("inf")}])
def test_numbers_out_of_range_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=rf"`{next(iter(given))}` is"):
        AdaptationSettings(**given)  # type: ignore[arg-type]


def test_a_run_that_was_not_adapted_has_no_verdict(trained: Trained) -> None:
    with pytest.raises(DragomanError, match=r"was not made by `dragoman adapt`"):
        judge(trained("rnn"))


def test_an_adaptation_is_resumed_with_the_time_that_it_had(
    trained: Trained, domain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, out = trained("transformer"), tmp_path / "run"
    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        stopped.setattr(Mixer, "mix", interrupted)
        adapt(base, domain, out, settings=few(minutes=7.0))
    adapt(base, domain, out, settings=few(), resume=True)
    assert open_run(out).recipe.training.minutes == 7 and "minutes" not in read_manifest(out)["adapted"]
    fit(load_recipe(out / "recipe.yaml", ["training.minutes=9"]), out, resume=True)
    adapt(base, domain, out, settings=few(), resume=True)
    assert open_run(out).recipe.training.minutes == 9
    adapt(base, domain, tmp_path / "new", settings=few())
    assert open_run(tmp_path / "new").recipe.training.minutes == 30


def interrupted(*given: object) -> NoReturn:
    """Do what Ctrl-C does."""
    raise KeyboardInterrupt
