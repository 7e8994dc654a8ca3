"""The reliability curve is well-formed, and its points stand where they should."""

from xml.etree import ElementTree

from dragoman.inspection.reliability import LEFT, SIZE, TOP, draw_reliability
from dragoman.metrics.calibration import Bin


def test_each_bin_is_a_point_at_its_place() -> None:
    root = ElementTree.fromstring(draw_reliability([Bin(0.0, 1.0, 5), Bin(0.5, 0.25, 7)], "P(a < b)"))
    dots = [one for one in root if one.tag.endswith("circle")]
    assert [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in dots] == [
        (LEFT, TOP),
        (LEFT + SIZE / 2, TOP + SIZE * 0.75),
    ]
    assert root.attrib["aria-label"] == "P(a < b)"
    assert "25% of 7 good" in (dots[1][0].text or "")


def test_nothing_to_draw_is_still_a_picture() -> None:
    assert ElementTree.fromstring(draw_reliability([], "empty")).tag.endswith("svg")
