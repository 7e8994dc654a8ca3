"""What the words alone show."""

import pytest

from dragoman.inference.confidence.surface import (
    capitalised,
    copied,
    lost_numbers,
    numbers,
    repetition,
    unmatched,
)


@pytest.mark.parametrize(
    ("source", "target", "repeats"),
    [
        ("Das Haus ist klein und schön.", "The house is small and beautiful.", False),
        ("Das Haus ist klein.", "The house is small, the house is small, the house is small.", True),
        ("Wir lesen das Buch.", "We read read read read.", True),
        ("Hallo, hallo, hallo, sagte er.", "Hello, hello, hello, he said.", False),
        ("Der Mann und der Hund und die Frau.", "The man and the dog and the woman.", False),
        ("We like the house.", "我们喜欢我们喜欢我们喜欢这所房子。", True),
        ("We like the house.", "我们喜欢这所房子。", False),
        ("Step by step, thanks!", "一步一步，谢谢！", False),
        ("She eats slowly.", "彼女はゆっくりゆっくりゆっくりゆっくりゆっくり食べる。", True),
        ("ฉันชอบบ้าน", "I like the house.", False),
        ("I like the house.", "ฉันชอบบ้านบ้านบ้านบ้านบ้านบ้านบ้าน", True),
        ("Ein Hund läuft durch den Schnee.", "A dog runs through the snow. A dog runs through the snow.", True),
        ("abcdefghijklmno", " ".join("abcdefghijklmnoabcdefghijklmno"), True),
        (
            "Ein Hund läuft dort. Ein Hund läuft dort.",
            "A dog is running over there. A dog is running over there.",
            False,
        ),
        ("I want to go, I want to go!", "Tôi muốn được đi về nhà, tôi muốn được đi về nhà!", False),
        ("I'm coming.", "Tôi tới.", False),
        ("Ein Hund bellt.", "A dog barks hahahahahahahahahahaha.", True),
        ("Xin chào, Emma!", "Hello,,,,,,,,,,,,,, Emma!", True),
        ("Inhalt ............ 5", "Contents ............ 5", False),
        ("Es kostet 1000000.", "It costs 10000000.", False),
    ],
)
def test_repetition_is_what_the_source_does_not_repeat(source: str, target: str, repeats: bool) -> None:
    assert (repetition(source.split(), target.split()) > 0.3) == repeats


def test_short_words_repeat_themselves_in_pairs() -> None:
    assert repetition(["x"], list("abxaby")) == pytest.approx(2 / 6)
    assert repetition(["x"], list("aab")) == pytest.approx(1 / 3)


def test_words_that_were_not_translated_are_copied_but_names_are_not() -> None:
    assert copied(["Mal", "uni,", "mal", "mit", "Metall"], ["Mal", "uni,", "mal", "mit", "Metall"]) == 1.0
    assert copied(["Die", "NATO", "und", "McDonald", "B2"], ["The", "NATO", "and", "McDonald", "B2"]) == 0.0
    assert copied(["a", "b"], []) == 0.0
    for names in ("Anna.", "Peter Schmidt", "London, Paris, Berlin, Madrid."):
        assert copied(names.split(), names.split()) == 0.0
    assert copied(["Das", "ist", "ein", "Haus"], ["Das", "ist", "ein", "Haus"]) == 1.0
    for number in ("1998", "1.200,50", "(12)"):
        assert copied([number, "€"], [number, "€"]) == 0.0


def test_capitals_are_no_names_where_all_words_have_them() -> None:
    heading = ["TERMS", "AND", "CONDITIONS", "OF", "USE:", "B2"]
    assert copied(heading, heading) == 1.0
    assert copied(heading, ["ĐIỀU", "KHOẢN", "SỬ", "DỤNG:", "B2"]) == 0.0
    assert capitalised(heading) == ["B2"]
    assert copied(["NATO", "EU"], ["NATO", "EU"]) == 0.0 and capitalised(["NATO", "EU"]) == ["NATO", "EU"]
    assert capitalised(["NATO", "和", "EU", "的", "FBI"]) == ["NATO", "EU", "FBI"]


def test_thousands_may_be_apart_and_numbers_of_any_length() -> None:
    for space in (" ", "\u00a0", "\u202f"):
        grouped = f"12{space}000".split()
        assert lost_numbers(["12,000", "euros"], [*grouped, "euros"]) == []
        assert lost_numbers([*grouped, "euros"], ["12.000", "euros"]) == []
    assert lost_numbers(["120", "000", "euros"], ["120,001", "euros"]) == ["120", "000"]
    assert lost_numbers(["12", "000", "euros"], ["12", "001", "euros"]) == ["12", "000"]
    long = "9" * 5000
    assert lost_numbers([long], ["none"]) == [long]
    assert numbers(["007", "000", "0013"]) == ["0013"]


def test_numbers_are_compared_without_separators() -> None:
    assert lost_numbers(["kostet", "1.200,50", "um", "14:30", "Uhr"], ["costs", "1,200.50", "at", "14.30"]) == []
    assert lost_numbers(["Im", "Jahr", "1998,", "25", "Menschen"], ["In", "1999,", "25", "people"]) == ["1998,"]
    assert numbers(["drei", "3", "12", "13"]) == ["13"]


def test_decimals_that_are_0_may_be_left_out() -> None:
    assert lost_numbers(["Version", "2.0", "costs", "15,00"], ["Phiên", "bản", "2", "giá", "15"]) == []
    assert lost_numbers(["at", "20.00"], ["lúc", "20:00"]) == []
    assert lost_numbers(["2.5", "mg", "of", "1.200"], ["2", "mg", "trong", "1.3"]) == ["2.5", "1.200"]
    for one, other in (("2,50", "2.5"), ("$1,000.00", "1.000"), ("12.000,00", "12,000"), ("14.30", "14:30")):
        assert lost_numbers([one], [other]) == lost_numbers([other], [one]) == []


def test_times_scores_and_dates_may_be_written_in_parts() -> None:
    assert lost_numbers(["14:30", "06:00"], ["14h30", "6", "giờ"]) == []
    assert lost_numbers(["14", "giờ", "30"], ["14:30"]) == []
    assert lost_numbers(["20.11.2023", "3:2"], ["20/11/2023", "3-2"]) == []
    assert lost_numbers(["14:30", "20.11.2023"], ["14:31", "20/11/2022"]) == ["14:30", "20.11.2023"]
    assert lost_numbers(["1.200", "200"], ["200", "1,250"]) == ["1.200"]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("earned 15 million dollars", "赚了1500万美元"),
        ("收入 1500万 元", "15,000,000 yuan"),
        ("another 777,000 fans", "hơn 777 ngàn người"),
        ("giá 13 ngàn đô la", "for $13,000"),
        ("phạt 1.750.000 đô la", "fined $1.75 million"),
        ("a 60-million-dollar film", "ein Film für 60.000.000 Dollar"),
        ("kostet 2 500 000 Euro", "2.5 millions"),
        ("0.5 million people", "500 000 người"),
        ("$21bn", "21 млрд"),
        ("120 тысяч человек", "120,000 people"),
        ("150 Tausend", "150k"),
    ],
)
def test_thousands_and_millions_may_be_in_other_units(source: str, target: str) -> None:
    assert lost_numbers(source.split(), target.split()) == []
    assert lost_numbers(target.split(), source.split()) == []


def test_a_number_is_not_kept_by_zeros_without_a_unit_or_by_a_unit_of_another_number() -> None:
    assert lost_numbers(["1500", "dollars"], ["150", "đô", "la"]) == ["1500"]
    assert lost_numbers(["15", "million", "in", "1500"], ["16", "triệu"]) == ["15", "1500"]
    assert lost_numbers(["15", "million"], ["16", "triệu", "150"]) == lost_numbers(["15", "million"], []) == ["15"]
    assert lost_numbers(["150", "people"], ["1500", "triệu"]) == ["150"]
    assert lost_numbers(["1500", "people"], ["150", "millimetres"]) == ["1500"]


def test_numbers_are_the_same_in_the_digits_of_any_script() -> None:
    assert lost_numbers(["1998", "12,000"], ["١٩٩٨", "١٢٬٠٠٠"]) == []
    assert lost_numbers(["１９９８年"], ["1998"]) == lost_numbers(["12", "000"], ["१२,०००"]) == []
    assert lost_numbers(["1998"], ["١٩٩٩"]) == ["1998"]


def test_names_match_with_other_endings_and_accents() -> None:
    assert unmatched(["Londýna", "Müller", "Paris"], ["London", "Mullers"]) == ["Paris"]
    assert unmatched(["Wien"], []) == ["Wien"]
    assert unmatched(["Annas"], ["Anna"]) == [] and unmatched(["Annas"], ["Ann"]) == ["Annas"]
    assert unmatched(["Đặng", "Đồng", "Łódź"], ["Dang", "Dong", "Lodz"]) == []


def test_a_short_or_empty_word_matches_only_what_contains_it():
    assert unmatched(["Ann", "An", "-"], ["Anna"]) == [] and unmatched(["Anna"], ["Ann", "An", "-"]) == ["Anna"]
    assert unmatched(["Xanthippe", "Paris", "Xanthippe"], ["hippe", "anti"]) == ["Paris"]
    assert unmatched(["Banthip"], ["nthi"]) == ["Banthip"]


def test_the_first_word_of_a_sentence_is_no_name_by_its_capital() -> None:
    assert capitalised(["He", "met", "Anna.", "She", "left.", "NATO,", "too"]) == ["Anna.", "NATO,"]
    assert capitalised([]) == []


def test_what_english_writes_with_a_capital_is_no_name() -> None:
    said = "she says I’ve seen Mr. Brown, on Friday, in May 1998, and I'll call (Monday)"
    assert capitalised(said.split()) == ["Brown,"]
