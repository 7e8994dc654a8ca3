"""`python -m tests.fuzz TARGET [--minutes 10]`: fuzz a target, and say how many cases were read and what faults there are.

Everything is kept in build/fuzz/TARGET, and the next call goes on from there: delete it to begin again. `faults/` holds a case of
each kind of fault, beside what happened; `--again FILE` tries one case alone. Leaves with 1 if there are faults.
"""

import argparse
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.targets import NAMES

BUILD = Path(__file__).parents[2] / "build" / "fuzz"
KERNELS = "kernels"
MISSING = 'Fuzzing needs atheris, which is not installed: pip install --constraint constraints.txt --editable ".[fuzz]"'


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz what reads files of others.")
    parser.add_argument("target", choices=[*NAMES], help="; ".join(f"{name}: {about}" for name, about in NAMES.items()))
    parser.add_argument("--minutes", type=float, default=10.0, help="for how long (default: 10)")
    parser.add_argument("--again", type=Path, help="try the case in this file alone")
    given = parser.parse_args()
    place = BUILD / given.target
    place.mkdir(parents=True, exist_ok=True)
    if given.again is not None:
        return again(given.target, place, given.again)
    if given.target != KERNELS and find_spec("atheris") is None:
        print(MISSING, file=sys.stderr)
        return 2
    seconds = run(given.target, place, 60 * given.minutes)
    cases = sum(
        int(path.read_text() or 0) for path in place.glob("cases-*.json")
    )  # empty if killed while it was written
    faults, deaths = sorted((place / "faults").glob("*.txt")), sorted(place.glob("died-*"))
    print(f"{given.target}: {cases:,} cases in all, {seconds:.0f} s now, {len(faults)} faults, {len(deaths)} deaths")
    for path in faults:
        print(f"  {path.read_text().splitlines()[0]}: {path.with_suffix('.case')}")
    for path in deaths:
        print(f"  the process died of {path}")
    return int(bool(faults or deaths))


def run(name: str, place: Path, seconds: float) -> float:
    """Fuzz, with a new process where one dies; return the seconds that it took."""
    begin, kernels = time.monotonic(), name == KERNELS
    environment = dict(os.environ)
    if kernels:
        from tests.fuzz.kernels import environment as sanitized

        environment = sanitized(place / "cache")
    while (left := seconds - (time.monotonic() - begin)) > 1:
        seed = 1 + len(list(place.glob("log-*.txt")))
        module = ["tests.fuzz.kernels"] if kernels else ["tests.fuzz.guided", name]
        with (place / f"log-{seed}.txt").open("w") as log:
            command = [sys.executable, "-m", *module, str(place), str(int(left)), str(seed)]
            done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=environment, check=False)
        if done.returncode:
            last = place / "last.case"
            (place / f"died-{seed}").write_bytes(last.read_bytes() if last.exists() else b"")
            if not last.exists():
                break
            last.unlink()
    return time.monotonic() - begin


def again(name: str, place: Path, path: Path) -> int:
    """Try one case."""
    if name == KERNELS:
        from tests.fuzz.kernels import environment

        command = [sys.executable, "-m", "tests.fuzz.kernels", path.read_text()]
        return subprocess.run(command, env=environment(place / "cache"), check=False).returncode
    from tests.fuzz.readers import TARGETS
    from tests.fuzz.targets import name_in, try_case

    case = path.read_bytes()
    if not (place / "intact").exists():
        TARGETS[name].prepare(place / "intact")
    fault = try_case(TARGETS[name], case, intact=place / "intact", work=place / "work" / "folder")
    print(f"{name_in(case, place / 'intact')}: {'no fault' if fault is None else fault.details}")
    return int(fault is not None)


if __name__ == "__main__":
    sys.exit(main())
