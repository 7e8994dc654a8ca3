"""Explore small models of every family: what is seen is what the translator does, and what is forced is what happens."""

import math

import pytest
import torch
from tests.inference.ctranslate2.engines import CODEC
from tests.laws.architectures import ARCHITECTURES, FAMILIES

from dragoman.attention.attend import normalize
from dragoman.attention.lookup import LookupOptions
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError
from dragoman.inference.exploring.explorer import Explorer
from dragoman.inference.exploring.interventions import Forced, Interventions
from dragoman.inference.translator import Translator
from dragoman.laws.examples import model_of
from dragoman.models.capabilities import capabilities_of

TEXT = CODEC.decode([4, 7, 5, 9])
SETTINGS = DecodingSettings(beam=3, maximum_ratio=1.0, maximum_extra=3)
ATTENDING = [name for name in FAMILIES if capabilities_of(ARCHITECTURES[name]).attends]
KINDS = [
    "bahdanau, sparsemax",
    "luong, local-p",
    "bahdanau, hard, reinforced",
    "posterior",
    "luong, marginal, tied",
    "document",
]


def explorer_of(name: str) -> Explorer:
    return Explorer(Translator([model_of(ARCHITECTURES[name])], CODEC, CODEC, settings=SETTINGS))


@pytest.mark.parametrize("name", [*FAMILIES, *KINDS])
def test_the_best_leaf_is_what_search_finds(name: str) -> None:
    explorer = explorer_of(name)
    (expected,) = explorer.translator.translate([TEXT])
    found = explorer.explore(TEXT)
    assert found.tree.tokens(found.tree.best) == [*expected.ids, CODEC.special.eos]
    assert found.score == pytest.approx(expected.score, abs=1e-4)
    assert found.log_prob == pytest.approx(sum(step.chosen.log_prob for step in found.steps), abs=1e-4)
    fates = {node.fate for node in found.tree.nodes}
    assert fates == {"followed", "ended", "pruned"}
    assert (found.reading is not None) == (name in [*ATTENDING, *KINDS])


def test_a_run_that_translates_greedily_is_explored_greedily() -> None:
    model = model_of(ARCHITECTURES["bahdanau, two gru layers"])
    translator = Translator([model], CODEC, CODEC, settings=SETTINGS.model_copy(update={"method": "greedy"}))
    found, wider = (Explorer(translator).explore(TEXT, **more) for more in ({}, {"beam": 3}))
    assert (found.beam, wider.beam) == (1, 3)
    assert found.tree.tokens(found.tree.best) == [*translator.translate([TEXT])[0].ids, CODEC.special.eos]


@pytest.mark.parametrize("name", [*ATTENDING, *KINDS])
def test_forcing_attention_to_what_it_was_changes_nothing_and_elsewhere_something(name: str) -> None:
    explorer = explorer_of(name)
    plain = explorer.explore(TEXT)
    assert plain.reading is not None
    path = plain.tree.tokens(plain.tree.best)
    forced = tuple(
        Forced(step, tuple(enumerate(row)), layer + 1, head + 1)
        for layer, heads in enumerate(plain.reading.weights.tolist())
        for head, rows in enumerate(heads)
        for step, row in enumerate(rows)
    )
    same = explorer.explore(TEXT, prefix=path, interventions=Interventions(forced))  # rows belong to this path
    assert same.tree.tokens(same.tree.best) == path
    assert same.score == pytest.approx(plain.score, abs=1e-4)
    elsewhere = int(plain.reading.mean()[0].argmin())
    looks = Interventions((Forced(0, ((elsewhere, 1.0),)),))
    there = explorer.explore(TEXT, interventions=looks)
    assert there.reading is not None
    torch.testing.assert_close(
        there.reading.weights[:, :, 0, elsewhere], torch.ones_like(there.reading.weights[:, :, 0, 0])
    )
    before, after = (explorer.compute(TEXT, path[:1], interventions=one) for one in (Interventions(), looks))
    assert not torch.allclose(before.context, after.context)
    torch.testing.assert_close(after.context, after.values[elsewhere])
    torch.testing.assert_close(after.weights, before.weights)


@pytest.mark.parametrize("name", [*ATTENDING, "bahdanau gru location", "bahdanau, sparsemax", "convs2s product"])
def test_the_numbers_of_a_computation_multiply_out(name: str) -> None:
    explorer = explorer_of(name)
    found = explorer.explore(TEXT)
    assert found.reading is not None
    path = found.tree.tokens(found.tree.best)
    layers, heads = found.reading.weights.shape[:2]
    one = explorer.compute(TEXT, path, layer=layers, head=heads)
    torch.testing.assert_close(one.terms.sum(-1), one.scores, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(normalize(one.scores[None], one.mask[None], one.kind.weights)[0], one.weights)
    torch.testing.assert_close(one.weights, found.reading.weights[-1, -1, -1], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(one.used @ one.values, one.context)
    assert one.formula and one.kind.window is None
    assert isinstance(one.kind, LookupOptions)


def test_a_prefix_is_kept_and_the_search_goes_on_from_it() -> None:
    explorer = explorer_of("bahdanau, two gru layers")
    plain = explorer.explore(TEXT)
    other = next(one for one in plain.steps[0].alternatives[::-1] if one.token != CODEC.special.eos)
    prefix = [other.token]
    found = explorer.explore(TEXT, prefix=prefix)
    assert found.tree.tokens(found.tree.best)[:1] == prefix
    assert found.steps[0].chosen.log_prob == pytest.approx(other.log_prob, abs=1e-4)
    assert found.steps[0].chosen.rank == other.rank > 1
    ended = explorer.explore(TEXT, prefix=[prefix[0], CODEC.special.eos])
    assert ended.tree.tokens(ended.tree.best) == [prefix[0], CODEC.special.eos]


def test_a_prefix_may_repeat_what_search_may_not() -> None:
    explorer = explorer_of("bahdanau, two gru layers")
    alternatives = explorer.explore(TEXT).steps[0].alternatives
    one = next(other.token for other in alternatives if other.token != CODEC.special.eos)
    prefix = [one] * 4
    found = explorer.explore(TEXT, prefix=prefix, no_repeat_ngram=2, minimum_length=0)
    path = found.tree.tokens(found.tree.best)
    assert path[:4] == prefix
    assert path[4] != one, "what follows it keeps to the rule"
    (chance,) = explorer.why_not(TEXT, [one], prefix=prefix, no_repeat_ngram=2, minimum_length=0).chances
    assert chance.token == one


def test_alternatives_are_the_likeliest_of_the_distribution() -> None:
    step = explorer_of("luong additive").explore(TEXT, alternatives=20).steps[0]
    chances = [one.log_prob for one in step.alternatives]
    assert chances == sorted(chances, reverse=True)
    assert [one.rank for one in step.alternatives] == list(range(1, len(chances) + 1))
    assert sum(map(math.exp, chances)) <= 1 + 1e-5


def test_why_not_says_rank_probability_and_the_score_of_the_other_path() -> None:
    explorer = explorer_of("transformer pre-norm, sinusoidal")
    plain = explorer.explore(TEXT, alternatives=9)
    worst = plain.steps[0].alternatives[-1]
    found = explorer.why_not(TEXT, [worst.token])
    assert (found.chances[0].token, found.chances[0].rank) == (worst.token, worst.rank)
    assert found.fate is None and found.likeliest[0].rank == 1
    assert found.forced.score <= found.chosen.score == pytest.approx(plain.score)
    kept = explorer.why_not(TEXT, [plain.steps[0].chosen.token])
    assert kept.fate == "followed" and kept.forced.score == pytest.approx(plain.score, abs=1e-5)


def test_why_not_compares_with_a_translation_that_others_found() -> None:
    explorer = explorer_of("transformer pre-norm, sinusoidal")
    plain = explorer.explore(TEXT)
    first, second = (one.token for one in plain.steps[0].alternatives[:2])
    other = explorer.explore(TEXT, prefix=[second])
    path = other.tree.tokens(other.tree.best)
    found = explorer.why_not(TEXT, [first], chosen=path)
    assert (found.chosen.text, found.forced.text) == (other.text, plain.text)
    assert found.chosen.score == pytest.approx(other.score, abs=1e-5) and found.chosen.score < found.forced.score
    assert found.fate == "followed"  # what became of the word is told by the search, not by the translation given
    with pytest.raises(InputError, match="does not begin with the prefix"):
        explorer.why_not(TEXT, [first], prefix=[first], chosen=path)


def test_a_head_off_gives_no_context_and_temperature_flattens() -> None:
    explorer = explorer_of("transformer pre-norm, sinusoidal")
    plain = explorer.explore(TEXT)
    path = plain.tree.tokens(plain.tree.best)
    off = Interventions(off=((2, 1),))
    assert not explorer.compute(TEXT, path[:1], layer=2, head=1, interventions=off).context.any()
    assert explorer.compute(TEXT, path[:1], layer=2, head=2, interventions=off).context.any()
    warm = explorer.explore(TEXT, prefix=path, interventions=Interventions(temperature=5.0))
    assert all(warm.steps[0].entropy > one for one in [plain.steps[0].entropy])


@pytest.mark.parametrize(
    ("name", "interventions", "message"),
    [
        ("decoder-only", Interventions((Forced(0, ((0, 1.0),)),)), "no attention over the source"),
        ("bahdanau, two gru layers", Interventions((Forced(0, ((9, 1.0),)),)), "no source token 9"),
        ("bahdanau, two gru layers", Interventions((Forced(0, ((0, 1.5),)),)), "from 0 to 1"),
        ("bahdanau, two gru layers", Interventions((Forced(2, ((0, 0.9), (1, 0.9))),)), "step 2 add up to 1.8"),
        ("bahdanau, two gru layers", Interventions((Forced(2, ((0, 0.3), (0, 0.4))),)), "two weights for one"),
        ("bahdanau, two gru layers", Interventions(off=((2, None),)), "no layer 2"),
        ("bahdanau, two gru layers", Interventions(temperature=0.0), "temperature"),
        ("luong, marginal, tied", Interventions(off=((1, 1),)), "cannot be off"),
    ],
)
def test_what_a_model_does_not_have_is_refused(name: str, interventions: Interventions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        explorer_of(name).explore(TEXT, interventions=interventions)


@pytest.mark.parametrize("prefix", [[99], [0], [2, 5]])
def test_tokens_that_cannot_be_written_are_refused(prefix: list[int]) -> None:
    with pytest.raises(InputError, match="cannot stand"):
        explorer_of("luong additive").explore(TEXT, prefix=prefix)


def test_empty_sentences_and_ensembles_are_refused() -> None:
    with pytest.raises(InputError, match="empty"):
        explorer_of("luong additive").explore(" ")
    model = model_of(ARCHITECTURES["luong additive"])
    with pytest.raises(InputError, match="one of their runs"):
        Explorer(Translator([model, model], CODEC, CODEC))
