"""Parts of documentation pages that benchmarks write."""

from pathlib import Path

from dragoman.atomic import write_text


def replace_between(page: Path, marks: tuple[str, str], text: str) -> None:
    """Replace what a page has between two marks; SystemExit if it lacks them."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise SystemExit(f"{page} has no {marks[0]} and {marks[1]} to write between")
    write_text(page, f"{before}{begin}\n\n{text}\n\n{end}{after}")
