"""A damaged run never translates otherwise without a word: it refuses and names the file, says what changed, or is not touched.

Bytes are changed, files cut, deleted, exchanged with one another and with those of another run; `dragoman verify` finds it all.
"""

import logging
import random
import shutil
from pathlib import Path

import pytest
from tests.end_to_end.damages import Damage, damage, files_of
from tests.tiny import Trained

from dragoman.errors import DragomanError, notice_once
from dragoman.inference.translator import Translator
from dragoman.jobs.evaluate import measure_tests
from dragoman.jobs.shortlist import make_shortlist
from dragoman.jobs.verify import BAD, verify

SENTENCES = ["I love cats.", "The dog sees a small house."]
KINDS = ("rnn", "transformer", "adapters")


@pytest.fixture(scope="module")
def make(trained: Trained, tmp_path_factory: pytest.TempPathFactory):
    """Return a function that copies a run of a kind with all that can be in it, and another of the same recipe but its seed."""
    place = tmp_path_factory.mktemp("damaged")

    def prepared(kind: str, seed: int) -> Path:
        run = place / f"{kind}-{seed}"
        if not run.exists():
            model = "transformer" if kind == "adapters" else kind
            settings = ("text.joint=false", f"seed={seed}", *(["model.tied=target"] if model == "transformer" else []))
            base = trained(model, *settings)
            if kind == "adapters":
                base = trained(model, *settings, f"model.start_from.whole={base}", "model.adapters={}")
            shutil.copytree(base, run)
            measure_tests(run)
            make_shortlist(run)
        return run

    return prepared


def translated(run: Path, caplog: pytest.LogCaptureFixture) -> tuple[list[object], str]:
    """Translate with a run, and return also what it refused or said."""
    notice_once.cache_clear()
    caplog.clear()
    try:
        with caplog.at_level(logging.WARNING, "dragoman"):
            found = Translator.load(run, device="cpu", shortlist=True).translate(SENTENCES)
    except DragomanError as error:
        return [], str(error)
    return [(one.text, one.log_prob) for one in found], " ".join(caplog.messages)


def named(done: Damage, run: Path, said: str) -> bool:
    """Tell whether a sentence names a damaged file."""
    return any(str(run / name) in said or Path(name).stem in said for name in done.names)


def try_damages(
    make, kind: str, count: int, seed: int, caplog: pytest.LogCaptureFixture, place: Path
) -> dict[str, int]:
    """Damage a run so many times, in a new copy each; return how often what happened."""
    run, other, rng = make(kind, 1), make(kind, 2), random.Random(seed)
    intact, _ = translated(run, caplog)
    assert intact and not [one for one in verify(run) if one.state != "fine"]
    outcomes: dict[str, int] = {}
    for number in range(count):
        copy = shutil.copytree(run, place / str(number))
        done = damage(copy, other, rng)
        before = files_of(copy)
        found, said = translated(copy, caplog)
        outcome = "refused" if not found else "the same" if found == intact else "said"
        assert outcome == "the same" or named(done, copy, said), (number, done, outcome, said)
        bad = [one.path for one in verify(copy) if one.state in BAD or one.state == "edited"]
        assert set(bad) & {*done.names, "manifest.json"} or "checksums.json" in done.names, (number, done, bad)
        assert bad and files_of(copy) == before
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        shutil.rmtree(copy)
    return outcomes


@pytest.mark.parametrize(("kind", "count"), [("transformer", 6), ("adapters", 3)])
def test_a_damage_is_named_or_changes_nothing(make, kind: str, count: int, caplog, tmp_path: Path):
    outcomes = try_damages(make, kind, count, 1, caplog, tmp_path)
    assert sum(outcomes.values()) == count and outcomes["refused"]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("transformer", 400), ("rnn", 300), ("adapters", 300)])
def test_a_thousand_damages_are_named_or_change_nothing(make, kind: str, count: int, caplog, tmp_path: Path, capsys):
    outcomes = try_damages(make, kind, count, 7, caplog, tmp_path)
    assert sum(outcomes.values()) == count and outcomes["refused"] > count / 4
    with capsys.disabled():
        print(f"\n{kind}: {outcomes}")
