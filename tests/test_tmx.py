"""Translation memories in TMX are read as a stream, without their tags."""

from itertools import islice, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.tmx import DEEPEST, Unit, read_units

HEAD = '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header srclang="en"/><body>\n'
TAIL = "</body></tmx>\n"


def unit(**texts: str) -> str:
    """Return a unit, in which `_` in a language stands for a hyphen."""
    inside = "".join(f'<tuv xml:lang="{tag.replace("_", "-")}"><seg>{text}</seg></tuv>' for tag, text in texts.items())
    return f"<tu>{inside}</tu>\n"


def read(*units: str) -> list[Unit]:
    """Read a file of units."""
    return list(read_units([(HEAD + "".join(units) + TAIL).encode()]))


def test_units_have_their_lines_and_languages():
    assert read(unit(en="One.", vi_VN="Một."), unit(EN_us="Two.")) == [
        Unit(3, {"en": "One.", "vi-vn": "Một."}),
        Unit(4, {"en-us": "Two."}),
    ]


def test_the_language_of_older_files_is_read():
    assert read('<tu><tuv lang="FR"><seg>Un</seg></tuv></tu>')[0].texts == {"fr": "Un"}


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("The <hi>red <hi>old</hi></hi> house", "The red old house"),
        ('A<bpt i="1">&lt;b></bpt>B<ept i="1">&lt;/b></ept>', "AB"),
        ("A<ph>code<sub>text of a <hi>code</hi></sub></ph> B", "A B"),
        ("a &amp; b &#233; <![CDATA[<c>]]>", "a & b é <c>"),
        ("a&nbsp;b&unknown;", "a b&unknown;"),
        ("  on two\n   lines ", "on two lines"),
        ("", ""),
    ],
)
def test_segments_lose_their_tags(inside: str, text: str):
    assert read(unit(en=inside))[0].texts == {"en": text}


@given(size=st.integers(1, 40), encoding=st.sampled_from(["utf-8", "utf-16"]))
def test_pieces_may_end_anywhere(size: int, encoding: str):
    units = [unit(en="<hi>Nước</hi> 🙂 &amp;", fr="x") for _ in range(3)]
    head = HEAD.replace('"1.0"', f'"1.0" encoding="{encoding}"')
    content = (head + "".join(units) + TAIL).encode(encoding)
    assert list(read_units(content[at : at + size] for at in range(0, len(content), size))) == read(*units)


def test_endless_files_are_read_in_bounded_memory():
    endless = (piece.encode() for piece in [HEAD, *repeat(unit(en="a", vi="b"), 10_000)])
    assert len(list(islice(read_units(endless), 9_000))) == 9_000


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (("en", "vi"), ("colour", "màu")),
        (("en_US", "VI-vn"), ("color", "màu")),
        (("en-US", "en-GB"), ("color", "colour")),
        (("en-AU", "vi"), ("colour", "màu")),
        (("vi", "vi-VN"), None),
        (("en", "fr"), None),
    ],
)
def test_a_region_decides_where_there_are_several(languages: tuple[str, str], pair: tuple[str, str] | None):
    (found,) = read(unit(en_GB="colour", en_US="color", vi="màu"))
    assert found.pair(*languages) == pair


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<html></html>", "begins with <html> and is not a TMX file"),
        ("plain text", r"is not well-formed XML \(line 1: "),
        (HEAD + unit(en="a"), r"is not well-formed XML \(line 4: no element found\); save it again"),
        (HEAD + "<tu></body>" + TAIL, r"line 3: mismatched tag"),
        ('<!DOCTYPE tmx [<!ENTITY a "aaaa">]><tmx>&a;</tmx>', "declares entities"),
        ("<tmx>" + "<a>" * DEEPEST, "inside one another"),
        (HEAD + unit(en="a" * (1 << 24) + "b") + TAIL, r"a unit of more than 16 million characters \(line 3\)"),
    ],
)
def test_what_is_no_tmx_file_is_refused(content: str, message: str):
    with pytest.raises(ValueError, match=message):
        list(read_units([content.encode()]))


@pytest.mark.parametrize("begin", ["<!-- ", "<tu a='", "<?x "])
def test_a_tag_without_an_end_is_refused_before_it_takes_time(begin: str):
    pieces = iter([f"<tmx>\n{begin}".encode(), *[b"a" * (1 << 18)] * 1000])
    with pytest.raises(ValueError, match=r"a tag or a comment of more than 4 MiB \(line 2\); remove it"):
        list(read_units(pieces))
    assert len(list(pieces)) == 1000 - 16


def test_a_long_comment_is_no_fault():
    comment = f"<!-- {'a' * (1 << 21)} -->\n"
    assert [one.texts for one in read(comment, unit(en="a"), comment, comment, unit(en="b"))] == [
        {"en": "a"},
        {"en": "b"},
    ]
