"""Batches with noised sources: what is hidden, when, and for whom."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.data.test_stream import epoch, sentences, take

from dragoman.data import buckets
from dragoman.data import stream as module
from dragoman.data.corpus import read_pairs
from dragoman.data.settings import DataSettings
from dragoman.data.store import build_store
from dragoman.data.stream import BatchStream
from dragoman.data.variation import Variation
from dragoman.interfaces import EOS, PAD
from dragoman.settings import parse
from dragoman.text import SentencePieceSettings, learn_codecs


@pytest.fixture(params=["one pool", "many pools"])
def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Sort the corpus as a whole, or in parts."""
    if request.param == "many pools":
        monkeypatch.setattr(module, "pools", lambda pairs, rng: buckets.pools(pairs, rng, pool=30, block=10))
    return str(request.param)


@pytest.fixture(params=["whole", "sampled", "two vocabularies"])
def noisy(request: pytest.FixtureRequest, data: DataSettings, tmp_path: Path) -> Iterator[Any]:
    """Return a function that makes streams over 30 pairs and 50 noised sentences."""
    texts = [pair.target for pair in read_pairs(data.train[0], data)][:50]
    (tmp_path / "news").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    train = [data.train[0].model_dump() | {"first": 30}, {"text": "news", "noised": True}]
    train[0]["tsv"] = Path(data.root).absolute() / "train.tsv"
    mixed = parse(DataSettings, {**data.model_dump(), "root": tmp_path, "train": train, "dev": train[:1]})
    pairs = [pair[:2] for corpus in mixed.train for pair in read_pairs(corpus, mixed)]
    text = SentencePieceSettings(size=90, joint=request.param != "two vocabularies")
    codecs = learn_codecs(text, lambda: pairs, mixed.tag_pieces)
    store, _ = build_store(tmp_path / "cache", mixed, mixed.train, codecs=codecs)
    rate = 0.3 if request.param == "sampled" else 0.0
    made: list[BatchStream] = []

    def stream(noise: float = 0.35, **more: Any) -> BatchStream:
        made.append(BatchStream(store, codecs, 300, seed=1, variation=Variation(rate, rate, noise=noise), **more))
        return made[-1]

    yield stream
    for one in made:
        one.close()


def test_parts_of_noised_sources_are_hidden_anew_in_every_epoch_and_of_no_other_ones(noisy: Any, pool: str) -> None:
    stream = noisy()
    source_codec, target_codec = stream.codecs
    (tag,) = source_codec.special.tags
    seen: list[Counter[tuple[str, str]]] = []
    for _ in range(2):
        noised = Counter()
        for source, target in sentences(epoch(stream)).elements():
            if source[0] == tag:
                assert source_codec.special.mask in source or len(source) < 6
                noised[target_codec.decode(target), source_codec.decode(source)] += 1
            else:
                assert source_codec.special.mask not in source
        whole, left = (sum(len(pair[side]) for pair in noised.elements()) for side in range(2))
        assert noised.total() == 50 and 0.5 < left / whole < 0.8
        seen.append(noised)
    assert seen[0] != seen[1] and {text for text, _ in seen[0]} == {text for text, _ in seen[1]}


def test_noise_is_the_same_after_resuming(noisy: Any, pool: str) -> None:
    whole, other = noisy(), noisy()
    take(whole, 5)
    other.seek(whole.position)
    for one, two in zip(take(whole, 20), take(other, 20), strict=True):
        assert torch.equal(one.source.ids, two.source.ids) and torch.equal(one.target.ids, two.target.ids)


def test_several_processes_read_the_same_noise(noisy: Any) -> None:
    whole, parts = noisy(), [noisy(), noisy()]
    for number, part in enumerate(parts):
        part.read_part(number, 2)
    for batch, *others in zip(*(take(one, 12) for one in (whole, *parts)), strict=True):
        for other in others:
            assert torch.equal(other.source.mask, batch.source.mask)
            own = ((other.source.ids != PAD) & (other.source.ids != EOS)).any(1)
            assert torch.equal(other.source.ids[own], batch.source.ids[own])


def test_a_source_that_masks_would_make_too_long_stays_as_it_is(noisy: Any) -> None:
    """With a small share, some sentences get a mask in the place of one token, or of none: as long as before, or longer."""
    stored = noisy(noise=0.0)
    (tag,) = stored.codecs[0].special.tags
    plain = {target: source for source, target in sentences(epoch(stored)).elements() if source[0] == tag}
    free = {target: source for source, target in sentences(epoch(noisy(0.02))).elements() if source[0] == tag}
    bound = max(len(source) for source in plain.values()) - 1  # without </s>
    longest = [target for target, source in plain.items() if len(source) > bound]
    kept = sentences(epoch(noisy(0.02, bounds=(bound - 1, None))))
    assert any(free[target] != plain.get(target) for target in free)
    for source, target in kept.elements():
        if source[0] == tag and target in longest:
            assert len([one for one in source if one not in (PAD, EOS)]) <= bound - 1 or source == plain[target]


def test_noised_sources_keep_the_targets_that_were_drawn(noisy: Any, pool: str) -> None:
    noised, quiet = (sentences(epoch(noisy(noise))) for noise in (0.35, 0.0))
    assert noised != quiet
    assert Counter(target for _, target in noised.elements()) == Counter(target for _, target in quiet.elements())
