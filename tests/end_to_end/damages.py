"""Damages of run folders, drawn at random."""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Damage:
    """What was done to a folder."""

    what: str
    names: tuple[str, ...]
    """The files, relative to the folder."""


def files_of(folder: Path) -> list[str]:
    """Return the names of all files, in order."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def damage(folder: Path, other: Path, rng: random.Random) -> Damage:
    """Change the content of a file at least; `other` is another run, whose file of the same name may take its place."""
    while True:
        what = rng.choice(["byte", "byte", "cut", "swap", "foreign", "gone", "zeros"])
        name = rng.choice(files_of(folder))
        path = folder / name
        content = path.read_bytes()
        if what == "byte" and content:
            place = rng.randrange(len(content))
            changed = bytes([content[place] ^ rng.randrange(1, 256)])
            path.write_bytes(content[:place] + changed + content[place + 1 :])
        elif what == "zeros" and len(content) > 8:
            place = rng.randrange(len(content) - 8)
            path.write_bytes(content[:place] + bytes(8) + content[place + 8 :])
        elif what == "cut" and content:
            path.write_bytes(content[: rng.randrange(len(content))])
        elif what == "gone":
            path.unlink()
        elif what == "foreign" and (other / name).exists():
            shutil.copy(other / name, path)
        elif what == "swap":
            second = rng.choice(files_of(folder))
            found = (folder / second).read_bytes()
            if found == content:
                continue
            path.write_bytes(found)
            (folder / second).write_bytes(content)
            return Damage(what, (name, second))
        if not path.exists() or path.read_bytes() != content:
            return Damage(what, (name,))
