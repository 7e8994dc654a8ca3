"""HTML is translated between its tags."""

from dragoman.documents.hypertext import HypertextDocument
from dragoman.documents.segments import Segment
from dragoman.documents.sentences import sentences

PAGE = (
    '<!DOCTYPE html>\n<p title="A tip">Hi <b>you</b> &amp; me<br>x<img alt="Cat">\n<p translate="no">Keep</p>'
    "<pre>Kept</pre><td>A <code>x y</code>"
)


def test_text_attributes_and_nothing_else_are_segments():
    assert [one.text for one in HypertextDocument(PAGE).segments] == ["A tip", "Cat", "Hi you & mex\n", "A "]


def test_a_translated_page_keeps_its_form():
    document = HypertextDocument(PAGE)
    assert document.text([None] * 4) == PAGE
    upper = [Segment(one.text.upper(), one.spans) for one in document.segments]
    assert document.text(upper) == (
        '<!DOCTYPE html>\n<p title="A TIP">HI <b>YOU</b> &amp; ME<br>X<img alt="CAT">\n<p translate="no">Keep</p>'
        "<pre>Kept</pre><td>A <code>x y</code>"
    )


def test_named_no_break_spaces_stay_named():
    document = HypertextDocument("<p>a&nbsp;b")
    assert document.text([Segment("c\u00a0<d")]) == "<p>c&nbsp;&lt;d"


def test_text_within_another_attribute_is_not_one():
    page = """<a data-x="<img src='c.png' alt='A cat'>" title="say alt = foo">x</a><input ALT = y>"""
    document = HypertextDocument(page)
    assert [one.text for one in document.segments] == ["say alt = foo", "y", "x"]
    upper = [Segment(one.text.upper(), one.spans) for one in document.segments]
    expected = page.replace("say alt = foo", "SAY ALT = FOO").replace(">x<", ">X<").replace("ALT = y", 'ALT = "Y"')
    assert document.text(upper) == expected


def test_links_labels_and_fields_side_by_side_are_sentences_of_their_own():
    page = '<a href="/">Home</a><a>about</a><p><label>Name</label><input> <label>Age</label><input></p>'
    for text, expected in (
        (page, ["Home", "about", "Name", "Age"]),
        ("<span>Price</span><span>10 USD</span>", ["Price", "10 USD"]),
        ("<span>un</span><span>believable</span>", ["unbelievable"]),
        ("<p>Tick <input> here</p>", ["Tick  here"]),
        ("<b>Hel</b><b>Lo</b>", ["HelLo"]),
    ):
        document = HypertextDocument(text)
        found = [one.text[a:b] for one in document.segments for a, b in sentences(one.text, one.breaks)]
        assert found == expected
        assert document.text([Segment(one.text, one.spans) for one in document.segments]) == text


def test_readings_above_signs_are_not_part_of_the_text():
    document = HypertextDocument("<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字</ruby> one")
    assert [one.text for one in document.segments] == ["漢字 one"]


def test_what_asks_not_to_be_translated_stays():
    page = (
        '<p>Open <b class="brand notranslate">Red House</b> now<p class=notranslate>One</p>'
        '<img alt="Two" translate="NO"/><div TRANSLATE=no>Three <i>four</i></div><span class="notranslated">five</span>'
    )
    document = HypertextDocument(page)
    assert [one.text for one in document.segments] == ["Open  now", "five"]
    unclosed = "<p class=notranslate>One <i>two</i><p>three</p><ul><li>four<li translate=no>five</ul>six"
    assert [one.text for one in HypertextDocument(unclosed).segments] == ["three", "four", "six"]
    assert "Red House" in document.text([Segment(one.text.upper(), one.spans) for one in document.segments])


def test_a_translated_page_names_its_language():
    page = '<html lang="en-US" xml:lang=en class="a"><p>one <i lang="la">two</i></html>'
    document = HypertextDocument(page, "vie_Latn")
    same = [Segment(one.text, one.spans) for one in document.segments]
    assert document.text(same) == page.replace('"en-US" xml:lang=en', '"vi" xml:lang="vi"')
    assert document.text([None] * len(same)) == page
    for as_it_was in ('<html lang="vi-VN"><p>one', "<html><p>one", "<p>one"):
        document = HypertextDocument(as_it_was, "vi")
        assert document.text([Segment("one")]) == as_it_was


def test_what_stays_ends_where_html_ends_an_element_without_end_tag():
    page = (
        "<p class=notranslate>Kept<ul><li>one</ul><dl><dt translate=no>Kept<dd>two</dl><p translate=no>Kept<hr/>three"
        "<table><tr><td translate=no>Kept<th>four<tr translate=no><td>Kept<tbody><tr><td>five</table>"
        "<ul><li translate=no>Kept<p>Kept<ul><li>Kept</ul><li>six</ul><select><option translate=no>Kept<optgroup>"
    )
    texts = [one.text for one in HypertextDocument(page).segments]
    assert texts == ["one", "two", "three", "four", "five", "six"]


def test_many_elements_without_end_tags_are_read():
    many = 30_000
    page = "<code>x" * many + "<p class=notranslate>Kept<p>one" * many
    assert len(HypertextDocument(page).segments) == many + 1
