"""Which settings of a recipe have an effect only beside others."""

import pytest
from tests.tiny import recipe

from dragoman.jobs.rules import RULES
from dragoman.runs.recipe import load_recipe
from dragoman.runs.rules import refusals

LOOP = ["model.input_feeding=true"]


@pytest.mark.parametrize(
    ("model", "assignments", "named"),
    [
        ("rnn", ["training.compile=model"], ["`training.compile: model`", "rnn", "set `training.compile: none`"]),
        ("transformer", ["training.compile=model", "model.experts.experts=4"], ["`model.experts`"]),
        ("transformer", ["training.compile=model", "model.hard.training=gumbel"], ["`model.hard`"]),
        ("transformer", ["training.compile=graphs"], ["position by position"]),
        ("rnn", ["training.compile=graphs", "model.input_feeding=false"], ["position by position"]),
        ("rnn", ["training.compile=graphs", "model.decoder=bahdanau", "model.score=location"], ["location"]),
        ("rnn", ["training.compile=graphs", *LOOP, "training.tokens_per_step=9"], ["`training.tokens_per_step`"]),
        ("rnn", ["training.compile=graphs", *LOOP, "training.reward.samples=2"], ["`reward`"]),
        ("rnn", ["training.compile=graphs", *LOOP, "training.consistency.kind=r_drop"], ["`training.consistency`"]),
        ("transformer", ["training.compile=model", "training.consistency.kind=simcut"], ["simcut"]),
        ("masked_lm", ["training.consistency.kind=r_drop"], ["`training.consistency`", "masked_lm"]),
        ("masked_lm", ["training.word_dropout=0.1"], ["`training.word_dropout: 0.1`", "masked_lm"]),
        ("rnn", ["training.consistency.kind=r_drop", "model.dropout=0"], ["dropout alone", "simcut"]),
        (
            "rnn",
            ["training.consistency.kind=r_drop", "model.outer_dropout=0", "model.dropout=0.2"],
            ["dropout alone", "simcut"],
        ),
        ("transformer", ["data.joined=0.3", "model.kind=document"], ["`data.joined: 0.3`", "document"]),
        ("transformer", ["data.joined=0.3", "data.train.0.tagged=true"], ["`data.joined: 0.3`", "tag"]),
        ("transformer", ["data.joined=0.3", "text.right_to_left=true"], ["`data.joined: 0.3`", "right_to_left"]),
        (
            "transformer",
            ["training.word_dropout=0.1", "text={kind: words, joint: false}", "data.train.0.tagged=true"],
            ["`training.word_dropout: 0.1`", "tags", "`text.joint: true`"],
        ),
        (
            "transformer",
            ["data.languages=[en, vi]", "data.train.0.both_ways=true", "decoding.rerank=[runs/other]"],
            ["`decoding.rerank: [runs/other]`", "tag"],
        ),
        ("masked_lm", ["text.sampling_target=0.1"], ["`text.sampling_target: 0.1`", "one text"]),
        ("decoder_only", ["text.sampling_target=0"], ["`text.sampling_target: 0.0`", "one text"]),
        ("transformer", ["text.glossary.share=0.2", "text.joint=false"], ["`text.glossary`", "`text.joint: true`"]),
        ("decoder_only", ["text.glossary.share=0.2"], ["`text.glossary`", "translation models"]),
        ("rnn", ["text.sampling_epochs=3"], ["`text.sampling_epochs: 3`", "`text.sampling` is 0"]),
        ("transformer", ["training.recurrence=native"], ["`training.recurrence: native`", "not for transformer"]),
        ("transformer", ["training.recurrence=plain"], ["`training.recurrence: plain`", "not for transformer"]),
        ("rnn", ["training.padding=packed"], ["`training.padding: packed`"]),
        ("transformer", ["training.padding=packed", "model.attention_dropout=0.1"], ["attention dropout"]),
        (
            "transformer",
            ["training.shard=true", "training.replicas=2"],
            ["`training.shard: true`", "`training.replicas`"],
        ),
        (
            "transformer",
            ["training.shard=true", "training.compile=model"],
            ["`training.shard: true`", "`training.compile`"],
        ),
        ("rnn", ["training.shard=true", "model.score=cosine"], ["`training.shard: true`", "`cosine`"]),
        ("transformer", ["training.shard=true", "model.self_score=cosine"], ["`training.shard: true`", "`cosine`"]),
        (
            "transformer",
            ["training.shard=true", "model.adapters.rank=2"],
            ["`training.shard: true`", "`model.adapters`"],
        ),
        ("transformer", ["training.guided.layer=2"], ["`training.guided`", "`links`"]),
        (
            "rnn",
            ["training.guided.layer=1", "model.decoder=plain", "model.score=additive"],
            ["`training.guided`", "head"],
        ),
        ("rnn", ["data.dev.0.tagged=true"], ["`data.dev.0.tagged: true`", "training corpora"]),
        ("transformer", ["data.noise=0.2"], ["`data.noise: 0.2`", "`noised: true`"]),
        (
            "transformer",
            ["data.train=[{phrasebook: train, pairs: 9}, {text: a, noised: true}]", "data.joined=0.3"],
            ["`data.joined: 0.3`", "tag", "noised"],
        ),
        (
            "rnn",
            [
                "data.train=[{phrasebook: train, pairs: 9}, {text: a, noised: true}]",
                "text={kind: words, unknown: positional}",
            ],
            ["`data.train.1.noised: true`", "`text.unknown: positional`"],
        ),
        ("decoder_only", ["data.train.0.tagged=true"], ["`data.train.0.tagged: true`", "translation models"]),
        ("masked_lm", ["text.right_to_left=true"], ["`text.right_to_left: true`", "translation models"]),
        (
            "transformer",
            ["text={kind: words, unknown: positional, right_to_left: true}"],
            ["`text.right_to_left: true`", "`text.unknown: positional`"],
        ),
        ("masked_lm", ["training.metric=bleu"], ["`training.metric: bleu`", "set `training.metric: loss`"]),
        ("decoder_only", ["training.reward.alpha=0.1"], ["`training.reward`", "`model.kind: decoder_only`"]),
        ("transformer", ["training.momentum=0.5"], ["`training.momentum: 0.5`", "sgd", "`training.momentum: 0.0`"]),
        ("transformer", ["training.optimizer=sgd", "training.epsilon=1e-8"], ["`training.epsilon: 1e-08`", "not sgd"]),
        ("transformer", ["training.optimizer=sgd", "training.betas=[0.8, 0.9]"], ["`training.betas: [0.8, 0.9]`"]),
        (
            "transformer",
            ["training.momentum=0.5", "training.phases=[{after: 0.5, optimizer: sgd, momentum: 0.9}]"],
            ["`training.momentum: 0.5`"],
        ),
        ("transformer", ["training.phases=[{after: 0.5, momentum: 0.9}]"], ["`training.phases.0.momentum: 0.9`"]),
        ("transformer", ["text={kind: words, reach: 3}"], ["`text.reach: 3`", "`text.unknown: positional`"]),
        (
            "transformer",
            ["text={kind: words, unknown: positional}"],
            ["`text.unknown: positional`", "`dragoman align`"],
        ),
        ("transformer", ["data.dev.0.repeat=2"], ["`data.dev.0.repeat: 2`", "training corpora"]),
        ("transformer", ["model.max_positions=40"], ["`model.max_positions: 40`", "learned", "`location`"]),
        ("transformer", ["model.gated=true", "model.experts.experts=4"], ["`model.gated: true`", "`model.experts`"]),
        ("transformer", ["model.activation=gelu", "model.experts.experts=4"], ["`model.activation: gelu`", "experts"]),
        ("transformer", ["model.experts={gate: balanced, load: 0.1}"], ["`model.experts.load: 0.1`", "noisy"]),
        ("transformer", ["model.hard={training: gumbel, soft_share: 0.1}"], ["`model.hard.soft_share: 0.1`"]),
        ("transformer", ["model.hard={training: reinforce, temperature: 2}"], ["`model.hard.temperature: 2.0`"]),
        ("rnn", ["model.deep_output=false"], ["`model.deep_output: false`", "not luong"]),
        ("rnn", ["model.decoder=plain", "model.score=dot"], ["`model.score: dot`", "plain"]),
        ("rnn", ["model.decoder=posterior", "model.marginal=true"], ["`model.marginal: true`", "posterior"]),
        ("rnn", ["model.marginal=true", "model.attention_dropout=0.1"], ["`model.attention_dropout: 0.1`"]),
        ("rnn", ["model.outer_dropout=0.1", "model.dropout=0.3"], ["`model.dropout: 0.3`", "`model.layers` is 1"]),
    ],
)
def test_a_setting_that_nothing_would_read_is_named_with_its_reason_and_a_remedy(
    model: str, assignments: list[str], named: list[str]
) -> None:
    sentence, *_ = refusals(RULES, recipe(model, *assignments))
    assert all(word in sentence for word in named), sentence
    assert any(word in sentence for word in ("; remove it", "; set ", "; make ", "; choose "))


@pytest.mark.parametrize(
    ("model", "assignments"),
    [
        ("rnn", ["training.compile=graphs", *LOOP]),
        ("transformer", ["training.compile=model"]),
        ("rnn", ["training.recurrence=plain"]),
        ("transformer", ["training.padding=packed"]),
        ("transformer", ["training.shard=true", "training.reward.samples=2"]),
        ("rnn", ["training.shard=true"]),
        ("transformer", ["training.optimizer=sgd", "training.momentum=0.5"]),
        ("transformer", ["training.momentum=0.5", "training.phases=[{after: 0.5, optimizer: sgd}]"]),
        ("transformer", ["training.optimizer=sgd", "training.phases=[{after: 0.5, optimizer: sgd, momentum: 0.9}]"]),
        ("transformer", ["training.betas=[0.8, 0.9]", "training.phases=[{after: 0.5, optimizer: sgd}]"]),
        ("transformer", ["model.positions=learned", "model.max_positions=40"]),
        ("rnn", ["model.score=location", "model.max_positions=40"]),
        ("rnn", ["training.consistency.kind=r_drop"]),
        ("rnn", ["training.consistency.kind=r_drop", "model.dropout=0", "training.word_dropout=0.1"]),
        ("rnn", ["training.consistency.kind=r_drop", "model.outer_dropout=0", "model.layers=2"]),
        ("transformer", ["training.consistency.kind=r_drop", "model.dropout=0", "model.attention_dropout=0.1"]),
    ],
)
def test_what_is_read_is_taken(model: str, assignments: list[str]) -> None:
    assert refusals(RULES, recipe(model, *assignments)) == []


def test_the_rate_of_embeddings_may_be_set_where_the_optimiser_is_still_to_be_chosen() -> None:
    def refused(*assignments: str) -> list[str]:
        return refusals(RULES, load_recipe("own-files", ["training.embedding_rate=3", *assignments]))

    assert refused() == []
    (early,) = refused("training.embedding_rate=1", "training.momentum=0.9")
    assert "`training.momentum: 0.9` works only with" in early, "auto chooses neither sgd nor nesterov"
    assert refused("training.momentum=0.9", "training.phases=[{after: 0.5, optimizer: sgd}]") == []
    (unread,) = refused("training.momentum=0.9", "training.phases=[{after: 0.5, optimizer: sgd, momentum: 0.5}]")
    assert "`training.momentum: 0.9` works only with" in unread, "the phase has its own"
    (sentence,) = refused("training.optimizer=adamw")
    assert sentence.startswith("`training.embedding_rate: 3.0` works only with `training.optimizer: muon`")


def test_tags_do_not_work_with_positional_unknown_words() -> None:
    found = refusals(RULES, recipe("rnn", "text={kind: words, unknown: positional}", "data.train.0.tagged=true"))
    assert any("`data.train.0.tagged: true` would move" in one and "`text.unknown: positional`" in one for one in found)
    found = refusals(RULES, recipe("rnn", "text={kind: words, unknown: positional, joint: true, glossary: {}}"))
    assert any("`text.glossary` needs" in one and "`text.unknown: positional`" in one for one in found)


def test_a_guided_head_does_not_learn_from_alignments_made_for_terms() -> None:
    given = ("text.joint=true", "text.glossary.share=0.2", "training.guided.layer=1")
    found = refusals(RULES, recipe("transformer", *given))
    assert any("`text.glossary" in one and "`training.guided.links: learned`" in one for one in found)
    assert refusals(RULES, recipe("transformer", *given, "training.guided.links=learned")) == []
