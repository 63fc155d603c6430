import xml.etree.ElementTree as ET

import numpy as np
import pytest

from vbcgcd.record import SessionRecord
from vbcgcd.workspace import CategoryCount
from vbcgcd.workspace.report.charts import (
    Spread,
    category_chart,
    session_chart,
    sparkline,
    spread_chart,
)


def session(number, known, novel, *, command="discover"):
    return SessionRecord(
        session=number, command=command, rows=known + novel, novel={1: "new"}, counts={0: known, 1: novel}
    )


def parsed(drawn):
    return ET.fromstring(str(drawn))


def bars(drawn):
    return [
        {r.attrib["class"]: (float(r.attrib["y"]), float(r.attrib["height"])) for r in group.findall("rect")}
        for group in parsed(drawn).findall("g")
    ]


def test_bars_are_as_tall_as_their_numbers():
    sessions = [
        session(0, 0, 300, command="learn"),
        session(1, 150, 60),
        session(2, 40, 0),
        session(3, 0, 90),
    ]
    found = bars(session_chart(sessions, width=500, height=250))
    assert [set(bar) for bar in found] == [{"labelled"}, *[{"known", "novel"}] * 3]
    unit = found[0]["labelled"][1] / 300
    expected = [(150, 60), (40, 0), (0, 90)]
    heights = [(bar["known"][1], bar["novel"][1]) for bar in found[1:]]
    np.testing.assert_allclose(heights, np.array(expected) * unit, atol=0.11)
    y, height = found[1]["novel"]  # stacked: the novel part ends where the known one begins
    np.testing.assert_allclose(y + height, found[1]["known"][0], atol=0.11)


def test_a_base_session_that_would_flatten_the_others_is_broken():
    sessions = [session(0, 0, 50_000, command="learn"), session(1, 150, 50), session(2, 100, 0)]
    drawn = session_chart(sessions, width=500, height=250)
    found = bars(drawn)
    assert found[1]["known"][1] > 50
    np.testing.assert_allclose(found[1]["known"][1] / found[2]["known"][1], 1.5, rtol=0.01)
    assert 'class="break"' in drawn
    assert "50,000" in drawn
    assert 'class="break"' not in session_chart(sessions[1:], width=500, height=250)


@pytest.mark.parametrize("n", [0, 1, 2, 60, 500])
def test_any_number_of_sessions_is_drawn_inside_the_frame(n):
    sessions = [session(k, 10 + k, k) for k in range(n)]
    growth = [CategoryCount(k, 3, k) for k in range(n)]
    for drawn in (
        session_chart(sessions, width=340, height=220),
        category_chart(growth, width=340, height=220),
    ):
        for rect in parsed(drawn).iter("rect"):
            assert 0 <= float(rect.attrib["x"]) <= 340
            assert 0 <= float(rect.attrib["y"]) <= 220
        for text in parsed(drawn).iter("text"):
            assert 0 <= float(text.attrib["y"]) <= 220


def test_the_line_counts_categories():
    growth = [CategoryCount(k, 4, 2 * k) for k in range(4)]
    dots = [
        float(c.attrib["cy"]) for c in parsed(category_chart(growth, width=500, height=250)).iter("circle")
    ]
    steps = np.diff(dots)
    np.testing.assert_allclose(steps, steps[0], atol=0.11)
    assert steps[0] < 0  # more is higher
    values = [t.text for t in parsed(category_chart(growth, width=500, height=250)).iter("text")]
    assert {"10", "4"} <= set(values)


def test_spreads_are_ordered_and_do_not_cover_each_other():
    rng = np.random.default_rng(0)
    spreads = [Spread(f"n{k}", k % 3, float(v), "b1") for k, v in enumerate(rng.normal(1, 0.05, 90))]
    drawn = parsed(spread_chart(spreads, width=1000, height=320))
    points = {
        c.find("title").text.split(":")[0]: (float(c.attrib["cx"]), float(c.attrib["cy"]))
        for c in drawn.iter("circle")
    }
    assert len(points) == 90
    by_height = sorted(points, key=lambda name: -points[name][1])
    values = {spread.name: spread.value for spread in spreads}
    assert np.corrcoef([values[n] for n in by_height], np.arange(90))[0, 1] > 0.9
    low, high = min(values, key=values.get), max(values, key=values.get)
    unit = (points[low][1] - points[high][1]) / (values[high] - values[low])
    for name in points:
        np.testing.assert_allclose(
            points[low][1] - points[name][1], unit * (values[name] - values[low]), atol=0.11
        )
    places = np.array(list(points.values()))
    gaps = np.linalg.norm(places[:, None] - places, axis=2)[np.triu_indices(90, 1)]
    assert gaps.min() > 6


@pytest.mark.parametrize("values", [[], [1.0], [0.9] * 400])
def test_spreads_of_any_number_are_drawn(values):
    drawn = parsed(spread_chart([Spread("a", 0, v, "b0") for v in values], width=340, height=280))
    assert len(list(drawn.iter("circle"))) == len(values)


def test_a_sparkline_has_a_bar_for_each_session_with_items():
    drawn = sparkline({0: 40, 3: 10}, range(5))
    path = next(p for p in parsed(drawn).iter("path") if p.attrib["class"] == "spark").attrib["d"]
    heights = [float(part.split("v-")[1].split("h")[0]) for part in path.split("M")[1:]]
    np.testing.assert_allclose(heights, [20, 5])
    assert "40 in session 0, 10 in session 3" in drawn
    assert "no items" in sparkline({}, [0, 1])
    assert "spark" in sparkline({0: 1}, range(200))
    assert "no items" in sparkline({}, [])


def test_unassigned_items_are_a_part_of_the_bar():
    record = SessionRecord(1, "discover", 10, {2: "x"}, {0: 4, 2: 3}, unassigned=3)
    drawn = session_chart([record], width=500, height=200)
    heights = {
        mark.get("class"): float(mark.get("height"))
        for mark in parsed(drawn).iter()
        if mark.tag.endswith("rect")
    }
    assert list(heights) == ["known", "novel", "unassigned"]
    np.testing.assert_allclose(list(heights.values()), np.array([4, 3, 3]) * heights["known"] / 4, atol=0.2)
    assert "3 unassigned" in str(drawn)
    whole = SessionRecord(1, "discover", 10, {}, {0: 10})
    assert "unassigned" not in str(session_chart([whole], width=500, height=200))
