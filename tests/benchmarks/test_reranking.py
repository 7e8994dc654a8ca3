"""The table of what another choice among the hypotheses gained."""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks import reranking
from benchmarks.reranking import Bench, Corpus, table

CORPUS = Corpus("news", ["a", "b", "c", "d"], ["one tree", "two big old trees", "three", "four more big trees"])


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace what is slow: the run, whose reranked beam is better than all else, and the weights."""
    seen: list[Any] = []

    def translate(*arguments: str, text: str, **_: Any) -> str:
        seen.append(text)
        return (
            "two big old trees\nfour more big trees\n"
            if "[0.5]" in " ".join(arguments)
            else "two big trees\nfour big old trees\n"
        )

    def tune(run: Any, rerankers: Any, sources: Any, **_: Any) -> SimpleNamespace:
        seen.append(list(sources))
        return SimpleNamespace(weights=(0.5,))

    monkeypatch.setattr(reranking, "dragoman", translate)
    monkeypatch.setattr(reranking, "tune", tune)
    monkeypatch.setattr(reranking, "_processor_seconds", itertools.count().__next__)
    monkeypatch.setattr(reranking, "open_run", lambda run: SimpleNamespace(manifest={"identity": str(run)}))
    return seen


def test_odd_lines_tune_and_even_ones_are_measured(tmp_path, commands):
    lines = [*table(Bench(tmp_path / "run", tmp_path, 1.4), CORPUS, [tmp_path / "backwards"])]
    assert lines[0] == "| news, 2 sentences | BLEU | difference | chrF | difference | time |"
    assert lines[2].startswith("| beam of the recipe | ") and lines[2].endswith(" | | 1.0 |")
    assert "| `--beam 10 --rerank` backwards, weight 0 |" in lines[-2]
    assert lines[-1].startswith("| `--beam 10 --rerank` backwards, weight 0.5 | 100.0 | +")
    assert ["a", "c"] in commands and {one for one in commands if isinstance(one, str)} == {"b\nd\n"}
    assert len(commands) == 7, "the tuning, and six searches"


def test_minimum_risk_may_be_left_out(tmp_path, commands):
    lines = [*table(Bench(tmp_path / "run", tmp_path, 1.4, risk=False), CORPUS, [tmp_path / "backwards"])]
    assert len(commands) == 5 and not any("mbr" in line for line in lines)


def test_what_a_run_has_translated_is_kept_for_that_run_alone(tmp_path, commands):
    for _ in range(2):
        list(table(Bench(tmp_path / "run", tmp_path, 1.4), CORPUS, [tmp_path / "backwards"]))
    assert len(commands) == 7
    list(table(Bench(tmp_path / "another", tmp_path, 1.4), CORPUS, [tmp_path / "backwards"]))
    assert len(commands) == 14
