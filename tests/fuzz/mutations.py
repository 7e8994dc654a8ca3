"""Changes of files that leave them files of their kind, drawn at random: what lies deeper than the first check is reached so."""

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import yaml

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 1 << 31, 1 << 63, 10**30, -(10**12), 0.5, -0.0, 1e-300, 1e300),
    *(
        float("inf"),
        float("nan"),
        "",
        " ",
        "\0",
        "\n",
        "\ud800",
        "../up",
        "/dev/zero",
        "a" * 300,
        "x" * 5000,
        "é\u0301",
    ),
    *("auto", "inf", "1e999", "<s>", "{source}", [], {}, [[]], [None], {"": None}, {"kind": "words"}, [0] * 100),
)
"""Values that readers forget."""
NESTED = 3000
"""Depth of a value that is nested too deeply for recursion."""
Edit = Callable[[bytes, random.Random], bytes]


def mutated(name: str, content: bytes, rng: random.Random) -> bytes:
    """Return the content of a file of this name, changed in its own terms where it has some, and else byte by byte."""
    endings = [ending for ending in EDITS if name.endswith(ending)]
    if endings and rng.random() < 0.7:
        with suppress(Exception):  # nothing of its kind any more
            return EDITS[endings[0]](content, rng)
    return _bytes(content, rng)


def _bytes(content: bytes, rng: random.Random) -> bytes:
    """Change, insert, repeat, remove or cut bytes."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at, end = sorted(rng.randrange(len(found) + 1) for _ in range(2))
        end = min(end, at + rng.choice((1, 4, 16, 1 << 20)))
        match rng.randrange(6):
            case 0 if found:
                found[at % len(found)] ^= 1 << rng.randrange(8)
            case 1:
                found[at:at] = rng.choice(
                    (b"\0", b"\n", b"\r", b"\t", b"\xff", b"\xef\xbb\xbf", b"9" * 40, b"[" * NESTED)
                )
            case 2:
                found[at:end] = b""
            case 3:
                found[at:at] = found[at:end] * rng.choice((1, 2, 50))
            case 4:
                found[at:end] = rng.randbytes(min(end - at, 64))
            case _:
                del found[at:]
    return bytes(found[: 1 << 20])


def _value(value: Any, rng: random.Random) -> Any:
    """Change one value inside a table or a list, give it another name, remove it, or repeat it."""
    place, holder = value, None
    key: Any = None
    while isinstance(place, dict | list) and place and (holder is None or rng.random() < 0.8):
        holder = place
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
        place = place[key]
    if holder is None:
        return rng.choice(ODD)
    match rng.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[rng.choice(("", "kind", "a.b", "x" * 300, rng.choice(list(holder))))] = holder.pop(key)
        case 2 if isinstance(holder, list):
            holder += holder[: 1 + key] * rng.choice((1, 20))
        case 3 if type(place) in (int, float):
            holder[key] = rng.choice(
                (-place, place + 1, place - 1, place * 1000, str(place), float(place), place * 10**8)
            )
        case 4 if isinstance(place, str):
            holder[key] = _text(place, rng)
        case 5:
            holder[key] = [place]
        case _:
            holder[key] = rng.choice(ODD)
    return value


def _text(text: str, rng: random.Random) -> str:
    """Change a text."""
    at = rng.randrange(len(text) + 1)
    return (
        text[:at]
        + rng.choice(("", "\0", "\n", "/", "..", "\ud800", "é", " ", "9", text))
        + text[at + rng.randrange(2) :]
    )


def _json(content: bytes, rng: random.Random) -> bytes:
    """Change a value of JSON."""
    return json.dumps(_value(json.loads(content), rng)).encode()


def _json_lines(content: bytes, rng: random.Random) -> bytes:
    """Change a value on a line of JSON."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = _json(lines[at], rng)
    return b"\n".join(lines)


def _yaml(content: bytes, rng: random.Random) -> bytes:
    """Change a value of YAML."""
    return yaml.dump(_value(yaml.safe_load(content), rng), Dumper=yaml.SafeDumper).encode("utf-8", "surrogatepass")


def _tensors(content: bytes, rng: random.Random) -> bytes:
    """Change what the header of a safetensors file says."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.dumps(_value(json.loads(content[8 : 8 + length]), rng)).encode()
    said = rng.choice((len(header), len(header), len(header), len(header), 1 << 40, 0, len(header) + 1))
    return struct.pack("<Q", said) + header + content[8 + length :]


def _archive(content: bytes, rng: random.Random) -> bytes:
    """Change the content or the name of a file in an archive, or leave it out."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(one.filename, archive.read(one)) for one in archive.infolist()]
    at = rng.randrange(len(members))
    name, inside = members[at]
    match rng.randrange(4):
        case 0:
            del members[at]
        case 1:
            members[at] = rng.choice(("../up", "/tmp/up", "x" * 300, name + "/", "", "a\\b", name + ".npy")), inside
        case _:
            members[at] = name, mutated(name, inside, rng)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, inside in members:
            archive.writestr(name, inside)
    return made.getvalue()


EDITS: dict[str, Edit] = {
    ".jsonl": _json_lines,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".safetensors": _tensors,
    ".npz": _archive,
    ".zip": _archive,
}
"""What changes a file, by the end of its name."""
