"""The endless stream of batches."""

import itertools
import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.slow import some
from torch import Tensor

from dragoman.data import buckets
from dragoman.data import stream as module
from dragoman.data.corpus import read_pairs
from dragoman.data.settings import DataSettings
from dragoman.data.store import Store, build_store
from dragoman.data.stream import BatchStream
from dragoman.data.variation import Variation
from dragoman.errors import RunError
from dragoman.interfaces import BOS, EOS, PAD, UNK, Batch
from dragoman.settings import parse
from dragoman.special_ids import SpecialIds
from dragoman.text import Codec, SentencePieceSettings, learn_codecs
from dragoman.text.tags import SYNTHETIC
from dragoman.text.vocabulary import Vocabulary
from dragoman.text.words import Words
from dragoman.tree import map_tensors


@pytest.fixture(params=["one pool", "many pools"])
def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Sort the corpus as a whole, or in parts."""
    if request.param == "many pools":
        monkeypatch.setattr(module, "pools", lambda pairs, rng: buckets.pools(pairs, rng, pool=200, block=50))
    return str(request.param)


@pytest.fixture(scope="module")
def talk_store(talks: DataSettings, codecs: tuple[Codec, Codec], tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return two corpora of documents, of which one is linked."""
    return build_store(tmp_path_factory.mktemp("talk-store"), talks, talks.train, codecs=codecs)[0]


@pytest.fixture
def make(store: Store, codecs: tuple[Codec, Codec]) -> Iterator[Any]:
    """Return a function that makes streams, closed when the test ends."""
    made: list[BatchStream] = []

    def stream(tokens: int = 400, seed: int = 1, of: Store = store, sampling: float = 0.0, **more: Any) -> BatchStream:
        variation = more.pop("variation", Variation(sampling, sampling))
        made.append(BatchStream(of, codecs, tokens, seed=seed, variation=variation, **more))
        return made[-1]

    yield stream
    for one in made:
        one.close()


def take(stream: BatchStream, count: int) -> list[Batch]:
    """Take some batches."""
    return list(itertools.islice(stream, count))


def epoch(stream: BatchStream) -> list[Batch]:
    """Take the batches of what is left of an epoch."""
    number = stream.position["epoch"]
    return list(itertools.takewhile(lambda _: True, _until(stream, number)))


def _until(stream: BatchStream, number: int) -> Iterator[Batch]:
    while stream.position["epoch"] == number:
        yield next(stream)


def sentences(batches: list[Batch]) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Count the pairs of ids in batches."""
    return Counter(
        (tuple(source[mask].tolist()), tuple(target[real].tolist()))
        for batch in batches
        for source, mask, target, real in zip(
            batch.source.ids, batch.source.mask, batch.target.ids, batch.target.mask, strict=True
        )
    )


def equal(first: list[Batch], second: list[Batch]) -> bool:
    """Tell whether batches are the same, bit for bit."""
    return len(first) == len(second) and all(
        len(tensors(a)) == len(tensors(b)) and all(map(torch.equal, tensors(a), tensors(b)))
        for a, b in zip(first, second, strict=True)
    )


def tensors(batch: Batch) -> list[Tensor]:
    """Collect all tensors of a batch."""
    found: list[Tensor] = []
    map_tensors(lambda tensor: found.append(tensor) or tensor, batch)
    return found


def words_of(codec: Codec, ids: list[int]) -> list[int]:
    """Return the word that each piece belongs to, by the signs at which words begin; -1 for special pieces."""
    begins = [piece.startswith("▁") for piece in codec.pieces(ids)]
    return [-1 if index < UNK else sum(begins[: at + 1]) - 1 for at, index in enumerate(ids)]


def test_an_epoch_holds_each_pair_once(pool: str, make: Any, store: Store) -> None:
    expected = Counter(
        ((*store.pair(index)[0].tolist(), EOS), (BOS, *store.pair(index)[1].tolist(), EOS))
        for index in range(len(store))
    )
    stream = make()
    assert sentences(epoch(stream)) == expected
    assert stream.position == {"epoch": 1, "index": 0, "pool": 0, "batch": 0}
    assert sentences(epoch(stream)) == expected


def test_batches_keep_to_the_budget(pool: str, make: Any) -> None:
    for batch in epoch(make(tokens=400)):
        assert max(batch.source.ids.numel(), batch.labels.numel()) <= 400 or batch.source.ids.shape[0] == 1


def test_epochs_and_seeds_differ(make: Any) -> None:
    stream = make()
    first, second, other = epoch(stream), epoch(stream), epoch(make(seed=2))
    assert not equal(first[:5], second[:5])
    assert not equal(first[:5], other[:5])
    assert equal(first, epoch(make()))


@pytest.mark.parametrize("sampling", [0.0, 0.3])
@pytest.mark.parametrize("done", some([0, 7, 150], [150]))
def test_a_stream_goes_on_from_any_position(sampling: float, done: int, pool: str, make: Any) -> None:
    unbroken = make(sampling=sampling)
    take(unbroken, done)
    position = json.loads(json.dumps(unbroken.position))
    epochs = unbroken.epochs_done
    resumed = make(sampling=sampling)
    take(resumed, 3)
    resumed.seek(position)
    assert resumed.position == position
    assert resumed.epochs_done == epochs
    assert equal(take(resumed, 20), take(unbroken, 20))


@pytest.mark.parametrize("sampling", [0.0, 0.3])
def test_sentences_come_with_those_before_them_in_their_document(
    sampling: float, pool: str, make: Any, talk_store: Store, talks: DataSettings, codecs: tuple[Codec, Codec]
) -> None:
    pairs = [list(read_pairs(corpus, talks)) for corpus in talks.train]
    before = {
        pair.source: [one.source for one in some[:at] if one.document == pair.document][-2:]
        for some in pairs
        for at, pair in enumerate(some)
    }
    seen = Counter[str]()
    for batch in epoch(make(of=talk_store, previous=2, sampling=sampling, tokens=200)):
        assert batch.source.previous is not None
        for ids, previous, mask in zip(
            batch.source.ids, batch.source.previous.ids, batch.source.previous.mask, strict=True
        ):
            text = codecs[0].decode(ids.tolist())
            real = [row[here].tolist() for row, here in zip(previous, mask, strict=True) if here.any()]
            assert [[*codecs[0].encode(one), EOS] for one in before[text]] == real
            assert mask.any(1).tolist() == [False] * (2 - len(real)) + [True] * len(real)
            assert ((previous == PAD) == ~mask).all()
            seen[text] += 1
    assert seen == Counter([one.source for one in pairs[0]] + [one.source for one in pairs[1]] * 2)


@pytest.mark.parametrize("sampling", [0.0, 0.3])
def test_pieces_are_linked_where_words_are(
    sampling: float, make: Any, talk_store: Store, talks: DataSettings, codecs: tuple[Codec, Codec]
) -> None:
    links = {pair.source: pair.links for corpus in talks.train for pair in read_pairs(corpus, talks)}
    found = 0
    for batch in epoch(make(of=talk_store, sampling=sampling)):
        assert batch.links is not None
        assert batch.links.shape == (*batch.labels.shape, batch.source.ids.shape[1])
        for source, target, linked in zip(batch.source.ids.tolist(), batch.labels.tolist(), batch.links, strict=True):
            known = links[codecs[0].decode(source)]
            sources, targets = words_of(codecs[0], source), words_of(codecs[1], target)
            expected = [[known is not None and (i, j) in known.possible for i in sources] for j in targets]
            assert linked.tolist() == expected
            found += int(linked.sum())
    assert found > 1000


def test_plain_corpora_have_neither_links_nor_sentences_before(make: Any, talk_store: Store) -> None:
    plain, linked = next(make()), next(make(of=talk_store))
    assert plain.links is None
    assert linked.links is not None
    assert plain.source.previous is linked.source.previous is None


@pytest.mark.parametrize("sampling", [0.0, 0.3])
def test_documents_and_links_go_on_from_any_position(sampling: float, pool: str, make: Any, talk_store: Store) -> None:
    unbroken = make(of=talk_store, previous=2, sampling=sampling, tokens=200)
    take(unbroken, 20)
    resumed = make(of=talk_store, previous=2, sampling=sampling, tokens=200)
    resumed.seek(json.loads(json.dumps(unbroken.position)))
    assert equal(take(resumed, 25), take(unbroken, 25))


def test_epochs_are_counted_in_pairs(pool: str, make: Any, store: Store) -> None:
    stream = make()
    pairs = 0
    for _ in range(100):
        assert stream.epochs_done == pytest.approx(pairs / len(store))
        pairs += next(stream).source.ids.shape[0]


def test_sampling_cuts_anew_in_each_epoch_and_keeps_the_text(make: Any, codecs: tuple[Codec, Codec]) -> None:
    stream = make(sampling=0.3)
    first, second, usual = epoch(stream), epoch(stream), epoch(make())

    def texts(batches: list[Batch]) -> Counter[tuple[str, str]]:
        return Counter((codecs[0].decode(list(s)), codecs[1].decode(list(t))) for s, t in sentences(batches).elements())

    assert texts(first) == texts(second) == texts(usual)
    assert sentences(first) != sentences(second)


@pytest.mark.parametrize("changes", [{"batch": 10_000}, {"batch": -1}, {"pool": 1000}, {"pool": -1}])
def test_a_position_of_another_corpus_is_refused(changes: dict[str, int], make: Any) -> None:
    stream = make()
    with pytest.raises(
        RunError, match=r"the saved position \(epoch 1, batch \d+\) does not exist: .*; start a new run"
    ):
        stream.seek({"epoch": 1, "index": 5, "pool": 0, "batch": 5} | changes)


def test_a_position_without_its_parts_is_refused(make: Any) -> None:
    with pytest.raises(KeyError):
        make().seek({"epoch": 1})


def test_an_error_in_the_background_is_raised_here(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(pairs: object, **more: object) -> Batch:
        raise ValueError("spoilt")

    stream = make()
    next(stream)
    next(stream)
    monkeypatch.setattr(module, "collate", fail)
    with pytest.raises(ValueError, match="spoilt"):
        take(stream, 3)


def test_a_closed_stream_leaves_no_thread(make: Any) -> None:
    stream = make()
    next(stream)
    assert any(thread.name.startswith("batches") for thread in threading.enumerate())
    stream.close()
    assert not any(thread.name.startswith("batches") and thread.is_alive() for thread in threading.enumerate())


def joined_of(codecs: tuple[Codec, Codec], batches: list[Batch]) -> Counter[tuple[str, str]]:
    """Return all rows of batches as text."""
    return Counter((codecs[0].decode(list(s)), codecs[1].decode(list(t))) for s, t in sentences(batches).elements())


@pytest.mark.parametrize("sampling", some([0.0, 0.3], [0.0]))
def test_joined_pairs_are_two_in_a_row_and_each_is_there_once(
    sampling: float, pool: str, make: Any, store: Store, codecs: tuple[Codec, Codec]
) -> None:
    stream = make(variation=Variation(sampling, sampling, joined=0.5))
    rows = joined_of(codecs, epoch(stream))
    assert stream.epochs_done == pytest.approx(1, abs=0.05)
    texts = [
        tuple(codec.decode(codec.encode(text)) for codec, text in zip(codecs, store.text(at), strict=True))
        for at in range(len(store))
    ]
    whole = Counter(texts)
    doubles = rows - whole
    assert len(store) * 0.2 < doubles.total() < len(store) * 0.3
    rest = whole - rows
    starts = {(source, target) for source, target in whole}
    for (source, target), _ in doubles.items():
        halves = [
            ((source[:at], target[:at_target]), (source[at + 1 :], target[at_target + 1 :]))
            for at in range(len(source))
            for at_target in range(len(target))
            if source[at] == target[at_target] == " "
        ]
        assert any(first in starts and second in starts for first, second in halves)
    assert rest.total() == 2 * doubles.total()


def test_two_joined_pairs_count_as_two(pool: str, make: Any, store: Store) -> None:
    stream, done = make(variation=Variation(joined=1.0)), [0.0]
    while stream.position["epoch"] == 0:
        next(stream)
        done.append(stream.epochs_done)
    assert done == sorted(done) and done[-1] == 1.0
    assert max(after - before for before, after in itertools.pairwise(done)) < 200 / len(store)


def test_other_pairs_are_joined_in_every_epoch(make: Any) -> None:
    stream = make(variation=Variation(joined=0.5))
    first, second = epoch(stream), epoch(stream)
    assert sentences(first) != sentences(second)
    assert equal(first, epoch(make(variation=Variation(joined=0.5))))


def test_joined_pairs_are_no_longer_than_a_batch_or_the_model_allows(make: Any) -> None:
    for tokens, bounds, most in ((40, (30, 25), 31), (30, (200, 200), 30)):
        joined = epoch(make(tokens=tokens, bounds=bounds, variation=Variation(joined=1.0)))
        plain = epoch(make(tokens=tokens))
        longest = [max(batch.source.ids.shape[1] for batch in batches) for batches in (plain, joined)]
        assert sentences(joined).total() < sentences(plain).total()
        assert longest[1] <= max(longest[0], most)


@pytest.mark.parametrize("done", [7, 60])
def test_a_stream_of_joined_and_sampled_pairs_goes_on_from_any_position(done: int, pool: str, make: Any) -> None:
    variation = Variation(0.3, 0.0, epochs=1, joined=0.5)
    unbroken = make(variation=variation)
    take(unbroken, done)
    resumed = make(variation=variation)
    resumed.seek(json.loads(json.dumps(unbroken.position)))
    assert resumed.epochs_done == unbroken.epochs_done
    assert equal(take(resumed, 10), take(unbroken, 10))


def test_links_of_joined_pairs_stay_within_each() -> None:
    one, two = torch.ones(1, 2).bool().numpy(), torch.ones(2, 1).bool().numpy()
    whole = module.joined_links([one, two])
    assert whole is not None and whole.astype(int).tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 1]]
    assert module.joined_links([one, None]) is None
    assert (module.joined_links([one]) == one).all()


def test_linked_pairs_can_be_joined(make: Any, talk_store: Store) -> None:
    plain, joined = (epoch(make(of=talk_store, variation=Variation(joined=share))) for share in (0.0, 1.0))
    for batch in joined:
        assert batch.links is not None and batch.links.shape == (*batch.labels.shape, batch.source.ids.shape[1])
    links = [sum(int(batch.links.sum()) for batch in batches) for batches in (plain, joined)]
    assert 0 < links[1] <= links[0]


def test_sampling_may_be_of_one_side_and_end(make: Any) -> None:
    stream, usual = make(variation=Variation(0.5, 0.0, epochs=1)), sentences(epoch(make()))
    first, second = sentences(epoch(stream)), sentences(epoch(stream))
    assert Counter(target for _, target in first.elements()) == Counter(target for _, target in usual.elements())
    assert first != usual and second == usual


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.5, 0.5), (0.5, 0.0)])
def test_a_tag_stays_before_its_source_however_that_is_segmented(
    rates: tuple[float, float], data: DataSettings, tmp_path: Path, make: Any
) -> None:
    corpora = [data.train[0].model_copy(update={"first": 40, "tagged": tagged}) for tagged in (True, False)]
    lines = [(pair.source, pair.target) for pair in read_pairs(data.train[0], data)]
    codecs = learn_codecs(SentencePieceSettings(size=80), lambda: lines, [SYNTHETIC])
    (tag,) = codecs[0].special.tags
    store, _ = build_store(tmp_path, data, corpora, codecs=codecs)
    stream = BatchStream(store, codecs, 400, seed=1, variation=Variation(*rates))
    rows = [row for batch in epoch(stream) for row in batch.source.ids.tolist()]
    stream.close()
    assert sum(row[0] == tag for row in rows) == 40 == sum(tag not in row for row in rows)
    texts = sorted(codecs[0].decode(row) for row in rows if row[0] == tag)
    assert texts == sorted(codecs[0].normalize(source) for source, _ in lines[:40])


@pytest.mark.parametrize("sampling", [0.0, 0.3])
def test_each_source_begins_with_the_tag_of_its_target(sampling: float, tmp_path: Path) -> None:
    lines = "".join(f"<to en> a cat number {n}\tun chat <to fr> {n}\n" for n in range(40))
    (tmp_path / "a.tsv").write_text(lines, encoding="utf-8")
    table = {"source": "en", "target": "fr", "root": tmp_path, "dev": [{"tsv": "a.tsv"}]}
    data = parse(DataSettings, table | {"train": [{"tsv": "a.tsv", "both_ways": True}]})
    pairs = list(read_pairs(data.train[0], data))
    own = learn_codecs(SentencePieceSettings(size=60), lambda: [pair[:2] for pair in pairs], data.tag_pieces)
    store = build_store(tmp_path / "cache", data, data.train, codecs=own)[0]
    stream = BatchStream(store, own, 300, seed=1, variation=Variation(sampling, sampling))
    found = Counter()
    for batch in epoch(stream):
        for source, target in zip(batch.source.ids.tolist(), batch.target.ids.tolist(), strict=True):
            (tag,) = own[0].leading_tags(source)
            assert not {*source[1:], *target} & set(own[0].special.tags)
            found[own[0].pieces([tag])[0], own[0].decode(source), own[1].decode(target)] += 1
    stream.close()
    assert found == Counter((f"<to {pair.to}>", pair.source, pair.target) for pair in pairs)


@pytest.mark.parametrize("joined", [0.0, 0.5])
def test_batches_are_padded_begun_and_ended_as_the_vocabulary_says(store: Store, joined: float) -> None:
    special = SpecialIds(pad=83, bos=80, eos=82, unk=81, mask=80)
    other = Codec(Words(Vocabulary([str(index) for index in range(84)], special)))
    stream = BatchStream(store, (other, other), 400, seed=1, variation=Variation(joined=joined))
    for batch in take(stream, 5):
        for side in (batch.source, batch.target):
            assert (side.ids[~side.mask] == 83).all() and not (side.ids[side.mask] == 83).any()
            assert ((side.ids == 82).sum(1) == 1).all()
        assert (batch.target.ids[:, 0] == 80).all()
    stream.close()
