"""Pages are well formed, whole in themselves, readable without their script, and take words as words."""

import json
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from dragoman.inspection.page import attention_page, attention_view, document
from dragoman.inspection.picture import AttentionPicture

HOSTILE = ["</script><script>alert(1)</script>", "<b>&amp;", '"mèo"', "</style>", "<!--"]
ReadPage = Callable[[str], Any]


def picture(layers: int = 1, heads: int = 1, title: str = "") -> AttentionPicture:
    """Weights of two words by two, a little different in each head."""
    weights = [[[[0.25 * head, 0.125], [0.5, 1 / 3]] for head in range(heads)] for _ in range(layers)]
    return AttentionPicture(["the", "cat"], ["con", "mèo"], weights, title)


def test_the_words_stand_on_the_axes_and_in_the_sentences(read_page: ReadPage) -> None:
    page = read_page(attention_page([picture()]))
    assert page.within("th/span/bdi") == ["the", "cat"]
    assert page.within("th/bdi") == ["con", "mèo"]
    assert page.within("button/bdi") == ["the", "cat", "con", "mèo"]


def test_sentences_are_set_in_the_direction_in_which_they_are_read(read_page: ReadPage) -> None:
    arabic = AttentionPicture(["القطة", "GPT"], ["a", "cat"], [[[[1.0, 0.0], [0.0, 1.0]]]], "القطة GPT  →  a cat")
    page = read_page(attention_page([arabic]))
    assert [attributes["dir"] for _, attributes in page.tags if "dir" in attributes] == ["rtl", "ltr"]
    assert page.within("figcaption/bdi") == ["القطة GPT", "a cat"]


def test_columns_and_rows_are_headed_for_screen_readers(read_page: ReadPage) -> None:
    heads = [attributes["scope"] for tag, attributes in read_page(attention_page([picture()])).tags if tag == "th"]
    assert heads == ["col", "col", "row", "row"]


def test_each_cell_holds_its_mean_weight_as_colour_and_as_number(read_page: ReadPage) -> None:
    page = read_page(attention_page([picture(heads=2)]))
    cells = [attributes["style"] for tag, attributes in page.tags if tag == "td" and "style" in attributes]
    assert cells == ["--w:0.125", "--w:0.125", "--w:0.500", "--w:0.333"]
    assert [text for text in page.words("td") if "." in text] == ["0.12", "0.12", "0.50", "0.33"]


def test_the_script_reads_the_weights_of_every_head_in_thousandths(read_page: ReadPage) -> None:
    weights = [code for code in read_page(attention_page([picture(layers=2, heads=2)])).code if code.startswith("[")]
    heads = [[[0, 125], [500, 333]], [[250, 125], [500, 333]]]
    assert [json.loads(code) for code in weights] == [[heads, heads]]


def test_layers_and_heads_can_be_chosen_where_there_are_several(read_page: ReadPage) -> None:
    page = read_page(attention_page([picture(layers=2, heads=3)]))
    assert [attributes["name"] for tag, attributes in page.tags if tag == "select"] == ["layer", "head"]
    assert page.words("option") == ["mean of 2", "1", "2", "mean of 3", "1", "2", "3"]
    assert "mean of 2 layers, mean of 3 heads" in page.words("span")


def test_one_layer_of_one_head_offers_no_choice(read_page: ReadPage) -> None:
    page = read_page(attention_page([picture()]))
    assert not [tag for tag, _ in page.tags if tag == "select"]
    assert not [text for text in page.words("span") if "mean" in text]


def test_several_pictures_are_chosen_by_sentence(read_page: ReadPage) -> None:
    page = read_page(attention_page([picture(), picture()]))
    assert page.words("option") == ["1. the cat", "2. the cat"]
    assert len([tag for tag, _ in page.tags if tag == "figure"]) == 2


def test_hostile_words_stay_words(read_page: ReadPage) -> None:
    weights = [[[[0.0] * len(HOSTILE)] * len(HOSTILE)]]
    hostile = AttentionPicture(HOSTILE, HOSTILE, weights, "<i>&title</i>")
    page = read_page(attention_page([hostile, hostile], title="</title>&<x>"))
    assert page.within("th/bdi") == HOSTILE * 2
    assert page.within("th/span/bdi") == HOSTILE * 2
    assert page.within("button/bdi") == HOSTILE * 4
    assert page.within("figcaption/bdi") == ["<i>&title</i>"] * 2
    assert page.words("title") == page.words("h1") == ["</title>&<x>"]
    assert page.words("option")[0] == "1. " + " ".join(HOSTILE)
    assert not {tag for tag, _ in page.tags} & {"b", "i", "x"}
    assert not [code for code in page.code if "alert" in code]


def test_a_page_loads_nothing(read_page: ReadPage) -> None:
    content = attention_page([picture(layers=2, heads=2)])
    page = read_page(content)
    assert "http://" not in content
    assert "https://" not in content
    assert not [code for code in page.code if re.search(r"url\(|@import|fetch|XMLHttpRequest|import\(", code)]
    assert not [name for _, attributes in page.tags for name in attributes if name in ("src", "href", "onclick")]
    policies = [attributes["content"] for _, attributes in page.tags if "http-equiv" in attributes]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"]


def test_what_only_the_script_can_serve_is_hidden_without_it(read_page: ReadPage) -> None:
    page = read_page(attention_page([picture(layers=2, heads=2), picture()]))
    for name in ("controls", "overview", "sentences", "chooser"):
        assert all("hidden" in attributes for _, attributes in page.tags if attributes.get("class") == name)


def test_the_script_looks_only_for_what_the_page_has() -> None:
    content = attention_page([picture(layers=2, heads=2), picture()])
    script = (files("dragoman.inspection") / "page.js").read_text(encoding="utf-8")
    body = content[content.index("<body>") : content.rindex("<script>")]
    sought = {
        name
        for text in re.findall(r'querySelector(?:All)?\("([^"]*)"\)', script)
        for name in re.findall(r"\.(\w+)", text)
    }
    assert {"chooser", "overview", "shown", "controls", "sentences"} <= sought
    for name in sought - {"on"}:
        assert re.search(rf'class="{name}"', body), name


@pytest.mark.parametrize(("word", "upright"), [("short", True), ("longer", False)])
def test_long_source_words_are_written_upwards(word: str, *, upright: bool) -> None:
    view = attention_view([AttentionPicture(["a", word], ["b"], [[[[1.0, 0.0]]]])])
    assert ('class="matrix upright"' in view) is upright


def test_a_document_is_complete(read_page: ReadPage) -> None:
    page = read_page(document("A title", "<p>body</p>"))
    assert page.words("p") == ["body"]
    assert ("meta", {"charset": "utf-8"}) in page.tags
    assert ("html", {"lang": "en"}) in page.tags
    assert ("meta", {"name": "color-scheme", "content": "light dark"}) in page.tags
