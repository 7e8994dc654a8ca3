"""`dragoman serve` under more load than it can take, and killed under load."""

import json
import re
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from tests.tiny import Trained, process

pytest.importorskip("uvicorn")

from dragoman.data.phrasebook import derive
from dragoman.inference.translator import Translator

pytestmark = pytest.mark.slow

SECONDS = 60
CLIENTS = 40
LIST = 50
"""Sentences of a request."""
QUEUE = 100
"""Sentences that may wait: a twentieth of what the clients ask for at the same time."""
BEAM = 8


def translations(run: Path, count: int) -> dict[str, str]:
    """Return sentences with the translations that the run has for them."""
    texts = list(dict.fromkeys(pair.source for pair in derive("vi", "train", count, seed=3)))
    return dict(
        zip(texts, (one.text for one in Translator.load(run, device="cpu", beam=BEAM).translate(texts)), strict=True)
    )


@contextmanager
def served(run: Path, folder: Path, port: int = 0, **settings: object) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Serve a run, and give the process and its port; what it logs is read and dropped."""
    given = [part for name, value in settings.items() for part in ("--set", f"{name.replace('__', '.')}={value}")]
    server = process("serve", run, "--port", port, "--device", "cpu", *given, folder=folder)
    assert server.stderr is not None
    line = b""
    while not (found := re.search(rb"Serving on http://127\.0\.0\.1:(\d+)", line)):
        line = server.stderr.readline()
        assert line, "it ended"
    reader = threading.Thread(target=lambda: [None for _ in server.stderr or ()], daemon=True)
    reader.start()
    try:
        yield server, int(found[1])
    finally:
        server.kill()
        server.wait()
        reader.join()
        for pipe in (server.stdin, server.stdout, server.stderr):
            assert pipe is not None
            pipe.close()


def ask(port: int, texts: Sequence[str]) -> tuple[int, str | None, list[str]]:
    """Ask for translations; return status, Retry-After and texts."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        body = json.dumps({"text": list(texts), "target": "vi", "split": "none", "beam": BEAM})
        connection.request("POST", "/v1/translate", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        table = json.loads(answer.read())
        found = [one["text"] for one in table["translations"]] if answer.status == 200 else []
        return answer.status, answer.getheader("Retry-After"), found
    finally:
        connection.close()


def resident(server: "subprocess.Popen[bytes]") -> int:
    """Return the memory of a process in bytes."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{server.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory of another process is read from /proc")
def test_overload_is_refused_and_never_answered_wrongly(
    trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained("transformer")
    known = translations(run, CLIENTS * LIST * 2 + 500)
    outcomes: Counter[str] = Counter()
    with served(run, tmp_path, engine__queue_sentences=QUEUE, engine__cache_mb=0) as (server, port):
        until = time.monotonic() + SECONDS

        def client(number: int) -> None:
            texts = list(known)[number * LIST * 2 :][: LIST * 2]  # different ones: equal ones are translated once
            while time.monotonic() < until:
                for begin in range(0, len(texts), LIST):
                    if time.monotonic() >= until:
                        return
                    some = texts[begin : begin + LIST]
                    status, retry, found = ask(port, some)
                    fine = (
                        found == [known[one] for one in some] if status == 200 else status == 429 and retry is not None
                    )
                    outcomes[f"{status}" if fine else f"wrong: {status}, {retry}, {some}: {found}"] += 1

        clients = [threading.Thread(target=client, args=[number]) for number in range(CLIENTS)]
        for one in clients:
            one.start()
        time.sleep(SECONDS / 4)
        early = resident(server)
        for one in clients:
            one.join()
        late = resident(server)
        assert server.poll() is None
    assert outcomes.keys() == {"200", "429"}, outcomes
    assert outcomes["429"] > 9 * outcomes["200"] > 0
    assert late < early * 1.05 + 20e6
    with capsys.disabled():
        print(f"\n{dict(outcomes)}, memory {early / 1e6:.0f} MB after a quarter, {late / 1e6:.0f} MB at the end")


def test_clients_that_try_again_lose_nothing_by_a_kill(trained: Trained, tmp_path: Path) -> None:
    run = trained("transformer")
    known = translations(run, 120)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    wrong: list[str] = []
    done: list[int] = []
    failures: list[int] = []

    def client(number: int) -> None:
        for text in list(known)[number::6]:
            for _ in range(600):
                try:
                    status, _, found = ask(port, [text])
                except (OSError, HTTPException, json.JSONDecodeError):
                    failures.append(number)
                    time.sleep(0.1)
                    continue
                if status == 200:
                    break
            if found != [known[text]]:
                wrong.append(text)
            done.append(number)

    clients = [threading.Thread(target=client, args=[number]) for number in range(6)]
    for kill in (True, True, False):
        with served(run, tmp_path, port, engine__cache_mb=0) as (server, _):
            before = len(done)
            for one in clients:
                if not one.ident:
                    one.start()
            while kill and len(done) < before + 20:
                time.sleep(0.01)
            if kill:
                server.send_signal(signal.SIGKILL)
                server.wait()
            else:
                for one in clients:
                    one.join()
    assert wrong == [] and len(done) == len(known) and failures
