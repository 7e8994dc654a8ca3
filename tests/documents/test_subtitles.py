"""Subtitles are joined to sentences and divided again."""

import pysubs2

from dragoman.documents.segments import Segment
from dragoman.documents.subtitles import SubtitleDocument

TIMES = "00:00:0{0},000 --> 00:00:0{1},000"
FILE = (
    f"1\n{TIMES.format(1, 2)}\nI think that\n\n2\n{TIMES.format(3, 4)}\n<i>you</i> are right.\n\n"
    f"3\n{TIMES.format(5, 6)}\n- Yes.\n- No.\n"
)


def test_a_sentence_over_two_subtitles_is_one_segment():
    document = SubtitleDocument(FILE, is_vtt=False)
    assert [one.text for one in document.segments] == ["I think that you are right.", "- Yes.- No."]
    assert document.segments[0].cuts == (13,)
    assert document.segments[1].breaks == (6,)


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
