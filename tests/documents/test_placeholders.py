"""Placeholders are found and compared."""

import re

import pytest

from dragoman.documents.placeholders import conserved, missing, placeholders, value_of


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


def test_a_row_of_zeros_is_a_number():
    assert [one.text for one in placeholders("%" + "0" * 100_000)] == ["0" * 100_000]


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


def test_numbers_are_equal_however_they_are_grouped():
    assert value_of("1,000.50") == value_of("1.000,50") == value_of("1000.50")
    assert value_of("3.5") != value_of("35")
    assert conserved("1,000 men", "1 000 hommes")
    assert conserved("１２", "12")


def test_a_translation_may_have_more_numbers_but_not_other_placeholders():
    assert conserved("two cats", "2 con mèo")
    assert not conserved("two cats", "%d con mèo")


def test_signs_that_are_no_words_are_placeholders():
    text = (
        "☐ ja, © 2024 • ★★☆ → 👨\u200d👩\u200d👧🇻🇳! ❤\ufe0f ____ and __ or ........ and …… ... a_b __init__ 20 °C I-V"
    )
    found = [one.text for one in placeholders(text) if one.is_sign]
    assert found == ["☐", "©", "•", "★★☆", "→", "👨\u200d👩\u200d👧🇻🇳", "❤\ufe0f", "____", "__", "........"]


def test_what_is_missing_is_named():
    lost, extra = missing("%s 5", "{0}")
    assert ([one.text for one in lost], [one.text for one in extra]) == (["%s", "5"], ["{0}"])
