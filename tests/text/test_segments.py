"""What people send is cut into sentences, and comes together again with everything that stood between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.segments import LONGEST, Segment, joined, segments


def cut(text: str, language: str | None, **options: str) -> list[str]:
    return [one.text for one in segments(text, language=language, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Dr. Lee met Mr. Fox at 5 p.m. sharp.", "They left.", "“Why?” asked J. R. Smith.", "Nobody knew..."]),
        ("en", ["See No. 5 and fig. 3, e.g. this.", "The U.S. Army came!", "(It was late.)", "So was I.", "Yes?!"]),
        ("en", ["It costs 3.50 dollars in 1998.", "Then it rose to 4."]),
        ("fr", ["M. Dupont et Mme. Petit sont là.", "« Quoi ! »", "Né en 52 av. J.-C. à Rome.", "Voir p. 12."]),
        ("de", ["Am 3. Mai kam Dr. Weiß.", "Das war z. B. gestern, d.h. vor Nr. 500.", "„Wirklich?“", "Ja, 1998."]),
        (
            "vi",
            ["TP. Hồ Chí Minh có GS.TS. Nguyễn Văn Ba.", "Ông ấy ở Q. 1, P. 5.", "Đúng không?", "Ừ, v.v. và vân vân."],
        ),
        (
            "vi",
            [
                "PGS.TS.BS. Lê Văn An đến.",
                "ThS.KTS. Hà vẽ nhà, cửa, v.v.",
                "Cháu nhớ Ông.",
                "Cháu nhớ Bà.",
                "Nhà ở Q.1.",
                "Hết.",
            ],
        ),
        ("en", ["Born on Jan. 5, 1998.", "It grew by 2.5.", "Then it fell.", "It was art.", "Then no more."]),
        ("fr", ["C'est un art.", "Voir art. 5 et chap. 2.", "Né le 12 janv. 1998.", "Il a 3.5.", "Voilà."]),
        ("ar", ["من أنت؟", "أنا طالب.", "«حقا؟»", "نعم!"]),
        ("ur", ["وہ گھر میں ہے۔", "کیا آپ ٹھیک ہیں؟", "ہاں۔"]),
        ("hi", ["वह घर में है।", "क्या आप ठीक हैं?", "“हाँ।”", "दो॥"]),
        ("vi", ["Tôi đi học.", "Ở trường có PGS. Lê Thị Bình và ThS. Trần.", "“Ai?”", "Đừng hỏi…", "Ăn cơm đi!"]),
    ],
)
def test_sentences_end_where_a_reader_would_say(language: str, sentences: list[str]) -> None:
    assert cut(" ".join(sentences), language) == sentences
    assert cut("\n\n".join(sentences), language) == sentences


def test_rules_are_those_of_the_language() -> None:
    assert cut("Es war der 3. Mai.", "de") == ["Es war der 3. Mai."]
    assert cut("Es war der 31. Mai. Er kam 1998. Dann nicht mehr.", "de")[1:] == ["Er kam 1998.", "Dann nicht mehr."]
    assert cut("He took 3. May came.", "en") == ["He took 3.", "May came."]
    assert cut("Ở TP. Huế.", "vie_Latn") == cut("Ở TP. Huế.", "vi") == cut("Ở TP. Huế.", None) == ["Ở TP. Huế."]
    assert cut("Ở TP. Huế.", "en") == ["Ở TP.", "Huế."]
    assert cut("A work of art. Next.", None) == ["A work of art.", "Next."]


def test_a_number_that_begins_a_line_belongs_to_what_follows() -> None:
    assert cut("1. First.\n2. Second. Third.", "en") == ["1. First.", "2. Second.", "Third."]
    assert cut("1.2. First. So.", "en") == ["1.2. First.", "So."]


def test_chinese_needs_no_spaces_and_gets_some_in_the_translation() -> None:
    parts = segments("你好。再见！", language="zh")
    assert [one.text for one in parts] == ["你好。", "再见！"]
    assert joined("你好。再见！", parts, ["Hello.", "Bye!"], between=" ") == "Hello. Bye!"


def test_a_text_is_cut_as_far_as_is_asked_for() -> None:
    text = "A man.  He\nlaughs. Yes.\n"
    assert cut(text, "en") == ["A man.", "He", "laughs.", "Yes."]
    assert cut(text, "en", split="punctuation") == ["A man.", "He\nlaughs.", "Yes."]
    assert cut(text, "en", split="lines") == ["A man.  He", "laughs. Yes."]
    assert cut(text, "en", split="none") == ["A man.  He\nlaughs. Yes."]


def test_a_sentence_without_end_is_cut_after_a_pause_or_else_a_word() -> None:
    long = "word " * 150 + "word, " + "word " * 300
    first, *rest = cut(long, "en")
    assert first.endswith("word,") and all(len(one) <= LONGEST for one in rest)
    pauses = "word " * 110 + "first, " + "word " * 40 + "second, " + "word " * 300
    assert cut(pauses, "en")[0].endswith("second,")
    assert "".join(cut("字" * 2500, "zh")) == "字" * 2500


@pytest.mark.parametrize("syllable", ["e\u0323\u0302", "\u0e01\u0e34", "\u1780\u17b6"], ids=["vi", "th", "km"])
def test_a_long_text_without_spaces_is_not_cut_between_a_letter_and_its_marks(syllable: str) -> None:
    for before in range(len(syllable)):
        text = "." * before + syllable * 700
        parts = cut(text, None)
        assert "".join(parts) == text and len(parts) > 1
        assert all(part.startswith(syllable[0]) for part in parts[1:])


@given(
    st.text(alphabet='aB1.!?…。 \n\t\r\u2028"”é̂☐😀\u200d', max_size=60),
    st.sampled_from(["sentences", "punctuation", "lines", "none"]),
)
def test_nothing_is_lost_whatever_is_sent(text: str, split: str) -> None:
    parts = segments(text, split=split)  # type: ignore[arg-type]
    assert joined(text, parts, [one.text for one in parts]) == text
    assert all(one.text == one.text.strip() != "" and text[one.start : one.end] == one.text for one in parts)
    signs = str.maketrans("", "", "☐😀\u200d")
    assert "".join("".join(one.text for one in parts).translate(signs).split()) == "".join(
        text.translate(signs).split()
    )


def test_what_stands_between_sentences_stays_byte_for_byte() -> None:
    text = "  One.\u00a0 Two!\r\n\r\n\t- Three?\n"
    parts = segments(text, language="en")
    assert parts[1] == Segment("Two!", 8)
    assert joined(text, parts, ["1", "2", "3"]) == "  1\u00a0 2\r\n\r\n\t3\n"


@pytest.mark.parametrize("unit", [".", "?", "Mr. ", "U.S. ", "“1. X ", "z. B. "])
def test_long_texts_of_points_that_may_end_sentences_are_cut(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    parts = segments(text)
    assert joined(text, parts, [one.text for one in parts]) == text


def test_white_space_before_a_closing_quote_ends_no_sentence() -> None:
    text = "«Go." + " " * 50_000 + "»"
    assert segments(text, split="punctuation")[0].text == "«Go."


@pytest.mark.parametrize("split", ["sentences", "punctuation", "lines", "none"])
def test_signs_around_a_sentence_are_no_part_of_it(split: str) -> None:
    for text, inside in (
        ("☐ yes ★ or no 👍", "yes ★ or no"),
        ("→Next\u00a0⏎", "Next"),
        ("© 2024 Acme™", "2024 Acme"),
        ("Good 👨\u200d👩\u200d👧🇻🇳 ❤\ufe0f", "Good"),
        ("क्\u200d", "क्\u200d"),
    ):
        assert segments(text, split=split) == [Segment(inside, text.index(inside))]  # type: ignore[arg-type]
    assert segments("★ ★", split=split) == []  # type: ignore[arg-type]
