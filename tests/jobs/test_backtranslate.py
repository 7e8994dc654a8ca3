"""Back-translation: monolingual text becomes pairs, which a run of the other direction learns from."""

import json
import tracemalloc
from math import inf, nan
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from tests.tiny import Trained, edited, recipe

from dragoman.data.corpus import read_pairs
from dragoman.data.corpus_settings import TsvSettings
from dragoman.errors import DragomanError, InputError, RunError, SettingsError
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Translator
from dragoman.jobs import translate_corpus
from dragoman.jobs.backtranslate import Backtranslated, BacktranslationSettings, backtranslate, folder_of
from dragoman.jobs.train import fit
from dragoman.jobs.translate_corpus import TranslationProgress
from dragoman.runs.folder import open_run
from dragoman.text.frames import Between
from dragoman.text.tags import SYNTHETIC

BACK = ("data.source=vi", "data.target=en", "decoding.maximum_ratio=1.0", "decoding.n_best=2")
LINES = ["Tôi yêu mèo.", "", "Anh  ấy đọc\tsách.", "Tôi yêu mèo.", "  ", "Cô ấy ngủ.", "từ " * 251, "Vâng."]
GOOD = ["Tôi yêu mèo.", "Anh ấy đọc sách.", "Cô ấy ngủ.", "Vâng."]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "mono.vi"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def translated(run: Path, text: Path, out: Path, **settings: Any) -> Backtranslated:
    resume = bool(settings.pop("resume", False))
    return backtranslate(run, text, out, settings=BacktranslationSettings(**settings), resume=resume)


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_usable_line_gets_the_best_translation_of_the_run_as_its_source(
    trained: Trained, text: Path, tmp_path: Path
) -> None:
    run, out = trained("rnn", *BACK), tmp_path / "pairs.tsv"
    made = translated(run, text, out)
    translator = Translator.load(run)
    best = translator.translate(GOOD)
    assert [row[:2] for row in rows(out)] == [[one.text, line] for one, line in zip(best, GOOD, strict=True)]
    each = [sum(one.token_log_probs) / len(one.token_log_probs) for one in best]
    assert [float(row[2]) for row in rows(out)] == pytest.approx(each, abs=1e-4)
    assert (made.lines.kept, made.empty, made.low, made.pairs) == (4, 0, 0, 4)
    assert str(made) == (
        "8 lines; 2 empty; 1 repeated; 1 with more than 250 words; 4 translated; "
        "0 with an empty translation; 0 with a low score; 4 pairs written."
    )


def test_pairs_of_a_low_score_are_left_out_and_others_may_be_chosen_later(
    trained: Trained, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, out = trained("rnn", *BACK), tmp_path / "pairs.tsv"
    translated(run, text, out)
    every = rows(out)
    scores = sorted(float(row[2]) for row in every)
    monkeypatch.setattr(Translator, "translate", None)  # nothing is translated again
    made = translated(run, text, out, resume=True, keep_best=0.5)
    assert rows(out) == [row for row in every if float(row[2]) >= scores[2]] and (made.low, made.pairs) == (2, 2)
    translated(run, text, out, resume=True, minimum_score=scores[1])
    assert rows(out) == [row for row in every if float(row[2]) >= scores[1]]
    with pytest.raises(InputError, match=r"no pair is left.*--minimum-score"):
        translated(run, text, out, resume=True, minimum_score=1.0)


def test_where_nothing_was_translated_no_share_of_it_is_advised(
    trained: Trained, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translator, "translate", lambda _, lines, **__: [Translation("", 0.0, 0.0) for _ in lines])
    with pytest.raises(InputError, match=r"no line has a translation; give .* or other text") as found:
        translated(trained("rnn", *BACK), text, tmp_path / "pairs.tsv")
    assert "--" not in str(found.value)


def test_the_pairs_of_a_large_text_are_never_in_memory_together(trained: Trained, text: Path, tmp_path: Path) -> None:
    run, out = trained("rnn", *BACK), tmp_path / "pairs.tsv"
    translated(run, text, out)
    row = json.dumps({"sentence": 0, "source": "Vâng. " * 2000, "target": "Yes. " * 2000, "score": -1.0})
    (folder_of(out) / "1.jsonl").write_text(f"{row}\n" * 2000, encoding="utf-8")
    tracemalloc.start()
    assert translated(run, text, out, resume=True).pairs == 2000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < out.stat().st_size / 2


@pytest.mark.parametrize("to", [Between(None, "en"), Between("vi", "en"), Between(None, "vi")])
def test_a_run_of_several_languages_translates_into_the_one_that_is_given(
    to: Between, trained: Trained, text: Path, tmp_path: Path
) -> None:
    run, out = trained("rnn", "data.train.0.both_ways=true", "decoding.maximum_ratio=1.0"), tmp_path / "pairs.tsv"
    settings = BacktranslationSettings()
    backtranslate(run, text, out, settings=settings, to=to)
    best = Translator.load(run).translate(GOOD, to=to)
    assert [row[:2] for row in rows(out)] == [[one.text, line] for one, line in zip(best, GOOD, strict=True)]
    other = Between(None, "vi" if to.target == "en" else "en")
    with pytest.raises(InputError, match="`languages` differs"):
        backtranslate(run, text, out, settings=settings, to=other, resume=True)
    with pytest.raises(InputError, match=r"say which one with `--to`"):
        backtranslate(run, text, tmp_path / "others.tsv", settings=settings)


def test_samples_are_drawn_by_the_seed(trained: Trained, text: Path, tmp_path: Path) -> None:
    run = trained("rnn", *BACK)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        translated(run, text, tmp_path / name, decoding={"method": "sample", "seed": seed})
    assert rows(tmp_path / "a") == rows(tmp_path / "b") != rows(tmp_path / "c")


class Killed(BaseException):
    """Nobody catches it, as nobody catches a kill."""


@pytest.mark.parametrize("method", ["beam", "sample"])
def test_a_killed_job_continues_with_the_same_result(
    method: str, trained: Trained, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, whole, out = trained("rnn", *BACK), tmp_path / "whole.tsv", tmp_path / "pairs.tsv"
    settings = BacktranslationSettings(decoding={"method": method})
    backtranslate(run, text, whole, settings=settings)
    monkeypatch.setattr(translate_corpus, "CHUNK", 2)

    def stop(progress: TranslationProgress) -> None:
        raise Killed

    with pytest.raises(Killed):
        backtranslate(run, text, out, settings=settings, report=stop)
    assert not out.exists()
    told: list[int] = []
    backtranslate(run, text, out, settings=settings, resume=True, report=lambda one: told.append(one.sentences))
    assert told == [4] and [row[:2] for row in rows(out)] == [row[:2] for row in rows(whole)]
    assert [float(row[2]) for row in rows(out)] == pytest.approx([float(row[2]) for row in rows(whole)], abs=1e-3)


def test_a_job_is_not_continued_with_other_filters(trained: Trained, text: Path, tmp_path: Path) -> None:
    run, out = edited(trained("rnn", *BACK), tmp_path / "run"), tmp_path / "pairs.tsv"
    translated(run, text, out)
    rmtree(run)
    edited(trained("rnn", *BACK), run, data={"filters": {"max_words": 2}})
    with pytest.raises(InputError, match=r"`filters` differs"):
        translated(run, text, out, resume=True)


def test_only_the_same_work_is_continued(trained: Trained, text: Path, tmp_path: Path) -> None:
    run, out = trained("rnn", *BACK), tmp_path / "pairs.tsv"
    with pytest.raises(InputError, match=r"written as plain text; leave \.xz out of --out"):
        translated(run, text, tmp_path / "pairs.tsv.xz")
    for folder in (tmp_path, Path(".")):
        with pytest.raises(InputError, match="is a directory; give the path of a file with --out"):
            translated(run, text, folder)
    with pytest.raises(InputError, match=r"nothing to resume.*remove --resume"):
        translated(run, text, out, resume=True)
    out.touch()
    with pytest.raises(RunError, match=r"pairs\.tsv already exists; choose another file"):
        translated(run, text, out)
    out.unlink()
    translated(run, text, out)
    with pytest.raises(RunError, match=r"pairs\.tsv already exists; add --resume"):
        translated(run, text, out)
    with pytest.raises(InputError, match=r"`decoding` differs.*--out"):
        translated(run, text, out, resume=True, decoding={"beam": 2})
    text.write_text("Vâng.\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"`data` differs"):
        translated(run, text, out, resume=True)
    (folder_of(out) / "1.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(RunError, match=r"1\.jsonl is damaged; remove"):
        translated(run, write(text), out, resume=True)


def write(text: Path) -> Path:
    text.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return text


def test_lines_beyond_the_positions_of_the_run_are_left_out(trained: Trained, tmp_path: Path, text: Path) -> None:
    learned = ("model.positions=learned", "model.max_positions=40")
    run, out = trained("transformer", *BACK, *learned), tmp_path / "pairs.tsv"
    text.write_text("Vâng.\n" + "Tôi yêu mèo. " * 20 + "\n", encoding="utf-8")
    made = translated(run, text, out)
    assert (made.pairs, dict(made.lines.dropped)) == (1, {"with more tokens than the 40 positions of the run": 1})


def test_tagged_pairs_are_learned_from_and_translation_stays_untagged(
    trained: Trained, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pairs.tsv"
    translated(trained("rnn", *BACK), text, out)
    pairs = list(read_pairs(TsvSettings(tsv=out), recipe("rnn").data))
    assert [pair.target for pair in pairs] == GOOD
    corpora = (
        "data.train=[{phrasebook: train, pairs: 300}, " + json.dumps({"tsv": str(out), "tagged": True})[:-1] + "}]"
    )
    fit(recipe("rnn", corpora, "training.steps=2"), tmp_path / "run")
    source = open_run(tmp_path / "run").source
    assert source.pieces(source.special.tags) == [SYNTHETIC]
    assert len(Translator.load(tmp_path / "run").translate(["I love cats."])) == 1


def test_a_run_of_documents_is_refused(tmp_path: Path, text: Path, trained: Trained) -> None:
    run = trained("rnn", *BACK)
    with pytest.raises(InputError, match="is a masked language model"):
        translated(trained("masked_lm"), text, tmp_path / "a")
    with pytest.raises(Exception, match=r"`decoding\.n_best` has no effect on `dragoman backtranslate`"):
        translated(run, text, tmp_path / "a", decoding={"n_best": 2})
    assert not (tmp_path / "a").exists() and not folder_of(tmp_path / "a").exists()


def test_numbers_that_choose_nothing_are_refused() -> None:
    for share in (nan, inf, 0.0, -0.1, 1.1):
        with pytest.raises(SettingsError, match=r"`keep_best` is .* share above 0"):
            BacktranslationSettings(keep_best=share)
    for score in (nan, inf, -inf):
        with pytest.raises(SettingsError, match=r"`minimum_score` is .* finite"):
            BacktranslationSettings(minimum_score=score)


def test_a_text_without_a_sentence_is_refused_and_leaves_nothing(trained: Trained, tmp_path: Path) -> None:
    for content, words in (("\n \n", "has no line that can be translated"), ("", "contains no sentences")):
        (tmp_path / "blank").write_text(content, encoding="utf-8")
        with pytest.raises(DragomanError, match=words):
            translated(trained("rnn", *BACK), tmp_path / "blank", tmp_path / "out")
        assert {path.name for path in tmp_path.iterdir()} == {"blank"}
