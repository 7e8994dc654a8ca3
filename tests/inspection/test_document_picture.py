"""The picture of a document shows every word, its shade and the weight of its sentence, and is safe against its text."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dragoman.errors import InputError
from dragoman.inspection.document_picture import DocumentPicture, draw_document

PICTURE = DocumentPicture(
    [["<b>Good", "&", "cheap."], ["Đi!"]], [[0.6, 0.1, 0.3], [1.0]], [0.75, 0.25], [("good", 0.9), ("<bad>", 0.1)]
)


def test_words_are_shaded_by_their_weight_times_the_root_of_their_sentence_s():
    shades = PICTURE.shades
    assert shades[0] == pytest.approx([1.0, 1 / 6, 0.5])
    assert shades[0][0] / shades[1][0] == pytest.approx(0.6 * 0.75**0.5 / 0.25**0.5)
    assert max(shade for row in shades for shade in row) == 1.0


def test_the_page_holds_words_and_weights_and_runs_none_of_the_text(tmp_path: Path):
    draw_document(PICTURE, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    words = re.findall(r'<span class="word" style="--w:([\d.]+)" title="([\d.]+)"><bdi>(.*?)</bdi>', page)
    assert [(title, word) for _, title, word in words] == [
        ("0.600", "&lt;b&gt;Good"),
        ("0.100", "&amp;"),
        ("0.300", "cheap."),
        ("1.000", "Đi!"),
    ]
    assert [float(shade) for shade, _, _ in words] == pytest.approx(
        [shade for row in PICTURE.shades for shade in row], abs=1e-3
    )
    assert re.findall(r'class="number">([\d.]+)', page) == ["0.75", "0.25"]
    assert "<title>good 0.90, &lt;bad&gt; 0.10</title>" in page
    assert "<b>" not in page and "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")


def test_an_svg_holds_every_word_inside_its_borders(tmp_path: Path):
    long = DocumentPicture([["word"] * 60], [[1 / 60] * 60], [1.0], [("a", 1.0)])
    for picture, words in ((PICTURE, ["<b>Good", "&", "cheap.", "Đi!"]), (long, ["word"] * 60)):
        draw_document(picture, tmp_path / "a.svg")
        root = ElementTree.parse(tmp_path / "a.svg").getroot()
        texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert [text for text in texts if text in words] == words
        width, height = (float(root.attrib[name].removesuffix("pt")) for name in ("width", "height"))
        for node in root.iter("{http://www.w3.org/2000/svg}text"):
            assert 0 < float(node.attrib["x"]) < width - 20 and 5 < float(node.attrib["y"]) < height - 5


def test_a_word_longer_than_a_line_is_elided(tmp_path: Path):
    word = "hundred" * 40
    draw_document(DocumentPicture([["A", word, "word."]], [[0.2, 0.5, 0.3]], [1.0], [("a", 1.0)]), tmp_path / "a.svg")
    texts = [node.text or "" for node in ElementTree.parse(tmp_path / "a.svg").iter("{http://www.w3.org/2000/svg}text")]
    (shown,) = [text for text in texts if text.startswith("hundred")]
    assert len(shown) < 80 and "…" in shown


def test_labels_too_long_for_one_line_have_a_line_each(tmp_path: Path):
    names = ["Kinh tế, tài chính và ngân hàng", "Văn hoá, nghệ thuật và điện ảnh", "word" * 40]
    for labels, lines in ((names, 3), (["good", "bad"], 1)):
        picture = DocumentPicture([["A"], ["B"]], [[1.0], [1.0]], [0.5, 0.5], [(label, 0.3) for label in labels])
        draw_document(picture, tmp_path / "a.svg")
        nodes = list(ElementTree.parse(tmp_path / "a.svg").iter("{http://www.w3.org/2000/svg}text"))
        above = [node for node in nodes if (node.text or "").endswith(" 0.30")]
        assert len(above) == len({node.attrib["y"] for node in above}) == lines
        assert all(len(node.text or "") < 70 for node in above)
        below = [float(node.attrib["y"]) for node in nodes if node.text in ("A", "B")]
        assert max(float(node.attrib["y"]) for node in above) < min(below) - 10


def test_the_same_picture_gives_the_same_bytes(tmp_path: Path):
    for name in ("a.png", "b.png"):
        draw_document(PICTURE, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_what_cannot_be_drawn_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"ends in `\.gif`"):
        draw_document(PICTURE, tmp_path / "a.gif")
    for sentences, words, weights in (([], [], []), ([["a"]], [[1.0]], []), ([["a", "b"]], [[1.0]], [1.0])):
        with pytest.raises(InputError, match="needs a weight for each sentence and each word"):
            DocumentPicture(sentences, words, weights, [])
