"""Settings that something reads only where others allow it."""

from dragoman.runs.rules import Rule, refusals
from dragoman.settings import Settings


class Inner(Settings):
    """A group of settings."""

    size: int = 4
    name: str | None = None


class Outer(Settings):
    """Settings with a group and a list of groups."""

    on: bool = False
    one: Inner = Inner()
    several: tuple[Inner, ...] = ()


def works_when_on(whole: Outer, _: Inner) -> bool:
    """Tell whether the setting is read."""
    return whole.on


def test_what_is_given_and_not_read_is_named_with_the_reason_and_the_way_out() -> None:
    rule = Rule("one.size", works_when_on, "needs `on`, not {own.size}")
    (sentence,) = refusals([rule], Outer(one=Inner(size=5)))
    assert sentence == "`one.size: 5` needs `on`, not 5; remove it, or set `one.size: 4`"


def test_defaults_and_what_is_read_are_no_mistake() -> None:
    rule = Rule("one.size", works_when_on, "needs `on`")
    assert refusals([rule], Outer()) == []
    assert refusals([rule], Outer(on=True, one=Inner(size=5))) == []


def test_a_default_may_be_a_mistake_too() -> None:
    rule = Rule("one.size", works_when_on, "needs `on`", remedy="set `on: true`", even_default=True)
    assert refusals([rule], Outer()) == ["`one.size: 4` needs `on`; set `on: true`"]


def test_each_item_of_a_list_is_looked_at() -> None:
    rule = Rule("several.*.name", works_when_on, "needs `on`")
    found = refusals([rule], Outer(several=(Inner(name="a"), Inner(), Inner(name="b"))))
    assert [sentence.partition("`")[2].partition("`")[0] for sentence in found] == [
        "several.0.name: a",
        "several.2.name: b",
    ]


def test_settings_that_are_not_there_are_passed_over() -> None:
    rules = [Rule("one.colour", works_when_on, "needs `on`"), Rule("other.size", works_when_on, "needs `on`")]
    assert refusals(rules, Outer(one=Inner(size=5))) == []
