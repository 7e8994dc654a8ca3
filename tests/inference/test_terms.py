"""The terms of a glossary are in translations, by whatever model, and what became of each is said."""

from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch
from tests.tiny import MODELS, Trained

from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError, SettingsError
from dragoman.inference.requests import EncodedRequest
from dragoman.inference.terms import joining, ways
from dragoman.inference.torch_engine import TorchEngine
from dragoman.inference.translation import TermCounts
from dragoman.inference.translator import Translator
from dragoman.jobs.shortlist import make_shortlist
from dragoman.text.codec import Codec, learn_codec
from dragoman.text.glossary import Entry, Term, Words
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, TextSettings, WordsSettings

SOURCES = ["I love cats.", "", "The cat sits on the mat near the old school.", "No.", "This is a book."]
TEXTS = ["L'école est vieille.", "Une école, deux écoles: l'eau (l'eau).", "École 'eau'.", "Vieille eau."]
ANNOTATED = "text.glossary.share=0.5"
CODECS = [
    SentencePieceSettings(size=60),
    SentencePieceSettings(size=60, right_to_left=True),
    SentencePieceSettings(size=62, inline_casing=True),
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
    assert [one.searched_again for one in found] == ["forced" in some for some in states(found)]
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


def test_a_beam_for_terms_that_does_not_fit_into_memory_is_refused(trained: Trained, terms: Path):
    with pytest.raises(InputError, match=r"1,000,000,000 hypotheses .* `decoding\.glossary_beam`"):
        Translator.load(trained("rnn"), glossary=[terms], glossary_beam=1_000_000_000)


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


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[list[EncodedRequest]]:
    """What engines search for from now on."""
    found: list[list[EncodedRequest]] = []
    search = TorchEngine.search

    def noting(self: TorchEngine, requests: Any, settings: DecodingSettings, **more: Any) -> Any:
        found.append(list(requests))
        return search(self, requests, settings, **more)

    monkeypatch.setattr(TorchEngine, "search", noting)
    return found


def wished(codec: Codec, ids: list[int]) -> list[str]:
    """What a source wishes for."""
    begin, end = codec.marks
    starts = [at for at, index in enumerate(ids) if index == begin]
    return [codec.decode(ids[at + 1 : ids.index(end, at)]) for at in starts]


@pytest.mark.parametrize("options", [{}, {"mbr_samples": 2}])
def test_a_model_that_was_trained_so_reads_the_terms_in_its_sources(
    trained: Trained, terms: Path, searched: list[list[EncodedRequest]], options: dict[str, Any]
):
    translator = Translator.load(trained("transformer", ANNOTATED), glossary=[terms], **options)
    searched.clear()
    found = translator.translate(SOURCES, attention=True)
    *first, told, again = searched
    assert all(requests == translator.requests(SOURCES) for requests in first)
    wishes = [set(wished(translator.source, one.sources[0])) for one in told]
    lacking = [one.request.source for one in told]
    assert all(wishes) and wishes[0] == {"quyển sách"} and wishes[1] <= {"thư viện", "nhà"}
    assert lacking == [SOURCES[0], SOURCES[2], SOURCES[4]], "not those without terms, or whose terms cannot be spelled"
    assert {one.request.source for one in again} <= set(lacking)
    assert all(one.phrases and one.wished for one in again)
    plain = translator.requests(SOURCES)
    for one, request in zip(found, plain, strict=True):
        if one.reading is None:
            assert request.request.source == ""
            continue
        (reading,) = translator.engine.attention_maps(
            [replace(request, target=list(one.ids))], (translator.source, translator.target), translator.settings
        )
        assert one.reading.source == reading.source and one.reading.source.words == request.request.source.split()
        assert torch.allclose(one.reading.weights, reading.weights, atol=1e-5)


def test_without_a_glossary_nothing_is_annotated(trained: Trained, searched: list[list[EncodedRequest]]):
    translator = Translator.load(trained("transformer", ANNOTATED))
    searched.clear()
    translator.translate(SOURCES)
    assert searched == [translator.requests(SOURCES)]


def test_a_model_that_was_not_trained_so_reads_sources_as_they_are(
    trained: Trained, terms: Path, tmp_path: Path, searched: list[list[EncodedRequest]]
):
    reader = trained("transformer", ANNOTATED)
    other = trained("transformer", f"model.start_from.whole={reader}", "training.steps=2", "training.warmup=1")
    translator = Translator.load(reader, other, glossary=[terms])
    searched.clear()
    translator.translate(SOURCES[:1])
    assert len(searched) > 1
    for requests in searched:
        ((annotated, plain),) = (one.sources for one in requests)
        assert wished(translator.source, annotated) == ([] if requests is searched[0] else ["quyển sách"])
        assert plain == translator.source.encode(SOURCES[0])


def test_what_a_source_wishes_for_is_in_the_shortlist(
    trained: Trained, terms: Path, tmp_path: Path, searched: list[list[EncodedRequest]]
):
    run = Path(copytree(trained("transformer", ANNOTATED), tmp_path / "run"))
    make_shortlist(run, likely=1, frequent=1)
    translator = Translator.load(run, glossary=[terms], shortlist=True, minimum_length=6)
    translator.translate(SOURCES[:1])
    asked = searched[-1][0]
    assert set(asked.wished) == set(translator.target.encode("quyển sách"))
    shortlist = translator.engine._require_shortlist()
    assert not set(asked.wished) <= set(shortlist.union(torch.tensor([asked.sources[0]])).tolist())
    alone = translator.translate(SOURCES[:1])
    assert translator.translate(SOURCES)[0].text == alone[0].text


def test_a_source_that_is_too_long_with_its_terms_stays_as_it_is(
    trained: Trained, terms: Path, searched: list[list[EncodedRequest]], monkeypatch: pytest.MonkeyPatch
):
    translator = Translator.load(trained("transformer", ANNOTATED), glossary=[terms])
    monkeypatch.setattr(translator.models[0], "source_positions", 64)
    each = len(translator.source.encode("cats"))
    for count in (1, 62 // each):
        searched.clear()
        translator.translate([" ".join(["cats"] * count)])
        assert bool(wished(translator.source, searched[-1][0].sources[0])) is (count == 1)


def test_samples_and_vocabularies_that_cannot_spell_a_term_wish_for_nothing(
    trained: Trained, searched: list[list[EncodedRequest]]
):
    translator = Translator.load(trained("transformer", ANNOTATED))
    entries = [(Entry.of("cats", ["nhà"]),), (Entry.of("no", ["猫"]),)]
    requests = translator.requests(["I love cats.", "No."], terms=entries)
    searched.clear()
    translator.translate_requests(requests, translator.settings)
    assert [wished(translator.source, one.sources[0]) for one in searched[1]] == [["nhà"]]
    drawn = translator.settings.model_copy(update={"method": "sample"})
    searched.clear()
    translator.translate_requests(requests, drawn)
    assert searched == [requests]
