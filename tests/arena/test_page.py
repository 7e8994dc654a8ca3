"""The page of an arena. That it is one file which loads nothing is tested in `test_reporting`."""

from tests.arena.test_tables import SOURCES, outcome, result

from dragoman.arena.page import page
from dragoman.arena.results import Outcome

__all__ = ["outcome"]
PLOTS = {"bleu-flops": "<svg>costs</svg>", "curves": "<svg>curves</svg>"}


def test_the_best_system_is_marked_and_what_failed_is_grey(outcome: Outcome) -> None:
    text = page(outcome, PLOTS)
    assert '<tr class="best"><th scope="row">good</th>' in text
    assert '<tr class="broken"><th scope="row">failed</th>' in text
    assert '<td class="words">worse, p &lt; 0.01</td>' in text
    assert text.index('scope="row">good<') < text.index('scope="row">bad|worse<') < text.index('scope="row">failed<')


def test_both_plots_are_on_the_page(outcome: Outcome) -> None:
    text = page(outcome, PLOTS)
    assert text.index("<svg>costs</svg>") < text.index("<svg>curves</svg>")


def test_names_and_sentences_are_escaped(outcome: Outcome) -> None:
    outcome.standings[0] = result("<b>", 10.0)
    outcome.sources[:] = [f"<i>{one}" for one in SOURCES]
    text = page(outcome, PLOTS)
    assert "&lt;b&gt;" in text and "<b>" not in text
    assert "&lt;i&gt;sentence 0" in text and "<i>" not in text


def test_a_translation_like_the_reference_is_ticked(outcome: Outcome) -> None:
    assert "✓" not in page(outcome, PLOTS)
    outcome.standings[2].rows[0].hypotheses[3] = outcome.references[3]
    assert page(outcome, PLOTS).count("✓") == 1


def test_systems_that_attend_to_nothing_are_named(outcome: Outcome) -> None:
    assert "Without attention over the source: good, bad|worse." in page(outcome, PLOTS)
    outcome.standings[2].rows[0].numbers["attention"] = {"source": ["a"], "target": ["b"], "weights": [[[[1.0]]]]}
    outcome.standings[0].rows[0].numbers["attention"] = {}
    text = page(outcome, PLOTS)
    assert "Without attention" not in text and "the translation was empty: bad|worse." in text
