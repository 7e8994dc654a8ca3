"""`dragoman split`."""

from pathlib import Path

import pytest
from tests.doctor.conftest import good
from tests.tiny import dragoman, refusal


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Write a translation memory."""
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{en}</seg></tuv><tuv xml:lang="fr"><seg>{fr}</seg></tuv></tu>\n'
        for en, fr in good(300)
    )
    (tmp_path / "memory.tmx").write_text(f"<tmx><body>{units}</body></tmx>", encoding="utf-8")
    return tmp_path / "memory.tmx"


def test_a_translation_memory_becomes_what_own_files_reads(memory: Path, tmp_path: Path) -> None:
    out = tmp_path / "my texts"
    found = dragoman("split", memory, "--from", "en", "--to", "fr", "--out", out, "--dev", 20)
    assert found.code == 0 and found.lines == [str(out)]
    assert f"{out} has 250 pairs in train, 20 pairs in dev and 30 pairs in test" in found.errors
    assert f"dragoman train own-files --set 'data.root={out}' --set data.source=en --set data.target=fr" in found.errors
    about = ["--set", f"data.root={out}", "--set", "data.source=en", "--set", "data.target=fr"]
    checked = dragoman("check", "own-files", *about)
    assert checked.code == 0 and "leakage" not in checked.output


def test_two_files_say_their_languages(tmp_path: Path) -> None:
    for side, name in enumerate(("a.en", "a.fr")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in good(100)), encoding="utf-8")
    found = dragoman("split", tmp_path / "a.en", tmp_path / "a.fr", "--out", tmp_path / "out")
    assert found.code == 0 and len((tmp_path / "out" / "train.fr").read_text(encoding="utf-8").splitlines()) == 80


def test_the_columns_of_a_table_are_those_that_are_named(tmp_path: Path) -> None:
    table = tmp_path / "a.tsv"
    lines = (f"{at}\t{en}\t{9 * at}\t{fr}\n" for at, (en, fr) in enumerate(good(100)))
    table.write_text("".join(lines), encoding="utf-8")
    given = ("split", table, "--from", "en", "--to", "fr", "--out", tmp_path / "out")
    unnamed, named = dragoman(*given), dragoman(*given, "--columns", 1, 3)
    remark = f"{table} has 4 columns, of which the first two are read; --columns names others"
    assert unnamed.code == 2 and remark in unnamed.errors and "0 pairs with text on both sides" in unnamed.errors
    assert named.code == 0 and remark not in named.errors
    written = [(tmp_path / "out" / f"train.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "fr")]
    assert len(written[0]) == 80 and set(zip(*written, strict=True)) <= set(good(100))


def test_what_cannot_be_split_is_refused(memory: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out")
    assert "give them with --from and --to" in refusal("split", memory, *out)
    assert "both languages are `en`; give two" in refusal("split", memory, "--from", "en", "--to", "en", *out)
    assert "give two files that match line by line, or .tsv" in refusal("split", memory, tmp_path / "a.en", *out)
    assert "give two files that match line by line, or .tsv" in refusal("split", tmp_path / "a.en", *out)
    (tmp_path / "a.tsv").write_text("one\tun\n", encoding="utf-8")
    for given in (
        (memory, "--columns", 0, 1),
        (tmp_path / "a.tsv", "--columns", 0, -1),
        (tmp_path / "a.tsv", "--columns", 1, 1),
    ):
        assert "--columns takes two columns of .tsv files" in refusal("split", *given, *out)
    message = refusal("split", memory, "--from", "en", "--to", "de", *out)
    assert (
        "has no unit with both `en` and `de` (its languages are `en`, `fr`)" in message and "--from and --to" in message
    )
    assert not (tmp_path / "out").exists()


def test_a_missing_dev_file_leads_here(tmp_path: Path) -> None:
    for name in ("train.en", "train.fr"):
        (tmp_path / name).write_text("one\n", encoding="utf-8")
    about = ["--set", f"data.root={tmp_path}", "--set", "data.source=en", "--set", "data.target=fr"]
    assert "if you have no dev text, `dragoman split`" in refusal("check", "own-files", *about)
