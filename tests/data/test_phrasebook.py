"""The phrasebook as a corpus: its size, its splits, its alignments."""

import json
import os
import subprocess
import sys
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from dragoman.data.phrasebook import LANGUAGES, Example, Split, derivable, derive, english, patterns, pick, split_words
from dragoman.data.phrasebook.derivation import example
from dragoman.data.phrasebook.enumeration import every
from dragoman.data.phrasebook.grammar import combinations, draw, held_out, split_of
from dragoman.data.phrasebook.lexicon import adjectives, adverbials, nouns, prepositions, pronouns, table, verbs
from dragoman.data.phrasebook.morphology import elides
from dragoman.data.phrasebook.tokens import write
from dragoman.errors import InputError

SPLITS: tuple[Split, ...] = ("train", "dev", "test", "compositional")
UNTRANSLATED = {
    "vi": set(["the", "is", "are", "a", "does", "do", "be", "was", "will", "of", "who", "am", "an", "were"]),
    "fr": set(["is", "are", "a", "let's", "am", "in", "the", "an"]),
}
"""English words that have no counterpart in some sentences; every other word always has one."""


FIRST = [
    "Your husband buys a bottle of beer.",
    "The lamp is in the bag.",
    "This customer doesn't drink their hot water.",
]
"""Where these change, recipes on the phrasebook train on another corpus: say so in the change log."""


DERIVE_ALL = """
import json
from dragoman.data.phrasebook import derive
found = {}
for language in ("vi", "fr"):
    for split, count in (("train", 20_000), ("dev", 500), ("test", 500), ("compositional", 500)):
        pairs = [(pair.source, pair.target, pair.links) for pair in derive(language, split, count)]
        found[f"{language} {split}"] = pairs
print(json.dumps(found))
"""
DERIVE_UNKNOWN = """
from dragoman.data.phrasebook import derive
try:
    derive("vi", "tests", 1)
except Exception as error:
    print(type(error).__name__, error)
"""


def run(program: str) -> str:
    """Run a program without the type checks of the tests, which would make the large corpus slow."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env=environment).stdout


@cache
def everything() -> dict[str, list[Any]]:
    return json.loads(run(DERIVE_ALL))


@cache
def corpus(language: str, split: Split) -> list[Example]:
    pairs = everything()[f"{language} {split}"]
    return [Example(source, target, tuple((left, right) for left, right in links)) for source, target, links in pairs]


def test_there_are_six_hundred_words_and_forty_patterns() -> None:
    entries = (*nouns(), *adjectives(), *verbs().values(), *adverbials(), *prepositions(), *pronouns().values())
    assert len({entry.english.casefold() for entry in entries}) >= 600
    assert len(patterns()) >= 40


@pytest.mark.slow
def test_every_word_of_the_lexicon_occurs_in_training() -> None:
    text = "\n" + "\n".join(pair.source.casefold() for pair in corpus("vi", "train"))
    entries = (*nouns(), *adjectives(), *verbs().values(), *adverbials())
    assert [entry.english for entry in entries if entry.english.casefold() not in text] == []


def test_more_than_a_million_sentences_can_be_derived() -> None:
    assert derivable() > 1_000_000


def test_the_count_of_sentences_counts_different_sentences() -> None:
    subjects = {write(english.phrase(subject, "")) for subject in every(pick.people)}
    verb = verbs()["drive"]
    things = {write(english.phrase(thing, "")) for thing in every(lambda random: pick.thing(random, verb))}
    some = sorted(subjects)[::100]
    assert len({f"{subject} drives {thing}" for subject in some for thing in things}) == len(some) * len(things)
    assert len(subjects) * len(things) < derivable()
    assert not any("drive" in text.split() or "drives" in text.split() for text in subjects | things)


def test_a_seed_gives_the_same_pairs_again_and_another_seed_others() -> None:
    assert derive("fr", "train", 200, seed=5) == derive("fr", "train", 200, seed=5)
    assert derive("fr", "train", 200, seed=5) != derive("fr", "train", 200, seed=6)


def test_a_longer_corpus_begins_with_the_shorter_one() -> None:
    assert derive("vi", "test", 40) == derive("vi", "test", 80)[:40]


def test_the_first_pairs_never_change() -> None:
    assert [pair.source for pair in derive("vi", "train", 3)] == FIRST


@pytest.mark.slow
def test_both_languages_translate_the_same_sentences() -> None:
    assert [pair.source for pair in corpus("vi", "dev")] == [pair.source for pair in corpus("fr", "dev")]


@pytest.mark.slow
def test_no_sentence_occurs_twice_or_in_two_splits() -> None:
    sentences = [pair.source for split in SPLITS for pair in corpus("vi", split)]
    assert len(sentences) == len(set(sentences)) == 21_500


def test_an_english_sentence_has_one_translation_and_one_split() -> None:
    random = Random(3)
    seen: dict[str, object] = {}
    for _ in range(2_000):
        tree = draw(random)
        pairs = [example(tree, language) for language in LANGUAGES]
        meaning = ([(pair.target, pair.links) for pair in pairs], split_of(tree, pairs[0].source))
        assert seen.setdefault(pairs[0].source, meaning) == meaning


def test_combinations_of_the_compositional_test_are_never_seen_in_training() -> None:
    random = Random(4)
    seen: dict[str, set[str]] = {split: set() for split in SPLITS}
    for _ in range(2_000):
        tree = draw(random)
        seen[split_of(tree, write(english.sentence(tree)))].update(combinations(tree))
    assert seen["train"] and not any(held_out(pair) for split in SPLITS[:3] for pair in seen[split])
    assert any(held_out(pair) for pair in seen["compositional"])


@pytest.mark.slow
def test_held_out_adjectives_do_not_stand_before_their_nouns_in_the_text_of_training() -> None:
    qualities = {quality.english for quality in adjectives()}
    bases = {form: noun.english for noun in nouns() for form in (noun.english, noun.plural)}
    for split in SPLITS[:3]:
        for pair in corpus("vi", split):
            words = split_words(pair.source)
            for left, right in pairwise(words):
                assert not (left in qualities and right in bases and held_out(f"{left} {bases[right]}")), pair.source


@pytest.mark.slow
def test_every_compositional_sentence_holds_known_words_only() -> None:
    for language in LANGUAGES:
        known = {word.casefold() for pair in corpus(language, "train") for word in split_words(pair.source)}
        used = {word.casefold() for pair in corpus(language, "compositional") for word in split_words(pair.source)}
        assert used <= known


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_links_are_in_range_and_only_function_words_are_unaligned(language: str) -> None:
    for pair in corpus(language, "train"):
        source, target = split_words(pair.source), split_words(pair.target)
        assert all(0 <= left < len(source) and 0 <= right < len(target) for left, right in pair.links)
        unaligned = {source[position].casefold() for position in set(range(len(source))) - {i for i, _ in pair.links}}
        assert unaligned <= UNTRANSLATED[language], pair


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_punctuation_is_aligned_with_punctuation(language: str) -> None:
    for pair in corpus(language, "dev"):
        source, target = split_words(pair.source), split_words(pair.target)
        assert (source[-1], target[-1]) in {(mark, mark) for mark in ".?!"}
        assert (len(source) - 1, len(target) - 1) in pair.links
        for left, right in pair.links:
            assert (source[left] in ".,?!") == (target[right] in ".,?!")


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_begin_with_a_capital_and_hold_no_double_space(language: str) -> None:
    for pair in corpus(language, "test"):
        for text in (pair.source, pair.target):
            assert text[0].isupper() and "  " not in text and text == text.strip()


@pytest.mark.slow
def test_french_elides_and_contracts_everywhere() -> None:
    elided = {"le", "la", "de", "je", "ne", "que", "me", "te", "ce"}
    for pair in corpus("fr", "train"):
        words = split_words(pair.target.lower())
        for left, right in pairwise(words):
            assert not (left in elided and elides(right) and right != "hanoï"), pair.target
        assert not {("à", "les"), ("de", "les")} & set(pairwise(words)), pair.target


def test_words_with_a_french_h_are_mute_ones() -> None:
    mute = {"homme", "huile", "hôpital", "hôtel", "histoire", "horloge", "hélicoptère", "herbe", "heureux", "honnête"}
    french = [noun.french for noun in nouns()] + [form for quality in adjectives() for form in quality.french[:1]]
    assert {word for word in french if word.startswith("h")} <= mute


def test_tables_are_whole_and_name_no_word_twice() -> None:
    known = {kind for noun in nouns() for kind in noun.classes} | {"anyone", "people"}
    for verb in verbs().values():
        for doer, objects in verb.frames:
            assert {doer, *objects} <= known, verb.english
    for quality in adjectives():
        assert set(quality.classes) <= known | {"feeling"}, quality.english
    for name in ("nouns", "adjectives", "adverbials", "lands"):
        words = [row["english"] for row in table(name)]
        assert len(words) == len(set(words)), name


def test_an_unknown_language_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"^the phrasebook cannot translate into `v`; did you mean `vi`\?$"):
        derive("v", "train", 1)


def test_an_unknown_split_is_refused_with_the_nearest_name() -> None:
    assert run(DERIVE_UNKNOWN) == "InputError the phrasebook has no split `tests`; did you mean `test`?\n"


@pytest.mark.parametrize("count", [-1, 10**9])
def test_more_pairs_than_there_are_is_refused(count: int) -> None:
    message = rf"^the phrasebook gives 0 to \d+ pairs for dev, not {count}; ask for a number in between$"
    with pytest.raises(InputError, match=message):
        derive("vi", "dev", count)


def test_no_pairs_are_no_pairs() -> None:
    assert derive("vi", "train", 0) == []
