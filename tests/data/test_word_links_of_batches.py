"""Which words the tokens of a batch belong to."""

from pathlib import Path

import numpy as np

from dragoman.data.settings import DataSettings
from dragoman.data.store import build_store
from dragoman.data.stream import BatchStream
from dragoman.settings import parse
from dragoman.text import WordsSettings, learn_codecs


def test_an_unknown_sign_at_a_word_is_no_word_of_its_own(tmp_path: Path) -> None:
    sources, targets, links = ["a b c"] * 3 + ["a b, c"], ["x y z"] * 4, ["0-0 1-1 2-2"] * 4
    for name, lines in (("s", sources), ("t", targets), ("l", links)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    corpus = {"source": "s", "target": "t", "links": "l"}
    table = {"source": "en", "target": "fr", "root": tmp_path, "train": [corpus], "dev": [corpus]}
    data = parse(DataSettings, table)
    codecs = learn_codecs(WordsSettings(minimum_count=2), lambda: zip(sources, targets, strict=True))
    store, _ = build_store(tmp_path / "cache", data, data.train, codecs=codecs)
    stream = BatchStream(store, codecs, 100, seed=1)
    source, target = store.pair(3)
    assert codecs[0].pieces(source.tolist()) == ["a", "b", "<unk>", "c"]
    found = stream._links(3, source, target)
    stream.close()
    assert found is not None
    linked = {(int(i), int(j)) for i, j in np.argwhere(found)}
    assert (2, 3) in linked, "z is linked to c"
    assert (2, 2) not in linked
