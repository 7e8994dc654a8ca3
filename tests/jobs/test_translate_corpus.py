"""Translating whole corpora, a chunk at a time. That a killed job continues is tested with `jobs/distill.py` too."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.tiny import Trained, room_for

from dragoman.data.checksums import file_checksum
from dragoman.data.corpus import Pair
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError, RunError
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Translator
from dragoman.jobs import translate_corpus
from dragoman.jobs.translate_corpus import (
    CorpusTranslation,
    ResumePoint,
    TranslationProgress,
    origin,
    remember,
    translate_corpora,
)

WORDS = ["I love cats.", "No.", "This is a book.", "The cat sleeps.", "Yes."]


def corpus(path: Path, *words: str) -> CorpusTranslation:
    """Return a corpus of sentences that are their own references."""

    def pairs() -> Iterator[Pair]:
        return (Pair(word, word, "here") for word in words)

    return CorpusTranslation(pairs, path)


def both(translation: Translation, pair: Pair) -> list[Translation]:
    """Keep the translation and the reference."""
    return [translation, Translation(pair.target, 0.0, 0.0)]


@pytest.fixture
def translator(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> Translator:
    """A translator that is given two sentences at a time."""
    monkeypatch.setattr(translate_corpus, "CHUNK", 2)
    return Translator.load(trained("rnn"))


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_text_that_is_kept_is_a_line_with_the_number_of_its_sentence(
    translator: Translator, tmp_path: Path
) -> None:
    reports: list[TranslationProgress] = []
    translate_corpora(translator, [corpus(tmp_path / "1.jsonl", *WORDS)], both, report=reports.append)
    expected = [one.text for one in translator.translate(WORDS)]
    found = rows(tmp_path / "1.jsonl")
    assert [row["target"] for row in found] == [text for pair in zip(expected, WORDS, strict=True) for text in pair]
    assert [row["sentence"] for row in found] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert [(one.sentences, one.total) for one in reports] == [(2, 5), (4, 5), (5, 5)]
    assert reports[-1].seconds_left == 0 < reports[0].seconds_left


class Stopped(Exception):
    """What ends a job."""


def test_a_job_that_was_stopped_continues_after_its_last_chunk(translator: Translator, tmp_path: Path) -> None:
    whole, part = (corpus(tmp_path / name, *WORDS) for name in ("whole.jsonl", "part.jsonl"))
    translate_corpora(translator, [whole], both, report=lambda _: None)

    def stop(progress: TranslationProgress) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        translate_corpora(translator, [part], both, report=stop)
    with part.partial.open("a", encoding="utf-8") as file:
        file.write("half a li")
    reports: list[TranslationProgress] = []
    translate_corpora(translator, [part], both, report=reports.append)
    assert part.path.read_bytes() == whole.path.read_bytes() and not part.partial.exists()
    assert [one.sentences for one in reports] == [4, 5]


def test_a_full_disk_is_named_and_the_job_goes_on_where_it_was(translator: Translator, tmp_path: Path) -> None:
    whole, part = (corpus(tmp_path / name, *WORDS) for name in ("whole.jsonl", "part.jsonl"))
    translate_corpora(translator, [whole], both, report=lambda _: None)
    size = whole.path.stat().st_size
    named = r"part\.jsonl\.partial cannot be written .*free some disk space, and continue with --resume"
    with pytest.raises(RunError, match=named), room_for(size - 1):
        translate_corpora(translator, [part], both, report=lambda _: None)
    reports: list[TranslationProgress] = []
    translate_corpora(translator, [part], both, report=reports.append)
    assert part.path.read_bytes() == whole.path.read_bytes() and [one.sentences for one in reports] == [5]


def test_a_corpus_that_has_its_file_is_not_translated_again(translator: Translator, tmp_path: Path) -> None:
    first, second = corpus(tmp_path / "1.jsonl", *WORDS[:3]), corpus(tmp_path / "2.jsonl", *WORDS[3:])
    first.path.write_text("as it was", encoding="utf-8")
    reports: list[TranslationProgress] = []
    translate_corpora(translator, [first, second], both, report=reports.append)
    assert first.path.read_text(encoding="utf-8") == "as it was"
    assert [(one.sentences, one.total) for one in reports] == [(5, 5)]


def test_nothing_but_the_translations_is_left(translator: Translator, tmp_path: Path) -> None:
    given = corpus(tmp_path / "1.jsonl", *WORDS)
    seen: list[list[str]] = []
    translate_corpora(
        translator, [given], both, report=lambda _: seen.append(sorted(p.name for p in tmp_path.iterdir()))
    )
    assert seen[0] == ["1.jsonl.partial", "1.place"] and [*tmp_path.iterdir()] == [given.path]


@pytest.mark.parametrize("note", ["1 9999", "1 -1", "one line", "1"])
def test_a_note_that_does_not_fit_its_file_is_refused(tmp_path: Path, note: str) -> None:
    given = corpus(tmp_path / "1.jsonl")
    given.partial.write_text("{}\n", encoding="utf-8")
    assert ResumePoint.read(given) == ResumePoint(0, 0)  # a job that was stopped before its first note
    given.path.with_suffix(".place").write_text(note, encoding="utf-8")
    with pytest.raises(RunError, match="are inconsistent; delete both"):
        ResumePoint.read(given)


def test_what_an_earlier_release_remembered_fits_if_only_new_settings_are_missing(tmp_path: Path) -> None:
    about = {"runs": ["a"], "decoding": DecodingSettings(beam=3).model_dump(mode="json")}
    older = {name: value for name, value in about["decoding"].items() if not name.startswith("rerank")}
    path = tmp_path / "of" / "origin.json"
    path.parent.mkdir()
    path.write_text(json.dumps({**about, "decoding": older}), encoding="utf-8")
    remember(path, about, resume=True)
    assert json.loads(path.read_text(encoding="utf-8")) == about
    with pytest.raises(InputError, match=r"`decoding` differs"):
        remember(path, {**about, "decoding": DecodingSettings(beam=4).model_dump(mode="json")}, resume=True)


def test_translations_depend_on_every_file_that_is_read(trained: Trained, tmp_path: Path) -> None:
    run, other = trained("rnn"), trained("rnn", "seed=2")
    glossary, words, text = (tmp_path / name for name in ("terms.tsv", "words.tsv", "text.en"))
    for path in (glossary, words, text):
        path.write_text("cat\tmèo\n", encoding="utf-8")
    settings = DecodingSettings(beam=2, rerank=(other,), glossary=(glossary,), dictionary=words)
    about = origin([run], Translator.load(run, settings=settings), [text])
    assert list(about["data"]) == [str(text), str(glossary), str(words)]
    assert about["weights"] == [file_checksum(place / "model.safetensors") for place in (run, other)]
    remember(tmp_path / "of" / "origin.json", about, resume=False)
    glossary.write_text("cat\tmèo đen\n", encoding="utf-8")
    changed = origin([run], Translator.load(run, settings=settings), [text])
    with pytest.raises(InputError, match=r"with other settings or files \(`data` differs\)"):
        remember(tmp_path / "of" / "origin.json", changed, resume=True)
