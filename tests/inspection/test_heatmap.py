"""Heat maps are real files, hold the words, and refuse what cannot be drawn."""

import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib.font_manager import findfont, fontManager, get_font

from dragoman.errors import InputError
from dragoman.inspection import heatmap
from dragoman.inspection.heatmap import draw
from dragoman.inspection.picture import AttentionPicture

SOURCE, TARGET = ["the", "<cat>", "&", "$x$"], ["con", "mèo", "ngủ"]


def picture(layers: int = 1, heads: int = 1) -> AttentionPicture:
    """Weights that differ in every cell."""
    matrix = [[(row * 4 + column) / 12 for column in range(4)] for row in range(3)]
    return AttentionPicture(SOURCE, TARGET, [[matrix] * heads] * layers, "“Hai con mèo” & <one>")


def size_of(path: Path) -> tuple[int, int]:
    """Read width and height from a PNG's header."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def texts_of(path: Path) -> list[str]:
    """Read the words of an SVG."""
    elements = ElementTree.fromstring(path.read_text(encoding="utf-8")).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(element.itertext()) for element in elements]


def test_a_png_is_written(tmp_path: Path) -> None:
    draw(picture(), tmp_path / "picture.png")
    width, height = size_of(tmp_path / "picture.png")
    assert 300 < width < 1000
    assert 200 < height < 1000


def test_an_svg_holds_each_word_as_text(tmp_path: Path) -> None:
    draw(picture(), tmp_path / "picture.svg")
    texts = texts_of(tmp_path / "picture.svg")
    assert [text for text in texts if text in SOURCE] == SOURCE
    assert [text for text in texts if text in TARGET] == TARGET
    assert "“Hai con mèo” & <one>" in texts


def test_a_title_reads_from_left_to_right_whatever_its_letters(tmp_path: Path) -> None:
    draw(AttentionPicture(["ab"], ["cd"], [[[[1.0]]]], "\u05e9\u05dc \u2192 cd"), tmp_path / "picture.svg")
    assert "\u200e\u05e9\u05dc \u2192 cd" in texts_of(tmp_path / "picture.svg")


def test_rows_are_target_words_and_columns_are_source_words(tmp_path: Path) -> None:
    draw(picture(), tmp_path / "picture.svg")
    root = ElementTree.fromstring((tmp_path / "picture.svg").read_text(encoding="utf-8"))
    identities = {element.get("id"): "".join(element.itertext()).split() for element in root.iter()}
    words = {name: text[0] for name, text in identities.items() if name and "tick_" in name and text}
    assert [word for name, word in words.items() if name.startswith("xtick")][:4] == SOURCE
    assert [word for name, word in words.items() if name.startswith("ytick")][:3] == TARGET


def test_the_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    draw(picture(), tmp_path / "PICTURE.SVG")
    assert "mèo" in texts_of(tmp_path / "PICTURE.SVG")


def test_the_same_picture_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg", "a.png", "b.png"):
        draw(picture(), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()


def test_heads_and_layers_make_a_grid_that_names_each(tmp_path: Path) -> None:
    draw(picture(layers=2, heads=3), tmp_path / "grid.svg")
    texts = texts_of(tmp_path / "grid.svg")
    for layer in (1, 2):
        for head in (1, 2, 3):
            assert f"layer {layer}, head {head}" in texts
    assert texts.count("con") == 2
    assert texts.count("the") == 3


def test_one_head_alone_is_not_named(tmp_path: Path) -> None:
    draw(picture(), tmp_path / "one.svg")
    assert not [text for text in texts_of(tmp_path / "one.svg") if "layer" in text]


@pytest.mark.parametrize("words", [1, 80])
def test_the_smallest_and_long_sentences_stay_within_limits(words: int, tmp_path: Path) -> None:
    weights = [[[[1 / words] * words] * words]]
    names = [f"word{number}" for number in range(words)]
    draw(AttentionPicture(names, names, weights), tmp_path / "picture.png")
    width, height = size_of(tmp_path / "picture.png")
    assert min(width, height) > 250
    assert max(width, height) < 4000


@pytest.mark.parametrize(("word", "turned"), [("a", 0), ("considerably", 2)])
def test_short_words_stand_level_and_long_ones_upwards(word: str, turned: int, tmp_path: Path) -> None:
    draw(AttentionPicture([word, word], ["b"], [[[[1.0, 0.0]]]]), tmp_path / "picture.svg")
    content = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert len(re.findall(rf"rotate\(-90\b[^>]*>{word}<", content)) == turned


def test_dollars_are_not_mathematics(tmp_path: Path) -> None:
    draw(AttentionPicture(["$5$", "\\alpha"], ["$^$"], [[[[1.0, 0.0]]]], "$_$"), tmp_path / "picture.svg")
    assert {"$5$", "\\alpha", "$^$", "$_$"} <= set(texts_of(tmp_path / "picture.svg"))
    title = "Save 10% of $5 or 20% of $9, in $HOME/my_dir # and $PATH, for x^$ or $x^$ at least"
    for suffix in ("svg", "png"):
        draw(AttentionPicture(["a"], ["b"], [[[[1.0]]]], title), tmp_path / f"long.{suffix}")
    assert "Save 10% of $5" in " ".join(texts_of(tmp_path / "long.svg"))


def test_a_title_of_wide_letters_stays_within_the_picture() -> None:
    words = ["www.example.com"] * 8
    figure = heatmap._figure(AttentionPicture(words, words, [[[[1 / 8] * 8] * 8]], "morning women " * 20))
    figure.draw_without_rendering()
    title = figure._suptitle
    assert title is not None
    assert title.get_window_extent().x0 >= 0 and title.get_window_extent().x1 <= figure.bbox.width


def test_letters_that_no_font_has_are_refused_for_a_png_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fonts = [font for font in fontManager.ttflist if font.name.startswith(("DejaVu Sans", "Last Resort"))]
    monkeypatch.setattr(fontManager, "ttflist", fonts)
    cat = AttentionPicture(["猫"], ["cat"], [[[[1.0]]]])
    with pytest.raises(InputError, match=r"no font .* 猫 \(U\+732B\).*\.svg or \.html"):
        draw(cat, tmp_path / "picture.png")
    draw(cat, tmp_path / "picture.svg")
    assert "猫" in texts_of(tmp_path / "picture.svg")


def test_letters_that_the_font_lacks_come_from_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fonts = [font for font in fontManager.ttflist if font.name == "STIXGeneral" and font.style == "normal"]
    letters = set(get_font(fonts[0].fname).get_charmap()) - set(get_font(findfont("DejaVu Sans")).get_charmap())
    letter = next(chr(code) for code in sorted(letters) if chr(code).isprintable())
    monkeypatch.setattr(fontManager, "ttflist", fonts)
    draw(AttentionPicture([letter], ["cat"], [[[[1.0]]]]), tmp_path / "picture.png")
    assert size_of(tmp_path / "picture.png") > (0, 0)


def test_html_shows_the_same_words(tmp_path: Path, read_page: Callable[[str], Any]) -> None:
    draw(picture(), tmp_path / "picture.html")
    page = read_page((tmp_path / "picture.html").read_text(encoding="utf-8"))
    assert page.within("th/bdi") == TARGET
    assert page.within("th/span/bdi") == SOURCE


@pytest.mark.parametrize(("name", "suffix"), [("picture.jpg", ".jpg"), ("picture", "")])
def test_another_suffix_is_refused_with_the_three_that_are_known(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / name
    sentence = f"{path} ends in `{suffix}`, but pictures are written as .png, .svg or .html; name one of them"
    with pytest.raises(InputError, match=re.escape(sentence)):
        draw(picture(), path)
    assert not path.exists()


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_word_of_thousands_of_letters_is_drawn_without_its_middle(tmp_path: Path, suffix: str) -> None:
    long = "a" * 4999 + "b"
    path = tmp_path / f"picture.{suffix}"
    draw(AttentionPicture([long, "cat"], ["mèo"], [[[[0.5, 0.5]]]], title=f"{long} cat → mèo"), path)
    if suffix == "png":
        assert max(size_of(path)) < 4000
    else:
        assert f"{'a' * 30}…{'a' * 29}b" in texts_of(path)
