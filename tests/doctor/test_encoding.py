"""Faults of characters."""

import pytest
from tests.doctor.conftest import Examined, good

from dragoman.doctor.encoding import mended, unmade

NO_FAULT = "Nothing is wrong here."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("replacement-character", "caf\ufffd au lait"),
        ("mojibake", "un cafÃ© noir"),
        ("mojibake", "itâ€™s here"),
        ("mojibake", "Tiáº¿ng Viá»‡t"),
        ("mojibake", "ÐŸÑ€Ð¸Ð²ÐµÑ‚"),
        ("control-characters", "a bell \x07 rings"),
        ("control-characters", "two\u2028lines"),
        ("entities", "Tom &amp; Anna"),
        ("entities", "he said &#39; here"),
        ("markup", "a <b>bold</b> word"),
        ("markup", "a word {\\i1} here"),
        ("subword-marks", "un@@ seen words"),
        ("subword-marks", "▁un seen ▁words"),
        ("not-nfc", "cafe\u0301 noir"),
        ("zero-width", "zero\u200bwidth"),
        ("odd-spaces", "pourquoi\u202f?"),
        ("outer-spaces", "at the end "),
        ("outer-spaces", " at the start"),
        ("outer-spaces", "in  between"),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_a_fault_is_found_where_it_is(name: str, text: str, side: int, examined: Examined) -> None:
    pairs = good(300)
    pairs[40] = (text, pairs[40][1]) if side == 0 else (pairs[40][0], text)
    found = [one for one in examined(pairs) if one.name == name]
    (finding,) = found
    assert (finding.line, finding.count, finding.of) == (41, 1, 300)
    assert finding.file.endswith(("train.one", "train.two")[side])
    assert [(one.line, one.texts) for one in finding.examples] == [(41, (text,))]


@pytest.mark.parametrize(
    "text",
    [
        NO_FAULT,
        "3 < 4 & 5 > 2",
        "IRMÃ »",
        "Das muß … sein",
        "AT&T; it is",
        "black & white; red",
        "a @ sign, a @@handle",
        "می‌خواهم",
        "naïve Ünïcödé ÀÈÌ “quoted”",
        "{name} is here",
        "x<y",
    ],
)
def test_ordinary_text_has_no_faults(text: str, examined: Examined) -> None:
    pairs = good(300)
    pairs[40] = (text, f"{text} aussi")
    assert [one.name for one in examined(pairs) if one.name not in ("wrong-script", "other-language")] == []


def test_faults_of_many_lines_are_counted_and_three_are_shown(examined: Examined) -> None:
    pairs = [(f"{source} &quot;", target) for source, target in good(300)]
    (finding,) = [one for one in examined(pairs) if one.name == "entities"]
    assert (finding.count, finding.severity) == (300, "warning")
    assert [one.line for one in finding.examples] == [1, 2, 3]


def test_a_byte_order_mark_is_found_at_the_start_alone(examined: Examined) -> None:
    pairs = good(300)
    pairs[0] = ("\ufeff" + pairs[0][0], pairs[0][1])
    names = [one.name for one in examined(pairs)]
    assert names == ["zero-width", "byte-order-mark"]


def test_each_file_with_a_byte_order_mark_is_named(examined: Examined) -> None:
    pairs = good(300)
    pairs[0] = ("\ufeff" + pairs[0][0], "\ufeff" + pairs[0][1])
    found = [one.file for one in examined(pairs) if one.name == "byte-order-mark"]
    assert [file.rpartition("/")[2] for file in found] == ["train.one", "train.two"]


def test_mojibake_is_what_becomes_text_again() -> None:
    assert unmade("cÃ´tÃ©") and unmade("â€œyesâ€\x9d")
    assert not unmade("AMANHÃ!") and not unmade("Ä »")


def test_text_is_mended() -> None:
    assert mended("  cafe\u0301\u00a0 &lt;x&gt; &apos ;s\u200b ") == "café <x> 's"
    assert mended("R &amp;amp; D, R & amp ; amp ; D, &amp;apos; &unknown;") == "R & D, R & D, ' &unknown;"
    assert mended(NO_FAULT) == NO_FAULT
