"""Subtitles are joined to sentences and divided again."""

import re

import pysubs2
import pytest

from dragoman.documents.alignment import align, join
from dragoman.documents.segments import Segment
from dragoman.documents.sentences import sentences
from dragoman.documents.subtitles import SubtitleDocument
from dragoman.documents.transfer import transfer

TIMES = "00:00:0{0},000 --> 00:00:0{1},000"
FILE = (
    f"1\n{TIMES.format(1, 2)}\nI think that\n\n2\n{TIMES.format(3, 4)}\n<i>you</i> are right.\n\n"
    f"3\n{TIMES.format(5, 6)}\n- Yes.\n- No.\n"
)


def test_a_sentence_over_two_subtitles_is_one_segment():
    document = SubtitleDocument(FILE, is_vtt=False)
    assert [one.text for one in document.segments] == ["I think that you are right.", "Yes.No."]
    assert document.segments[0].cuts == (13,)
    assert document.segments[1].breaks == (4,)


def test_a_translation_is_divided_among_its_subtitles():
    document = SubtitleDocument(FILE, is_vtt=False)
    assert document.text([None, None]) == FILE
    spans = document.segments[0].spans
    moved = (spans[0].__class__(15, 18),)
    found = document.text([Segment("Tôi nghĩ rằng  bạn đúng.", moved, cuts=(14,)), None])
    read = pysubs2.SSAFile.from_string(found, format_="srt")
    assert [event.plaintext for event in read][:2] == ["Tôi nghĩ rằng", "bạn đúng."]
    assert "<i>bạn</i>" in found


def test_long_lines_are_broken_in_the_middle_and_settings_stay():
    text = "WEBVTT\n\nNOTE x\n\n00:01.000 --> 00:02.000 align:start\nFish &amp; chips\n"
    document = SubtitleDocument(text, is_vtt=True)
    assert document.segments[0].text == "Fish & chips"
    found = document.text([Segment("cá tẩm bột chiên & khoai tây chiên giòn ăn kèm")])
    assert found == text.replace("Fish &amp; chips", "cá tẩm bột chiên &amp; khoai\ntây chiên giòn ăn kèm")


@pytest.mark.parametrize("tags", ["{\\an8}", "<i></i>"])
@pytest.mark.parametrize("before", ["", "and so"])
@pytest.mark.parametrize("is_vtt", [False, True])
def test_a_subtitle_of_tags_alone_is_not_joined(tags: str, before: str, is_vtt: bool) -> None:
    texts = [text for text in (before, tags, "Hello there.") if text]
    form = "00:00:0{0}.000 --> 00:00:0{1}.000" if is_vtt else TIMES
    cues = [f"{form.format(2 * at, 2 * at + 1)}\n{text}\n" for at, text in enumerate(texts)]
    file = "WEBVTT\n\n" * is_vtt + "\n".join(cues)
    document = SubtitleDocument(file, is_vtt=is_vtt)
    made = [transfer(one, align(one.text, one.text.upper())).segment for one in document.segments]
    expected = file.replace("Hello there.", "HELLO THERE.").replace("and so", "AND SO")
    assert document.text(made) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("- Where are you?\n- At home.", "- WHERE ARE YOU\n- AT HOME"),
        ("-Hello,", "-HELLO"),
        ("Who is it?\n– Me.", "WHO IS IT\n– ME"),
        ("<i>- He left.</i>\n{\\an8}<i>-- No.</i>", "<i>- HE LEFT</i>\n{\\an8}<i>-- NO</i>"),
        ("-5 degrees", "5 DEGREES"),
    ],
)
@pytest.mark.parametrize("is_vtt", [False, True])
def test_dashes_of_speakers_stay_where_a_model_leaves_signs_out(lines: str, expected: str, is_vtt: bool):
    head = "00:01.000 --> 00:02.000\n" if is_vtt else f"1\n{TIMES.format(1, 2)}\n"
    document = SubtitleDocument(f"{head}{lines}\n", is_vtt=is_vtt)
    made = []
    for segment in document.segments:
        places = sentences(segment.text, segment.breaks)
        parts = [segment.text[start:end] for start, end in places]
        spoilt = [align(part, re.sub(r"[^A-Z0-9 ]", "", part.upper()).strip()) for part in parts]
        made.append(transfer(segment, join(spoilt, [""] * (len(parts) + 1))) if parts else None)
    assert document.text([one and one.segment for one in made]) == f"{head}{expected}\n"


def test_a_dash_begins_another_sentence():
    file = f"1\n{TIMES.format(1, 2)}\nI think\n\n2\n{TIMES.format(3, 4)}\n- Me\n\n3\n{TIMES.format(5, 6)}\ntoo\n"
    assert [one.text for one in SubtitleDocument(file, is_vtt=False).segments] == ["I think", "Me too"]
    for end in ("؟", "۔", "।", "。"):
        assert len(SubtitleDocument(file.replace("think", f"think{end}"), is_vtt=False).segments) == 2
        assert len(SubtitleDocument(file.replace("Me", f"Me{end}"), is_vtt=False).segments) == 3


@pytest.mark.parametrize("blank", ["", " \t"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("arrow", [" --> ", "-->"])
def test_a_line_of_spaces_is_blank_and_times_need_no_spaces(blank: str, ends: str, arrow: str):
    lines = ["1", f"00:00:01,000{arrow}00:00:02,000", "One.", blank, "2", f"0:00:03{arrow}0:00:04", "Two.", blank, ""]
    file = ends.join(lines)
    document = SubtitleDocument(file, is_vtt=False)
    assert [one.text for one in document.segments] == ["One.", "Two."]
    assert document.text([Segment("MỘT."), None]) == file.replace("One.", "MỘT.")


@pytest.mark.parametrize("before", ["", " \n"])
def test_a_subtitle_of_subrip_may_have_blank_lines_in_it(before: str):
    first, second, third = (TIMES.format(2 * n + 1, 2 * n + 2) for n in range(3))
    file = f"1\n{first}\n{before}Who is\n\nthere?\n\n2\n{second}\n1984.\n\n7\n\n3\n{third}\nYou!\n"
    document = SubtitleDocument(file, is_vtt=False)
    assert [one.text for one in document.segments] == ["Who is there?", "1984. 7 You!"]
    assert document.text([Segment("Ai đó?"), None]) == file.replace("Who is\n\nthere?", "Ai đó?")
    as_vtt = SubtitleDocument(file.replace(",", "."), is_vtt=True)
    assert "there?" not in "".join(one.text for one in as_vtt.segments)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_subtitles_need_no_blank_line_between_them(ends: str):
    first, second, third = (TIMES.format(2 * n + 1, 2 * n + 2) for n in range(3))
    file = f"1\n{first}\nHello.\n2\n{second}\nIn 1984!\n3\n{third}\n{first}\n7\n".replace("\n", ends)
    document = SubtitleDocument(file, is_vtt=False)
    assert [one.text for one in document.segments] == ["Hello.", "In 1984!", "7"]
    assert document.text([Segment("CHÀO."), None, None]) == file.replace("Hello.", "CHÀO.")
    assert document.text([None, Segment("NĂM 1984!"), None]) == file.replace("In 1984!", "NĂM 1984!")
