"""Peers as long-lived child processes, each run by the Python of an environment of its own that is made on demand."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class PeerError(Exception):
    """A peer will not install, load or answer; the sentence says why."""


WAITING = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "10000"}
"""How threads wait: as Dragoman's command line sets it on an idle machine; those who wait for their turn sleep."""


@dataclass(frozen=True)
class Peer:
    """A script that speaks as `peers/child.py` does, and what its environment needs besides torch."""

    name: str
    title: str
    requirements: tuple[str, ...] = ()
    """Given to pip in this order; without any, the peer is run by the Python that runs the benchmark."""
    without_dependencies: tuple[str, ...] = ()
    """Installed last and alone, since their own requirements would put an older torch over the one that is there."""
    script: Path | None = None
    """By default `peers/NAME.py`."""
    environment: Mapping[str, str] = field(default_factory=lambda: WAITING)
    """By default threads that wait do so as long for everyone."""

    @property
    def path(self) -> Path:
        """The script."""
        return self.script or Path(__file__).parent / "peers" / f"{self.name}.py"


def python_of(peer: Peer, work: Path, say: Callable[[str], None]) -> Path:
    """Return the Python to run a peer with; its environment is made in `work`/NAME unless it is there. PeerError if not."""
    if not peer.requirements:
        return Path(sys.executable)
    folder = work / peer.name
    python = folder / "bin" / "python"
    wanted = "\n".join([*peer.requirements, *peer.without_dependencies]) + "\n"
    done = folder / "installed.txt"
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return python
    say(f"Installing {peer.title} into {folder}.")
    torch = next(line for line in (ROOT / "constraints.txt").read_text().split("\n") if line.startswith("torch=="))
    if not python.exists():
        _install([sys.executable, "-m", "venv", str(folder)], peer)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _install([*pip, torch], peer)
    _install([*pip, *peer.requirements], peer)
    if peer.without_dependencies:
        _install([*pip, "--no-deps", *peer.without_dependencies], peer)
    done.write_text(wanted, encoding="utf-8")
    return python


def _install(command: Sequence[str], peer: Peer) -> None:
    """Run one command of an installation."""
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        lines = [line for line in (found.stderr + found.stdout).split("\n") if line.strip()]
        reason = next((line for line in lines if line.startswith("ERROR")), lines[-1] if lines else "no reason given")
        raise PeerError(f"it would not install: {reason[:300]}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a group, and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Child:
    """The controller's end of the conversation with a peer."""

    def __init__(self, peer: Peer, python: Path, log: Path) -> None:
        """Start the process; what it prints goes to `log`."""
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        paths = [str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        # -P: the script's folder has files named after the libraries that they drive.
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [str(python), "-P", str(peer.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | dict(peer.environment),
                process_group=0,
            )
        self._rest = b""

    def ask(self, do: str, *, within: float = 600.0, **message: Any) -> dict[str, Any]:
        """Return the answer. PeerError where there is none `within` so many seconds, or the peer says what went wrong."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **message}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise PeerError(self._ended(do)) from None
        answer: dict[str, Any] = json.loads(self._line(do, time.monotonic() + within))
        if "error" in answer:
            raise PeerError(f"`{do}` failed: {answer['error']}")
        return answer

    def close(self) -> None:
        """Ask the process to end, and end it where it does not; once is enough."""
        assert self.process.stdin is not None and self.process.stdout is not None
        if self.process.stdout.closed:
            return
        try:
            self.process.stdin.write(b'{"do": "close"}\n')
            self.process.stdin.close()
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            end(self.process)
        self.process.stdout.close()

    def _line(self, do: str, until: float) -> bytes:
        """Read one line."""
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(until - time.monotonic(), 0)):
                    end(self.process)
                    raise PeerError(f"`{do}` had no answer in time")
                part = os.read(self.process.stdout.fileno(), 1 << 16)
                if not part:
                    raise PeerError(self._ended(do))
                self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _ended(self, do: str) -> str:
        """Say how the process ended, with the last line of its log."""
        code = self.process.wait()
        lines = [line for line in self.log.read_text(encoding="utf-8", errors="replace").split("\n") if line.strip()]
        return f"`{do}` ended the process with code {code}: {lines[-1][:300] if lines else 'it printed nothing'}"
