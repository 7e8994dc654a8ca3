"""Parallel text is split so that no held-out sentence is in another part."""

import random
from itertools import chain
from pathlib import Path

import pytest

from dragoman.data.settings import DataSettings
from dragoman.doctor.chunk import Side
from dragoman.errors import CorpusError, InputError, SettingsError
from dragoman.jobs.split import Split, split
from dragoman.settings import parse

Pairs = list[tuple[str, str]]


def sentences(count: int) -> Pairs:
    """Return pairs that have no sentence in common."""
    chance = random.Random(1)
    words = ["".join(chance.choice("abcdefgh") for _ in range(12)) for _ in range(2 * count)]
    return [(f"the {one}", f"le {other}") for one, other in zip(words[::2], words[1::2], strict=True)]


def laid_out(folder: Path, *corpora: Pairs) -> DataSettings:
    """Write corpora and return their settings."""
    for number, pairs in enumerate(corpora):
        lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (folder / f"{number}.tsv").write_text(lines, encoding="utf-8", newline="\n")
    tables = [{"tsv": f"{number}.tsv"} for number in range(len(corpora))]
    return parse(DataSettings, {"source": "en", "target": "fr", "root": folder, "train": tables})


def parts(done: Split) -> dict[str, Pairs]:
    """Read what was written."""
    found = {}
    for name in ("train", "dev", "test"):
        sides = [
            path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
            for path in (done.folder / f"{name}.en", done.folder / f"{name}.fr")
            if path.exists()
        ]
        found[name] = list(zip(*sides, strict=True)) if sides else []
    return found


def test_every_pair_is_in_one_part_and_training_pairs_in_order(tmp_path: Path):
    corpora = sentences(400)[:300], sentences(400)[300:]
    done = split(laid_out(tmp_path, *corpora), tmp_path / "out")
    found = parts(done)
    assert done.counts == (320, 40, 40) and [len(one) for one in found.values()] == [320, 40, 40]
    pairs = [*corpora[0], *corpora[1]]
    assert sorted([*chain.from_iterable(found.values())]) == sorted(pairs)
    assert found["train"] == sorted(found["train"], key=pairs.index), "the order is that of the corpora"


def test_the_first_half_of_dev_is_like_the_second_though_the_corpus_is_sorted_by_length(tmp_path: Path):
    pairs = [
        (f"{source} {'far ' * (number // 20)}.", target) for number, (source, target) in enumerate(sentences(1000))
    ]
    for part in ("dev", "test"):
        lengths = [len(source) for source, _ in parts(split(laid_out(tmp_path, pairs), tmp_path / part))[part]]
        half = len(lengths) // 2
        assert sum(lengths[:half]) == pytest.approx(sum(lengths[half:]), rel=0.2)


def test_held_out_pairs_share_no_sentence_with_another(tmp_path: Path):
    pairs = sentences(100)
    chance = random.Random(2)
    same = [(source.upper(), f"autre {n}") for n, (source, _) in enumerate(pairs[:40])]
    other = [(f"another {'xyz'[n % 3] * (n + 1)}", f"{target} !") for n, (_, target) in enumerate(pairs[40:70])]
    mixed = [*pairs, *same, *other, *pairs[90:]]
    chance.shuffle(mixed)
    found = parts(split(laid_out(tmp_path, mixed), tmp_path / "out", dev=5, test=5))
    for name in ("dev", "test"):
        rest = [pair for part, some in found.items() if part != name for pair in some]
        for side in (0, 1):
            held = set(Side([pair[side] for pair in found[name]]).folded.hashes.tolist())
            assert len(held) == 5 and not held & set(Side([pair[side] for pair in rest]).folded.hashes.tolist())
    assert len(found["train"]) == len(mixed) - 10, "no training pair is lost"


def test_the_same_pairs_are_held_out_in_any_order_and_process(tmp_path: Path):
    pairs = sentences(200)
    first = parts(split(laid_out(tmp_path, pairs), tmp_path / "one"))
    second = parts(split(laid_out(tmp_path, pairs[::-1]), tmp_path / "two"))
    assert {name: sorted(some) for name, some in first.items()} == {name: sorted(some) for name, some in second.items()}
    assert ("the ccfebecdcafd" in dict(first["dev"])) and ("the ccfebecdcafd" not in dict(first["test"])), (
        "of any process"
    )


def test_pairs_with_an_empty_side_are_left_out_and_counted(tmp_path: Path):
    pairs = [*sentences(100), ("alone", ""), (" ", "seul"), ("", "")]
    done = split(laid_out(tmp_path, pairs), tmp_path / "out")
    assert (done.counts, done.blank) == ((80, 10, 10), 3)
    assert str(done) == (
        f"{tmp_path / 'out'} has 80 pairs in train, 10 pairs in dev and 10 pairs in test, none of which shares a sentence with "
        "another pair; 3 pairs with an empty side left out."
    )


def test_without_test_there_is_no_file_of_it(tmp_path: Path):
    done = split(laid_out(tmp_path, sentences(100)), tmp_path / "out", dev=7, test=0)
    assert sorted(path.name for path in done.folder.iterdir()) == ["dev.en", "dev.fr", "train.en", "train.fr"]
    assert "in test" not in str(done) and done.counts == (93, 7, 0)


@pytest.mark.parametrize(("pairs", "held"), [(10, 1), (1500, 150), (3000, 200), (5000, 250), (30_000, 1000)])
def test_the_usual_sizes(pairs: int, held: int, tmp_path: Path):
    assert split(laid_out(tmp_path, sentences(pairs)), tmp_path / "out").counts == (pairs - 2 * held, held, held)


def test_where_most_pairs_repeat_another_half_of_the_rest_is_kept_for_training(tmp_path: Path):
    pairs = sentences(20)
    done = split(laid_out(tmp_path, [*pairs, *[("yes", "oui")] * 400]), tmp_path / "out")
    assert done.counts == (410, 5, 5)


def test_a_line_break_in_a_sentence_does_not_end_its_line(tmp_path: Path):
    lines = [
        '{"en": "one\\r\\n two", "fr": "un\\n\\ndeux"}',
        *(f'{{"en": "{en}", "fr": "{fr}"}}' for en, fr in sentences(50)),
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = parse(DataSettings, {"source": "en", "target": "fr", "root": tmp_path, "train": [{"jsonl": "a.jsonl"}]})
    found = parts(split(data, tmp_path / "out"))
    assert ("one two", "un deux") in [*chain.from_iterable(found.values())]


def test_too_little_text_is_refused_and_nothing_written(tmp_path: Path):
    for count, sizes, message in (
        (
            9,
            {},
            r"0\.tsv has 9 pairs with text on both sides, of which 9 share no sentence with another, too few for some in",
        ),
        (100, {"dev": 50}, "too few for 50 in dev and 10 in test"),
        (100, {"dev": 60, "test": 0}, "too few for 60 in dev; give"),
    ):
        with pytest.raises(CorpusError, match=message):
            split(laid_out(tmp_path, sentences(count)), tmp_path / "out", **sizes)
    with pytest.raises(CorpusError, match=r"20 pairs .* of which 0 share"):
        split(laid_out(tmp_path, [("yes", "oui")] * 20), tmp_path / "out")
    with pytest.raises(CorpusError, match=r"0\.tsv and the others together have 9 pairs with"):
        split(laid_out(tmp_path, sentences(5), sentences(9)[5:]), tmp_path / "out")
    with pytest.raises(SettingsError, match="`dev` is 0, but must be a number of pairs, at least 1"):
        split(laid_out(tmp_path, sentences(100)), tmp_path / "out", dev=0)
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_is_left_alone(tmp_path: Path):
    with pytest.raises(InputError, match="is not an empty folder"):
        split(laid_out(tmp_path, sentences(100)), tmp_path)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path):
    data = laid_out(tmp_path, sentences(100))

    def grow(_pairs: int) -> None:
        with (tmp_path / "0.tsv").open("a", encoding="utf-8") as file:
            file.write("one\tun\n")

    with pytest.raises(CorpusError, match="was changed while it was split"):
        split(data, tmp_path / "out", progress=grow)
    assert not (tmp_path / "out").exists()
