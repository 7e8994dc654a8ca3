"""The terms of a glossary are in translations, by whatever model, and what became of each is said."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.tiny import MODELS, Trained

from dragoman.errors import InputError, SettingsError
from dragoman.inference.terms import joining, ways
from dragoman.inference.translation import TermCounts
from dragoman.inference.translator import Translator
from dragoman.text.codec import Codec, learn_codec
from dragoman.text.glossary import Entry, Term, Words
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, TextSettings, WordsSettings

SOURCES = ["I love cats.", "", "The cat sits on the mat near the old school.", "No.", "This is a book."]
TEXTS = ["L'école est vieille.", "Une école, deux écoles: l'eau (l'eau).", "École 'eau'.", "Vieille eau."]
CODECS = [
    SentencePieceSettings(size=60),
    SentencePieceSettings(size=60, right_to_left=True),
    WordsSettings(minimum_count=1),
    CharactersSettings(),
]


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    """A glossary, of which the translations are words that a tiny model would not write."""
    path = tmp_path / "terms.tsv"
    path.write_text("cats\tquyển sách\nmat\tthư viện|bàn\nschool\tnhà\nbook\tsách đỏ\nno\t\u4e00\n", encoding="utf-8")
    return path


def states(found: list[Any]) -> list[list[str]]:
    """What became of the terms of each sentence."""
    return [[term.state for term in one.terms] for one in found]


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("rnn", {}),
        ("transformer", {}),
        ("rnn", {"method": "greedy"}),
        ("transformer", {"mbr_samples": 2}),
        ("rnn", {"coverage_penalty": 0.2}),
    ],
)
def test_terms_are_in_the_translations(trained: Trained, terms: Path, model: str, options: dict[str, Any]):
    translator = Translator.load(trained(model), glossary=[terms], **options)
    found = translator.translate(SOURCES)
    for one in found:
        for term in one.terms:
            assert (term.state == "unmet") is (term.source == "no")
            assert Term.of(term.target).is_in(Words.of(one.text)) is (term.state != "unmet")
    assert [len(one.terms) for one in found] == [1, 0, 2, 1, 1]
    assert any("forced" in some for some in states(found))
    counts = TermCounts.of(found)
    assert (counts.matched, counts.unmet) == (5, 1)
    assert counts.met + counts.forced == 4
    plain = Translator.load(trained(model), **options).translate(SOURCES)
    assert [one.text for one in plain][3] == found[3].text


def test_a_call_may_have_a_glossary_of_its_own(trained: Trained, terms: Path):
    translator = Translator.load(trained("transformer"))
    before = translator.translate(SOURCES)
    found = translator.translate(SOURCES, glossary=[terms])
    assert translator.translate(SOURCES) == before
    assert [bool(one.terms) for one in found] == [True, False, True, True, True]


def test_company_does_not_change_a_forced_translation(trained: Trained, terms: Path):
    translator = Translator.load(trained("rnn"), glossary=[terms], n_best=2)
    for one, sentence in zip(translator.translate(SOURCES), SOURCES, strict=True):
        (alone,) = translator.translate([sentence])
        assert (alone.text, alone.terms) == (one.text, one.terms)
        assert len(alone.alternatives) == len(one.alternatives) == bool(sentence)


def test_readings_and_scores_are_those_of_the_forced_translation(trained: Trained, terms: Path):
    translator = Translator.load(trained("transformer"), glossary=[terms])
    (found,) = translator.translate(SOURCES[:1], attention=True)
    assert found.terms[0].state == "forced"
    assert found.reading.target.words == found.text.split()
    (request,) = translator.requests(SOURCES[:1])
    (scored,) = translator.engine.score([replace(request, target=list(found.ids))], translator.settings)
    assert found.log_prob == pytest.approx(scored.log_prob, abs=1e-3)


def test_an_ensemble_writes_terms_too(trained: Trained, terms: Path):
    translator = Translator.load(*map(trained, MODELS), glossary=[terms])
    assert states(translator.translate(SOURCES[:1])) == [["forced"]]


def test_what_cannot_have_terms_is_refused(trained: Trained, terms: Path):
    with pytest.raises(SettingsError, match=r"decoding\.glossary.*sample"):
        Translator.load(trained("rnn"), method="sample", glossary=[terms])
    with pytest.raises(SettingsError, match=r"decoding\.glossary_beam.*decoding\.glossary"):
        Translator.load(trained("rnn"), glossary_beam=6)
    with pytest.raises(InputError, match=r"none\.tsv"):
        Translator.load(trained("rnn"), glossary=[terms.with_name("none.tsv")])


def test_a_term_that_does_not_fit_keeps_the_first_translation(trained: Trained, terms: Path):
    run = trained("transformer")
    (plain,) = Translator.load(run, maximum_length=2).translate(SOURCES[-1:])
    (found,) = Translator.load(run, maximum_length=2, glossary=[terms]).translate(SOURCES[-1:])
    assert (found.text, found.terms[0].state, found.terms[0].target) == (plain.text, "unmet", "sách đỏ")


@pytest.mark.parametrize("settings", CODECS)
def test_every_way_spells_the_term(settings: TextSettings):
    codec: Codec = learn_codec(settings, TEXTS).directed(settings.right_to_left)
    joined = joining(codec)
    found = ways(codec, [Term.of("école")])
    assert found
    assert {codec.decode(way).strip() for way in found} <= {"école", "École"}
    assert {codec.decode(way).strip() for way in ways(codec, [Term.of("École")])} == {"École"}
    for text, whole in (("l'école est", True), ("une école, deux", True), ("deux écoles", False), ("école", True)):
        ids = codec.encode(text)
        places = [(way, n) for way in found for n in range(len(ids)) if tuple(ids[n : n + len(way)]) == way]
        free = [
            (way, n)
            for way, n in places
            if not (n and joined(ids[n - 1], ids[n]))
            and not (n + len(way) < len(ids) and joined(ids[n + len(way) - 1], ids[n + len(way)]))
        ]
        assert bool(free) is whole, text


def test_a_term_with_unknown_signs_has_no_way():
    assert ways(learn_codec(CharactersSettings(), TEXTS), [Term.of("猫")]) == ()


def test_a_sentence_may_have_terms_of_its_own_which_come_first(trained: Trained, terms: Path):
    translator = Translator.load(trained("transformer"), glossary=[terms])
    own = [(Entry.of("cats", ["nhà"]),), *[()] * (len(SOURCES) - 1)]
    requests = translator.requests(SOURCES, terms=own)
    first, *others = translator.translate_requests(requests, translator.settings)
    assert [(one.source, one.target) for one in first.terms] == [("cats", "nhà")] and "nhà" in first.text
    assert others == translator.translate(SOURCES)[1:]
    wider = translator.requests(["I love cats."], terms=[(Entry.of("love cats", ["bàn"]),)])
    (found,) = translator.translate_requests(wider, translator.settings)
    assert [one.source for one in found.terms] == ["love cats"]
    drawn = translator.settings.model_copy(update={"method": "sample", "glossary": ()})
    assert translator.translate_requests(requests, drawn)[0].terms == ()
