"""Batches of real models: an answer is the one that the sentence gets alone, with everything that was asked for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.serving.workers import job
from tests.tiny import Trained

from dragoman.conversion.job import export
from dragoman.decoding.hypotheses import SearchStep, Unwatched
from dragoman.errors import DragomanError, InputError
from dragoman.inference.engines import load_translator
from dragoman.inference.translator import Translator
from dragoman.serving.interface import Options, UnsupportedError
from dragoman.serving.jobs import Job, Wanted
from dragoman.serving.workers import ExportWorker, TorchWorker, Worker
from dragoman.text.frames import Between
from dragoman.text.glossary import Entry, Glossary

SENTENCES = ["I love cats.", "No.", "The cat sits on the mat, and the dog sees it.", "Yes", "We study at school."]


def translated(worker: Worker, jobs: list[Job], watch: Any = None) -> list[Any]:
    return worker.translate(jobs, [worker.encode(one) for one in jobs], watch or Unwatched())


def jobs_of(worker: Worker, options: Options) -> list[Job]:
    settings = worker.settings(options)
    return [Job(text, (), Between("en", "vi"), settings, Wanted.by(options)) for text in SENTENCES]


@pytest.mark.parametrize("model", ["rnn", "transformer"])
def test_an_answer_does_not_depend_on_its_batch(trained: Trained, model: str) -> None:
    worker = TorchWorker(Translator.load(trained(model), device="cpu"))
    jobs = jobs_of(worker, Options(n_best=2))
    together = translated(worker, jobs)
    for one, found in zip(jobs, together, strict=True):
        (alone,) = translated(worker, [one])
        assert found.best.text == alone.best.text
        assert found.best.score == pytest.approx(alone.best.score, abs=1e-4)
        assert [other.text for other in found.alternatives] == [other.text for other in alone.alternatives]


def test_what_is_asked_for_is_there_and_nothing_else(trained: Trained) -> None:
    worker = TorchWorker(Translator.load(trained("transformer"), device="cpu"))
    options = Options(log_probs=True, alignment=True, attention=True, confidence=True)
    for found in translated(worker, jobs_of(worker, options)):
        one = found.best
        assert one.tokens[-1].text == "</s>" and sum(t.log_prob or 0 for t in one.tokens) == pytest.approx(one.log_prob)
        assert len(one.attention) == len(one.tokens)
        assert all(sum(row) == pytest.approx(1, abs=0.01) for row in one.attention)
        assert len(one.attention[0]) == len(one.source_tokens)
        sizes = len(one.source.split()), len(one.text.split())
        assert all(i < sizes[0] and j < sizes[1] for i, j in one.alignment)
        assert one.confidence is None and all(isinstance(alarm, str) for alarm in one.alarms)
    bare = translated(worker, jobs_of(worker, Options()))[0].best
    assert (bare.tokens, bare.attention, bare.alignment, bare.source_tokens) == ((), (), (), ())


def test_one_of_a_batch_may_ask_for_more_than_the_others(trained: Trained) -> None:
    worker = TorchWorker(Translator.load(trained("transformer"), device="cpu"))
    (plain, *_), (_, shown, *_) = jobs_of(worker, Options()), jobs_of(worker, Options(alignment=True, confidence=True))
    found = translated(worker, [plain, shown])
    assert found[0].best.alignment == () and found[1].best.alignment != ()


def test_what_is_given_up_costs_no_more_steps(trained: Trained) -> None:
    worker = TorchWorker(Translator.load(trained("transformer"), device="cpu"))
    jobs = jobs_of(worker, Options())
    steps = []

    class Leaving(Unwatched):
        def abandoned(self) -> set[int]:
            return {0, 1, 2, 3, 4} if len(steps) >= 2 else {2}

        def see(self, step: SearchStep) -> None:
            assert 2 not in step.open_hypotheses()
            steps.append(step)

    assert len(translated(worker, jobs, Leaving())) == len(jobs)
    assert len(steps) == 2


def test_a_model_without_attention_and_unknown_settings_are_refused(trained: Trained) -> None:
    worker = TorchWorker(Translator.load(trained("rnn", "model.decoder=plain", "model.score=additive"), device="cpu"))
    with pytest.raises(UnsupportedError, match="attention"):
        worker.settings(Options(alignment=True))
    with pytest.raises(DragomanError, match="beam"):
        worker.settings(Options(beam=2, n_best=3))
    assert worker.settings(Options(n_best=4)).beam == 4


def test_an_export_translates_the_same_and_says_what_it_cannot(trained: Trained, tmp_path: Path) -> None:
    run = trained("transformer")
    folder, _ = export(run, tmp_path / "out")
    exported = ExportWorker(load_translator(folder))  # type: ignore[arg-type]
    own = TorchWorker(Translator.load(run, device="cpu"))
    found = translated(exported, jobs_of(exported, Options(n_best=2)))
    expected = translated(own, jobs_of(own, Options(n_best=2)))
    assert [one.best.text for one in found] == [one.best.text for one in expected]
    assert [len(one.alternatives) for one in found] == [1] * len(found)
    assert exported.spell([]) == ""
    for options in (Options(alignment=True), Options(confidence=True), Options(glossary=Glossary(()))):
        with pytest.raises(UnsupportedError, match="serve the run"):
            exported.settings(options)


def test_a_text_that_does_not_fit_is_refused_alone(trained: Trained) -> None:
    worker = TorchWorker(
        Translator.load(trained("transformer", "model.positions=learned", "model.max_positions=40"), device="cpu")
    )
    with pytest.raises(InputError, match="split it"):
        worker.encode(job("word " * 300))


def test_terms_of_one_caller_are_in_the_translation_and_no_others(trained: Trained, tmp_path: Path) -> None:
    worker = TorchWorker(Translator.load(trained("transformer"), device="cpu"))
    glossary = Glossary((Entry.of("cats", ["quyển sách"]),))
    jobs = jobs_of(worker, Options())
    plain = translated(worker, jobs)
    asked = [replace(jobs[0], terms=glossary.entries), *jobs[1:]]
    first, *others = translated(worker, asked)
    assert "quyển sách" in first.best.text and "quyển sách" not in plain[0].best.text
    assert [(one.source, one.state) for one in first.best.terms] == [("cats", "forced")]
    assert others == plain[1:]
    with pytest.raises(UnsupportedError, match=r"glossary.*sample"):
        worker.settings(Options(decoding=(("method", "sample"),), glossary=glossary))
