import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.workspace.report.svg import Plot, element, number, picture, scale, shortened, text_width, ticks

NASTY = "</svg><script>alert(1)</script>]]>\"'& \u202eabc 🙂"


def test_children_and_attributes_are_escaped():
    drawn = element("g", element("title", NASTY), NASTY, class_="a b", data_x=NASTY, x=1.0, nothing=None)
    found = ET.fromstring(str(drawn))
    assert found.attrib == {"class": "a b", "data-x": NASTY, "x": "1"}
    assert found.find("title").text == NASTY
    assert found.find("title").tail == NASTY
    assert "<script" not in drawn


def test_a_picture_says_what_it_is():
    found = ET.fromstring(str(picture(100, 50.5, 'a "map"', element("path", d="M0 0"))))
    assert (found.attrib["viewBox"], found.attrib["role"]) == ("0 0 100 50.5", "img")
    assert found.attrib["aria-label"] == 'a "map"'


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (-0.01, "0"), (2.25, "2.2"), (1e3, "1000"), (10, "10")]
)
def test_numbers_are_short(value, text):
    assert number(value) == text


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_are_round_even_and_inside(low, span, most):
    found = ticks(low, low + span, most)
    assert len(found) <= most + 1
    assert all(low - 1e-6 * span <= t <= low + span * (1 + 1e-6) for t in found)
    if len(found) > 2:
        steps = np.diff(found)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
        leading = steps[0] / 10 ** np.floor(np.log10(steps[0]) + 1e-9)
        assert min(abs(leading - k) for k in (1, 2, 5, 10)) < 1e-6


def test_a_scale_takes_ends_to_ends():
    place = scale(2, 4, 100, 0)
    assert (place(2), place(3), place(4)) == (100, 50, 0)
    assert scale(1, 1, 0, 9)(1) == 0  # no span: everything at the start


def test_wide_letters_are_wider():
    assert (
        text_width("illi", 10) < text_width("aaaa", 10) < text_width("WWWW", 10) < text_width("漢漢漢漢", 10)
    )
    assert text_width("e\u0301", 10) == text_width("e", 10)
    assert text_width("aaaa", 20) == 2 * text_width("aaaa", 10)


def test_long_names_are_cut():
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abc defgh", 5) == "abc…"


def test_names_of_an_axis_never_touch():
    plot = Plot(300, 100)
    places = np.linspace(plot.x0, plot.x1, 120).tolist()
    drawn = ET.fromstring(f"<g>{plot.axis([str(k) for k in range(120)], places, 'session')}</g>")
    xs = [float(text.attrib["x"]) for text in list(drawn)[:-1]]
    assert 5 <= len(xs) < 20
    assert min(np.diff(xs)) >= text_width("119", 11)
