"""`dragoman check`."""

import json
from pathlib import Path

import pytest
from tests.doctor.conftest import good
from tests.doctor.parallel import parallel
from tests.tiny import dragoman, recipe_file, refusal


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Write a corpus with one fault."""
    pairs = good(300)
    pairs[7] = ("", pairs[7][1])
    paths = tmp_path / "train.en", tmp_path / "train.fr"
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return paths


def test_two_files_are_examined(files: tuple[Path, Path]) -> None:
    found = dragoman("check", *files)
    assert found.code == 0
    assert f"note: [blank-side] {files[0]}, line 8 is blank, or its translation is; remove" in found.output
    assert "    line 8: '' ||| " in found.output
    assert found.lines[-1].startswith("300 pairs: 0 errors, 1 warning, ")


def test_findings_are_json(files: tuple[Path, Path]) -> None:
    table = json.loads(dragoman("check", *files, "--json").output)
    assert (table["pairs"], table["errors"]) == (300, 0)
    (blank,) = [one for one in table["findings"] if one["name"] == "blank-side"]
    assert (blank["line"], blank["count"], blank["examples"][0]["texts"][0]) == (8, 1, "")


def test_errors_are_exit_code_1(files: tuple[Path, Path]) -> None:
    with files[1].open("a", encoding="utf-8") as file:
        file.write("encore\n")
    found = dragoman("check", *files)
    assert found.code == 1
    assert found.lines[0].startswith(f"error: [line-counts] {files[0]} has 300 lines but {files[1]} has 301")


def test_a_page_and_a_cleaned_copy_are_written(files: tuple[Path, Path], tmp_path: Path) -> None:
    found = dragoman("check", *files, "--report", tmp_path / "page.html", "--fix", tmp_path / "clean")
    assert found.code == 0 and found.lines[-1] == str(tmp_path / "page.html")
    assert "<h2>Notes</h2>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "299 pairs written to" in found.errors and "1 removed (1 blank-side)" in found.errors
    assert len((tmp_path / "clean" / "train.fr").read_text(encoding="utf-8").splitlines()) == 299


def test_what_cannot_be_mended_is_refused_and_nothing_is_written(files: tuple[Path, Path], tmp_path: Path) -> None:
    with files[1].open("a", encoding="utf-8") as file:
        file.write("encore\n")
    assert "nothing was written" in refusal("check", *files, "--fix", tmp_path / "clean")
    assert not (tmp_path / "clean").exists()


def test_shifted_files_are_not_cleaned(tmp_path: Path) -> None:
    text = parallel(1000).without(sources=[300], targets=[800])
    paths = tmp_path / "train.en", tmp_path / "train.fr"
    for path, lines in zip(paths, (text.sources, text.targets), strict=True):
        path.write_text("\n".join(lines), encoding="utf-8")
    said = refusal("check", *paths, "--fix", tmp_path / "clean")
    assert "nothing was written" in said and "are off by +1" in said
    assert not (tmp_path / "clean").exists()


def test_a_table_and_its_languages_may_be_given(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in good(300)), encoding="utf-8")
    found = dragoman("check", tmp_path / "a.tsv", "--from", "en", "--to", "ru")
    assert found.code == 0 and "[wrong-script]" in found.output and "in its target" in found.output


def test_the_fields_of_a_file_are_its_languages(tmp_path: Path) -> None:
    rows = [json.dumps({"en": source, "fr": target}) for source, target in good(300)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    unknown = dragoman("check", tmp_path / "a.jsonl")
    assert unknown.code == 1 and "`fields`, which `dragoman check FILE` takes as --from and --to" in unknown.output
    known = dragoman("check", tmp_path / "a.jsonl", "--from", "en", "--to", "fr")
    assert known.lines[-1].startswith("300 pairs: 0 errors")


def test_the_help_of_the_languages_is_about_files_not_runs() -> None:
    shown = " ".join(dragoman("check", "--help").output.split())
    assert "run of several languages" not in shown and shown.count("name of its file") == 2


@pytest.mark.parametrize("name", ["train.en", "memory.csv"])
def test_text_that_is_taken_for_a_recipe_is_told_how_to_be_given(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("Tom: yes: no\nTo be, or not to be.\n", encoding="utf-8")
    message = refusal("check", tmp_path / name)
    assert f"{tmp_path / name} " in message and "give two files that match line by line, or .tsv" in message


def test_a_recipe_is_examined(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, "rnn", "data.dev=[{phrasebook: dev, pairs: 20}]")
    found = dragoman("check", path, "--set", "data.train=[{phrasebook: train, pairs: 30}]")
    assert found.code == 0 and found.lines[-1].startswith("90 pairs: 0 errors")


def test_a_table_is_examined_in_the_columns_that_are_named_also_where_its_first_line_is_damaged(tmp_path: Path) -> None:
    table = tmp_path / "a.tsv"
    table.write_bytes(b"1\tcaf\xe9\t1\tone\n" + b"2\ttwo words\t2\tdeux mots\n" * 9)
    usual, named = dragoman("check", table), dragoman("check", table, "--columns", 1, 3)
    assert "[invalid-utf8]" in usual.output and "[invalid-utf8]" in named.output and usual.code == named.code == 1
    assert "a.tsv has 4 columns" in usual.errors and "columns" not in named.errors
    assert usual.output != named.output


def test_arguments_that_do_not_fit_are_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert "give two files that match line by line" in refusal("check", *files, files[0])
    assert "give a recipe" in refusal("check", *files, "--set", "data.joined=0.1")
    path = recipe_file(tmp_path, "rnn")
    assert "remove --from, --to and --columns" in refusal("check", path, "--columns", 0, 1)
    refused = refusal("check", path, "--from", "en")
    assert "remove --from, --to and --columns" in refused and "give two files that match line by line" in refused
    assert "cannot be written" in refusal("check", *files, "--report", tmp_path / "nowhere" / "page.html")


def test_a_report_is_not_written_over_a_corpus(files: tuple[Path, Path]) -> None:
    before = files[0].read_bytes()
    sentence = refusal("check", *files, "--report", files[0])
    assert sentence == f"{files[0]} does not end in .html, but a report is an HTML page; name it so"
    assert files[0].read_bytes() == before
