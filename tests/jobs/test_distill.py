"""Distillation: a student learns from its teacher's translations."""

import json
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest
from tests.jobs.test_train import Ear
from tests.tiny import Trained, edited, recipe_file, refusal, table

from dragoman.errors import DragomanError, InputError, RunError, SettingsError
from dragoman.inference.translator import Translator
from dragoman.jobs import translate_corpus
from dragoman.jobs.distill import FOLDER, DistillationSettings, distill
from dragoman.jobs.translate_corpus import TranslationProgress
from dragoman.runs.folder import open_run

TEACHER = ("data.train.0.pairs=120", "decoding.maximum_ratio=1.0")
STUDENT = ("training.steps=3", "data.source=en", "data.target=fr", "text.size=999")


@pytest.fixture
def student(tmp_path: Path) -> Path:
    """A recipe whose data and text are not those that the student gets."""
    return recipe_file(tmp_path, "transformer", *STUDENT)


def rows(run: Path, number: int = 1) -> list[dict[str, Any]]:
    """What the teacher said."""
    lines = (run / FOLDER / f"{number}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_student_learns_from_what_the_teacher_says(trained: Trained, tmp_path: Path, student: Path) -> None:
    teacher, listener = trained("rnn", *TEACHER), Ear()
    told: list[TranslationProgress] = []
    progress = distill([teacher], student, tmp_path / "run", listener=listener, report=told.append)
    assert progress.step == 3
    found = rows(tmp_path / "run")
    assert [row["sentence"] for row in found] == sorted({row["sentence"] for row in found})
    some = found[::20]
    translated = Translator.load(teacher).translate([row["source"] for row in some])
    assert [row["target"] for row in some] == [one.text for one in translated]
    run = open_run(tmp_path / "run")
    assert (run.source, run.target) == (open_run(teacher).source, open_run(teacher).target)
    assert (run.recipe.model.kind, run.recipe.data.target, run.recipe.text.size) == ("transformer", "vi", 300)
    assert run.manifest["teacher"]["runs"] == [str(teacher)]
    assert f"{len(found):,} pairs kept, 0 left out" in listener.said
    assert (told[-1].sentences, told[-1].total, told[-1].seconds_left) == (120, 120, 0.0)
    assert any(
        f"{len(found)} translations of {len(found)} sentences (1.00 per sentence)" in one for one in listener.said
    )
    together = Translator.load(teacher, tmp_path / "run")
    assert len(together.translate(["I love cats."])) == 1


@pytest.mark.slow
def test_alternatives_are_different_and_counted(trained: Trained, tmp_path: Path, student: Path) -> None:
    teacher, listener = trained("rnn", *TEACHER), Ear()
    distill([teacher], student, tmp_path / "run", teaching=DistillationSettings(n_best=4), listener=listener)
    found = rows(tmp_path / "run")
    translator = Translator.load(teacher, beam=4, n_best=4)
    for number in (0, 60, 119):
        own = [row for row in found if row["sentence"] == number]
        (best,) = translator.translate([own[0]["source"]])
        texts = [best.text, *(one.text for one in best.alternatives)]
        assert [row["target"] for row in own] == list(dict.fromkeys(text for text in texts if text))
    assert len(found) > 240
    each = len(found) / len({row["sentence"] for row in found})
    assert any(f"{len(found)} translations of 120 sentences ({each:.2f} per sentence)" in one for one in listener.said)


@pytest.mark.slow
def test_the_nearest_of_the_beam_is_not_always_its_best(trained: Trained, tmp_path: Path, student: Path) -> None:
    teacher = trained("rnn", *TEACHER)
    distill([teacher], student, tmp_path / "near", teaching=DistillationSettings(nearest=True))
    distill([teacher], student, tmp_path / "best")
    near, best = rows(tmp_path / "near"), rows(tmp_path / "best")
    assert len(near) == len(best) == 120
    assert near != best


def test_the_corpus_itself_may_be_learned_too(trained: Trained, tmp_path: Path, student: Path) -> None:
    listener = Ear()
    distill(
        [trained("rnn", *TEACHER)],
        student,
        tmp_path / "run",
        teaching=DistillationSettings(original=True),
        listener=listener,
    )
    assert "240 pairs kept, 0 left out" in listener.said


class Killed(BaseException):
    """Nobody catches it, as nobody catches a kill."""


def test_translating_goes_on_where_it_was_killed(
    trained: Trained, tmp_path: Path, student: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translate_corpus, "CHUNK", 32)
    teacher = trained("rnn", *TEACHER)
    distill([teacher], student, tmp_path / "unbroken")

    def stop(where: TranslationProgress) -> None:
        if where.sentences == 64:
            raise Killed

    with pytest.raises(Killed):
        distill([teacher], student, tmp_path / "run", report=stop)
    partial = tmp_path / "run" / FOLDER / "1.jsonl.partial"
    with partial.open("a", encoding="utf-8") as file:
        file.write('{"sentence": 64, "source": "half of a chu')
    told: list[TranslationProgress] = []
    assert not (tmp_path / "run" / FOLDER / "1.jsonl").exists()
    distill([teacher], student, tmp_path / "run", resume=True, report=told.append)
    assert [one.sentences for one in told] == [96, 120]
    assert rows(tmp_path / "run") == rows(tmp_path / "unbroken")
    assert not partial.exists()


def test_training_goes_on_where_it_was_stopped(trained: Trained, tmp_path: Path, student: Path) -> None:
    import signal

    teacher = trained("rnn", *TEACHER)
    first = distill([teacher], student, tmp_path / "run", listener=Ear({2: signal.SIGINT}))
    assert (first.step, first.finished) == (2, False)
    told: list[TranslationProgress] = []
    listener = Ear()
    with pytest.raises(InputError, match=r"made with other settings or files \(`nearest` differs\)"):
        distill([teacher], student, tmp_path / "run", resume=True, teaching=DistillationSettings(nearest=True))
    again = distill([teacher], student, tmp_path / "run", resume=True, listener=listener, report=told.append)
    assert (again.step, again.finished, told) == (3, True, [])
    assert "Resuming at step 2." in listener.said


def test_only_the_same_translating_is_gone_on_with(trained: Trained, tmp_path: Path, student: Path) -> None:
    def stop(where: TranslationProgress) -> None:
        raise Killed

    teacher = trained("rnn", *TEACHER)
    with pytest.raises(Killed):
        distill([teacher], student, tmp_path / "run", report=stop)
    with pytest.raises(RunError, match="already contains translations for a run; add --resume"):
        distill([teacher], student, tmp_path / "run")
    with pytest.raises(InputError, match=r"`n_best` differs.*--out"):
        distill([teacher], student, tmp_path / "run", resume=True, teaching=DistillationSettings(n_best=2))
    with pytest.raises(InputError, match=r"`decoding` differs"):
        distill([teacher], student, tmp_path / "run", resume=True, teaching=DistillationSettings(decoding={"beam": 2}))


@pytest.mark.parametrize("name", ["filters", "corpora"])
def test_translating_does_not_go_on_with_other_sentences(
    trained: Trained, tmp_path: Path, student: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def stop(where: TranslationProgress) -> None:
        raise Killed

    monkeypatch.setattr(translate_corpus, "CHUNK", 32)
    run, out = trained("rnn", *TEACHER), tmp_path / "run"
    one, other = {"phrasebook": "train", "pairs": 40}, {"phrasebook": "train", "pairs": 40, "seed": 2}
    teacher = edited(run, tmp_path / "teacher", data={"train": [one, other]})
    with pytest.raises(Killed):
        distill([teacher], student, out, report=stop)
    about = (out / FOLDER / "teacher.json").read_text(encoding="utf-8")
    rmtree(teacher)
    edited(
        run,
        teacher,
        data={"train": [one, other], "filters": {"max_words": 5}} if name == "filters" else {"train": [other, one]},
    )
    with pytest.raises(InputError, match=rf"`{name}` differs"):
        distill([teacher], student, out, resume=True)
    rmtree(teacher)
    edited(run, teacher, data={"train": [one, other]})
    earlier = {key: value for key, value in json.loads(about).items() if key not in ("filters", "corpora")}
    (out / FOLDER / "teacher.json").write_text(json.dumps(earlier), encoding="utf-8")  # as earlier releases wrote it
    distill([teacher], student, out, resume=True)
    assert (out / FOLDER / "teacher.json").read_text(encoding="utf-8") == about


def test_what_cannot_be_distilled_is_refused_before_any_work(trained: Trained, tmp_path: Path, student: Path) -> None:
    teacher, out = str(trained("rnn", *TEACHER)), tmp_path / "run"
    more = ("--recipe", student, "--out", out)
    assert "there is no run folder nothing" in refusal("distill", "nothing", *more)
    assert "is a masked language model, but a translator is needed here" in refusal(
        "distill", trained("masked_lm"), *more
    )
    assert "there is no recipe `small`" in refusal("distill", teacher, "--recipe", "small", "--out", out)
    sentence = refusal("distill", teacher, *more, "--set", "model.kind=document")
    assert "`model.kind`" in sentence and "`document`" in sentence
    sentence = refusal("distill", teacher, *more, "--set", "data.dev=[{tsv: none.tsv}]")
    assert "there is no file none.tsv" in sentence
    assert "to resume; remove --resume" in refusal("distill", teacher, *more, "--resume")
    assert not out.exists()
    other = copytree(teacher, out)
    for given in (more, (*more, "--resume")):
        assert "already holds a run; choose another folder" in refusal("distill", teacher, *given)
    assert sorted(path.name for path in other.iterdir()) == sorted(path.name for path in Path(teacher).iterdir())


@pytest.mark.parametrize("setting", ["text.size=250", "text.joint=false", "text.lower=true", "text.right_to_left=true"])
def test_another_vocabulary_than_the_teachers_is_refused(
    trained: Trained, tmp_path: Path, student: Path, setting: str
) -> None:
    teacher, name = trained("rnn", *TEACHER), setting.partition("=")[0]
    with pytest.raises(SettingsError, match=rf"`{name}` has no effect.*vocabularies of .*{teacher.name}; remove it"):
        distill([teacher], student, tmp_path / "run", assignments=[setting])
    assert not (tmp_path / "run").exists()


def test_embeddings_of_two_vocabularies_cannot_be_one(trained: Trained, tmp_path: Path, student: Path) -> None:
    teacher = trained("rnn", *TEACHER, "text.joint=false", "model.tied=false")
    with pytest.raises(SettingsError, match=rf"model.tied: all.*{teacher.name}.*set `model.tied: target`"):
        distill([teacher], student, tmp_path / "run", assignments=["model.tied=all"])
    assert not (tmp_path / "run").exists()


def test_a_student_with_two_vocabularies_ties_those_of_the_target(trained: Trained, tmp_path: Path) -> None:
    teacher = trained("rnn", *TEACHER, "text.joint=false", "model.tied=false")
    small = [f"model.{name}=16" for name in ("width", "feed_forward")]
    budget = ["training.minutes=null", "training.steps=2"]
    distill([teacher], "student", tmp_path / "run", assignments=[*small, *budget])
    made = open_run(tmp_path / "run").recipe
    assert getattr(made.model, "tied", None) == "target" and getattr(made.model, "relative", None) == "rotary"
    assert (made.model.kind, made.training.guided is not None) == ("transformer", True)


def test_a_student_does_not_start_from_a_run_with_another_vocabulary(trained: Trained, tmp_path: Path) -> None:
    other = trained("transformer", "text.size=250")
    path = tmp_path / "tiny.yaml"
    import yaml

    path.write_text(yaml.safe_dump(table("transformer", [f"model.start_from.whole={other}"])), encoding="utf-8")
    with pytest.raises(SettingsError, match=r"vocabularies.*`model\.start_from`"):
        distill([trained("rnn", *TEACHER)], path, tmp_path / "run")


@pytest.mark.parametrize(
    ("given", "teaching", "named"),
    [
        ({"n_best": 2}, {}, r"`teacher\.n_best` .*--n-best"),
        ({"method": "greedy"}, {"n_best": 2}, "`n_best` is 2, but greedy search keeps one"),
        ({"beam": 2}, {"n_best": 3}, "`n_best` is 3, but only 2"),
        ({"temperature": 0.5}, {}, r"`decoding\.temperature: 0\.5`"),
        ({"coverage_penalty": 0.2}, {}, "needs attention over the source"),
        ({"dictionary": "words.tsv"}, {}, "`dictionary`"),
        ({"rerank": ["gone"]}, {}, "no run folder gone"),
        ({"beam": 1}, {"nearest": True}, r"--nearest .*`teacher\.beam`"),
        ({"method": "sample"}, {"nearest": True}, "--nearest"),
    ],
)
def test_settings_of_the_teacher_s_search_that_do_not_apply_are_refused_before_any_work(
    given: dict[str, Any], teaching: dict[str, Any], named: str, trained: Trained, student: Path
) -> None:
    tmp_path = student.parent
    (tmp_path / "words.tsv").write_text("cat\tmèo\n", encoding="utf-8")
    if "dictionary" in given:
        given = {"dictionary": str(tmp_path / "words.tsv")}
    teacher = trained("rnn", *TEACHER, "model.decoder=plain", "model.score=additive")
    with pytest.raises(DragomanError, match=named):
        distill(
            [teacher],
            student,
            tmp_path / "run",
            teaching=DistillationSettings(**teaching, decoding=given),
            report=no_work,
        )
    assert not (tmp_path / "run").exists()


def no_work(_: TranslationProgress) -> None:
    raise AssertionError("work has begun")


def test_a_student_whose_runs_cannot_rerank_is_refused_before_any_work(trained: Trained, tmp_path: Path) -> None:
    path = recipe_file(tmp_path, "transformer", "decoding.rerank=[gone]")
    with pytest.raises(SettingsError, match=r"`decoding\.rerank`: there is no run folder gone"):
        distill([trained("rnn", *TEACHER)], path, tmp_path / "run", report=no_work)


def test_a_sentence_that_the_teacher_cannot_read_is_refused_before_any_work(
    trained: Trained, tmp_path: Path, student: Path
) -> None:
    short = trained("transformer", *TEACHER, "model.positions=learned", "model.max_positions=40")
    corpus = tmp_path / "long.tsv"
    corpus.write_text("Yes.\tVâng.\n" + "No. " * 60 + "\tKhông.\n", encoding="utf-8")
    teacher = edited(short, tmp_path / "teacher", data={"train": [{"tsv": str(corpus)}]})
    with pytest.raises(InputError, match=r"long\.tsv, line 2: .*40 positions"):
        distill([teacher], student, tmp_path / "run", report=no_work)
    assert not (tmp_path / "run").exists()
