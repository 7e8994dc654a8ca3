"""The child's end of the conversation: one JSON object a line in, one a line out.

A peer is an object whose methods are named after what can be asked, such as `load` and `steps`; each takes the message and
returns the answer. This file is run by the Python of the peer's own environment, so it needs the standard library alone.
"""

import json
import os
import sys
import traceback
from typing import Any

Message = dict[str, Any]


def serve(peer: Any) -> None:
    """Answer until asked to close. What libraries print to standard output goes to standard error, which is a log file."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        message = json.loads(line)
        if message["do"] == "close":
            break
        try:
            answer = getattr(peer, message["do"])(message)
            answer.setdefault("memory", memory())
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {str(error).strip()[:300]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    getattr(peer, "close", lambda: None)()


def memory(process: int | str = "self") -> int | None:
    """Return the most bytes of main memory that a process has had, by default this one; None where the system does not say.

    Not from `getrusage`, whose number a child inherits from the process that started it.
    """
    try:
        with open(f"/proc/{process}/status", encoding="utf-8") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return None
    return int(line.split()[1]) * 1024


def versions(*names: str) -> dict[str, str]:
    """Return the versions of installed packages."""
    from importlib.metadata import version

    return {name: version(name) for name in names}
