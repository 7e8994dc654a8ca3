"""Encoded corpora on disk."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.slow import some

from dragoman.data import encode
from dragoman.data import store as module
from dragoman.data.corpus import read_pairs
from dragoman.data.corpus_settings import TsvSettings
from dragoman.data.encode import Encoders
from dragoman.data.settings import DataSettings, FilterSettings
from dragoman.data.store import PAIRS, Store, build_store, fingerprints
from dragoman.errors import CorpusError
from dragoman.settings import parse
from dragoman.text import CharactersSettings, Codec, learn_codecs
from dragoman.text.tags import NOISED, SYNTHETIC


@pytest.fixture
def encodings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows with every corpus encoded."""
    made: list[int] = []
    whole = module.encode_all

    def note(pairs: Any, codecs: tuple[Codec, Codec], encoders: Encoders) -> Iterator[Any]:
        made.append(encoders.count)
        return whole(pairs, codecs, encoders)

    monkeypatch.setattr(module, "encode_all", note)
    return made


def filtered(data: DataSettings, **filters: Any) -> DataSettings:
    """Return the same corpora with other filters."""
    return data.model_copy(update={"filters": FilterSettings(**filters)})


@pytest.mark.parametrize("rows", [7, 8192])
def test_a_store_gives_back_the_corpus(
    rows: int, data: DataSettings, codecs: tuple[Codec, Codec], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "ROWS_PER_BATCH", rows)
    monkeypatch.setattr(module, "ROWS_PER_BATCH", rows)
    store, summary = build_store(cache, data, data.train, codecs=codecs)
    pairs = list(read_pairs(data.train[0], data))
    assert len(store) == summary.kept == len(pairs)
    assert store.source_lengths.dtype == store.target_lengths.dtype == np.int32
    for index, pair in enumerate(pairs):
        source, target = store.pair(index)
        assert source.tolist() == codecs[0].encode(pair.source)
        assert target.tolist() == codecs[1].encode(pair.target)
        assert (len(source), len(target)) == (store.source_lengths[index], store.target_lengths[index])
        assert store.text(index) == (pair.source, pair.target)


@pytest.mark.parametrize("index", [-1, 1500])
def test_a_pair_that_is_not_there_is_an_index_error(index: int, store: Store) -> None:
    with pytest.raises(IndexError):
        store.pair(index)


def test_an_unchanged_corpus_is_encoded_once(
    data: DataSettings, codecs: tuple[Codec, Codec], cache: Path, encodings: list[int]
) -> None:
    first, first_summary = build_store(cache, data, data.train, codecs=codecs)
    again, summary = build_store(cache, data, data.train, codecs=codecs, encoders=Encoders(2))
    assert encodings == [1]
    assert again.folder == first.folder
    assert summary == first_summary


def test_a_changed_corpus_codec_or_filter_is_encoded_anew(
    data: DataSettings, codecs: tuple[Codec, Codec], cache: Path, tmp_path: Path
) -> None:
    text = (data.root / "train.tsv").read_text(encoding="utf-8")
    (tmp_path / "train.tsv").write_text(text, encoding="utf-8")
    here = data.model_copy(update={"root": tmp_path})
    characters = learn_codecs(CharactersSettings(), lambda: [("abcd", "efgh")])
    folders = [build_store(cache, data, data.train, codecs=codecs)[0].folder]
    assert build_store(cache, here, here.train, codecs=codecs)[0].folder == folders[0]
    folders.append(build_store(cache, data, data.train, codecs=characters)[0].folder)
    folders.append(build_store(cache, filtered(data, max_words=9), data.train, codecs=codecs)[0].folder)
    (tmp_path / "train.tsv").write_text("the cat\teht tac\n" + text, encoding="utf-8")
    changed = build_store(cache, here, here.train, codecs=codecs)[0]
    folders.append(changed.folder)
    assert len(set(folders)) == 4
    assert changed.text(0) == ("the cat", "eht tac")


def test_several_corpora_stand_one_after_the_other_as_often_as_they_say(
    data: DataSettings, codecs: tuple[Codec, Codec], cache: Path
) -> None:
    twice = data.train[0].model_copy(update={"repeat": 2})
    store, summary = build_store(cache, data, [twice, data.train[0]], codecs=codecs)
    assert len(store) == 3 * 1500
    assert store.text(0) == store.text(1) == store.text(3000)
    assert summary.kept == 3000


def test_pairs_left_out_are_counted(data: DataSettings, codecs: tuple[Codec, Codec], cache: Path) -> None:
    store, summary = build_store(cache, filtered(data, max_words=9), data.train, codecs=codecs)
    assert len(store) == summary.kept == 1500 - summary.dropped["with more than 9 words"]
    assert 0 < summary.kept < 1500


def test_a_corpus_of_which_nothing_is_left_is_refused(
    data: DataSettings, codecs: tuple[Codec, Codec], cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "train.tsv").write_text("the cat\t\n\teht tac\n", encoding="utf-8")
    empty = data.model_copy(update={"root": tmp_path})
    with pytest.raises(
        CorpusError, match=r"no sentence pairs are left to train on; check `data\.filters` \(0 pairs kept"
    ):
        build_store(cache, empty, empty.train, codecs=codecs)
    assert [path.name for path in cache.iterdir()] == ["checksums.json"]


def test_the_way_back_leads_through_kept_sentences_of_the_document(
    talks: DataSettings, codecs: tuple[Codec, Codec], cache: Path
) -> None:
    store, summary = build_store(cache, filtered(talks, max_words=5), talks.train, codecs=codecs)
    assert 100 < summary.kept < 240
    kept = [[pair for pair in read_pairs(corpus, talks) if len(pair.source.split()) <= 5] for corpus in talks.train]
    rows = [(corpus, at, copy) for corpus in (0, 1) for at in range(len(kept[corpus])) for copy in range(corpus + 1)]
    assert len(store) == len(rows)
    for index, (corpus, at, _) in enumerate(rows):
        pair = kept[corpus][at]
        before = [one.source for one in kept[corpus][:at] if one.document == pair.document][-3:]
        found = store.previous(index, 3)
        assert store.text(index)[0] == pair.source
        assert [one is None for one in found] == [True] * (3 - len(before)) + [False] * len(before)
        assert [codecs[0].decode(one.tolist()) for one in found if one is not None] == before
    assert store.previous(5, 0) == []


def test_a_name_that_comes_again_in_another_corpus_is_another_document(
    data: DataSettings, codecs: tuple[Codec, Codec], cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.tsv").write_text("the cat\teht tac\t1\na tree\ta eert\t1\n", encoding="utf-8")
    here = data.model_copy(update={"root": tmp_path})
    corpus = TsvSettings(tsv=Path("a.tsv"), document=2)
    store, _ = build_store(cache, here, [corpus, corpus], codecs=codecs)
    assert [len([one for one in store.previous(index, 2) if one is not None]) for index in range(4)] == [0, 1, 0, 1]


def test_a_store_keeps_links_where_they_are_known(
    talks: DataSettings, codecs: tuple[Codec, Codec], cache: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "ROWS_PER_BATCH", 50)
    monkeypatch.setattr(module, "ROWS_PER_BATCH", 50)
    linked, _ = build_store(cache, talks, talks.train, codecs=codecs)
    assert linked.linked
    for index, pair in enumerate(read_pairs(talks.train[0], talks)):
        links = linked.links(index)
        assert pair.links is not None
        assert links is not None
        assert links.dtype == np.int32
        assert links.tolist() == [list(link) for link in sorted(pair.links.possible)]
    assert linked.links(index + 1) is None
    assert not build_store(cache, talks, talks.train[1:], codecs=codecs)[0].linked
    assert not store.linked
    assert store.links(3) is None


def test_pairs_without_links_get_those_of_an_aligner_where_asked(
    talks: DataSettings, codecs: tuple[Codec, Codec], cache: Path
) -> None:
    plain, _ = build_store(cache, talks, talks.train, codecs=codecs)
    aligned, _ = build_store(cache, talks, talks.train, codecs=codecs, align=True)
    assert aligned.folder != plain.folder and len(aligned) == len(plain)
    known = [plain.links(index) for index in range(len(plain))]
    assert any(links is None for links in known)
    for index, links in enumerate(known):
        made = aligned.links(index)
        assert made is not None and (links is None or made.tolist() == links.tolist())
    assert sum(len(aligned.links(index)) for index, links in enumerate(known) if links is None) > 0


def test_learning_an_aligner_is_announced_because_it_takes_a_while(
    talks: DataSettings, codecs: tuple[Codec, Codec], cache: Path
) -> None:
    said: list[str] = []
    for align in (False, True, True):
        build_store(cache, talks, talks.train, codecs=codecs, align=align, say=said.append)
    assert len(said) == 1 and "word alignments" in said[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_encoding_broken_off_leaves_nothing(
    error: BaseException, data: DataSettings, codecs: tuple[Codec, Codec], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = module.encode_all

    def stop(*arguments: Any) -> Iterator[Any]:
        yield from whole(*arguments)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(module, "encode_all", stop)
        with pytest.raises((KeyboardInterrupt, CorpusError)) as raised:
            build_store(cache, data, data.train, codecs=codecs)
    assert isinstance(error, KeyboardInterrupt) or "cannot be written to" in str(raised.value)
    assert [path.name for path in cache.iterdir()] == ["checksums.json"]
    assert len(build_store(cache, data, data.train, codecs=codecs)[0]) == 1500


def test_what_a_killed_encoding_left_is_deleted_after_a_day(
    data: DataSettings, codecs: tuple[Codec, Codec], cache: Path
) -> None:
    for name in (".store-old", ".store-new", ".store-large"):
        (cache / name).mkdir(parents=True)
        (cache / name / PAIRS).touch()
    os.utime(cache / ".store-old" / PAIRS, (0, 0))
    for name in (".store-old", ".store-large"):  # into the large one another process has been writing for days
        os.utime(cache / name, (0, 0))
    build_store(cache, data, data.train, codecs=codecs)
    assert not (cache / ".store-old").exists()
    assert (cache / ".store-new").exists()
    assert (cache / ".store-large" / PAIRS).exists()


def test_a_store_made_meanwhile_by_another_process_is_taken(
    data: DataSettings, codecs: tuple[Codec, Codec], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = module.encode_all

    def slow(*arguments: Any) -> Iterator[Any]:
        yield from whole(*arguments)
        monkeypatch.setattr(module, "encode_all", whole)
        build_store(cache, data, data.train, codecs=codecs)

    monkeypatch.setattr(module, "encode_all", slow)
    assert len(build_store(cache, data, data.train, codecs=codecs)[0]) == 1500
    assert len(list(cache.glob("*store-*"))) == 1


def _flip(at: float) -> Callable[[bytes], bytes | None]:
    def flip(content: bytes) -> bytes | None:
        place = min(int(at * len(content)), len(content) - 2)
        return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]

    return flip


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda content: None,
    "empty": lambda content: b"",
    "junk": lambda content: b"junk!",
    "cut": lambda content: content[: len(content) // 2],
    "a list": lambda content: b"[]",
    "deep": lambda content: b"[" * 100_000,
    **{f"a bit at {at}": _flip(at) for at in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)},
}


@pytest.mark.parametrize("name", ["pairs.arrow", "lengths.int32", "store.json"])
@pytest.mark.parametrize("damage", some(DAMAGES, ("missing", "cut", "a bit at 0.5", "a bit at 1.0")))
def test_a_damaged_store_is_refused_and_made_again(
    name: str,
    damage: str,
    data: DataSettings,
    codecs: tuple[Codec, Codec],
    cache: Path,
    store: Store,
) -> None:
    shutil.copytree(store.folder.parent, cache)
    damaged = cache / store.folder.name / name
    content = DAMAGES[damage](damaged.read_bytes())
    damaged.unlink()
    if content is not None:
        damaged.write_bytes(content)
    with pytest.raises(CorpusError, match=rf"{store.folder.name} is damaged; delete it"):
        Store(damaged.parent)
    again, summary = build_store(cache, data, data.train, codecs=codecs)
    assert again.folder == damaged.parent
    assert "was damaged, so it was rebuilt" in summary.warnings[0]
    assert [again.text(index) for index in (0, 1499)] == [store.text(index) for index in (0, 1499)]
    assert build_store(cache, data, data.train, codecs=codecs)[1].warnings == []


def test_a_pair_of_two_corpora_is_kept_once_where_asked_for(
    data: DataSettings, codecs: tuple[Codec, Codec], cache: Path
) -> None:
    once, first = build_store(cache, filtered(data, drop_duplicates=True), data.train, codecs=codecs)
    corpora = [data.train[0], data.train[0].model_copy(update={"repeat": 2})]
    twice, summary = build_store(cache, filtered(data, drop_duplicates=True), corpora, codecs=codecs)
    assert len(twice) == len(once)
    assert summary.dropped["seen before"] == first.dropped["seen before"] + 1500
    (warning,) = summary.warnings
    assert f"1,500 of the 1,500 pairs of {data.root / 'train.tsv'} are dropped, 1,500 of them seen before" in warning


def test_a_folder_that_cannot_be_made_is_named(data: DataSettings, codecs: tuple[Codec, Codec], cache: Path) -> None:
    cache.write_text("a file")
    with pytest.raises(
        CorpusError, match=r"cannot be written to .*cache \(File exists\); .* choose another place.* --out.* TMPDIR"
    ):
        build_store(cache, data, data.train, codecs=codecs)


def test_corpora_are_described_by_their_files(data: DataSettings) -> None:
    (described,) = fingerprints(data, data.train)
    assert described["settings"]["tsv"] == "train.tsv"
    assert described["languages"] == ["en", "ne"]
    assert len(described["sha256"][0]) == 64


def test_sources_of_a_tagged_corpus_start_with_the_tag_alone(data: DataSettings, cache: Path) -> None:
    corpora = [data.train[0], data.train[0].model_copy(update={"tagged": True, "repeat": 2, "first": 3})]
    lines = [(pair.source, pair.target) for pair in read_pairs(data.train[0], data)]
    codecs = learn_codecs(CharactersSettings(joint=True), lambda: lines, [SYNTHETIC])
    (tag,) = codecs[0].special.tags
    store, _ = build_store(cache, data, corpora, codecs=codecs)
    plain, tagged = len(lines), range(len(lines), len(store))
    assert len(tagged) == 6 and not any(tag in store.pair(index)[0] for index in range(plain))
    for index in tagged:
        assert store.pair(index)[0].tolist() == [tag, *codecs[0].encode(store.text(index)[0])]
        assert tag not in store.pair(index)[1]


def test_noised_text_is_stored_as_it_is_and_no_word_alignment_is_learned_from_it(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a cat\tun chat\na dog\tun chien\n" * 10, encoding="utf-8")
    (tmp_path / "news.fr").write_text("un chat dort\n", encoding="utf-8")
    table = {"source": "en", "target": "fr", "root": tmp_path, "dev": [{"tsv": "a.tsv"}]}
    corpora = [{"tsv": "a.tsv"}, {"text": "news.{target}", "noised": True}]
    plain, noised = (parse(DataSettings, table | {"train": corpora[:count]}) for count in (1, 2))
    pairs = [pair[:2] for corpus in noised.train for pair in read_pairs(corpus, noised)]
    codecs = learn_codecs(CharactersSettings(joint=True), lambda: pairs, noised.tag_pieces)
    assert codecs[0].pieces(codecs[0].special.tags) == [NOISED]
    alone, both = (
        build_store(tmp_path / "cache", one, one.train, codecs=codecs, align=True)[0] for one in (plain, noised)
    )
    assert len(both) == len(alone) + 1 and alone.links(0) is not None
    for index in range(len(alone)):
        assert both.links(index).tolist() == alone.links(index).tolist()
    assert both.links(len(alone)) is None
    source, target = (side.tolist() for side in both.pair(len(alone)))
    assert source == [*codecs[0].special.tags, *target] and both.text(len(alone)) == ("un chat dort",) * 2


def test_the_tag_of_a_language_comes_before_that_of_synthetic_sources(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a cat\tun chat\na dog\tun chien\n", encoding="utf-8")
    corpus = {"tsv": "a.tsv", "both_ways": True}
    data = parse(DataSettings, {"source": "en", "target": "fr", "root": tmp_path, "train": [corpus], "dev": [corpus]})
    data = data.model_copy(update={"train": (data.train[0].model_copy(update={"tagged": True}),)})
    pairs = [pair[:2] for pair in read_pairs(data.train[0], data)]
    codecs = learn_codecs(CharactersSettings(joint=True), lambda: pairs, data.tag_pieces)
    assert codecs[0].pieces(codecs[0].special.tags) == ["<to en>", "<to fr>", SYNTHETIC]
    store, _ = build_store(tmp_path / "cache", data, data.train, codecs=codecs)
    begun = [codecs[0].pieces(codecs[0].leading_tags(store.pair(index)[0].tolist())) for index in range(len(store))]
    assert begun == [["<to fr>", SYNTHETIC]] * 2 + [["<to en>", SYNTHETIC]] * 2
