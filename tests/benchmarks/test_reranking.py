"""The table of what another choice among the hypotheses gained."""

import json

from benchmarks.reranking import Bench, Corpus, table


def test_odd_lines_tune_and_even_ones_are_measured(tmp_path, monkeypatch):
    """What was translated before is not translated again."""
    reverse = tmp_path / "backwards"
    test = Corpus("news", ["a", "b", "c", "d"], ["one tree", "two big old trees", "three", "four more big trees"])
    better, worse = ["two big old trees", "four more big trees"], ["two big trees", "four big old trees"]
    kept = {
        "beam of the recipe": (worse, 2.0),
        "beam of 10": (worse, 3.0),
        "`length_penalty` 1.4": (worse, 2.0),
        "`--mbr`, chrf": (worse, 8.0),
        "`--mbr`, bleu": (worse, 9.0),
        "`--rerank` backwards, weight 0.5": (better, 5.0),
    }
    for name, found in kept.items():
        (tmp_path / f"news-{name}.json").write_text(json.dumps(found))
    seen = []
    monkeypatch.setattr(
        "benchmarks.reranking.tune",
        lambda run, others, sources, **options: seen.append([*sources]) or type("Tuned", (), {"weights": (0.5,)}),
    )
    lines = [*table(Bench(tmp_path / "run", tmp_path, None), test, [reverse])]
    assert seen == [["a", "c"]]
    assert lines[0] == "| news, 2 sentences | BLEU | difference | chrF | time |"
    assert lines[2].startswith("| beam of the recipe | ") and lines[2].endswith(" | 1.0 |")
    assert lines[-1].startswith("| `--rerank` backwards, weight 0.5 | 100.0 | +") and lines[-1].endswith(
        "| 100.0 | 2.5 |"
    )
