"""What the rule of `auto` chooses for an amount of text and of work."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from tests.tiny import chosen, left_to_auto

from dragoman.conversion.specification import obstacles
from dragoman.jobs.checks import check_recipe
from dragoman.jobs.choices import (
    DROPOUT_PASSES,
    ENOUGH_PASSES,
    LARGEST_RATE,
    LEAST_TEXT,
    LITTLE_TEXT,
    RECURRENT_PASSES,
    RECURRENT_TOKENS,
    REPEATING,
    SHORT_TRAINING,
    choose_model,
    dropout_for,
    size_of,
    vocabulary_size,
)
from dragoman.jobs.workload import Workload
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Vocabularies
from dragoman.runs.recipe import load_recipe
from dragoman.training.settings import TrainingSettings


@pytest.mark.parametrize(("pairs", "passes"), list(product((300, 30_000, 3_000_000), (0.1, 5, 80, 2000))))
@pytest.mark.parametrize(("timed", "gpu"), [(True, False), (False, False), (True, True)])
def test_every_choice_is_a_recipe_that_can_be_trained(pairs: int, passes: float, timed: bool, gpu: bool) -> None:
    found = chosen(left_to_auto(), Workload(pairs, 25 * pairs, passes * 25 * pairs, timed=timed, gpu=gpu))
    check_recipe(found)
    assert found.auto == ()
    with torch.device("meta"):
        build_model(found.model, Vocabularies(500, 500, shared=True))
    assert found.training.warmup <= passes * 25 * pairs / found.training.batch_tokens
    assert found.training.steps == 12 and 0 < found.training.learning_rate < 0.02


def test_more_text_and_more_time_never_give_less() -> None:
    amounts = [10.0**exponent for exponent in range(3, 12)]
    assert (sizes := [size_of(Workload(1, 1, seen)) for seen in amounts]) == sorted(sizes) and len(set(sizes)) > 2
    for limits in (DROPOUT_PASSES, RECURRENT_PASSES):
        rates = [dropout_for(passes, limits) for passes in range(1, 50)]
        assert rates == sorted(rates) and rates[0] == 0 < rates[-1]
    assert (pieces := [vocabulary_size(int(count)) for count in amounts]) == sorted(pieces)
    assert 500 <= pieces[0] < pieces[-1] <= 32000


@pytest.mark.parametrize(
    "assignment",
    [
        "model.width=96",
        "model.dropout=0.25",
        "training.learning_rate=0.004",
        "training.batch_tokens=700",
        "text.size=250",
    ],
)
def test_what_is_set_is_never_changed(assignment: str) -> None:
    path, _, value = assignment.partition("=")
    given = left_to_auto(f"training.optimizer={left_to_auto().training.optimizer}", assignment)
    assert path not in given.auto and "training.optimizer" not in given.auto
    found = chosen(given, Workload(100, 2500, 5000))
    section, name = path.split(".")
    assert getattr(getattr(found, section), name) == pytest.approx(float(value))
    assert found.training.optimizer == "adamw"


@pytest.mark.parametrize(
    ("assignments", "found"),
    [
        ([], ("rotary", "none", "cosine", "cosine")),
        (["model.positions=none"], ("rotary", "none", "cosine", "cosine")),
        (["model.positions=learned"], ("none", "learned", "scaled_dot", "scaled_dot")),
        (["model.relative=none"], ("none", "sinusoidal", "scaled_dot", "scaled_dot")),
        (["model.relative=shaw"], ("shaw", "none", "scaled_dot", "scaled_dot")),
        (["model.relative=t5", "model.positions=sinusoidal"], ("t5", "sinusoidal", "scaled_dot", "scaled_dot")),
        (["model.width=195"], ("none", "sinusoidal", "scaled_dot", "scaled_dot")),
        (["model.width=195", "model.head_size=64"], ("rotary", "none", "cosine", "cosine")),
        (["model.heads=3"], ("rotary", "none", "cosine", "cosine")),
        (["model={kind: transformer, width: 96, heads: 4}"], ("none", "sinusoidal", "scaled_dot", "scaled_dot")),
        (["model.self_score=general"], ("rotary", "none", "general", "cosine")),
        (["model.cross_score=scaled_dot"], ("rotary", "none", "cosine", "scaled_dot")),
        (["training.shard=true"], ("rotary", "none", "scaled_dot", "scaled_dot")),
    ],
)
def test_a_transformer_has_rotary_positions_and_cosines_unless_it_is_told_otherwise(
    assignments: list[str], found: tuple[str, str, str, str]
) -> None:
    model = chosen(left_to_auto(*assignments), Workload(100, 2500, 50_000)).model
    assert (model.relative, model.positions, model.self_score, model.cross_score) == found
    assert model.zero_start == (model.relative == "rotary")
    with torch.device("meta"):
        build_model(model, Vocabularies(500, 500, shared=True))


@pytest.mark.parametrize("work", [Workload(100, 2500, 50_000), Workload(9000, 250_000, 1e5, timed=True)])
def test_what_an_export_needs_can_be_said_before_training(work: Workload) -> None:
    own, asked = load_recipe("own-files"), ["model.kind=transformer", "model.cross_score=scaled_dot"]
    assert list(obstacles(chosen(own, work).model))
    for given in (load_recipe("own-files", asked), load_recipe("student")):
        assert not list(obstacles(chosen(given, work).model))


def test_a_short_time_is_for_a_recurrent_model_unless_the_recipe_wants_another() -> None:
    def kind(*assignments: str, **changes: Any) -> str:
        table = {"tokens": 1_000_000, "seen": RECURRENT_TOKENS, "timed": True, **changes}
        return chosen(left_to_auto(*assignments), Workload(100, **table)).model.kind

    assert kind() == "rnn"
    longer, counted, unlinked, on_gpu = (
        {"seen": 1.1 * RECURRENT_TOKENS},
        {"timed": False},
        {"linkable": False},
        {"gpu": True},
    )
    assert {kind(**one) for one in (longer, counted, unlinked, on_gpu)} == {"transformer"}
    assert {kind(one) for one in ("model.width=96", "model.dropout=0.2", "training.replicas=2")} == {"transformer"}
    assert kind("model={kind: convs2s}") == "convs2s"


def test_the_least_text_is_for_a_recurrent_model_however_long_the_time_is() -> None:
    def kind(**changes: Any) -> str:
        work = {"tokens": LEAST_TEXT, "seen": 100 * RECURRENT_TOKENS, "timed": True, **changes}
        return chosen(left_to_auto(), Workload(100, **work)).model.kind

    assert kind() == kind(timed=False, speed=100.0) == "rnn", "another budget may end before the time does"
    others: list[dict[str, Any]] = [
        {"tokens": LEAST_TEXT + 1},
        {"linkable": False},
        {"gpu": True},
        {"timed": False},
    ]
    assert {kind(**one) for one in others} == {"transformer"}


@pytest.mark.parametrize("name", ["own-files-simcut", "iwslt-en-vi", "iwslt-de-en"])
def test_simcut_is_never_given_to_a_recurrent_model(name: str) -> None:
    little = Workload(100, tokens=LEAST_TEXT, seen=100 * RECURRENT_TOKENS, timed=True)
    assert chosen(load_recipe("own-files"), little).model.kind == "rnn"
    assert chosen(load_recipe(name), little).model.kind == "transformer"


def test_a_recurrent_model_stops_when_more_passes_are_of_no_use() -> None:
    def training(*assignments: str, passes: float, timed: bool = True) -> TrainingSettings:
        work = Workload(100, 25_000, passes * 25_000, timed=timed)
        return chosen(left_to_auto("training.epochs=auto", "model={kind: rnn}", *assignments), work).training

    much, enough = training(passes=1000), training(passes=ENOUGH_PASSES)
    assert (much.epochs, enough.epochs) == (ENOUGH_PASSES, None)
    assert (much.warmup, much.validate_every) == (enough.warmup, enough.validate_every), (
        "the schedule is that of the passes"
    )
    assert training(passes=1000, timed=False).epochs is None, "who asks for so many tokens gets them"
    assert training("training.epochs=900", passes=900).epochs == 900
    choices = choose_model(left_to_auto("training.epochs=auto"), Workload(9, 25_000, 1e9, timed=True))
    reasons = {one.path: one.reason for one in choices}
    assert "teach it nothing" in reasons["training.epochs"]
    assert reasons["model.dropout"] == "60 passes over the corpus" and "budget" not in reasons["training.batch_tokens"]


def test_the_reference_says_which_model_and_the_model_itself_how_often_it_sees_a_pair() -> None:
    work = Workload(100, 2500, 20 * 2500, timed=True, seen_by_reference=3 * 2500)
    found = chosen(left_to_auto(), work)
    assert found.model.kind == "rnn" and found.model.dropout == 0.3
    much = replace(work, tokens=1_000_000, seen=3e6, seen_by_reference=9e8)
    assert (found := chosen(left_to_auto(), much).model).width == 512 and found.dropout == 0.0
    (size,) = (one for one in choose_model(left_to_auto(), much) if one.path == "model.width")
    assert "900,000,000 target tokens" in size.reason and "3+3 layers of 192" in size.reason


def test_larger_steps_have_a_larger_rate_up_to_the_largest_that_was_tried() -> None:
    work = Workload(1000, 25_000, 250_000)
    rate = chosen(left_to_auto(), work).training.learning_rate
    twice, much = (chosen(left_to_auto(), replace(work, step=step)).training.learning_rate for step in (3000, 90_000))
    assert twice == pytest.approx(2**0.5 * rate, abs=1e-4) and much == LARGEST_RATE


def test_the_rate_of_a_recurrent_model_grows_with_the_root_of_a_step() -> None:
    def rate(step: int) -> float:
        work = Workload(1000, 25_000, 250_000, step=step)
        return chosen(left_to_auto("model={kind: rnn}"), work).training.learning_rate

    assert rate(6000) == pytest.approx(2 * rate(1500)) and rate(24_000) == pytest.approx(4 * rate(1500))


def test_a_wide_transformer_has_a_rate_that_falls_with_the_root_of_its_width() -> None:
    def rate(width: int) -> float:
        work = Workload(1000, 25_000, 250_000, width=width)
        return chosen(left_to_auto(f"model.width={width}"), work).training.learning_rate

    assert rate(128) == rate(256) and rate(1024) == pytest.approx(rate(256) / 2)


@pytest.mark.parametrize(
    ("steps", "warmup", "validate_every"), [(2, 0, 1), (100, 25, 25), (4000, 80, 400), (100_000, 1000, 4000)]
)
def test_warm_up_and_validations_follow_the_number_of_steps(steps: int, warmup: int, validate_every: int) -> None:
    training = chosen(left_to_auto(), Workload(1000, 25_000, 1000 * steps, step=1000)).training
    assert (training.warmup, training.validate_every) == (warmup, validate_every)


def test_batches_are_larger_where_there_is_time_for_many_or_a_gpu() -> None:
    def batch(seen: float, *, gpu: bool) -> int:
        return chosen(left_to_auto(), Workload(1000, 25_000, seen, gpu=gpu)).training.batch_tokens

    sizes = [batch(seen, gpu=gpu) for gpu in (False, True) for seen in (1e6, 1e8)]
    assert sizes == sorted(sizes) and len(set(sizes)) == 4


def test_layers_and_embeddings_learn_faster_with_rotary_positions() -> None:
    def rates(*assignments: str) -> tuple[float, float]:
        training = chosen(
            left_to_auto("training.embedding_rate=auto", *assignments), Workload(1000, 25_000, 250_000)
        ).training
        return training.learning_rate, training.embedding_rate

    assert rates() == (0.009, 3.0) and rates("model.relative=none") == (0.006, 2.0)


def test_the_scores_of_a_recurrent_model_are_scaled_where_there_is_little_text() -> None:
    def score(tokens: int) -> str:
        return chosen(left_to_auto(), Workload(100, tokens, RECURRENT_TOKENS, timed=True)).model.score

    assert (score(LITTLE_TEXT), score(2 * LITTLE_TEXT)) == ("scaled_general", "general")


def test_search_makes_up_for_a_short_training() -> None:
    def search(*assignments: str, seen: float = RECURRENT_TOKENS, timed: bool = True, **more: Any) -> tuple[int, float]:
        found = chosen(left_to_auto(*assignments), Workload(100, 2500, seen, timed=timed, **more)).decoding
        return found.no_repeat_ngram, found.length_penalty

    assert search() == search("model={kind: rnn}", seen=SHORT_TRAINING, timed=False) == (4, 1.2)
    assert search(timed=False) == (4, 1.2) and search("model={kind: convs2s}") == (0, 1.0)
    assert search(seen=1.1 * REPEATING, timed=False) == (0, 1.2)
    asked = ("model={kind: transformer}", "model.cross_score=scaled_dot")
    assert search(*asked) == (0, 1.2), "CTranslate2 keeps no beam from repeating"
    for kind in ("rnn", "transformer"):
        assert search(f"model={{kind: {kind}}}", seen=1.1 * SHORT_TRAINING, timed=False) == (0, 1.0)
    assert search("decoding.length_penalty=0.7") == (4, 0.7)
    assert search(by_character=True) == search(by_character=True, timed=False) == (0, 1.0), "unknown for characters"


@pytest.mark.parametrize("named", [[], ["model={kind: transformer, width: auto}"]])
@pytest.mark.parametrize("kind", ["words", "characters"])
def test_a_transformer_of_two_vocabularies_can_be_built(kind: str, named: list[str]) -> None:
    given = left_to_auto(f"text={{kind: {kind}}}", *named)
    found = chosen(given, Workload(100, 2500, 5000))
    with torch.device("meta"):
        build_model(found.model, Vocabularies(500, 400, shared=False))
    assert (
        chosen(left_to_auto(f"text={{kind: {kind}}}", "model.tied=none"), Workload(100, 2500, 5000)).model.tied
        == "none"
    )
    assert chosen(left_to_auto(), Workload(100, 2500, 5000)).model.tied == "all"


def test_what_follows_from_the_width_follows_from_one_that_is_set() -> None:
    found = chosen(left_to_auto("model.width=200"), Workload(100, 2500, 5000, width=200)).model
    assert (found.width, found.feed_forward) == (200, 800) and 200 % found.heads == 0


def test_a_head_is_guided_where_words_can_be_linked_and_time_is_short() -> None:
    given = left_to_auto("training.guided=auto")

    def guided(**changes: Any) -> Any:
        return chosen(given, Workload(100, **{"tokens": 2500, "seen": 5000, **changes})).training.guided

    assert guided().links == "learned" and not guided().shift
    assert guided(linkable=False) is None and guided(seen=1e9) is None
    assert guided(seen=1e9, seen_by_reference=3e7) is not None and guided(seen=3e7, seen_by_reference=1e9) is None
    assert guided(layers=1).layer == 1 < guided(layers=6).layer
    short = {"seen": RECURRENT_TOKENS, "timed": True}
    assert guided(**short).weight > guided().weight == guided(**short, tokens=2 * LITTLE_TEXT).weight
    for model in ("{kind: rnn, hard: {training: gumbel}}", "{kind: transformer, hard: {training: reinforce}}"):
        hard = left_to_auto(f"model={model}", "training.guided=auto")
        assert chosen(hard, Workload(100, 2500, 5000)).training.guided is None


@pytest.mark.parametrize(
    ("model", "taken"),
    [
        ("{kind: rnn, tied: true, lexical: true}", True),
        ("{kind: rnn, tied: true}", False),
        ("{kind: transformer, tied: target, lexical: true}", True),
        ("{kind: transformer, tied: all, lexical: true}", False),
        ("{kind: rnn, tied: true, lexical: true, start_from: {whole: runs/other}}", False),
    ],
)
def test_embeddings_start_from_a_lexicon_where_a_lexical_module_reads_them(model: str, taken: bool) -> None:
    found = chosen(left_to_auto(f"model={model}", "training.guided=auto"), Workload(100, 2500, 5000))
    check_recipe(found)
    assert found.training.guided is not None and found.training.guided.lexicon is taken


def test_other_kinds_of_models_keep_their_settings() -> None:
    given = left_to_auto("model={kind: gnmt, hidden: 32}", "training.guided=auto")
    found = chosen(given, Workload(100, 2500, 5000))
    assert found.model == given.model and found.training.optimizer == "adamw" and found.training.guided is None


@pytest.mark.parametrize("decoder", ["plain", "bahdanau", "luong", "posterior"])
def test_a_recurrent_model_keeps_its_settings_and_is_trained_as_one_that_auto_chooses(decoder: str) -> None:
    given = left_to_auto(f"model={{kind: rnn, hidden: 32, decoder: {decoder}}}", "training.guided=auto")
    found = chosen(given, Workload(100, 2500, 5000))
    check_recipe(found)
    assert found.model == given.model and found.training.optimizer == "muon"
    assert (found.training.guided is None) == (decoder == "plain")


@pytest.mark.parametrize("heads", [3, 5, 7])
def test_a_width_has_an_even_share_for_each_of_the_heads_that_the_recipe_gives(heads: int) -> None:
    given = left_to_auto(f"model={{kind: transformer, heads: {heads}, width: auto, relative: auto, positions: auto}}")
    found = chosen(given, Workload(100, 2500, 5000, heads=heads)).model
    assert found.width % (2 * heads) == 0 and 192 <= found.width < 192 + 2 * heads and found.relative == "rotary"


@pytest.mark.parametrize("width", [190, 250])
def test_heads_of_a_given_width_have_an_even_size_so_that_positions_can_be_rotary(width: int) -> None:
    given = left_to_auto(f"model={{kind: transformer, width: {width}, heads: auto, relative: auto, positions: auto}}")
    found = chosen(given, Workload(100, 2500, 5000, width=width)).model
    assert found.relative == "rotary" and found.width // found.heads % 2 == 0
