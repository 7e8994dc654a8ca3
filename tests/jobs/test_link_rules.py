"""Which settings need word alignments, or what learns from them."""

import pytest
from tests.tiny import recipe

from dragoman.jobs.rules import RULES
from dragoman.runs.rules import refusals

GUIDED = ["training.guided.links=learned", "training.guided.shift=false"]
LEXICAL = ["model.tied=true", "model.lexical=true"]


@pytest.mark.parametrize(
    ("assignments", "named"),
    [
        ([*GUIDED, "training.guided.lexicon=true"], ["`training.guided.lexicon: true`", "`model.lexical: true`"]),
        (["training.guided.lexicon=true", *LEXICAL], ["`training.guided", "`training.guided.links: learned`"]),
        (
            [*GUIDED, "training.guided.lexicon=true", *LEXICAL, "model.start_from.whole=runs/other"],
            ["`training.guided.lexicon: true`", "`model.start_from`"],
        ),
        (
            [*GUIDED, "training.guided.shift=true", "training.guided.lexicon=true", *LEXICAL],
            ["`training.guided.lexicon: true`", "`training.guided.shift: false`"],
        ),
        ([*GUIDED, "training.guided.layer=2"], ["`training.guided.layer: 2`", "beyond"]),
        ([*GUIDED, "model.decoder=plain"], ["`training.guided", "does not have"]),
        ([*GUIDED, "model.hard.training=gumbel"], ["`training.guided", "`model.hard`"]),
        (
            ["training.guided.links=learned"],
            ["`training.guided.shift: true`", "single", "`training.guided.shift: false`"],
        ),
    ],
)
def test_a_setting_that_has_nothing_to_learn_from_or_to_teach_is_refused(
    assignments: list[str], named: list[str]
) -> None:
    found = " ".join(map(str, refusals(RULES, recipe("rnn", *assignments))))
    for words in named:
        assert words in found


def test_a_lexicon_needs_embeddings_of_the_source() -> None:
    given = [*GUIDED, "training.guided.lexicon=true", "model.lexical=true"]
    found = " ".join(map(str, refusals(RULES, recipe("transformer", *given, "model.tied=all"))))
    assert "`training.guided.lexicon: true`" in found and "`model.tied: target`" in found
    assert not refusals(RULES, recipe("transformer", *given, "model.tied=target"))


def test_a_lexicon_for_a_lexical_model_is_taken() -> None:
    given = [*GUIDED, "training.guided.lexicon=true", *LEXICAL]
    assert not refusals(RULES, recipe("rnn", *given))
    assert not refusals(RULES, recipe("rnn", *given, "training.guided.weight=0", "model.hard.training=gumbel"))


def test_a_single_head_may_learn_where_to_look_and_one_of_several_where_it_looked() -> None:
    assert not refusals(RULES, recipe("rnn", *GUIDED))
    assert not refusals(RULES, recipe("transformer", *GUIDED, "training.guided.shift=true"))
