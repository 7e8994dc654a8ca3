"""Killed at random moments, inside of saves too, and resumed, a run has the weights of the unbroken one, bit for bit."""

import random
from pathlib import Path

import pytest
from tests.end_to_end.killed import train, train_killed
from tests.end_to_end.test_resume import steps, weights

from dragoman.jobs.verify import BAD, verify

SETTINGS = (
    "text.sampling=0.1",
    "training.steps=30",
    "training.validate_every=10",
    "training.tokens_per_step=500",
    "training.batch_tokens=200",
    "training.save_minutes=0.000001",
    "training.ema=0.9",
    "training.average=2",
    "training.keep=2",
)
SIZES = "embedding: 16, dropout: 0.1"
KINDS = {
    "rnn": (),
    "transformer": (),
    "convs2s": (
        f"model={{kind: convs2s, {SIZES}, output_embedding: 16, encoder_layers: [[16, 3]], decoder_layers: [[16, 3]]}}",
    ),
    "gnmt": ("model={kind: gnmt, dropout: 0.1, hidden: 16, encoder_layers: 2, decoder_layers: 2}",),
}


def recipe_of(kind: str) -> tuple[str, tuple[str, ...]]:
    """Return the arguments of a training with accumulation, subword sampling and averages."""
    return kind if kind in ("rnn", "transformer") else "transformer", (*SETTINGS, *KINDS[kind])


def kill_again_and_again(kind: str, kills: int, seed: int, place: Path) -> int:
    """Kill trainings so many times, and compare each that has come to its end; return how many have."""
    rng, model, ended = random.Random(seed), recipe_of(kind), 0
    with_all = place / "whole"
    train(*model, with_all)
    whole = weights(with_all), steps(with_all)
    while kills > 0:
        folder = place / f"killed-{ended}"
        killed = True
        while killed:
            at = rng.randrange(400) if rng.random() < 0.6 and kills > 0 else None
            after = rng.uniform(0.3, 2.0) if kills > 0 else 600
            killed = train_killed(*model, folder, die_at=at, after=after)
            kills -= killed
            if (folder / "manifest.json").exists():
                assert not [one for one in verify(folder) if one.state in BAD]
        assert (weights(folder), steps(folder)) == whole
        ended += 1
    return ended


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_a_run_killed_now_and_then_ends_as_the_unbroken_one(tmp_path: Path, kind: str):
    assert kill_again_and_again(kind, 3, 3, tmp_path) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_killed_at_many_moments_ends_as_the_unbroken_one(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
):
    ended = kill_again_and_again(kind, 25, 5, tmp_path)
    with capsys.disabled():
        print(f"\n{kind}: 25 kills, {ended} trainings that came to their end")
