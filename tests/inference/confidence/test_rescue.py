"""Rescue: what is flagged is translated again, the rest stays."""

from dataclasses import replace
from typing import Any

import pytest
from tests.tiny import Trained

from dragoman.errors import InputError
from dragoman.inference.confidence import rescue as module
from dragoman.inference.confidence.alarms import Alarm
from dragoman.inference.confidence.assessor import Assessment, Assessor
from dragoman.inference.confidence.rescue import rescue

SENTENCES = ["I love cats.", "This is a book.", ""]


def test_only_flagged_translations_change_and_never_for_the_worse(trained: Trained) -> None:
    assessor = Assessor.load(trained("transformer"))
    found = assessor.translate(SENTENCES)
    bad = (Alarm("repetition"),) * 40
    marked = [
        replace(found[0], assessment=Assessment()),
        replace(found[1], assessment=Assessment(bad)),
        found[2],
    ]
    rescued = rescue(assessor, SENTENCES, marked)
    assert rescued.flagged == 1
    assert [rescued.translations[number] for number in (0, 2)] == [marked[0], marked[2]]
    new = rescued.translations[1]
    assert new.assessment.replaced == found[1].text != new.text
    assert len(new.assessment.alarms) < 40
    assert rescued.cured == (not new.assessment.flagged)
    assert rescue(assessor, SENTENCES, marked) == rescued


def test_the_best_of_the_samples_is_chosen(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    assessor = Assessor.load(trained("transformer"))
    (found,) = assessor.translate(SENTENCES[:1])
    marked = replace(found, assessment=Assessment((), 0.1))
    offered = [
        replace(found, text=name, assessment=Assessment(alarms, confidence))
        for name, alarms, confidence in [
            ("alarmed", (Alarm("copied"),), 0.6),
            ("best", (), 0.7),
            ("sure", (Alarm("copied"),) * 2, 0.8),
        ]
    ]
    monkeypatch.setattr(Assessor, "translate", lambda *_, **__: [replace(offered[0], alternatives=tuple(offered[1:]))])
    result = module.rescue(assessor, SENTENCES[:1], [marked])
    assert (result.translations[0].text, result.flagged, result.cured) == ("best", 1, 1)
    monkeypatch.setattr(Assessor, "translate", lambda *_, **__: [replace(offered[0], assessment=Assessment((), 0.05))])
    worse = module.rescue(assessor, SENTENCES[:1], [marked])
    assert (worse.translations, worse.cured) == ([marked], 0)
    alarmed = replace(found, text="sure", assessment=Assessment((Alarm("too long"),), 0.99))
    monkeypatch.setattr(Assessor, "translate", lambda *_, **__: [alarmed])
    assert module.rescue(assessor, SENTENCES[:1], [marked]).translations == [marked]


@pytest.mark.parametrize(
    ("lower", "alarms", "taken"), [(0.4, 1, True), (0.6, 1, False), (1.4, 0, True), (1.6, 0, False)]
)
def test_no_sample_is_taken_that_the_run_finds_much_less_probable(
    lower: float, alarms: int, taken: bool, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    assessor = Assessor.load(trained("transformer"))
    (found,) = assessor.translate(SENTENCES[:1])
    own = replace(found, assessment=Assessment((Alarm("too long"),), 0.1))
    sample = replace(
        found,
        text="sample",
        log_prob=found.log_prob - lower * (len(found.ids) + 1),
        assessment=Assessment((Alarm("copied"),) * alarms, 0.9),
    )
    monkeypatch.setattr(Assessor, "translate", lambda *_, **__: [sample])
    (kept,) = rescue(assessor, SENTENCES[:1], [own]).translations
    assert (kept.text == "sample") == taken


@pytest.mark.parametrize(("confidence", "taken"), [(0.76, False), (0.79, True)])
def test_an_alarm_outweighs_1_of_log_odds(
    confidence: float, taken: bool, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    assessor = Assessor.load(trained("transformer"))
    (found,) = assessor.translate(SENTENCES[:1])
    own = replace(found, assessment=Assessment((Alarm("too long"),), 0.9))  # odds of 9, or 3.3 less the alarm
    sample = replace(found, text="sample", assessment=Assessment((), confidence))
    monkeypatch.setattr(Assessor, "translate", lambda *_, **__: [sample])
    (kept,) = rescue(assessor, SENTENCES[:1], [own]).translations
    assert (kept.text == "sample") == taken


def test_the_same_text_in_other_pieces_cures_nothing(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    assessor = Assessor.load(trained("transformer"))
    (found,) = assessor.translate(SENTENCES[:1])
    own = replace(found, assessment=Assessment((), 0.4))
    sample = replace(found, ids=(*found.ids, *found.ids), assessment=Assessment((), 0.9))
    monkeypatch.setattr(Assessor, "translate", lambda *_, **__: [sample])
    rescued = rescue(assessor, SENTENCES[:1], [own])
    assert (rescued.translations, rescued.flagged, rescued.cured) == ([own], 1, 0)


def test_samples_are_drawn_for_a_sentence_where_it_stands(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    assessor = Assessor.load(trained("transformer"), coverage_penalty=0.5)
    good, bad = (
        replace(one, assessment=Assessment((), sure))
        for one, sure in zip(assessor.translate(SENTENCES[:2]), (0.9, 0.1), strict=True)
    )
    asked: list[tuple[list[str], dict[str, Any]]] = []
    monkeypatch.setattr(Assessor, "translate", lambda _, texts, **options: asked.append((texts, options)) or [bad])
    rescue(assessor, SENTENCES[:2], [good, bad], first=5, previous=[[], ["Before."]])
    ((texts, options),) = asked
    assert texts == SENTENCES[1:2]
    assert (options["first"], options["previous"], options["to"]) == (6, [["Before."]], [None])
    settings = options["settings"]
    assert (settings.method, settings.n_best, settings.top_p, settings.coverage_penalty) == ("sample", 16, 0.9, 0)


def test_several_translations_of_a_sentence_are_refused(trained: Trained) -> None:
    assessor = Assessor.load(trained("transformer"), n_best=2)
    with pytest.raises(InputError, match="a rescue chooses one translation"):
        rescue(assessor, SENTENCES, assessor.translate(SENTENCES))
