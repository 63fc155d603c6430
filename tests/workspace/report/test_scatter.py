import xml.etree.ElementTree as ET

import numpy as np
import pytest

from vbcgcd.workspace import CategoryInfo, CategoryView, MapItem
from vbcgcd.workspace.report.scatter import scatter
from vbcgcd.workspace.report.svg import text_width


def views(points, births=None):
    births = births or [0] * len(points)
    return [
        CategoryView(CategoryInfo(k, f"name {k}", "label", "live", births[k], 10 + k), x, y, {}, (), (), ())
        for k, (x, y) in enumerate(points)
    ]


def drawn(points, items=(), **options):
    births = [k % 3 for k in range(len(points))]
    found = scatter(
        views(points, births),
        items,
        {0: "b0", 1: "b1", 2: "b2"},
        width=options.get("width", 800),
        tallest=600,
    )
    return found, ET.fromstring(str(found.svg))


def test_means_and_items_keep_their_order_in_both_directions():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2))
    items = [
        MapItem(str(i), i % 30, 0, *map(float, points[i % 30] + rng.normal(size=2) / 9)) for i in range(200)
    ]
    found, svg = drawn(points, items)
    at = {}
    for circle in svg.iter("circle"):
        name = circle.find("title").text.partition(" (#")[0]
        at[int(name.split()[1])] = (float(circle.attrib["cx"]), float(circle.attrib["cy"]))
    places = np.array([at[k] for k in range(30)])
    for axis, sign in ((0, 1), (1, -1)):  # y grows upwards
        line = np.polyfit(points[:, axis], places[:, axis], 1)
        assert sign * line[0] > 0
        np.testing.assert_allclose(np.polyval(line, points[:, axis]), places[:, axis], atol=0.1)
    clouds = [p for p in svg.iter("path") if p.attrib["class"].startswith("cloud")]
    assert sum(p.attrib["d"].count("h0") for p in clouds) + found.outside == 200
    assert {p.find("title").text for p in clouds} <= {f"name {k}" for k in range(30)}


def test_names_on_the_map_do_not_overlap():
    rng = np.random.default_rng(1)
    found, svg = drawn(rng.normal(size=(150, 2)))
    boxes = []
    for text in svg.iter("text"):
        half, x, y = text_width(text.text, 11.5) / 2, float(text.attrib["x"]), float(text.attrib["y"])
        boxes.append((x - half, y - 9, x + half, y + 3))
    assert len(boxes) == found.named
    assert 30 < found.named < 150
    for i, a in enumerate(boxes):
        assert a[0] >= 0
        assert a[2] <= 800
        assert not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in boxes[:i])


@pytest.mark.parametrize("points", [[], [(0.0, 0.0)], [(1.0, 1.0)] * 5, [(0.0, 0.0), (1e9, 0.0)]])
def test_degenerate_maps_are_drawn(points):
    found, svg = drawn(points)
    for circle in svg.iter("circle"):
        assert 0 <= float(circle.attrib["cx"]) <= 800
        assert np.isfinite(float(circle.attrib["cy"]))
    assert found.named <= len(points)
    assert len(list(svg.iter("circle"))) == len(points)


def test_far_items_are_counted_not_drawn():
    items = [MapItem(str(i), 0, 0, i / 500, i / 500) for i in range(500)] + [MapItem("far", 0, 0, 99.0, 99.0)]
    found, _ = drawn([(0.0, 0.0), (1.0, 1.0)], items)
    assert 1 <= found.outside < 10
