"""Pictures into files."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.errors import InputError
from dragoman.inspection.rendering import render, write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure() -> "Figure":
    """Draw a word."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(1, 1))
    drawn.text(0.1, 0.5, "Thứ Bảy")
    return drawn


@pytest.mark.parametrize(("suffix", "begin"), [(".png", b"\x89PNG"), (".SVG", b"<?xml"), (".html", b"<page>")])
def test_the_suffix_says_how_a_picture_is_written(tmp_path: Path, suffix: str, begin: bytes) -> None:
    path = tmp_path / f"picture{suffix}"
    write_picture(path, "Thứ Bảy", page=lambda: "<page>", figure=figure)
    assert path.read_bytes().startswith(begin)


def test_another_suffix_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`\.jpg`.*\.png.*\.svg.*\.html"):
        write_picture(tmp_path / "picture.jpg", "", page=str, figure=figure)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_same_picture_has_the_same_bytes(kind: str) -> None:
    assert render(figure, "Thứ Bảy", kind) == render(figure, "Thứ Bảy", kind)


def test_words_of_an_svg_stay_words() -> None:
    assert "Thứ Bảy" in render(figure, "Thứ Bảy", "svg").decode()
