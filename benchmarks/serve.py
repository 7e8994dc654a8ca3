"""Load on a service on this machine: `python -m benchmarks.serve RUN [seconds]`.

`dragoman serve` is compared with two plain services of the same run: one that translates the texts of a request in a loop, one
request at a time, and one that gives them to `Translator.translate`. 1, 8 and 64 clients ask without a pause, for single
sentences and for lists of 64, all different, without a cache. Every answer is compared with that of the sentence alone.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.schedule import ROOT
from fastapi import FastAPI

from dragoman.data.phrasebook import derive
from dragoman.inference.translator import Translator
from dragoman.serving.server import listen

SERVICES = ("dragoman", "loop", "plain")
CLIENTS = (64, 8, 1)
LIST = 64
SENTENCES = 512


@dataclass
class Load:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)
    sentences: int = 0
    wrong: int = 0
    failed: int = 0

    def row(self, took: float) -> dict[str, float]:
        """Return the figures."""
        ordered = sorted(self.seconds) or [0.0]
        return {
            "sentences_per_second": round(self.sentences / took, 1),
            "p50_ms": round(ordered[len(ordered) // 2] * 1000),
            "p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1000),
            "requests": len(self.seconds),
            "wrong": self.wrong,
            "failed": self.failed,
        }


def plain_service(run: str, kind: str) -> None:
    """Serve a run without batching across requests."""
    import uvicorn

    translator, lock, app = Translator.load(run, device="cpu"), threading.Lock(), FastAPI()

    @app.post("/v1/translate")
    def translate(body: dict[str, Any]) -> dict[str, Any]:
        texts = [body["text"]] if isinstance(body["text"], str) else body["text"]
        if kind == "loop":
            with lock:
                found = [translator.translate([text])[0] for text in texts]
        else:
            found = translator.translate(texts)
        return {"translations": [{"text": one.text} for one in found]}

    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    print(f"Serving on http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
    server.run(sockets=[listener])


async def client(port: int, bodies: Any, expected: dict[str, str], load: Load, until: float) -> None:
    """Ask for one body after the other on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < until:
        texts = next(bodies)
        text = texts if len(texts) > 1 else texts[0]
        body = json.dumps({"text": text, "source": "en", "target": "vi", "split": "none"}).encode()
        head = f"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        begun = time.monotonic()
        writer.write(head.encode() + body)
        answered = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answered.lower())
        content = await reader.readexactly(int(length[1]) if length else 0)
        load.seconds.append(time.monotonic() - begun)
        if b" 200 " not in answered.split(b"\r\n")[0]:
            load.failed += 1
            continue
        found = [one["text"] for one in json.loads(content)["translations"]]
        load.sentences += len(found)
        load.wrong += sum(one != expected[given] for given, one in zip(texts, found, strict=True))
    writer.close()


async def drive(port: int, clients: int, size: int, expected: dict[str, str], seconds: float) -> dict[str, float]:
    """Let some clients ask for a time, and return what they saw."""
    texts, load = list(expected), Load()
    bodies = cycle([texts[at : at + size] for at in range(0, len(texts) - size + 1, size)])
    begun = time.monotonic()
    await asyncio.gather(*(client(port, bodies, expected, load, begun + seconds) for _ in range(clients)))
    return load.row(time.monotonic() - begun)


def start(kind: str, run: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a service, and return its process and port."""
    own = [sys.executable, "-m", "dragoman", "serve", run, "--port", "0", "--device", "cpu"]
    own += ["--set", "engine.cache_mb=0", "--set", "timeout_s=600", "--set", "max_body_mb=50"]
    command = own if kind == "dragoman" else [sys.executable, "-m", "benchmarks.serve", run, "--as", kind]
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, **paths})
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(rb"Serving on http://127.0.0.1:(\d+)", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, int(found[1])
    raise SystemExit(f"the service `{kind}` did not start")


def main(arguments: Sequence[str]) -> None:
    """Measure all services and print a line of JSON for each load."""
    run, *rest = arguments
    if rest[:1] == ["--as"]:
        plain_service(run, rest[1])
        return
    seconds = float(rest[0]) if rest else 10.0
    translator = Translator.load(run, device="cpu")
    texts = list(dict.fromkeys(one.source for one in derive("vi", "test", SENTENCES)))
    alone = [translator.translate([text])[0] for text in texts]
    together = translator.translate(texts)
    expected = {text: one.text for text, one in zip(texts, alone, strict=True)}
    gaps = [abs(one.score - other.score) for one, other in zip(alone, together, strict=True)]
    same = sum(one.text == other.text for one, other in zip(alone, together, strict=True))
    bits = sum(gap == 0 for gap in gaps)
    print(
        json.dumps({"sentences": len(texts), "same_text": same, "same_bits": bits, "largest_gap": max(gaps)}),
        flush=True,
    )
    for size in (1, LIST):
        for clients in CLIENTS:
            for kind in SERVICES:
                process, port = start(kind, run)
                try:
                    asyncio.run(drive(port, 1, 1, dict(list(expected.items())[:5]), 0.5))  # loads the model
                    row = asyncio.run(drive(port, clients, size, expected, seconds))
                finally:
                    process.terminate()
                    process.wait(60)
                print(json.dumps({"service": kind, "clients": clients, "texts": size, **row}), flush=True)


if __name__ == "__main__":
    main([str(Path(sys.argv[1])), *sys.argv[2:]])
