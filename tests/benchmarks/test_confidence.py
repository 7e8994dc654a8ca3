"""What is measured of confidence: features of a file, combinations without labels, and the table in a document."""

import csv
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import confidence
from benchmarks.confidence import differ, line, mean_standard, said_elsewhere, to_uniform
from tests.inference.confidence.test_features import evidence
from tests.tiny import Trained


def test_words_said_of_different_sources_count_and_those_of_alike_sources_do_not() -> None:
    sources = ["das Haus am See", "ein alter Mann", "das Haus am Meer", "wir gehen heim"]
    said = ["the staff was very kind", "the staff was very kind there", "the staff was very kind", "we go home now"]
    found = said_elsewhere(sources, said)
    assert found[0] == pytest.approx(np.log(2)) == found[2] and found[3] == 0
    assert found[1] == pytest.approx(np.log(3) * 5 / 6)
    assert differ(frozenset("ab"), frozenset("cd")) and not differ(frozenset("abc"), frozenset("abx"))


def test_standardised_features_are_averaged_with_errors_last() -> None:
    table = {
        "log-probability": np.array([-1.0, -3.0]),
        "repetition": np.array([0.0, 0.0]),
        "copied": np.array([0.5, 0.1]),
    }
    assert mean_standard(table, ["log-probability", "repetition", "reverse"]).tolist() == [-0.5, 0.5]
    assert mean_standard(table, ["copied"]).tolist() == pytest.approx([1.0, -1.0])


def test_rows_that_were_learned_from_do_not_count() -> None:
    scores, labels = {"a": np.array([np.nan, 0.0, 1.0])}, {"a": np.array([1.0, 0.0, 1.0])}
    assert line("x", scores, labels) == "| x | 1.000 |"


def test_attention_to_one_word_is_far_from_uniform() -> None:
    even = evidence("a b c", "d", attention=np.full((2, 3), 0.25))
    single = evidence("a b c", "d", attention=np.array([[1.0, 0, 0], [1.0, 0, 0]]))
    assert to_uniform(even) == {"attention to uniform": 0.0}
    assert to_uniform(single) == {"attention to uniform": 0.75}
    assert to_uniform(evidence("a", "b")) == {}


def test_what_cannot_be_read_is_refused_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dev.csv").write_text("src,mt\n" * 300, encoding="utf-8")
    assert confidence.main(["hallucinations", str(tmp_path / "none"), str(tmp_path)]) == 2
    assert confidence.main(["hallucinations", str(tmp_path), str(tmp_path / "none")]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"confidence: there is no run folder {tmp_path / 'none'}") and "dev.csv" in second


def test_judged_translations_are_measured(trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ["src", "mt", "ref", "repetitions", "named-entity", "omission", "strong-unsupport", "full-unsupport"]
    rows = [
        {"src": f"I love{at * ' cat'}.", "mt": f"Tôi yêu {at}.", "ref": ""}
        | {name: int(at % 3 == 0) for name in columns[3:]}
        for at in range(24)
    ]
    with (tmp_path / "dev.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows([*rows, rows[0] | {"mt": ""}])
    document = tmp_path / "a.md"
    document.write_text("<!-- hallucinations --><!-- /hallucinations -->", encoding="utf-8")
    options = Namespace(
        run=trained("transformer"),
        ensemble=[trained("transformer")],
        folder=tmp_path,
        dropout=0,
        samples=0,
        others=3,
        reverse=None,
        labels=12,
        write=document,
    )
    confidence.hallucinations(options)
    printed = capsys.readouterr().out
    assert "24 translations in" in printed and "1 without a token" in printed and "| contrast |" in printed
    written = document.read_text(encoding="utf-8")
    for title, names in confidence.WITHOUT_LABELS.items():
        assert (f"\n| {title}: no labels | " in written) == ("reverse" not in names)
    assert "| score | detached or repeated (8) |" in written and "| contrast |" not in written
    with pytest.raises(SystemExit, match="fewer --labels"):
        confidence.hallucinations(Namespace(**vars(options) | {"labels": 25}))
