"""One process that fuzzes one target, guided by coverage: `python -m tests.fuzz` starts it, and again after it has died.

Cases that reach lines of Dragoman's which no case before reached are kept, and changed further. Faults are kept too, one of each
kind, and do not end the process; what kills it (a crash in a library, a lack of memory) is the last case that it wrote down.
"""

import hashlib
import json
import logging
import random
import sys
import time
import warnings
from pathlib import Path

from tests.fuzz.mutations import mutated
from tests.fuzz.targets import HEADER, Target, cases_of, name_in, try_case

LARGEST = 1 << 20
"""Maximum bytes of a case."""
SECONDS = 120
"""Seconds after which a case that does not return to Python hangs, and ends the process."""
MEGABYTES = 6000
"""Memory at which the process ends."""
EVERY = 1.0
"""Seconds after which the number of cases is written down again."""


class Session:
    """Counts cases, and keeps faults."""

    def __init__(self, place: Path, target: Target, seed: int) -> None:
        self.place, self.target, self.seed = place, target, seed
        self.cases = 0
        self._written = time.monotonic()
        (place / "faults").mkdir(exist_ok=True)

    def take(self, case: bytes) -> None:
        """Try a case."""
        self.cases += 1
        (self.place / "last.case").write_bytes(case)
        fault = try_case(self.target, case, intact=self.place / "intact", work=self.place / "work" / "folder")
        if fault is not None:
            name = hashlib.sha256(fault.what.encode()).hexdigest()[:12]
            if not (self.place / "faults" / f"{name}.txt").exists():
                (self.place / "faults" / f"{name}.case").write_bytes(case)
                (self.place / "faults" / f"{name}.txt").write_text(f"{fault.what}\n{fault.details}", errors="replace")
        if time.monotonic() - self._written > EVERY:
            self.write()

    def write(self) -> None:
        """Write the number of cases down."""
        self._written = time.monotonic()
        (self.place / f"cases-{self.seed}.json").write_text(json.dumps(self.cases))


def main(name: str, place: Path, seconds: int, seed: int) -> None:
    """Fuzz a target until so many seconds have passed."""
    import atheris

    with atheris.instrument_imports(include=["dragoman"]):
        from tests.fuzz.readers import TARGETS
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    target, intact, corpus = TARGETS[name], place / "intact", place / "corpus"
    (place / "work").mkdir(parents=True, exist_ok=True)
    if not intact.exists():
        target.prepare(intact)
    if not corpus.exists():
        corpus.mkdir()
        for number, case in enumerate(cases_of(intact)):
            (corpus / f"seed-{number:03}").write_bytes(case)
    session = Session(place, target, seed)

    def change(case: bytes, largest: int, draw: int) -> bytes:
        rng = random.Random(draw)
        if len(case) < HEADER:
            return bytes([rng.randrange(256), rng.randrange(2)])
        if rng.random() < 0.2:
            changed = atheris.Mutate(case[HEADER:] or b"\n", largest - HEADER)
            return case[:HEADER] + bytes(changed)
        return (case[:HEADER] + mutated(name_in(case, intact), case[HEADER:], rng))[:largest]

    options = {
        "max_total_time": seconds,
        "timeout": SECONDS,
        "rss_limit_mb": MEGABYTES,
        "max_len": LARGEST,
        "seed": seed,
    }
    flags = [f"-{key}={value}" for key, value in options.items()]
    flags += ["-len_control=0", "-reload=0", "-report_slow_units=1000", f"-artifact_prefix={place}/died-"]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], session.take, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
