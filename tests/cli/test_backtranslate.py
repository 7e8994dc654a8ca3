"""`dragoman backtranslate`."""

import re
from pathlib import Path

import pytest
import yaml
from tests.tiny import Trained, dragoman, refusal

from dragoman.data.settings import DataSettings
from dragoman.runs.folder import open_run
from dragoman.settings import parse

BACK = ("data.source=vi", "data.target=en", "decoding.maximum_ratio=1.0")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "mono.vi"
    path.write_text("Tôi yêu mèo.\n\nVâng.\nVâng.\nCô ấy ngủ.\n", encoding="utf-8")
    return path


def test_the_file_is_the_only_result_and_the_corpus_to_add_is_shown(
    trained: Trained, text: Path, tmp_path: Path
) -> None:
    (tmp_path / "news, old").mkdir()
    out = tmp_path / "news, old" / "pairs.tsv"
    found = dragoman("backtranslate", trained("rnn", *BACK), text, "--out", out, "--beam", 2)
    assert (found.code, found.lines) == (0, [str(out)])
    assert "100%  3 of 3 sentences translated" in found.errors
    assert "5 lines; 1 empty; 1 repeated; 3 translated" in found.errors
    assert f"- {{tsv: '{out}', tagged: true}}" in found.errors
    assert len(out.read_text(encoding="utf-8").splitlines()) == 3


def test_options_choose_the_search_and_the_pairs(trained: Trained, text: Path, tmp_path: Path) -> None:
    run, out = trained("rnn", *BACK), tmp_path / "pairs.tsv"
    sampled = ("--sample", "--set", "seed=3", "--set", "top_k=5")
    found = dragoman("backtranslate", run, text, "--out", out, *sampled, "--keep-best", 0.34)
    assert found.code == 0 and "2 with a low score; 1 pairs written" in found.errors
    again = dragoman("backtranslate", run, text, "--out", out, *sampled, "--minimum-score", -1000, "--resume")
    assert again.code == 0 and "3 pairs written" in again.errors
    assert "`decoding.top_k: 5`" in refusal("backtranslate", run, text, "--out", tmp_path / "no", "--set", "top_k=5")


def test_text_in_the_other_language_is_refused(trained: Trained, text: Path, tmp_path: Path) -> None:
    english = text.rename(tmp_path / "mono.en")
    sentence = refusal("backtranslate", trained("rnn", *BACK), english, "--out", tmp_path / "pairs.tsv")
    assert "mono.en looks like `en`" in sentence


def test_a_run_of_several_languages_is_told_which(trained: Trained, text: Path, tmp_path: Path) -> None:
    run = trained("rnn", "data.train.0.both_ways=true", "decoding.maximum_ratio=1.0")
    english = tmp_path / "mono.en"
    english.write_text("I love cats.\nShe sleeps.\n", encoding="utf-8")
    found = dragoman("backtranslate", run, text, "--from", "vi", "--to", "en", "--out", tmp_path / "a.tsv")
    assert found.code == 0 and "a.tsv, tagged: true}" in found.errors, found.errors
    found = dragoman("backtranslate", run, english, "--from", "en", "--to", "vi", "--out", tmp_path / "b.tsv")
    assert found.code == 0 and "b.tsv, tagged: true, languages: [vi, en]}" in found.errors, found.errors
    corpus = yaml.safe_load(re.search(r"- (\{.*b\.tsv.*\})", found.errors)[1])
    own = open_run(run).recipe.data.model_dump(mode="json")
    settings = parse(DataSettings, own | {"train": [*own["train"], corpus]})
    assert settings.directions_of(settings.train[-1]) == [("vi", "en")]
    found = dragoman("backtranslate", run, english, "--to", "vi", "--out", tmp_path / "alone.tsv")
    assert found.code == 0 and "alone.tsv, tagged: true, languages: [vi, en]}" in found.errors, found.errors
    assert "say which one with `--to`" in refusal("backtranslate", run, text, "--out", tmp_path / "c.tsv")
    wrong = ("--from", "en", "--to", "vi", "--out", tmp_path / "c.tsv")
    assert "mono.vi looks like `vi`" in refusal("backtranslate", run, text, *wrong)


def test_the_language_of_the_source_must_be_certain(trained: Trained, text: Path, tmp_path: Path) -> None:
    pairs = "{phrasebook: train, pairs: 9, languages: [%s]}"
    train = f"data.train=[{pairs % 'en, vi'}, {pairs % 'fr, en'}, {pairs % 'en, fr'}, {pairs % 'vi, en'}]"
    dev = f"data.dev=[{pairs % 'en, vi'}]"
    run = trained("rnn", "data.languages=[en, vi, fr]", train, dev, "data.test=[]", "decoding.maximum_ratio=1.0")
    sentence = refusal("backtranslate", run, text, "--to", "en", "--out", tmp_path / "a.tsv")
    assert "the language of the source (fr, vi); say which one with `--from`" in sentence
    unseen = ("--from", "vi", "--to", "fr", "--out", tmp_path / "a.tsv")
    assert "zero-shot" in dragoman("backtranslate", run, text, *unseen).errors


def test_ctrl_c_says_how_to_go_on(
    trained: Trained, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dragoman.inference.translator.Translator.translate", interrupt)
    found = dragoman("backtranslate", trained("rnn", *BACK), text, "--out", tmp_path / "pairs.tsv")
    assert (found.code, found.output) == (130, "")
    assert "translations are saved" in found.errors and "--resume" in found.errors


@pytest.mark.parametrize("share", ["nan", "inf", "0", "-0.5", "1.5"])
def test_a_share_that_is_none_is_refused(share: str, trained: Trained, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.tsv"
    found = dragoman("backtranslate", trained("rnn", *BACK), text, "--out", out, "--keep-best", share)
    assert found.code == 2 and f"{share} is not a share above 0 and at most 1" in found.errors
    assert not list(tmp_path.glob("pairs*"))
