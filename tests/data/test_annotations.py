"""Terms of training pairs: words and phrases that links hold together, drawn at random, and the batches with them."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from tests.data.test_stream import epoch, equal, sentences, take
from torch import Tensor

from dragoman.data import buckets
from dragoman.data import stream as module
from dragoman.data.annotations import LONGEST, Phrase, annotations, core, drawn, phrases
from dragoman.data.corpus import read_pairs
from dragoman.data.links import WordLinks
from dragoman.data.settings import DataSettings
from dragoman.data.store import Store, build_store
from dragoman.data.stream import BatchStream
from dragoman.data.variation import Variation
from dragoman.interfaces import PAD, Batch
from dragoman.text import Codec, learn_codecs
from dragoman.text.links import parse_links
from dragoman.text.settings import CharactersSettings, SentencePieceSettings
from dragoman.text.tags import MARKS


def links(text: str) -> WordLinks:
    """Return word alignments."""
    return np.array(sorted(parse_links(text).possible), np.int32).reshape(-1, 2)


def known(text: str) -> set[tuple[int, int, int, int]]:
    """Return where the phrases of links begin and end, source and target."""
    return {
        (one.source.start, one.source.stop, one.target.start, one.target.stop)
        for some in phrases(links(text)).values()
        for one in some
    }


def test_phrases_link_to_one_another_alone() -> None:
    assert known("0-0") == {(0, 1, 0, 1)}
    assert known("0-1 1-0") == {(0, 1, 1, 2), (1, 2, 0, 1), (0, 2, 0, 2)}
    assert known("0-0 0-1") == {(0, 1, 0, 2)}, "one word may become two that are neighbours"
    assert known("0-0 0-2 1-1") == {(1, 2, 1, 2), (0, 2, 0, 3)}, "but not two that are apart"
    assert known("0-0 1-0") == {(0, 2, 0, 1)}, "nor is half of what becomes a word a term"
    assert known("0-0 2-1") == {(0, 1, 0, 1), (2, 3, 1, 2), (0, 3, 0, 2)}
    assert known("0-0 2-3") == {(0, 1, 0, 1), (2, 3, 3, 4)}, "unlinked words of the target are in no translation"
    assert known("") == set()


def test_phrases_are_short() -> None:
    found = known(" ".join(f"{n}-{n}" for n in range(9)))
    assert {stop - start for start, stop, *_ in found} == set(range(1, LONGEST + 1))


def test_drawn_phrases_share_no_word_and_are_not_always_the_same() -> None:
    some = phrases(links(" ".join(f"{n}-{n}" for n in range(9))))
    seen: set[tuple[Phrase, ...]] = set()
    for seed in range(30):
        found = drawn(some, Random(seed))
        words = [word for one in found for word in one.source]
        assert found and len(words) == len(set(words))
        assert drawn(some, Random(seed)) == found
        seen.add(tuple(found))
    assert len(seen) > 20
    assert drawn({}, Random(1)) == []


@pytest.mark.parametrize(
    ("words", "bare", "expected"),
    [
        (["«chat",], False, "chat"),
        (["chat", "noir,"], False, "chat noir"),
        (["chat,", "noir"], False, None),
        (["l'eau"], False, "l'eau"),
        (["l'eau", "chaude."], True, "eau chaude"),
        (["d’école"], True, "école"),
        (["aujourd'hui"], True, "aujourd'hui"),
        (["I'm"], True, "I'm"),
        (["-"], True, None),
        (["猫"], True, "猫"),
        (["猫" * 9], True, None),
    ],
)  # fmt: skip
def test_a_term_has_no_punctuation_around_it(words: list[str], bare: bool, expected: str | None) -> None:
    assert core(words, bare=bare) == expected


@pytest.fixture(scope="module")
def codecs() -> tuple[Codec, Codec]:
    """Return codecs of characters."""
    pairs = [("The cats, NATO", "Les chats, l'OTAN")]
    return learn_codecs(CharactersSettings(joint=True), lambda: pairs, MARKS)


def of_one(codecs: tuple[Codec, Codec], source: str, target: str, linked: str) -> list[tuple[str, str]]:
    """Return the annotations of a pair as text: the term without spaces, and the translation."""
    found = annotations(codecs, (source, target), links(linked), rng=Random(1))
    return [("".join(source.split())[one.start : one.end], codecs[1].decode(one.wished)) for one in found]


def test_annotations_are_words_of_the_target(codecs: tuple[Codec, Codec]) -> None:
    assert of_one(codecs, "The cats, NATO", "Les chats, l'OTAN", "1-1") == [("cats", "chats")]
    assert of_one(codecs, "The cats, NATO", "Les chats, l'OTAN", "2-2") == [("NATO", "OTAN")]
    assert of_one(codecs, "cats cats", "Les chats", "1-1") == [("cats", "chats")]
    assert of_one(codecs, "The , cats", "Les , chats", "1-1") == []
    assert of_one(codecs, "The cats", "Les 猫", "1-1") == []


def test_a_capital_at_the_start_is_that_of_the_sentence(codecs: tuple[Codec, Codec]) -> None:
    assert of_one(codecs, "The", "Les", "0-0") == [("The", "les")]
    assert of_one(codecs, "NATO", "OTAN", "0-0") == [("NATO", "OTAN")]
    assert of_one(codecs, "cats The", "chats Les", "1-1") == [("The", "Les")]


@pytest.fixture(params=["one pool", "many pools"])
def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sort the corpus as a whole, or in parts."""
    if request.param == "many pools":
        monkeypatch.setattr(module, "pools", lambda pairs, rng: buckets.pools(pairs, rng, pool=100, block=25))


@pytest.fixture(scope="module")
def marked(talks: DataSettings, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, tuple[Codec, Codec]]:
    """Return two corpora of which one is linked, with a joint codec that has marks."""
    lines = [(pair.source, pair.target) for corpus in talks.train for pair in read_pairs(corpus, talks)]
    codecs = learn_codecs(SentencePieceSettings(size=90), lambda: lines, MARKS)
    return build_store(tmp_path_factory.mktemp("marked"), talks, talks.train, codecs=codecs)[0], codecs


@pytest.fixture
def annotating(marked: tuple[Store, tuple[Codec, Codec]]) -> Iterator[Any]:
    """Return a function that makes streams of annotated sources, closed when the test ends."""
    made: list[BatchStream] = []

    def stream(share: float, tokens: int = 400, **more: Any) -> BatchStream:
        rates = more.pop("sampling", 0.0), more.pop("sampling_target", 0.0)
        variation = Variation(*rates, annotated=share, joined=more.pop("joined", 0.0))
        made.append(BatchStream(*marked, tokens, seed=1, variation=variation, **more))
        return made[-1]

    yield stream
    for one in made:
        one.close()


def split(codec: Codec, ids: list[int]) -> tuple[str, list[str]]:
    """Return a source with gaps in place of translations, and these."""
    begin, end = codec.marks
    parts: list[list[int]] = [[]]
    for index in ids:
        if index in (begin, end):
            parts.append([])
        else:
            parts[-1].append(index)
    texts = list(map(codec.decode, parts))
    return ".*".join(texts[::2]), texts[1::2]


@pytest.mark.parametrize("sampling", [0.0, 0.3])
def test_annotated_sources_hold_words_of_their_targets(
    sampling: float, pool: None, annotating: Any, marked: tuple[Store, tuple[Codec, Codec]]
) -> None:
    store, (source, target) = marked
    known = Counter(
        (source.decode(list(ids)), target.decode(list(one)))
        for ids, one in sentences(epoch(annotating(0.0))).elements()
    )
    sources, count = {two: one for one, two in known}, 0
    found = epoch(annotating(0.7, sampling=sampling))
    seen = Counter[tuple[str, str]]()
    for ids, labels in sentences(found).elements():
        pattern, wished = split(source, list(ids))
        text = target.decode(list(labels))
        assert all(f" {one} " in f" {text} " for one in wished), (wished, text)
        assert re.fullmatch(pattern, sources[text]), (pattern, sources[text])
        assert bool(wished) is (pattern != sources[text])
        seen[sources[text], text] += 1
        count += bool(wished)
    assert seen == known
    linked = sum(links is not None and len(links) > 0 for links in map(store.links, range(len(store))))
    assert 0.6 * linked < count < 0.8 * linked
    for batch in found:
        assert max(batch.source.ids.numel(), batch.labels.numel()) <= 400 or len(batch.source.ids) == 1


def test_without_a_share_nothing_changes(annotating: Any, marked: tuple[Store, tuple[Codec, Codec]]) -> None:
    plain = BatchStream(*marked, 400, seed=1)
    assert equal(take(annotating(0.0), 30), take(plain, 30))
    plain.close()


def test_pairs_are_annotated_anew_in_each_epoch(annotating: Any) -> None:
    stream = annotating(0.5)
    first, second = epoch(stream), epoch(stream)
    assert sentences(first) != sentences(second) and equal(first, epoch(annotating(0.5)))


@pytest.mark.parametrize("done", [3, 40])
def test_annotated_sources_go_on_from_any_position(done: int, pool: None, annotating: Any) -> None:
    options: dict[str, Any] = {"sampling": 0.3, "joined": 0.3, "tokens": 200}
    unbroken, resumed = annotating(0.5, **options), annotating(0.5, **options)
    take(unbroken, done)
    resumed.seek(json.loads(json.dumps(unbroken.position)))
    assert equal(take(resumed, 15), take(unbroken, 15))


def test_annotated_pairs_have_no_links(annotating: Any, marked: tuple[Store, tuple[Codec, Codec]]) -> None:
    begin, _ = marked[1][0].marks
    known = {
        (tuple(ids), tuple(labels)): links for batch in epoch(annotating(0.0)) for ids, labels, links in rows_of(batch)
    }
    seen = Counter[bool]()
    for batch in epoch(annotating(0.5)):
        for ids, labels, links in rows_of(batch):
            if begin in ids:
                assert not links.any()
            else:
                assert torch.equal(links, known[tuple(ids), tuple(labels)])
            seen[begin in ids] += 1
    assert min(seen.values()) > 50


def rows_of(batch: Batch) -> Iterator[tuple[list[int], list[int], Tensor]]:
    """Yield the pairs of a batch with their links, without padding."""
    assert batch.links is not None
    sides = (batch.source.ids, batch.source.mask, batch.labels, batch.links)
    for ids, mask, labels, links in zip(*sides, strict=True):
        real = labels != PAD
        yield ids[mask].tolist(), labels[real].tolist(), links[real][:, mask]


def test_annotated_sources_fit_into_the_model(annotating: Any, marked: tuple[Store, tuple[Codec, Codec]]) -> None:
    bound = int(marked[0].source_lengths.max())
    found = epoch(annotating(1.0, bounds=(bound, None)))
    assert max(batch.source.ids.shape[1] for batch in found) <= bound + 1
    assert any(marked[1][0].marks[0] in batch.source.ids for batch in found)


def test_annotated_sources_keep_the_targets_that_were_drawn(annotating: Any) -> None:
    usual, drawn, annotated = (
        Counter(target for _, target in sentences(epoch(annotating(share, sampling_target=rate))).elements())
        for share, rate in ((0.0, 0.0), (0.0, 0.4), (0.7, 0.4))
    )
    assert annotated == drawn != usual
