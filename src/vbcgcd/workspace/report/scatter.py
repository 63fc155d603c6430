"""The map of a report: a sample of items as dots, category means as markers with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from vbcgcd.workspace.report.placement import Box, Label, place_labels
from vbcgcd.workspace.report.svg import element, number, picture, shortened, text_width
from vbcgcd.workspace.values import CategoryView, MapItem

Array = NDArray[Any]
FONT, LETTERS, PAD = 11.5, 24, 14.0
#: One direction may be drawn so much larger than the other, to fill the frame.
STRETCH = 1.6

__all__ = ["MapDrawing", "scatter"]


@dataclass(frozen=True)
class MapDrawing:
    """The map, how many categories have their name on it, and how many items lie outside its frame."""

    svg: Markup
    named: int
    outside: int


def scatter(
    views: Sequence[CategoryView],
    items: Sequence[MapItem],
    classes: Mapping[int, str],
    *,
    width: float,
    tallest: float,
) -> MapDrawing:
    """Draw the map.

    Parameters
    ----------
    views : sequence of CategoryView
    items : sequence of MapItem
    classes : dict of session -> str
        Colour class of each session of birth.
    width, tallest : float
        In pixels; the height follows the data up to ``tallest``.
    """
    means = np.array([(view.x, view.y) for view in views]).reshape(-1, 2)
    dots = np.array([(item.x, item.y) for item in items]).reshape(-1, 2)
    place, height = _fitted(means, dots, width, tallest)
    at, spots = place(means), place(dots)
    edge = 3.0
    inside = ((spots > edge) & (spots < [width - edge, height - edge])).all(axis=1)
    radius = [_radius(view.info.size, views) for view in views]
    marks = [element("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=8, class_="ground")]
    marks += _clouds(views, items, spots, inside, classes)
    marks += _markers(views, at, radius, classes)
    labels = _labels(views, at, radius, Box(6, 6, width - 12, height - 12))
    marks += [_named(views[label.index], label) for label in labels]
    label = f"Map of {len(views)} categories with {int(inside.sum())} items."
    return MapDrawing(picture(width, height, label, *marks, class_="map"), len(labels), int((~inside).sum()))


def _fitted(means: Array, dots: Array, width: float, tallest: float) -> tuple[Any, float]:
    """From positions to pixels: all means and all but the farthest items fit; y grows upwards."""
    low, high = np.full(2, -1.0), np.full(2, 1.0)
    if len(means):
        low, high = means.min(axis=0), means.max(axis=0)
    if len(dots):
        low = np.minimum(low, np.quantile(dots, 0.005, axis=0))
        high = np.maximum(high, np.quantile(dots, 0.995, axis=0))
    span = np.maximum(high - low, 1e-9)
    span = np.maximum(span, span.max() * 0.2)
    middle, room = (low + high) / 2, width - 2 * PAD
    height = float(np.clip(room * span[1] / span[0] + 2 * PAD, 0.5 * width, tallest))
    units = np.array([room / span[0], (height - 2 * PAD) / span[1]])
    units = np.minimum(units, units.min() * STRETCH)

    def place(points: Array) -> Array:
        shifted = (points - middle) * units * [1, -1] + [width / 2, height / 2]
        return np.asarray(shifted, dtype=np.float64).reshape(-1, 2)

    return place, height


def _radius(size: int, views: Sequence[CategoryView]) -> float:
    """Of a marker; its area grows with the items of the category."""
    largest = max(view.info.size for view in views) or 1
    return 3.0 + 4.0 * float(np.sqrt(size / largest))


def _clouds(
    views: Sequence[CategoryView],
    items: Sequence[MapItem],
    spots: Array,
    inside: Array,
    classes: Mapping[int, str],
) -> list[Markup]:
    """One path for the items of each category: points of no length with round ends."""
    paths: dict[int, list[str]] = {}
    for item, (x, y), visible in zip(items, spots, inside, strict=True):
        if visible:
            paths.setdefault(item.category, []).append(f"M{number(x)} {number(y)}h0")
    return [
        element(
            "path",
            element("title", view.info.name),
            d="".join(paths[view.info.id]),
            class_=f"cloud {classes[view.info.birth]}",
        )
        for view in views
        if view.info.id in paths
    ]


def _markers(
    views: Sequence[CategoryView], at: Array, radius: Sequence[float], classes: Mapping[int, str]
) -> list[Markup]:
    marks = []
    for row in np.argsort([-r for r in radius], kind="stable"):
        info = views[row].info
        tip = element("title", f"{info.name} (#{info.id}), {info.size:,} items, session {info.birth}")
        marker = element(
            "circle",
            tip,
            cx=float(at[row, 0]),
            cy=float(at[row, 1]),
            r=radius[row],
            class_=f"mean {classes[info.birth]}",
        )
        marks.append(element("a", marker, href=f"#c{info.id}"))
    return marks


def _labels(views: Sequence[CategoryView], at: Array, radius: Sequence[float], frame: Box) -> list[Label]:
    """Names that find room: newer and larger categories before others."""
    order = sorted(range(len(views)), key=lambda k: (-views[k].info.birth, -views[k].info.size, k))
    sizes = [(text_width(shortened(view.info.name, LETTERS), FONT) + 2, FONT * 1.25) for view in views]
    return place_labels(at, sizes, order, frame, radius)


def _named(view: CategoryView, label: Label) -> Markup:
    box = label.box
    marks = []
    if label.line is not None:
        x0, y0, x1, y1 = map(number, label.line)
        marks.append(element("path", d=f"M{x0} {y0}L{x1} {y1}", class_="lead-line"))
    marks.append(
        element(
            "text",
            shortened(view.info.name, LETTERS),
            x=box.x + box.width / 2,
            y=box.y + box.height * 0.77,
            class_="name",
        )
    )
    return element("g", *marks)
