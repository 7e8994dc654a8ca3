"""Vocabularies that do not fit the corpora."""

from tests.doctor.conftest import ENGLISH

from dragoman.doctor.vocabulary import vocabulary_findings
from dragoman.text.codec import Codec, learn_codec
from dragoman.text.settings import WordsSettings

TEXTS = [" ".join(ENGLISH[(number + place) % 12] for place in range(9)) for number in range(400)]


def words(texts: list[str], size: int | None = None) -> Codec:
    """Learn a vocabulary of words."""
    return learn_codec(WordsSettings(kind="words", minimum_count=1, size=size), texts)


def names(codec: Codec, dev: list[str], pairs: int = len(TEXTS)) -> list[tuple[str, str]]:
    """Judge a vocabulary by the texts above."""
    found = vocabulary_findings(codec, "source", trained=TEXTS, pairs=pairs, dev=dev)
    return [(one.name, one.severity) for one in found]


def test_a_vocabulary_that_fits_has_no_findings() -> None:
    assert names(words(TEXTS), TEXTS[:100]) == []


def test_unknown_words_of_dev_are_found() -> None:
    strange = [f"{text} unheard" for text in TEXTS[:100]]
    assert names(words(TEXTS), strange) == [("unknown-tokens", "warning")]
    assert names(words(TEXTS), [*strange[:20], *TEXTS[:100]]) == [("unknown-tokens", "note")]


def test_a_vocabulary_for_much_more_text_is_found() -> None:
    many = words([*TEXTS, " ".join(f"word{number}" for number in range(900))])
    assert names(many, TEXTS) == [("vocabulary-too-large", "warning"), ("unused-entries", "note")]
    assert names(many, TEXTS, pairs=40_000) == []


def test_the_sentence_names_the_vocabulary() -> None:
    many = words([*TEXTS, " ".join(f"word{number}" for number in range(900))])
    first = next(vocabulary_findings(many, "target", trained=TEXTS, pairs=400, dev=[]))
    assert first.sentence.startswith("the vocabulary of the target has 9") and "`text.size`" in first.sentence
