"""The pictures of an arena. That they are drawn is tested in `test_reporting`."""

import json
from pathlib import Path

from tests.arena.test_tables import outcome

from dragoman.arena.folder import Folder
from dragoman.arena.pictures import COLOURS, INK, MARKS, dev_records, looks, write_pictures
from dragoman.arena.results import Outcome, SystemResult

__all__ = ["outcome"]


def written(folder: Folder, system: str, *records: dict[str, object]) -> None:
    """Write what the first training of a system reported."""
    path = folder.run(f"{system}/seed-1")
    path.mkdir(parents=True)
    (path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")


def test_every_system_has_a_look_of_its_own(outcome: Outcome) -> None:
    outcome.standings[:] = [SystemResult(f"system {number}", []) for number in range(len(COLOURS) * 2)]
    found = looks(outcome)
    assert len({(look.colour, look.mark) for look in found.values()}) == len(COLOURS) * 2
    assert {look.mark for look in found.values()} <= set(MARKS)


def test_curves_are_of_validations_alone(outcome: Outcome, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    dev = {"step": 2, "tokens": 10, "flops": 5.0, "dev_bleu": 7.0}
    written(folder, "good", {"step": 1, "loss": 3.0}, dev, {**dev, "averaged": 2})
    written(folder, "bad|worse", {"step": 2, "dev_loss": 2.0, "dev_bleu": None})
    assert dev_records(outcome, folder) == {"good": [[dev]], "bad|worse": [[]]}


def test_pictures_take_the_colour_of_words_from_the_page(outcome: Outcome, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for system in ("good", "bad|worse"):
        written(
            folder,
            system,
            *({"step": n, "tokens": n, "flops": 1e9 * n, "seconds": n, "dev_bleu": 5.0 * n} for n in (1, 2)),
        )
    inside = write_pictures(outcome, folder)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "bleu-flops.png",
        "bleu-flops.svg",
        "curves.png",
        "curves.svg",
    ]
    for svg in inside.values():
        assert svg.startswith("<svg") and "currentColor" in svg and INK not in svg
