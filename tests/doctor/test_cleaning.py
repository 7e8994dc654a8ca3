"""Cleaned copies of corpora."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.doctor.conftest import good
from tests.tiny import room_for

from dragoman.data.settings import DataSettings
from dragoman.doctor.cleaning import LOG, Cleaning, check_fixable
from dragoman.doctor.examine import examine
from dragoman.errors import InputError
from dragoman.settings import parse

LEAKED = ("It is not far from here to the old bridge.", "Il n'y a pas loin d'ici au vieux pont.")


def write(folder: Path, name: str, pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Write pairs into two files, and return the settings of the corpus."""
    for side, language in enumerate(("en", "fr")):
        (folder / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return {"source": f"{name}.en", "target": f"{name}.fr"}


def test_pairs_with_faults_are_left_out_and_characters_mended(tmp_path: Path) -> None:
    pairs = good(300)
    pairs[3] = ("", "Une phrase.")
    pairs[5] = pairs[4]
    pairs[7] = ("Tom &amp; Anna  are here.", "Tom et Anna sont ici.\u200b")
    pairs[9] = LEAKED
    before = [
        *write(tmp_path, "train", pairs).values(),
        *write(tmp_path, "dev", [LEAKED, *good(10, first=5000)]).values(),
    ]
    kept = {name: (tmp_path / name).read_bytes() for name in before}
    table = {"source": "en", "target": "fr", "root": tmp_path}
    table |= {part: [{"source": f"{part}.en", "target": f"{part}.fr"}] for part in ("train", "dev")}
    with Cleaning(tmp_path / "out") as cleaning:
        examine(parse(DataSettings, table), cleaner=cleaning)
    lines = [(tmp_path / "out" / f"train.{one}").read_text(encoding="utf-8").split("\n")[:-1] for one in ("en", "fr")]
    expected = [pair for row, pair in enumerate(pairs) if row not in (3, 5, 9)]
    expected[5] = ("Tom & Anna are here.", "Tom et Anna sont ici.")
    assert list(zip(*lines, strict=True)) == expected
    assert (tmp_path / "out" / "dev.en").read_text(encoding="utf-8").startswith(LEAKED[0])
    log = [json.loads(line) for line in (tmp_path / "out" / LOG).read_text(encoding="utf-8").splitlines()]
    found = [(one["change"], one["reason"], one["place"].rpartition(" ")[2]) for one in log]
    assert found == [
        ("removed", "blank-side", "4"),
        ("removed", "duplicate", "6"),
        ("mended", "characters", "8"),
        ("removed", "leakage", "10"),
    ]
    assert cleaning.summary().startswith("308 pairs written to")
    assert {name: (tmp_path / name).read_bytes() for name in before} == kept


def test_faults_that_characters_have_hidden_are_found_once_they_are_mended(tmp_path: Path) -> None:
    pairs = good(30)
    pairs[3] = ("&nbsp;", "Une phrase.")
    pairs[5] = ("\x01", "\x02")
    pairs[7] = (pairs[6][0].replace(" ", "\u00a0", 1), f" {pairs[6][1]}")
    pairs[9] = ("Tom &amp; Anna are here.", "Tom & Anna are here.")
    pairs[11] = ("A caf&Atilde;&copy; .", "Un café.")
    pairs[13] = ("Yes &#65533; .", "Oui.")
    pairs[15] = ("Good morning.", "&#1055;&#1088;&#1080;&#1074;&#1077;&#1090;")
    corpora = [write(tmp_path, "train", pairs), write(tmp_path, "more", [(f"{pairs[0][0]}\u200b", pairs[0][1])])]
    data = parse(DataSettings, {"source": "en", "target": "fr", "root": tmp_path, "train": corpora})
    with Cleaning(tmp_path / "out") as cleaning:
        examine(data, cleaner=cleaning)
    damaged = {"mojibake": 1, "replacement-character": 1, "wrong-script": 1}
    assert cleaning.removed == {"blank-side": 1, "blank-pair": 1, "duplicate": 2, "copy": 1, **damaged}
    kept = [pair for row, pair in enumerate(pairs) if row not in (3, 5, 7, 9, 11, 13, 15)]
    for side, language in enumerate(("en", "fr")):
        lines = (tmp_path / "out" / f"train.{language}").read_text("utf-8").split("\n")
        assert lines == [*(pair[side] for pair in kept), ""]


def test_what_harms_training_alone_stays_in_dev_and_test(tmp_path: Path) -> None:
    pairs = good(30)
    pairs[3] = ("", "Une phrase.")
    pairs[5] = pairs[4]
    pairs[7] = (f"{pairs[6][0]}\u200b", pairs[6][1])
    pairs[9] = ("Tom is here.", "Tom is here.")
    corpora = {part: [write(tmp_path, part, pairs)] for part in ("train", "dev", "test")}
    data = parse(DataSettings, {"source": "en", "target": "fr", "root": tmp_path, **corpora})
    with Cleaning(tmp_path / "out") as cleaning:
        examine(data, cleaner=cleaning)
    counts = {
        part: len((tmp_path / "out" / f"{part}.en").read_text("utf-8").split("\n")[:-1])
        for part in ("train", "dev", "test")
    }
    assert counts["dev"] == counts["test"] == 29
    assert counts["train"] < 26


def test_several_corpora_have_files_of_their_own(tmp_path: Path) -> None:
    corpora = [write(tmp_path, name, good(20, first)) for name, first in (("a", 0), ("b", 100))]
    data = parse(DataSettings, {"source": "en", "target": "fr", "root": tmp_path, "train": corpora})
    with Cleaning(tmp_path / "out") as cleaning:
        examine(data, cleaner=cleaning)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"train.en", "train.fr", "train-2.en", "train-2.fr", LOG}


def test_corpora_with_a_file_in_common_have_files_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, "a", good(20))
    (tmp_path / "a.vi").write_text("".join(f"Đây là câu số {number}.\n" for number in range(20)), encoding="utf-8")
    corpora = [{"source": "a.en", "target": f"a.{other}", "languages": ["en", other]} for other in ("fr", "vi")]
    data = parse(DataSettings, {"languages": ["en", "fr", "vi"], "root": tmp_path, "train": corpora})
    with Cleaning(tmp_path / "out") as cleaning:
        examine(data, cleaner=cleaning)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"train.en", "train.fr", "train-2.en", "train-2.vi", LOG}
    assert "câu" not in (tmp_path / "out" / "train.fr").read_text("utf-8")


def test_documents_stay_apart(tmp_path: Path) -> None:
    pairs = good(12)
    corpus = write(tmp_path, "train", [*pairs[:3], ("", ""), *pairs[3:6], pairs[0], ("", ""), *pairs[6:]])
    table = {"source": "en", "target": "fr", "root": tmp_path}
    data = parse(DataSettings, {**table, "train": [{**corpus, "documents": "blank lines"}]})
    with Cleaning(tmp_path / "out") as cleaning:
        examine(data, cleaner=cleaning)
    for side, language in enumerate(("en", "fr")):
        blocks = (tmp_path / "out" / f"train.{language}").read_text("utf-8").split("\n\n")
        sides = [pair[side] for pair in pairs]
        assert [block.split() for block in blocks] == [
            " ".join(some).split() for some in (sides[:3], sides[3:6], sides[6:])
        ]


@pytest.mark.parametrize("name", ["links", "documents"])
def test_what_is_in_a_file_beside_the_corpus_is_not_cleaned(tmp_path: Path, name: str) -> None:
    corpus = {"source": "a.en", "target": "a.fr", name: "beside.txt"}
    data = parse(DataSettings, {"source": "en", "target": "fr", "root": tmp_path, "train": [corpus]})
    with pytest.raises(InputError, match=f"`{name}`.*beside.txt"):
        check_fixable(data)


def test_nothing_is_written_over_and_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(InputError, match="is not an empty folder; give --fix another one"):
        Cleaning(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt), Cleaning(tmp_path / "new"):
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_full_disk_is_named_and_nothing_is_left_behind(tmp_path: Path) -> None:
    corpus = write(tmp_path, "train", good(300))
    data = parse(DataSettings, {"source": "en", "target": "xx", "root": tmp_path, "train": [corpus]})
    with pytest.raises(OSError, match="large") as caught, room_for(5000), Cleaning(tmp_path / "out") as cleaning:
        examine(data, cleaner=cleaning)
    assert caught.value.filename == str(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.en", "train.fr"]


ODD = st.text("ab .\u00a0\u200b\u2028\x07\x85\ufeff\ufffdÃ©é", max_size=6)
TEXTS = st.lists(
    st.sampled_from(["&#10;", "&#13;", "&amp;", "<b>", "@@", "\U0001f600", "e\u0301"]) | ODD, max_size=4
).map("".join)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8))
def test_whatever_is_cleaned_each_pair_is_kept_on_one_line_or_logged(
    pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cleaned")
    corpus = write(folder, "train", pairs)
    data = parse(DataSettings, {"source": "en", "target": "fr", "root": folder, "train": [corpus]})
    before = [(folder / name).read_bytes() for name in corpus.values()]
    with Cleaning(folder / "out") as cleaning:
        verdict = examine(data, cleaner=cleaning)
    assert verdict.pairs == len(pairs) == cleaning.kept + cleaning.removed.total()
    for language in ("en", "fr"):
        lines = (folder / "out" / f"train.{language}").read_bytes().decode().split("\n")
        assert lines.pop() == "" and len(lines) == cleaning.kept
    log = [json.loads(line) for line in (folder / "out" / LOG).read_text(encoding="utf-8").split("\n")[:-1]]
    assert [one["change"] for one in log].count("removed") == cleaning.removed.total()
    assert [one["change"] for one in log].count("mended") == cleaning.mended
    assert [(folder / name).read_bytes() for name in corpus.values()] == before
    json.dumps(verdict.table())
