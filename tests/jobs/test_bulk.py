"""The translation of large files, block by block."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.tiny import Trained

from dragoman.errors import InputError, RunError
from dragoman.inference.translator import Translator
from dragoman.jobs import bulk
from dragoman.jobs.bulk import Block, BlockTranslator, Bulk, find_blocks, in_this_process, translate_file
from dragoman.jobs.translate_corpus import TranslationProgress

WORDS = ["I love cats.", "No.", "", "This is a book.", "The cat sleeps.", "Yes.", "I love books."]
TEXT = "".join(f"{word}\n" for word in WORDS)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two lines."""
    monkeypatch.setattr(bulk, "CHUNK", 2)


@pytest.fixture
def job(trained: Trained, tmp_path: Path) -> Bulk:
    """A job with one line more than three blocks."""
    (tmp_path / "text.en").write_text(TEXT, encoding="utf-8")
    return Bulk((trained("rnn"),), tmp_path / "text.en", tmp_path / "text.vi", {"beam": 2})


def expected(job: Bulk) -> bytes:
    """Return what the translator makes of all lines."""
    return "".join(f"{one.text}\n" for one in job.load().translate(WORDS)).encode()


class Died(Exception):
    """What ends a job."""


def test_each_line_becomes_a_line_and_no_block_is_left(job: Bulk) -> None:
    reports: list[TranslationProgress] = []
    translator = job.load()
    assert translate_file(job, translator, in_this_process(translator), report=reports.append) == len(WORDS)
    assert job.out.read_bytes() == expected(job)
    assert [one.sentences for one in reports] == [2, 4, 6, 7] and reports[-1].total == 7
    assert sorted(path.name for path in job.out.parent.iterdir()) == ["text.en", "text.vi"]


def test_blocks_may_be_done_in_any_order_and_twice(job: Bulk) -> None:
    def share(job: Bulk, blocks: Sequence[Block]) -> Iterator[int]:
        worker = BlockTranslator(job)
        for block in [*reversed(blocks), *blocks]:
            worker.write(block)
        yield from (block.number for block in blocks)

    translate_file(job, job.load(), share)
    assert job.out.read_bytes() == expected(job)


def stopped(job: Bulk, translator: Translator) -> None:
    """Stop a job after its first block."""

    def stop(progress: TranslationProgress) -> None:
        raise Died

    with pytest.raises(Died):
        translate_file(job, translator, in_this_process(translator), report=stop)


def test_a_job_that_was_stopped_does_what_is_missing(job: Bulk, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = job.load()
    stopped(job, translator)
    assert not job.out.exists()
    with pytest.raises(RunError, match=r"--resume"):
        translate_file(job, translator, in_this_process(translator))
    seen: list[int] = []
    written = BlockTranslator.write
    monkeypatch.setattr(BlockTranslator, "write", lambda self, block: (seen.append(block.number), written(self, block)))
    translate_file(job, translator, in_this_process(translator), resume=True)
    assert seen == [1, 2, 3] and job.out.read_bytes() == expected(job)


def test_a_job_is_not_continued_with_other_text_or_settings(job: Bulk) -> None:
    stopped(job, job.load())
    other = Bulk(job.runs, job.source, job.out, {"beam": 3})
    with pytest.raises(InputError, match=r"`decoding` differs"):
        translate_file(other, other.load(), in_this_process(other.load()), resume=True)
    job.source.write_text(TEXT.replace("cats", "dogs"), encoding="utf-8")
    with pytest.raises(InputError, match=r"`data` differs"):
        translate_file(job, job.load(), in_this_process(job.load()), resume=True)


def test_a_block_that_lost_a_line_is_found_before_anything_is_joined(job: Bulk) -> None:
    translator = job.load()
    stopped(job, translator)
    first = job.file(find_blocks(job.source)[0])
    first.write_text("only one\n", encoding="utf-8")
    with pytest.raises(RunError, match=r"000000000.txt .*--resume"):
        translate_file(job, translator, in_this_process(translator), resume=True)
    assert not job.out.exists()
    first.unlink()
    translate_file(job, translator, in_this_process(translator), resume=True)
    assert job.out.read_bytes() == expected(job)


def test_nothing_is_written_over(job: Bulk) -> None:
    job.out.write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match=r"already exists"):
        translate_file(job, job.load(), in_this_process(job.load()), resume=True)
    assert job.out.read_text(encoding="utf-8") == "mine"


def test_a_document_model_reads_the_lines_before_a_block(trained: Trained, job: Bulk) -> None:
    document = Bulk((trained("rnn"),), job.source, job.out, {})
    translator = document.load()
    seen: list[Sequence[Sequence[str]]] = []
    translator.previous = 2
    real = translator.translate
    translator.translate = lambda lines, **options: (seen.append(options["previous"]), real(lines))[1]  # type: ignore[method-assign]
    translate_file(document, translator, in_this_process(translator))
    assert seen[0] == [[], ["I love cats."]]
    assert seen[2] == [["This is a book."], ["This is a book.", "The cat sleeps."]]


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "text.en", r"is empty"),
        (b"a\n\xff\n", "text.en", r"line 2 of .* is not UTF-8"),
        (b"a" * 100, "text.en", r"line 1 of .* is longer"),
        (b"a\n", "text.en.gz", r"is compressed; decompress it"),
        (None, "none.en", r"cannot be read"),
    ],
)
def test_a_file_that_cannot_be_divided_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, name: str, message: str
) -> None:
    monkeypatch.setattr(bulk, "LONGEST_LINE", 50)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        find_blocks(tmp_path / name)


def test_a_line_that_is_too_long_is_refused_before_anything_is_translated(trained: Trained, tmp_path: Path) -> None:
    run = trained("rnn", "model.score=location", "model.max_positions=40")
    (tmp_path / "text.en").write_text("No.\nYes.\n" + "cat " * 60 + "\n", encoding="utf-8")
    job = Bulk((run,), tmp_path / "text.en", tmp_path / "text.vi", {})
    with pytest.raises(InputError, match=r"3"):
        translate_file(job, job.load(), in_this_process(job.load()))
    assert not job.folder.exists()
