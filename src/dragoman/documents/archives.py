"""Zip files with a document in them: their parts are read within limits, and written again in their order."""

import io
import re
import zipfile
import zlib
from collections.abc import Sequence

from dragoman.errors import InputError

LARGEST = 512 << 20
"""Number of bytes in all parts beyond which a file is refused, unless it is said otherwise."""

TEXT = 4
"""One part in so many of it may be text, whose elements take about sixty times as much memory."""

MOST_PARTS = 20_000
"""Number of parts beyond which a file is refused."""

Entry = tuple[zipfile.ZipInfo, bytes]
"""What a zip file says of a part, and the part."""


def entries(content: bytes, where: str, texts: re.Pattern[str], *, largest: int | None = None) -> list[Entry]:
    """Return the parts of a zip file, those whose names match `texts` as text.

    InputError if it is none, or has more in it than a document has, which is `largest` bytes, or `LARGEST`.
    """
    spoilt = f"{where} is not a readable zip file, as such documents are; save it again with the program it is from"
    limit = LARGEST if largest is None else largest
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            size = sum(info.file_size for info in infos)
            text = sum(info.file_size for info in infos if texts.fullmatch(info.filename))
            if len(infos) > MOST_PARTS or size > limit or text > limit // TEXT:
                raise InputError(
                    f"{where} has more than {limit >> 20} MiB, {limit // TEXT >> 20} MiB of text, or {MOST_PARTS:,} parts "
                    "in it; divide it"
                )
            if len(set(names)) < len(names) or any(info.flag_bits & 1 for info in infos):
                raise InputError(f"{where} is encrypted or has two parts of one name; save it again without a password")
            return [(info, _inside(archive, info, spoilt)) for info in infos]
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError):
        raise InputError(spoilt) from None


def zipped_again(parts: Sequence[Entry], contents: Sequence[bytes]) -> bytes:
    """Return a zip file of the same parts in the same order, with these contents."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for (info, _), inside in zip(parts, contents, strict=True):
            copied = zipfile.ZipInfo(info.filename, info.date_time)
            copied.compress_type, copied.external_attr = info.compress_type, info.external_attr
            archive.writestr(copied, inside)
    return out.getvalue()


def _inside(archive: zipfile.ZipFile, info: zipfile.ZipInfo, spoilt: str) -> bytes:
    """Return a part, which must not be longer than it says."""
    with archive.open(info) as stream:
        inside = stream.read(info.file_size + 1)
    if len(inside) != info.file_size:
        raise InputError(spoilt)
    return inside
