"""SIGTERM ends a training within 30 seconds, whatever it is doing, and leaves a folder in which it can go on or begin again."""

import random
import signal
import time
from pathlib import Path

import pytest
from tests.end_to_end.test_resume import wait_for
from tests.tiny import process, recipe_file

from dragoman.jobs.verify import BAD, verify

LIMIT = 30
"""Seconds within which a training ends."""
CORPUS = "data.train=[{source: train.en, target: train.vi}]"


def write_corpus(folder: Path, name: str, lines: int) -> None:
    """Write pairs of random words."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randrange(2, 10))) for _ in range(20_000)]
    for language in ("en", "vi"):
        text = "".join(" ".join(rng.choices(words, k=12)) + "\n" for _ in range(lines))
        (folder / f"{name}.{language}").write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "after", "assignments", "sign"),
    [
        (300_000, 6.0, (CORPUS, "text.size=8000"), b"learning the vocabulary"),
        (300_000, 20.0, (CORPUS, "text={kind: characters, joint: true}"), b"learning the vocabulary"),
        (
            20_000,
            4.0,
            (
                CORPUS,
                "text.size=2000",
                "data.dev=[{source: train.en, target: train.vi}]",
                "training.validate_sentences=20000",
                "training.validate_every=1",
            ),
            b"pairs kept",
        ),
    ],
    ids=["vocabulary", "encoding", "validation"],
)
def test_sigterm_ends_a_training_in_time(
    tmp_path: Path, lines: int, after: float, assignments: tuple[str, ...], sign: bytes, capsys
):
    write_corpus(tmp_path, "train", lines)
    path = recipe_file(tmp_path, "transformer", f"data.root={tmp_path}", *assignments)
    running = process("train", path, "--out", "run", folder=tmp_path)
    wait_for(running, sign)
    time.sleep(after)
    assert running.poll() is None
    begin = time.monotonic()
    running.send_signal(signal.SIGTERM)
    _, errors = running.communicate(timeout=10 * LIMIT)
    seconds = time.monotonic() - begin
    print(f"ended {seconds:.1f} s after SIGTERM")  # shown with -s
    assert running.returncode in (143, -signal.SIGTERM), errors.decode()
    assert seconds < LIMIT
    if (tmp_path / "run" / "manifest.json").exists():
        assert not [one for one in verify(tmp_path / "run") if one.state in BAD]
        assert b"Saved at step" in errors
