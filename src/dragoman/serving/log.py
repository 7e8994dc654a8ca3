"""The log of a service: one line for each request, without anyone's text unless that is asked for."""

import json
import sys
import time
import traceback
from dataclasses import dataclass
from typing import Any, Literal

from dragoman.errors import DragomanError


@dataclass(frozen=True)
class Log:
    """Writes lines on standard error."""

    form: Literal["json", "text"] = "json"

    def write(self, event: str, **facts: Any) -> None:
        """Write one line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if self.form == "json":
            line = json.dumps({"time": moment, "event": event, **facts}, ensure_ascii=False)
        else:
            line = " ".join([moment, event, *(f"{name}={value}" for name, value in facts.items())])
        print(line, file=sys.stderr, flush=True)

    def fault(self, error: BaseException, **facts: Any) -> None:
        """Write where an error that is nobody's mistake arose.

        The words of a bug may quote a text, so only its kind is written, and that of its cause. The cause of a DragomanError,
        such as a database that cannot be reached, is written in full: the caller is not told.
        """
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
        cause = "" if error.__cause__ is None else type(error.__cause__).__name__
        if cause and isinstance(error, DragomanError):
            cause += f": {error.__cause__}"
        self.write("fault", kind=type(error).__name__, places=places, cause=cause, **facts)
