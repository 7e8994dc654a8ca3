"""A few sentence pairs, and text files of them, for commands that read files."""

from pathlib import Path

SOURCES = ["I love cats.", "", "This is a book."]
TARGETS = ["Tôi yêu mèo.", "", "Đây là một quyển sách."]


def lines(path: Path, sentences: list[str]) -> Path:
    """Write a text file."""
    path.write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    return path
