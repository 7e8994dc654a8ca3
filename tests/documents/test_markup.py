"""Markup is cut without loss, and files that would do harm are refused."""

import pytest

from dragoman.documents.markup import attribute, decode_xml, encode_xml, tokens, tree, with_attribute
from dragoman.errors import InputError

XML = '<?xml version="1.0"?><!-- <a> --><r a="x>y"><b/>t &amp; <![CDATA[<z>]]><c >d</c ></r>\n'


def test_a_tree_is_written_as_it_was_read():
    assert tree(XML).raw() == XML
    assert "".join(token.raw for token in tokens(XML)) == XML


def test_soup_is_cut_without_loss():
    soup = "a < b <p class='x>y'>c<br><script>if (a<b) '</p>'</script><i>&nbsp;<!-- never ended"
    assert "".join(token.raw for token in tokens(soup, is_html=True)) == soup


@pytest.mark.parametrize("begun", ["<![CDATA[", "<?php ", "<!a "])
def test_many_beginnings_without_an_end_are_text(begun: str):
    markup = "<![CDATA[1]]><?2?><!A 3><p>" + begun * 100_000
    raws = [token.raw for token in tokens(markup, is_html=True)]
    assert raws == ["<![CDATA[1]]>", "<?2?>", "<!A 3>", "<p>", begun * 100_000]


def test_attributes_are_read_and_written():
    assert attribute("<a b='1 &amp; 2' c=3>", "b") == "1 & 2"
    assert attribute("<a b='1'>", "c") is None
    assert with_attribute("<a c=3>", "c", 'x"y') == '<a c="x&quot;y">'


def test_encodings_are_kept():
    content = '<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>'.encode("latin-1")
    text, encoding = decode_xml(content, "it")
    assert encode_xml(text, encoding) == content
    assert encode_xml(text.replace("é", "ệ"), encoding).endswith(b"<a>&#7879;</a>")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<a><b></a>", "not well-formed"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "declares entities"),
        (b"<a>" * 500 + b"</a>" * 500, "inside one another"),
    ],
)
def test_harmful_xml_is_refused(content: bytes, words: str):
    with pytest.raises(InputError, match=words):
        decode_xml(content, "it")
