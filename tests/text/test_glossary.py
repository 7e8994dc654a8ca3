"""Terms are found as whole words, longest first, in any case if they are in lower case."""

import unicodedata

import pytest

from dragoman.text.glossary import Entry, Glossary, Term, Words, in_word


def glossary(*rows: tuple[str, str]) -> Glossary:
    """A glossary of terms and their translations."""
    return Glossary(tuple(Entry.of(source, target.split("|")) for source, target in rows))


def matched(known: Glossary, text: str) -> list[str]:
    """What stands in a text at the places of its terms."""
    return [text[one.start : one.end] for one in known.matches(text)]


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("cat", "Cat, cats and CATegories: a cat.", ["Cat", "cat"]),
        ("US", "us in the US", ["US"]),
        ("court of  appeal", "The Court\tof Appeal.", ["Court\tof Appeal"]),
        ("C++", "C and C++.", ["C++"]),
        ("can't", "I can't or can t", ["can't"]),
        ("eau", "L'eau, l’eau et le seau", ["eau", "eau"]),
        ("猫", "大猫と猫", ["猫", "猫"]),
        ("x_1", "x_1 x_12", ["x_1"]),
        ("école", unicodedata.normalize("NFD", "Une école."), [unicodedata.normalize("NFD", "école")]),
        ("हिन्दी", "हिन्दी, हिन्द", ["हिन्दी"]),
        ("a", "", []),
    ],
)
def test_a_term_is_found_as_whole_words(term: str, text: str, found: list[str]):
    assert matched(glossary((term, "x")), text) == found


def test_the_longest_term_comes_first_and_shares_no_word():
    known = glossary(("house", "a"), ("white house", "b"), ("house of cards", "c"), ("of", "d"))
    assert matched(known, "White House of cards, house") == ["House of cards", "house"]
    assert matched(known, "a white house of") == ["white house", "of"]


def test_a_term_as_it_is_written_goes_before_one_in_any_case():
    known = glossary(("apple", "pomme"), ("Apple", "Apple"))
    assert [one.entry.targets[0].text for one in known.matches("Apple: an apple, APPLE")] == ["Apple", "pomme", "pomme"]


def test_the_first_glossary_goes_before_the_second():
    known = Glossary.joined([glossary(("cat", "mèo")), glossary(("cat", "miu"))])
    assert [one.entry.targets[0].text for one in known.matches("cat")] == ["mèo"]


def test_the_first_translation_that_is_there_counts():
    (entry,) = glossary(("court", "tòa án|toà")).entries
    used = [entry.used(Words.of(text)) for text in ("Tòa  án và toà", "một toà", "tòaán")]
    assert [one and one.text for one in used] == ["tòa án", "toà", None]


def test_case_may_not_matter_at_all():
    (found,) = Glossary.in_any_case({"Cat": "Mèo"}).matches("a cat")
    assert found.entry.used(Words.of("mèo")) is not None


def test_a_model_may_write_in_lower_case():
    (entry,) = glossary(("Paris", "Paris")).spelled(str.lower).entries
    assert entry.targets == (Term("paris", True),)
    assert entry.used(Words.of("à paris"))


@pytest.mark.parametrize(
    ("sign", "inside"), [("b", True), ("_", True), ("\u0301", True), ("-", False), ("", False), ("ก", False)]
)
def test_signs_inside_words(sign: str, inside: bool):
    assert in_word(sign) is inside
