"""Labels beside points, without touching each other: greedy, the important ones first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Left, upper, right and lower edge of a box; or both ends of a line.
Edges = tuple[float, float, float, float]
#: Where a label may stand, best first: right, left, above, below, then the corners.
DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
#: Pixels between a marker and its label; the farther ones come with a line.
GAPS = (3.0, 12.0, 22.0, 34.0)
#: From this gap on.
LINE = 10.0

__all__ = ["Box", "Label", "place_labels"]


@dataclass(frozen=True)
class Box:
    """A rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Label:
    """A label that found room; ``line`` leads from the marker to it where it stands apart."""

    index: int
    box: Box
    line: Edges | None


def place_labels(
    points: Array,
    sizes: Sequence[tuple[float, float]],
    order: Sequence[int],
    frame: Box,
    radius: Sequence[float],
) -> list[Label]:
    """Find room for labels; those that find none are left out.

    Parameters
    ----------
    points : array (K, 2)
        Centres of the markers.
    sizes : sequence of (float, float) (K,)
        Width and height of each label.
    order : sequence of int
        Which labels to place, the most important first.
    frame : Box
        No label leaves it.
    radius : sequence of float (K,)
        Of the markers, which no label covers.

    Returns
    -------
    list of Label
        In no way overlapping: label with label, label with marker, label with line.
    """
    room = _Room(points, radius, frame)
    placed = []
    for index in order:
        for box, line in _candidates(points[index], radius[index], sizes[index]):
            if room.free(box, line):
                room.take(box, line)
                placed.append(Label(index, box, line))
                break
    return placed


def _candidates(point: Array, radius: float, size: tuple[float, float]) -> Iterator[tuple[Box, Edges | None]]:
    width, height = size
    for gap in GAPS:
        for dx, dy in DIRECTIONS:
            reach = (radius + gap) * (0.75 if dx and dy else 1.0)
            end = (float(point[0] + dx * reach), float(point[1] + dy * reach))
            box = Box(end[0] + width * (dx - 1) / 2, end[1] + height * (dy - 1) / 2, width, height)
            start = (float(point[0] + dx * radius * 0.7), float(point[1] + dy * radius * 0.7))
            yield box, (*start, *end) if gap >= LINE else None


class _Room:
    """What is taken: markers, labels and lines, as edges (n, 4) of boxes."""

    def __init__(self, points: Array, radius: Sequence[float], frame: Box) -> None:
        reach = np.asarray(radius, dtype=np.float64)[:, None] + 1.0
        centres = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        self.markers = np.hstack([centres - reach, centres + reach]) if len(centres) else np.empty((0, 4))
        self.boxes: list[Edges] = []
        self.lines: list[Edges] = []
        self.frame = frame

    def free(self, box: Box, line: Edges | None) -> bool:
        edges = (box.x, box.y, box.x + box.width, box.y + box.height)
        frame = self.frame
        inside = (
            edges[0] >= frame.x
            and edges[1] >= frame.y
            and edges[2] <= frame.x + frame.width
            and edges[3] <= frame.y + frame.height
        )
        if not inside or _hits(self.markers, edges) or _hits(self.boxes, edges) or _hits(self.lines, edges):
            return False
        return line is None or not any(_hits(self.boxes, part) for part in _pieces(line))

    def take(self, box: Box, line: Edges | None) -> None:
        self.boxes.append((box.x, box.y, box.x + box.width, box.y + box.height))
        if line is not None:
            self.lines.extend(_pieces(line))


def _pieces(line: Edges) -> list[Edges]:
    """The boxes around short pieces of a line."""
    x0, y0, x1, y1 = line
    n = max(2, int(np.hypot(x1 - x0, y1 - y0) // 3) + 1)
    xs, ys = np.linspace(x0, x1, n).tolist(), np.linspace(y0, y1, n).tolist()
    return [
        (min(a, b) - 0.3, min(c, d) - 0.3, max(a, b) + 0.3, max(c, d) + 0.3)
        for a, b, c, d in zip(xs, xs[1:], ys, ys[1:], strict=False)
    ]


def _hits(taken: Any, edges: Edges) -> bool:
    boxes = np.asarray(taken, dtype=np.float64)
    if not len(boxes):
        return False
    x0, y0, x1, y1 = edges
    hit = (boxes[:, 0] < x1) & (boxes[:, 2] > x0) & (boxes[:, 1] < y1) & (boxes[:, 3] > y0)
    return bool(hit.any())
