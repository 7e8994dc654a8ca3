"""Tags come through a translation: all of them, nested, at the words they were around."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.documents.alignment import align
from dragoman.serving.interface import Answer, Sentence
from dragoman.serving.markup import TagRules, alignment_of, read_markup
from dragoman.serving.tags import is_nested, tags_of

XML, HTML = TagRules(), TagRules(is_html=True)


def turned(text: str) -> str:
    """Translate by turning the words around, in capitals."""
    return " ".join(reversed(text.upper().split()))


def translated(markup: str, rules: TagRules, *, links: bool = True) -> str:
    marked = read_markup(markup, rules)
    alignments = []
    for text in marked.texts:
        count = len(text.split())
        alignments.append(align(text, turned(text), {(i, count - 1 - i) for i in range(count)} if links else None))
    return marked.written(alignments).text


@pytest.mark.parametrize(
    ("markup", "rules", "result"),
    [
        ("one <b>two</b> three", HTML, "THREE <b>TWO</b> ONE"),
        ("<p>one <b>two</b></p>\n <p>three</p>", HTML, "<p><b>TWO</b> ONE</p>\n <p>THREE</p>"),
        ("<p>\n  one\n  two\n</p>", HTML, "<p>\n  TWO ONE\n</p>"),
        ("Open <code>a b</code> now", HTML, "NOW <code>a b</code> OPEN"),
        ('<h1>x y</h1><p translate="no">x y</p>', HTML, '<h1>Y X</h1><p translate="no">x y</p>'),
        ("<p class='a notranslate'>x y</p>z w", HTML, "<p class='a notranslate'>x y</p>W Z"),
        (
            "<!DOCTYPE html>\n<title>x y</title><script>a b</script>",
            HTML,
            "<!DOCTYPE html>\n<title>Y X</title><script>a b</script>",
        ),
        ("R&amp;D &lt; x", HTML, "X &lt; R&amp;D"),
        ('<p data-translate="no">x y</p>', HTML, '<p data-translate="no">Y X</p>'),
        (
            '<a href="/?translate=no" data-class="notranslate">x y</a>',
            HTML,
            '<a href="/?translate=no" data-class="notranslate">Y X</a>',
        ),
        ("a <i>b <u>c</u></i> d", HTML, "D <i><u>C</u> B</i> A"),
        ('Hello <x id="1"></x> world', XML, 'WORLD HELLO <x id="1"></x>'),
        ("<a><b>one two</b><b>three</b></a>", XML, "<a><b>TWO ONE</b><b>THREE</b></a>"),
        ("<a><b>one two</b> three</a>", XML, "<a>THREE <b>TWO ONE</b></a>"),
        ("<par>one </par><par>two</par>", TagRules(within=frozenset({"par"})), "<par>TWO</par> <par>ONE</par>"),
        ("Please <keep>Set tings</keep> it", TagRules(ignored=frozenset({"keep"})), "IT <keep>Set tings</keep> PLEASE"),
        ("one<s>two</s>three", TagRules(splitting=frozenset({"s"})), "ONE<s>TWO</s>THREE"),
        ("<r><t>one\ntwo</t></r>", TagRules(joins_lines=True), "<r><t>TWO ONE</t></r>"),
        ("<r>👍 <b>!</b></r>", XML, "<r>👍 <b>!</b></r>"),
        ("one <i>★</i> two three", HTML, "THREE TWO ONE <i>★</i>"),
        ("one <b><u>→</u></b> two<b>!</b>", HTML, "TWO<b>!</b> ONE <b><u>→</u></b>"),
        ("one</b> two <i>", HTML, "TWO ONE</b><i>"),
        ("one two.<br>three four<br/>five six", HTML, "TWO. ONE<br>FOUR THREE<br/>SIX FIVE"),
        ("one <br>two<br> three", HTML, "THREE TWO<br> ONE <br>"),
        ("<p>one <b>two<br />\nThree</b> four</p>", HTML, "<p>TWO ONE <b><br />\nFOUR THREE</b></p>"),
        ("one <br>Two", TagRules(is_html=True, within=frozenset({"br"})), "TWO ONE <br>"),
        ("<a>one two</a><a>three four</a> five", HTML, "<a>TWO ONE</a>FIVE <a>FOUR THREE</a>"),
        (
            "<span>one</span><span>Two</span> <span>three</span>",
            HTML,
            "<span>ONE</span><span>THREE</span> <span>TWO</span>",
        ),
        ("", HTML, ""),
    ],
)
def test_tags_go_with_their_words(markup: str, rules: TagRules, result: str):
    assert translated(markup, rules) == result


WORDS = st.sampled_from(["one", "two ", " three", "&amp;", " ", "\n", "4. "])


def elements(names: list[str]) -> st.SearchStrategy[str]:
    def around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        many = st.lists(inner, max_size=4).map("".join)
        return st.builds(lambda name, text: f"<{name}>{text}</{name}>", st.sampled_from(names), many) | many

    return st.recursive(WORDS | st.sampled_from(["<br/>", "<!-- x -->"]), around, max_leaves=12)


@given(elements(["b", "i", "code", "p", "div"]), st.booleans(), st.booleans())
@settings(max_examples=150)
def test_no_tag_is_lost_doubled_or_crossed(markup: str, is_html: bool, links: bool):
    rules = TagRules(is_html=is_html, ignored=frozenset({"code"}))
    result = translated(markup, rules, links=links)
    assert Counter(tags_of(result, is_html=is_html)) == Counter(tags_of(markup, is_html=is_html))
    assert is_nested(result, is_html=is_html)


@given(
    st.lists(st.sampled_from(["<b>", "</b>", "<p>", "</p>", "<i>", "</i>", "x ", "y", "<br>"]), max_size=12).map(
        "".join
    )
)
@settings(max_examples=150)
def test_no_tag_is_lost_where_tags_do_not_nest(markup: str):
    assert Counter(tags_of(translated(markup, HTML), is_html=True)) == Counter(tags_of(markup, is_html=True))


@pytest.mark.parametrize(
    ("target", "links", "result"),
    [
        ("Voir exemple maintenant", [(0, 0), (1, 1), (2, 2)], "Voir <code>x</code> maintenant"),
        ("Voir maintenant", [(0, 0), (2, 1)], "Voir <code>x</code> maintenant"),
        ("Maintenant voir", [(2, 0), (0, 1)], "Maintenant voir <code>x</code>"),
        ("Voir x maintenant", [(0, 0), (2, 2)], "Voir <code>x</code> maintenant"),
    ],
)
def test_what_stays_as_it_is_is_a_word_of_its_own(target: str, links: list[tuple[int, int]], result: str):
    marked = read_markup("See <code>x</code> now", HTML)
    assert marked.written([align("See x now", target, links)]).text == result


def test_a_tag_around_a_number_stays_around_it_whatever_the_links_say():
    written = read_markup("<p>Page <b>5</b> now</p>", HTML).written(
        [align("Page 5 now", "bây 5 trang", [(0, 2), (1, 0)])]
    )
    assert written.text == "<p>bây <b>5</b> trang</p>"


def test_links_of_sentences_become_those_of_the_text():
    text = " One two. Three "
    answer = Answer(
        " Hai một. Ba ",
        "en",
        "vi",
        "m",
        sentences=(
            Sentence("One two.", "Hai một.", 1, 1, alignment=((0, 1), (1, 0))),
            Sentence("Three", "Ba", 10, 10),
        ),
    )
    assert alignment_of(text, answer).sources_of() == [[1], [0], [2]]


def test_an_answer_that_does_not_tell_its_sentences_is_aligned_by_position():
    assert alignment_of("a b", Answer("x y", "en", "vi", "m")).links == {(0, 0), (1, 1)}
    odd = Answer("x y", "en", "vi", "m", sentences=(Sentence("a", "z", 0, 0, alignment=((0, 0),)),))
    assert alignment_of("a b", odd).links == {(0, 0), (1, 1)}


def test_white_space_of_preformatted_text_is_read():
    assert read_markup("<pre>one two\n  three</pre>", HTML).texts == ["one two\n  three"]
    assert read_markup("<p>one two\n  three 5&nbsp;km</p>", HTML).texts == ["one two three 5\xa0km"]


def test_elements_nested_without_end_are_kept():
    markup = "<b>" * 2000 + "x" + "</b>" * 2000
    marked = read_markup(markup, TagRules(is_html=True))
    assert marked.written([align("x", "y")]).text == markup.replace("x", "y")
