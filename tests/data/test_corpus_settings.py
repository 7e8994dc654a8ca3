"""Settings of one corpus: its kind, and the tags of its sources."""

import pytest
from pydantic import TypeAdapter

from dragoman.data.corpus_settings import (
    BaseCorpusSettings,
    CorpusSettings,
    JsonSettings,
    LinesSettings,
    MonolingualSettings,
    PhrasebookSettings,
    TmxSettings,
    TsvSettings,
    corpus_tags,
)
from dragoman.text.tags import NOISED, SYNTHETIC

KNOWN: TypeAdapter[BaseCorpusSettings] = TypeAdapter(CorpusSettings)


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ({"source": "a.en", "target": "a.fr", "repeat": 2}, LinesSettings),
        ({"tsv": "a.tsv"}, TsvSettings),
        ({"jsonl": "a.jsonl"}, JsonSettings),
        ({"json": "a.jsonl"}, JsonSettings),
        ({"tmx": "a.tmx"}, TmxSettings),
        ({"phrasebook": "train", "pairs": 10}, PhrasebookSettings),
        ({"text": "a.txt"}, MonolingualSettings),
        ({"text": "a.txt", "noised": True}, MonolingualSettings),
    ],
)
def test_a_corpus_is_known_by_its_keys(table: dict[str, object], kind: type[BaseCorpusSettings]) -> None:
    corpus = KNOWN.validate_python(table)
    assert type(corpus) is kind
    assert corpus.is_noised == ("noised" in table)


def test_tags_say_who_wrote_a_source_and_whether_something_is_missing() -> None:
    assert corpus_tags(TsvSettings(tsv="a")) == ()
    assert corpus_tags(TsvSettings(tsv="a", tagged=True)) == (SYNTHETIC,)
    assert corpus_tags(MonolingualSettings(text="a", noised=True)) == (NOISED,)
    assert corpus_tags(MonolingualSettings(text="a", noised=True, tagged=True)) == (SYNTHETIC, NOISED)


def test_what_decides_the_pairs_is_described_as_before_there_was_noise() -> None:
    """So stores keep their names."""
    plain = MonolingualSettings(text="a").what
    assert set(plain) == {"repeat", "hold_out", "first", "text"}
    assert MonolingualSettings(text="a", noised=True).what == {**plain, "noised": True}
