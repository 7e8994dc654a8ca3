"""Rows, means, intervals, and comparison with the best."""

from dataclasses import replace

import pytest
from tests.arena.arenas import arena, do_all, worker_of

from dragoman.arena.results import Outcome, Row, SystemResult, against, collect
from dragoman.arena.schedule import Worker, chosen_factor
from dragoman.arena.tables import bleu, cells, verdict
from dragoman.errors import RunError

REFERENCES = [f"the {animal} sat on the mat today" for animal in ("cat", "dog", "cow", "hen", "pig")] * 4
NOISE = ["the cat stood there"] * 20


def standing(name: str, *hypotheses: list[str]) -> SystemResult:
    return SystemResult(name, [Row(name, seed, "done", {"bleu": 1.0}, one) for seed, one in enumerate(hypotheses, 1)])


def test_a_clear_difference_is_no_chance_and_none_is():
    good, bad = standing("good", REFERENCES), standing("bad", NOISE)
    p_value, signature = against(good, bad, REFERENCES) or (1.0, "")
    assert p_value < 0.01 and "bs:1000" in signature
    assert (against(good, standing("same", REFERENCES), REFERENCES) or (0.0, ""))[0] == 1.0


def test_the_largest_p_value_of_the_seeds_counts():
    found = against(standing("good", REFERENCES, REFERENCES), standing("mixed", NOISE, REFERENCES), REFERENCES)
    assert found is not None and found[0] == 1.0


def test_seeds_that_contradict_each_other_prove_nothing():
    found = against(standing("best", REFERENCES, NOISE), standing("other", NOISE, REFERENCES), REFERENCES)
    assert found is not None and found[0] == 1.0


def test_systems_without_a_seed_in_common_are_not_compared():
    other = standing("other", REFERENCES)
    assert against(standing("good", REFERENCES), replace(other, rows=[replace(other.rows[0], seed=9)]), NOISE) is None


def test_bleu_is_written_with_its_interval():
    rows = [Row("a", seed, "done", {"bleu": 30.0 + seed, "bleu_low": 29.0, "bleu_high": 33.0}) for seed in (0, 1, 2)]
    assert bleu(SystemResult("a", rows)) == "31.0 ± 2.5"
    assert bleu(SystemResult("a", rows[:1])) == "30.0 [29.0, 33.0]"
    assert bleu(SystemResult("a", [])) == "–"


@pytest.mark.parametrize(
    ("p_value", "words"),
    [(0.001, "worse, p < 0.01"), (0.03, "worse, p = 0.03"), (0.2, "may be chance, p = 0.20")],
)
def test_the_verdict_is_in_words(compared: tuple[Worker, Outcome], p_value, words):
    assert verdict(SystemResult("other", [], p_value=p_value), compared[1]) == words


def test_the_search_takes_the_factor_with_the_lowest_dev_loss(compared: tuple[Worker, Outcome]):
    worker, outcome = compared
    for system in ("rnn", "transformer"):
        losses = {job.factor: (worker.folder.result(job) or {})["dev_loss"] for job in worker.plan.trials(system)}
        factor = chosen_factor(worker.plan, worker.folder, system)
        assert losses[factor] == min(losses.values())
        from dragoman.runs.folder import open_run

        trained = open_run(worker.folder.run(f"{system}/seed-2")).recipe.training
        assert trained.learning_rate == pytest.approx(0.01 * (factor or 0))
    assert cells(outcome.standings[2], outcome)["factor"] == "–"


def test_a_failed_system_says_why_and_the_others_have_their_rows(tmp_path):
    worker = worker_of(arena("seeds=[1]"), tmp_path)
    do_all(worker, ["rnn/seed-1"])
    worker.folder.fail(worker.by_name["transformer/seed-1"], "it broke")
    statuses = {row.system: row.status for row in collect(worker.plan, worker.folder, worker).rows}
    assert statuses == {
        "rnn": "done",
        "transformer": "failed: it broke",
        "both": "failed: its member `transformer` failed",
    }


@pytest.mark.parametrize("damaged", [None, b"", b"A\n", b"\xff\n" * 12])
def test_translations_that_are_missing_or_damaged_are_refused(tmp_path, damaged):
    worker = worker_of(arena("seeds=[1]"), tmp_path)
    do_all(worker, ["rnn/seed-1"])
    path = worker.folder.run("rnn/seed-1") / "hypotheses.txt"
    path.unlink() if damaged is None else path.write_bytes(damaged)
    with pytest.raises(RunError, match=r"seed-1/hypotheses\.txt is missing or damaged; remove .*seed-1/result\.json"):
        collect(worker.plan, worker.folder, worker)
    (path.parent / "result.json").unlink()
    do_all(worker, ["rnn/seed-1"])
    assert len(collect(worker.plan, worker.folder, worker).rows[0].hypotheses) == 12


def test_a_result_that_lacks_numbers_is_refused(tmp_path):
    worker = worker_of(arena("seeds=[1]"), tmp_path)
    do_all(worker, ["rnn/seed-1"])
    (worker.folder.run("rnn/seed-1") / "result.json").write_text('{"bleu": 3.5}', encoding="utf-8")
    with pytest.raises(RunError, match=r"seed-1/result\.json is damaged; remove it"):
        collect(worker.plan, worker.folder, worker)


def test_a_system_with_pieces_of_its_own_says_so():
    from dragoman.arena.plan import make_plan
    from dragoman.arena.results import _notes

    plan = make_plan(arena("systems.own={set: {model: {kind: rnn}, text: {kind: words}}}"))
    assert _notes("own", plan) == ["its own vocabulary (words)"]
    assert (_notes("rnn", plan), _notes("both", plan)) == ([], ["ensemble of rnn, transformer"])
    plan = make_plan(arena("systems.rnn.set.text.sampling=0.1", "systems.transformer.set.decoding.beam=3"))
    assert (_notes("rnn", plan), _notes("transformer", plan)) == ([], ["its own search"])
