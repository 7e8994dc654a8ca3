"""The translation of large files, and what is left of a job that was stopped."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.tiny import Trained

from dragoman.errors import CorpusError, DragomanError, InputError, RunError
from dragoman.inference.translator import Translator
from dragoman.jobs import bulk, translate_corpus
from dragoman.jobs.bulk import folder_of, translate_file
from dragoman.jobs.translate_corpus import TranslationProgress

WORDS = ["I love cats.", "No.", "", "This is a book.", "The cat sleeps.", "Yes.", "I love books."]
TEXT = "".join(f"{word}\n" for word in WORDS)


@dataclass(frozen=True)
class Job:
    """A file and what translates it."""

    run: Path
    source: Path
    out: Path
    beam: int = 2

    def translator(self) -> Translator:
        """Load what translates."""
        return Translator.load(self.run, beam=self.beam)

    def start(self, translator: Translator | None = None, **options: Any) -> int:
        """Translate the file."""
        return translate_file(translator or self.translator(), [self.run], self.source, out=self.out, **options)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of two lines."""
    monkeypatch.setattr(translate_corpus, "CHUNK", 2)


@pytest.fixture
def job(trained: Trained, tmp_path: Path) -> Job:
    """A job with one line more than three chunks."""
    (tmp_path / "text.en").write_text(TEXT, encoding="utf-8")
    return Job(trained("rnn"), tmp_path / "text.en", tmp_path / "text.vi")


def expected(job: Job) -> bytes:
    """Return what the translator makes of all lines."""
    return "".join(f"{one.text}\n" for one in job.translator().translate(WORDS)).encode()


class Died(Exception):
    """What ends a job."""


def stopped(job: Job) -> None:
    """Stop a job after its first chunk."""

    def stop(progress: TranslationProgress) -> None:
        raise Died

    with pytest.raises(Died):
        job.start(report=stop)


def test_each_line_becomes_a_line_and_nothing_else_is_left(job: Job) -> None:
    reports: list[TranslationProgress] = []
    assert job.start(report=reports.append) == len(WORDS)
    assert job.out.read_bytes() == expected(job)
    assert [one.sentences for one in reports] == [2, 4, 6, 7] and reports[-1].total == 7
    assert sorted(path.name for path in job.out.parent.iterdir()) == ["text.en", "text.vi"]


def test_a_job_that_was_stopped_does_what_is_missing(job: Job) -> None:
    stopped(job)
    assert not job.out.exists()
    with pytest.raises(RunError, match=r"--resume"):
        job.start()
    translator, seen = job.translator(), list[int]()
    real = translator.translate
    translator.translate = lambda lines, **options: (seen.append(options["first"]), real(lines, **options))[1]  # type: ignore[method-assign]
    job.start(translator, resume=True)
    assert seen == [3, 5, 7] and job.out.read_bytes() == expected(job)


def test_a_job_that_was_stopped_before_its_file_got_its_name_is_finished(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*paths: Path, **options: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(bulk.shutil, "rmtree", die)
        with pytest.raises(Died):
            job.start()
    job.out.rename(folder_of(job.out) / "translations")
    job.start(resume=True)
    assert job.out.read_bytes() == expected(job) and not folder_of(job.out).exists()


def test_a_job_is_not_continued_with_other_text_or_settings(job: Job) -> None:
    stopped(job)
    with pytest.raises(InputError, match=r"`decoding` differs"):
        replace(job, beam=3).start(resume=True)
    job.source.write_text(TEXT.replace("cats", "dogs"), encoding="utf-8")
    with pytest.raises(InputError, match=r"`data` differs"):
        job.start(resume=True)


def test_what_was_cut_off_is_found_before_the_file_gets_its_name(job: Job) -> None:
    stopped(job)
    (folder_of(job.out) / "translations.partial").write_bytes(b"")
    with pytest.raises(RunError, match=r"inconsistent; delete both"):
        job.start(resume=True)
    assert not job.out.exists()


def test_nothing_is_written_over(job: Job) -> None:
    job.out.write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match=r"already exists"):
        job.start(resume=True)
    assert job.out.read_text(encoding="utf-8") == "mine"


def test_there_must_be_something_to_resume(job: Job) -> None:
    with pytest.raises(InputError, match=r"nothing to resume for .*text\.vi; remove --resume"):
        job.start(resume=True)


def test_a_name_of_a_compressed_file_is_refused(job: Job) -> None:
    with pytest.raises(InputError, match=r"written as plain text; leave \.gz out of --out"):
        replace(job, out=job.out.with_name("text.vi.gz")).start()


def test_a_document_model_reads_the_lines_before_a_chunk(job: Job) -> None:
    translator = job.translator()
    seen: list[Sequence[Sequence[str]]] = []
    translator.previous = 2
    real = translator.translate
    translator.translate = lambda lines, **options: (seen.append(options["previous"]), real(lines))[1]  # type: ignore[method-assign]
    job.start(translator)
    assert seen[0] == [[], ["I love cats."]]
    assert seen[2] == [["This is a book."], ["This is a book.", "The cat sleeps."]]


def test_a_translation_of_several_lines_stays_on_its_own(job: Job) -> None:
    translator = job.translator()
    real = translator.translate
    translator.translate = lambda lines, **options: [  # type: ignore[method-assign]
        replace(one, text=f"{line}\nmore") for line, one in zip(lines, real(lines, **options), strict=True)
    ]
    job.start(translator)
    assert job.out.read_text(encoding="utf-8").split("\n")[:-1] == [f"{word} more" for word in WORDS]


def test_a_compressed_file_is_read(job: Job) -> None:
    packed = job.source.with_name("text.en.gz")
    packed.write_bytes(gzip.compress(TEXT.encode()))
    replace(job, source=packed).start()
    assert job.out.read_bytes() == expected(job)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", InputError, r"is empty"),
        (b"a\n\xff\n", CorpusError, r"line 2.* UTF-8"),
        (b"a" * 100, CorpusError, r"has a line of more than"),
        (None, InputError, r"there is no file .*text.en"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    job: Job, monkeypatch: pytest.MonkeyPatch, content: bytes | None, error: type[DragomanError], message: str
) -> None:
    monkeypatch.setattr("dragoman.data.lines.LONGEST_LINE", 50)
    if content is None:
        job.source.unlink()
    else:
        job.source.write_bytes(content)
    with pytest.raises(error, match=message):
        job.start()
    assert not folder_of(job.out).exists()


def test_a_line_that_is_too_long_is_refused_before_anything_is_translated(trained: Trained, tmp_path: Path) -> None:
    run = trained("rnn", "model.score=location", "model.max_positions=40")
    (tmp_path / "text.en").write_text("No.\nYes.\n" + "cat " * 60 + "\n", encoding="utf-8")
    job = Job(run, tmp_path / "text.en", tmp_path / "text.vi")
    with pytest.raises(InputError, match=r"line 3"):
        job.start()
    assert not folder_of(job.out).exists()
