"""Placeholders are found, compared, and put back where the links say that they belong."""

import random
import re

import pytest

from dragoman.documents.alignment import align
from dragoman.documents.placeholders import conserved, mend, missing, placeholders, value_of


def mended(source: str, target: str, links=None) -> str:
    return mend(align(source, target, links)).alignment.target


def test_each_kind_of_placeholder_is_found():
    text = "%s %1$d %(who)s %.2f {0} {{user}} ${HOME} $total %NAME% a@b.cd http://x.y/z?q=1. 3,5 MP3 at 100% sure"
    found = [one.text for one in placeholders(text)]
    assert found[:11] == [
        "%s",
        "%1$d",
        "%(who)s",
        "%.2f",
        "{0}",
        "{{user}}",
        "${HOME}",
        "$total",
        "%NAME%",
        "a@b.cd",
        "http://x.y/z?q=1",
    ]
    assert found[11:] == ["3,5", "3", "100"]


@pytest.mark.parametrize(
    "text",
    [
        "%-10s %+d %'d %*d %.*f %lu %lld %zu %jd %Lf %I64d %hhd %a %S",
        "%s%s %dx%d %NAME% %v %q %T %r %b %n %1$tY %@ %2$@",
        "%Y %m %d %H %M",
        "%1 %2 %L3 %n %Ln %4%5",
        "{0:>10} {name!r:^8} {items[0]} {0:yyyy/MM/dd HH:mm} {0:#,##0.00} {:+.1%}",
        "{n, number, integer} {d, date, ::yMMMd} {t,time} { $name } {% if x %} </0> <1/>",
    ],
)
def test_specifiers_and_variables_of_many_languages_are_placeholders(text: str):
    found = [one.text for one in placeholders(text)]
    assert re.sub("[ x]", "", "".join(found)) == re.sub("[ x]", "", text)


def test_an_address_is_found_behind_a_long_text_without_spaces():
    assert [one.text for one in placeholders("字" * 300_000 + " a.b+c@d-e.org")] == ["a.b+c@d-e.org"]


def test_signs_of_percent_are_no_placeholders():
    for text in (
        "a 50 % discount",
        "100 %ige Sicherheit",
        "%50 indirim",
        "%5,5 faiz",
        "{see the note} {key: value}",
        "I <3 you",
    ):
        assert [one.text for one in placeholders(text) if not one.is_number] == [], text
    assert conserved("50% off", "%50 indirim") and conserved("1% of all", "%1 oranında")


def test_markers_of_qt_are_put_back():
    assert mended("Copy %1 to %2", "Chép % 1 vào 2", [(0, 0), (1, 1), (1, 2), (2, 3), (3, 4)]) == "Chép %1 vào %2"
    assert mended("%n file(s) left", "còn n tệp", [(0, 1), (1, 2), (2, 0)]) == "còn %n tệp"


def test_percent_signs_stay_doubled():
    assert mended("%d%% of 50%% left", "còn %d% của 50%", [(0, 1), (1, 2), (2, 3), (3, 0)]) == "còn %d%% của 50%%"
    assert mended("%d of 50% left", "còn %d của 50%") == "còn %d của 50%"


def test_numbers_are_equal_however_they_are_grouped():
    assert value_of("1,000.50") == value_of("1.000,50") == value_of("1000.50")
    assert value_of("3.5") != value_of("35")
    assert conserved("1,000 men", "1 000 hommes")
    assert conserved("１２", "12")


def test_a_translation_may_have_more_numbers_but_not_other_placeholders():
    assert conserved("two cats", "2 con mèo")
    assert not conserved("two cats", "%d con mèo")


def test_a_changed_number_is_replaced_where_it_is():
    assert mended("pay (12)!", "trả (21)!", [(0, 0), (1, 1)]) == "trả (12)!"


def test_words_that_translate_a_placeholder_alone_are_replaced():
    assert mended("see %s, now", "xem phần trăm, ngay", [(0, 0), (1, 1), (1, 2), (2, 3)]) == "xem %s, ngay"


def test_of_equal_numbers_the_one_without_a_link_is_lost():
    assert mended("1. red city 1", "phố đỏ 1", [(1, 1), (2, 0), (3, 2)]) == "1 phố đỏ 1"
    assert mended("1. red city 1", "1 phố đỏ", [(0, 0), (1, 2), (2, 1)]) == "1 phố 1 đỏ"


def test_signs_that_are_no_words_are_placeholders():
    text = (
        "☐ ja, © 2024 • ★★☆ → 👨\u200d👩\u200d👧🇻🇳! ❤\ufe0f ____ and __ or ........ and …… ... a_b __init__ 20 °C I-V"
    )
    found = [one.text for one in placeholders(text) if one.is_sign]
    assert found == ["☐", "©", "•", "★★☆", "→", "👨\u200d👩\u200d👧🇻🇳", "❤\ufe0f", "____", "__", "........"]


def test_lost_signs_are_put_back_and_replace_no_word():
    assert mended("☐ yes ☐ no", "có không", [(0, 0), (1, 0), (2, 1), (3, 1)]) == "☐ có ☐ không"
    assert mended("she ____ home", "cô về.", [(0, 0), (1, 1)]) == "cô ____ về."
    assert mended("I like it 😀!", "tôi thích !", [(0, 0), (1, 1), (3, 2)]) == "tôi thích 😀 !"
    assert mended("a 😀 b %s", "x ⁇ y %d", [(0, 0), (1, 1), (2, 2), (3, 3)]) == "x 😀 y %s"


def test_without_links_no_word_is_replaced():
    assert mended("see %s now", "a b c") == "a %s b c"


def test_numbers_side_by_side_are_not_read_as_one():
    assert mended("95 or 106 cats", "95 c", [(0, 0), (3, 1)]) == "95, 106 c"
    assert mended("7 or 124 cats", "124 c", [(2, 0), (3, 1)]) == "7, 124 c"


def test_what_is_doubled_is_taken_out():
    assert mended("see {0}", "xem {0} {0}", [(0, 0), (1, 1), (1, 2)]) == "xem {0}"


def test_every_translation_can_be_mended():
    words = [
        "a",
        "b,",
        "%s",
        "{0}",
        "12",
        "1,000",
        "(7)",
        "x@y.de",
        "http://a.b/c",
        "MP3",
        '"%d"',
        "20-30",
        "⁇",
        "%1",
        "%2",
        "%n",
        "9%%",
        "%s%s",
    ]
    for seed in range(500):
        chance = random.Random(seed)
        source, target = (" ".join(chance.choices(words, k=chance.randint(0, 7))) for _ in range(2))
        links = [(chance.randrange(8), chance.randrange(8)) for _ in range(8)]
        assert conserved(source, mended(source, target, chance.choice([None, links]))), (source, target)


def test_what_is_missing_is_named():
    lost, extra = missing("%s 5", "{0}")
    assert ([one.text for one in lost], [one.text for one in extra]) == (["%s", "5"], ["{0}"])


def test_what_stands_in_the_place_of_a_word_keeps_its_signs():
    found = mend(align('save "%d"? now', 'lưu "%D"? ngay', [(0, 0), (1, 1), (2, 2)])).alignment
    assert found.target == 'lưu "%d"? ngay'
    assert [found.target[start:end] for start, end in found.target_words] == ["lưu", '"%d"?', "ngay"]
