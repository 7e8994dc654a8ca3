"""What a recipe leaves to `auto` is measured, chosen, told and kept."""

import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.tiny import RECIPE, left_to_auto, recipe_file

from dragoman.errors import CorpusError, SettingsError, TextError
from dragoman.jobs import auto
from dragoman.jobs.auto import CorpusSize, measure_corpus, settle, settle_as, table, workload
from dragoman.jobs.choices import choose_model, vocabulary_size
from dragoman.jobs.memory import outline_of, static_memory
from dragoman.jobs.plan import make_plan
from dragoman.jobs.train import fit
from dragoman.jobs.workload import Choice, Workload, tokens_of_batch
from dragoman.models.seq2seq import Vocabularies
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import Recipe, load_recipe
from dragoman.runs.warm_start import codecs_for
from dragoman.settings import parse
from dragoman.training.reports import Silent

CPU = torch.device("cpu")
GUIDED = "training.guided={layer: 1, links: learned, shift: false}"


class Heard(Silent):
    """A listener that remembers sentences."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)


class Letters:
    """A codec whose tokens are letters."""

    def sample(self, sentence: str, rng: random.Random, rate: float) -> str:
        return sentence


def test_links_are_not_learned_for_an_objective_that_does_not_read_them() -> None:
    size, given = CorpusSize(10, 100, (("a b", 1),)), left_to_auto()

    def linkable(objective: str) -> bool:
        training = given.training.model_copy(update={"objective": objective})
        changed = given.model_copy(update={"training": training})
        codec = codecs_for(left_to_auto("text.size=9"), lambda: [("a b", "c d")] * 9)[1]
        return workload(changed, size, codec, device=CPU, speed=lambda: 1.0, cost=lambda: 1.0).linkable

    assert linkable("translation") and not linkable("of a plugin")


def test_the_corpus_is_measured_as_an_epoch_has_it(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("one two\none two\nthree\n\n", encoding="utf-8")
    (tmp_path / "a.vi").write_text("một hai\nmột hai\nba\nbốn\n", encoding="utf-8")
    lines = "{source: a.en, target: a.vi, repeat: 3}"
    given = left_to_auto(f"data.root={tmp_path}", f"data.train=[{lines}]", "data.filters={drop_duplicates: true}")
    assert measure_corpus(given) == CorpusSize(6, 3 * (14 + 7), (("một hai", 3), ("ba", 3)))


def test_nothing_is_chosen_for_a_corpus_of_which_no_pair_is_left() -> None:
    given = left_to_auto("data.filters={max_characters: 1}")
    with pytest.raises(CorpusError, match=r"`data\.filters` .*300 with more than 1 character"):
        settle(given, lambda _: pytest.fail("a vocabulary was learned"), device=CPU, say=lambda _: None)


def test_tokens_are_counted_as_often_as_an_epoch_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "SAMPLE", 10)
    corpora = []
    for name, words, lines, repeat in (("short", 1, 81, 1), ("long", 9, 80, 2)):
        for side in ("en", "vi"):
            (tmp_path / f"{name}.{side}").write_text(f"{'a' * words}\n" * lines, encoding="utf-8")
        corpora.append(f"{{source: {name}.en, target: {name}.vi, repeat: {repeat}}}")
    given = left_to_auto(f"data.root={tmp_path}", f"data.train=[{', '.join(corpora)}]", "training.epochs=1")
    size = measure_corpus(given)

    work = workload(given, size, Letters(), device=CPU, speed=lambda: 1.0, cost=lambda: 1.0)  # type: ignore[arg-type]
    assert size.pairs == 81 + 160
    assert work.tokens == pytest.approx(81 * 2 + 160 * 10, rel=0.15)


def test_tokens_are_counted_as_epochs_cut_words() -> None:
    size = CorpusSize(10, 100, (("abab abab abab", 1),) * 10)
    codec = codecs_for(left_to_auto("text.size=12"), lambda: [("ab", "abab abab")] * 9)[1]

    def tokens(*text: str) -> int:
        return workload(left_to_auto(*text), size, codec, device=CPU, speed=lambda: 1.0, cost=lambda: 1.0).tokens

    usual = 10 * (len(codec.encode("abab abab abab")) + 1)
    assert tokens("text.sampling=0.5") > usual == tokens()
    assert tokens("text.sampling=0.5", "text.sampling_target=0") == usual
    assert tokens("text.sampling=0.5", "text.sampling_epochs=1") == usual


@pytest.mark.parametrize(
    ("model", "heads"),
    [
        ("heads: 5, width: auto", 5),
        ("heads: 5, head_size: 20, width: auto", 1),
        ("heads: auto, width: auto", 1),
        ("heads: 2, width: 32", 2),
    ],
)
def test_the_heads_that_divide_the_width_are_those_of_the_recipe(model: str, heads: int) -> None:
    given = left_to_auto(f"model={{kind: transformer, {model}}}")
    size = CorpusSize(10, 0, (("a", 1),))
    assert workload(given, size, Letters(), device=CPU, speed=lambda: 1.0, cost=lambda: 1.0).heads == heads  # type: ignore[arg-type]


def test_the_sample_of_a_large_corpus_is_spread_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "SAMPLE", 20)
    size = measure_corpus(left_to_auto())
    everything = tuple(measure_corpus(left_to_auto("data.train.0.pairs=39")).sample)
    assert size.pairs == 300 and 20 <= len(size.sample) <= 40 and everything[0] == size.sample[0]
    assert len(everything) == 39


@pytest.mark.parametrize(
    ("training", "seen"),
    [
        ({"minutes": 2}, 2 * 60 * auto.VALIDATING * 100),
        ({"tokens": 777}, 777),
        ({"epochs": 3}, 3 * 20),
        ({"minutes": 2, "tokens": 777}, 777),
        ({"steps": 9, "batch_tokens": 20}, 9 * tokens_of_batch(20, 20)),
        ({"steps": 9, "batch_tokens": 400}, 9 * 20),
        ({"steps": 9, "tokens_per_step": 50}, 450),
        ({"flops": 8e9}, 8e9 / 2e7),
        ({"epochs": "auto"}, auto.PASSES * 20),
    ],
)
def test_the_smallest_budget_decides(training: dict[str, Any], seen: float) -> None:
    given = parse(Recipe, {**RECIPE, "model": "auto", "training": training})

    def measured(name: str, value: float) -> float:
        asked.append(name)
        return value

    asked: list[str] = []
    work = workload(
        given,
        CorpusSize(10, 0, (("a", 1), ("b", 1))),
        Letters(),  # type: ignore[arg-type]
        device=CPU,
        speed=lambda: measured("minutes", 100.0),
        cost=lambda: measured("flops", 2e7),
    )
    assert work.tokens == 20 and work.seen == pytest.approx(seen)
    assert asked == [name for name in ("minutes", "flops") if name in training]
    assert work.timed == (training == {"minutes": 2})
    assert (work.epochs is not None) == (training.get("epochs") == "auto")


@pytest.mark.parametrize(("tokens", "seen"), [(777, 777), (10**9, 12 * tokens_of_batch(1500, 2500))])
def test_the_smallest_budget_decides_also_with_the_batch_that_was_chosen(tokens: int, seen: float) -> None:
    given = left_to_auto(f"training.tokens={tokens}")
    work, _ = auto._within_memory(given, Workload(100, 2500, 777), lambda _: 10**9, base=None)
    assert work.seen == pytest.approx(seen)


def test_a_budget_in_tokens_ends_also_a_training_that_is_fast() -> None:
    given = left_to_auto("training.steps=null", "training.minutes=1", "training.tokens=9000")
    work = Workload(100, 2500, 60 * auto.VALIDATING * 100, 100.0, timed=True)
    own = auto.as_chosen(given, work, speed=150.0, cost=work.cost)
    assert own.seen == 60 * auto.VALIDATING * 150 and own.speed == 150.0
    assert own.seen_by_reference == own.amount == work.seen and own.timed
    assert auto.as_chosen(given, work, speed=300.0, cost=work.cost).seen == 9000


def test_a_budget_in_flops_is_enough_for_fewer_tokens_of_a_larger_model(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, float]] = []

    def choose(recipe: Recipe, work: Workload) -> list[Choice]:
        seen.append((len(seen), work.seen))
        return choose_model(recipe, work)

    monkeypatch.setattr(auto, "choose_model", choose)
    sizes = "{kind: transformer, encoder_layers: %d, decoder_layers: %d, width: 64, heads: 2, feed_forward: 128, dropout: auto}"
    found, reference = {}, []
    for layers in (1, 4):
        given = left_to_auto(f"model={sizes % (layers, layers)}", "training.steps=null", "training.flops=1e12")
        settle(
            given,
            lambda _: codecs_for(left_to_auto("text.size=9"), lambda: [("a b", "c d")] * 9),
            device=CPU,
            say=lambda _: None,
        )
        found[layers] = seen[-1][1]
        reference.append(seen[0][1])
        seen.clear()
    assert reference[0] == reference[1] < found[4] < found[1] / 1.2


@pytest.mark.parametrize(
    "model", ["auto", "{kind: transformer, encoder_layers: 1, decoder_layers: 1, width: 16, dropout: auto}"]
)
def test_passes_are_those_of_the_model_that_was_chosen(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def speed(recipe: Recipe, *_: Any, **__: Any) -> float:
        measured.append(recipe.model.kind)
        return 50.0 * len(measured)

    monkeypatch.setattr(auto, "measure_speed", speed)
    heard: list[str] = []
    given = left_to_auto(f"model={model}", "training.steps=null", "training.minutes=1")
    codecs = codecs_for(left_to_auto("text.size=9"), lambda: [("a b", "c d")] * 9)
    found = settle(given, lambda _: codecs, device=CPU, say=heard.append)
    assert measured == ["transformer", found.recipe.model.kind]
    assert "100 tokens/s" in heard[1]
    (passes,) = re.findall(r"(\S+ passes over the corpus)", heard[1])
    assert sum(passes in line for line in heard if "dropout" in line) == 1


def test_the_speed_is_that_of_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "process_count", lambda: 3)
    monkeypatch.setattr(auto, "measure_speed", lambda *_, processes, **__: 100.0 * processes)
    heard: list[str] = []
    given = left_to_auto("training.steps=null", "training.minutes=1")
    codecs = codecs_for(left_to_auto("text.size=9"), lambda: [("a b", "c d")] * 9)
    settle(given, lambda _: codecs, device=CPU, say=heard.append)
    assert "300 tokens/s by 3 processes" in heard[1]


def test_what_this_machine_lacks_is_refused_before_it_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "measure_speed", lambda *_, **__: pytest.fail("measured with threads that do not exist"))
    given = left_to_auto("training.threads=100000", "training.steps=null", "training.minutes=1")
    for train in (make_plan, lambda recipe: fit(recipe, tmp_path / "run")):
        with pytest.raises(SettingsError, match=r"`training\.threads: 100000`"):
            train(given)


def test_the_table_gives_reasons() -> None:
    work = Workload(1000, 300_000, 3_000_000, speed=1234.0)
    first, *rest = table(choose_model(left_to_auto(), work), work)
    assert "1,000 pairs" in first and "10 passes" in first and "1,234 tokens/s" in first
    assert any(line.split()[:2] == ["model.dropout", "0.1"] and "10 passes" in line for line in rest)
    assert not any("feed_forward" in line for line in rest)


def test_a_run_keeps_what_was_chosen_and_can_be_repeated_and_resumed(tmp_path: Path) -> None:
    heard = Heard()
    given = left_to_auto("model.width=16")
    fit(given, tmp_path / "one", listener=heard)
    assert any("model.dropout" in sentence for sentence in heard.sentences)
    run = open_run(tmp_path / "one")
    assert run.recipe.auto == () and run.recipe.model.heads == 1 and len(run.target) == run.recipe.text.size
    assert "auto" not in [
        line.partition(": ")[2]
        for line in (tmp_path / "one" / "recipe.yaml").read_text().split("\n")
        if "size" in line or "width" in line or "rate" in line
    ]
    fit(load_recipe(tmp_path / "one" / "recipe.yaml"), tmp_path / "two")
    assert run.weights.read_bytes()[-4000:] == open_run(tmp_path / "two").weights.read_bytes()[-4000:]
    longer = left_to_auto("model.width=16", "training.steps=14")
    assert fit(longer, tmp_path / "one", resume=True).step == 14
    assert settle_as(given, run.recipe) == run.recipe


@pytest.mark.parametrize("model", ["{kind: transformer, width: auto}", "{kind: transformer, tied: none, width: auto}"])
def test_matrices_stay_untied_as_they_were_chosen(model: str) -> None:
    given = left_to_auto("text={kind: words, joint: false}", f"model={model}")
    found = settle(given, lambda one: codecs_for(one, lambda: [("a b", "c d")] * 9), device=CPU, say=lambda _: None)
    assert found.recipe.model.tied == ("none" if "none" in model else "target")
    assert settle_as(given, found.recipe) == found.recipe


def test_a_recurrent_model_is_kept_as_it_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "measure_speed", lambda *_, **__: 50.0)
    given = left_to_auto("training.steps=null", "training.minutes=1")
    heard: list[str] = []
    found = settle(
        given,
        lambda _: codecs_for(left_to_auto("text.size=9"), lambda: [("a b", "c d")] * 9),
        device=CPU,
        say=heard.append,
    )
    assert found.recipe.model.kind == "rnn" and found.recipe.auto == ()
    assert any(line.split()[:2] == ["model.kind", "rnn"] and "Transformer" in line for line in heard)
    assert settle_as(given, found.recipe) == found.recipe


def test_a_batch_is_no_larger_than_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    given = left_to_auto("model.width=16")

    def learn(_: Recipe) -> Any:
        return codecs_for(left_to_auto("text.size=9"), lambda: [("a b", "c d")] * 9)

    roomy = settle(given, learn, device=CPU, say=lambda _: None)
    static = static_memory(outline_of(roomy.recipe, Vocabularies(9, 9, shared=True)), roomy.recipe.training).total
    monkeypatch.setattr("dragoman.jobs.memory.free_memory", lambda _: 2 * static + 4_000_000)
    tight = settle(given, learn, device=CPU, say=lambda _: None)
    assert 100 <= tight.recipe.training.batch_tokens < roomy.recipe.training.batch_tokens == 1500
    assert tight.recipe.training.learning_rate < roomy.recipe.training.learning_rate
    (choice,) = (one for one in tight.choices if one.path == "training.batch_tokens")
    assert "memory" in choice.reason


@pytest.mark.parametrize(
    ("settings", "device", "steps", "fits", "batch"),
    [
        ((), "cpu", 40_000, 10**6, 3000),
        (("model={kind: gnmt, dropout: auto}",), "cpu", 40_000, 10**6, 2500),
        ((), "cpu", 40_000, 600, 600),
        ((), "cuda", 10_000, 10**6, 8000),  # 13 million tokens at 1,500, 34 at 4,000
    ],
)
def test_a_budget_of_steps_is_one_of_batches_as_large_as_chosen(
    settings: tuple[str, ...], device: str, steps: int, fits: int, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "fitting_batch", lambda *_: fits)
    size = CorpusSize(100_000, 900, (("a b c d e f g h", 1),))
    monkeypatch.setattr(auto, "measure_corpus", lambda _: size)
    heard: list[str] = []
    codecs = codecs_for(left_to_auto("text.size=9"), lambda: [("a b", "c d")] * 9)
    given = left_to_auto("model.width=16", *settings, f"training.steps={steps}")
    found = settle(given, lambda _: codecs, device=torch.device(device), say=heard.append)
    tokens = size.pairs * (len(codecs[1].encode("a b c d e f g h")) + 1)
    passes = steps * tokens_of_batch(batch, tokens) / tokens
    assert found.recipe.training.batch_tokens == batch and found.recipe.training.validate_every == steps / 25
    assert f"{float(f'{passes:.3g}'):g} passes" in heard[1]
    assert found.recipe.training.steps == steps and f"{steps:,} steps in the budget" in "".join(heard)


def test_a_vocabulary_larger_than_the_text_allows_is_made_smaller(tmp_path: Path) -> None:
    sizes = []

    def learn(recipe: Recipe) -> Any:
        sizes.append(recipe.text.size)
        return codecs_for(recipe, lambda: [("a b c d e f g", "h i j k l m")] * 5)

    given = load_recipe(recipe_file(tmp_path, "rnn"), ["text.size=auto"])
    found = settle(given, learn, device=CPU, say=lambda sentence: None)
    assert sizes == [vocabulary_size(measure_corpus(given).characters), len(found.codecs[0])]
    assert found.recipe.text.size == sizes[1] < sizes[0] and found.recipe.model == given.model
    assert [(one.path, one.value) for one in found.choices] == [("text.size", sizes[1])]
    assert "characters" not in found.choices[0].reason
    sizes.clear()
    with pytest.raises(TextError, match=r"text\.size is 500"):
        settle(
            load_recipe(recipe_file(tmp_path, "rnn"), ["text.size=500", "training.warmup=auto"]),
            learn,
            device=CPU,
            say=print,
        )
    assert sizes == [500]
