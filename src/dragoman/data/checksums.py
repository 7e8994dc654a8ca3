"""Checksums of files, cached as long as size and times of change stay the same."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from dragoman.atomic import write_text
from dragoman.data.lines import no_file, not_a_file
from dragoman.errors import CorpusError
from dragoman.json_files import load_json, parse_json
from dragoman.regular_files import NotAFileError, open_file

LARGEST_HEADER = 100_000_000
"""Maximum bytes of the header of a weights file, as the library safetensors has it."""


class Checksums:
    """SHA-256 of files; `memory` is a JSON file that keeps them between runs, if one is given."""

    def __init__(self, memory: Path | None = None) -> None:
        self._memory = memory
        self._known: dict[str, list[int | str]] = {}
        if memory is not None:
            with suppress(OSError, ValueError, AttributeError):
                table = load_json(memory).items()
                self._known = {path: entry for path, entry in table if isinstance(entry, list) and len(entry) == 4}

    def of(self, path: Path) -> str:
        """Return the checksum of a file. Raises CorpusError if it cannot be read."""
        try:
            status = path.stat()
            known = self._known.get(str(path.resolve()))
            # Programs that unpack or copy set the time of modification (mtime), but nobody sets that of change (ctime).
            signs = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
            if known is None or known[:3] != signs:
                known = [*signs, file_checksum(path)]
                self._known[str(path.resolve())] = known
        except FileNotFoundError:
            raise no_file(path) from None
        except IsADirectoryError:
            raise CorpusError(f"{path} is a directory; give the path of a file") from None
        except NotAFileError:
            raise not_a_file(path) from None
        except OSError as error:
            advice = "check its permissions" if isinstance(error, PermissionError) else "check its path"
            raise CorpusError(f"{path} cannot be read ({error.strerror}); {advice}") from None
        return str(known[3])

    def save(self) -> None:
        """Write the cache atomically; if the folder is not writable, only time is lost."""
        if self._memory is None:
            return
        with suppress(OSError):
            write_text(self._memory, json.dumps(self._known, indent=0) + "\n")


def file_checksum(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with open_file(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def weights_digest(path: Path) -> str | None:
    """Return the checksum in the header of a weights file; None if it has none."""
    try:
        with open_file(path) as file:
            length = int.from_bytes(file.read(8), "little")
            head = parse_json(file.read(length if length <= LARGEST_HEADER else 0))
        return str(head["__metadata__"]["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
