"""Charts of a report, drawn as SVG: items per session, categories over time, spreads, sparklines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from vbcgcd.record import SessionRecord
from vbcgcd.workspace.report.svg import Plot, element, number, picture, scale, ticks
from vbcgcd.workspace.values import CategoryCount

#: A base session this many times as large as the largest other one would flatten all the others.
BREAK = 4.0
#: Most bars that have their number written above them, per pixel of width.
DENSITY = 1 / 34

__all__ = ["Spread", "category_chart", "session_chart", "sparkline", "spread_chart"]


@dataclass(frozen=True)
class Spread:
    """The spread of one category, for `spread_chart`."""

    name: str
    birth: int
    value: float
    css: str


def session_chart(sessions: Sequence[SessionRecord], *, width: float, height: float) -> Markup:
    """Items of each session as bars: labelled, or stacked of known and novel categories and unassigned ones.

    A first session much larger than all others is drawn broken, with its number.

    Parameters
    ----------
    sessions : sequence of SessionRecord
    width, height : float
        In pixels.
    """
    plot = Plot(width, height)
    rows = [session.rows for session in sessions]
    rest = max(rows[1:], default=0)
    broken = len(rows) > 1 and rows[0] > BREAK * rest > 0
    top = (rest if broken else max(rows, default=1)) * (1.25 if broken else 1.0)
    place = scale(0, top, plot.y1, plot.y0)
    centres, half = _bands(plot, len(sessions))
    marks = [plot.grid(ticks(0, top, 4), place)]
    for i, session in enumerate(sessions):
        cut = broken and i == 0
        marks.append(_bar(session, centres[i], half, place, top if cut else None))
        if len(sessions) <= width * DENSITY:
            y = place(top if cut else session.rows) - 5
            marks.append(element("text", f"{session.rows:,}", x=centres[i], y=y, class_="tick mid"))
    marks.append(plot.axis([str(s.session) for s in sessions], centres, "session"))
    return picture(width, height, _description(sessions), *marks)


def _bar(
    session: SessionRecord, x: float, half: float, place: Callable[[float], float], cut: float | None
) -> Markup:
    tip = f"Session {session.session}: {session.rows:,} items"
    if session.command == "learn":
        parts = [("labelled", float(session.rows))]
        tip += " with labels"
    else:
        parts = [("known", float(session.known_rows)), ("novel", float(session.novel_rows))]
        tip += f", {session.known_rows:,} of known categories, {session.novel_rows:,} of novel ones"
        if session.unassigned:
            parts.append(("unassigned", float(session.unassigned)))
            tip += f", {session.unassigned:,} unassigned"
    marks, below = [element("title", tip)], 0.0
    for css, value in parts:
        value = value if cut is None else cut
        y0, y1 = place(below), place(below + value)
        marks.append(element("rect", x=x - half, y=y1, width=2 * half, height=max(y0 - y1, 0.0), class_=css))
        below += value
    if cut is not None:
        y = place(cut * 0.86)
        path = f"M{number(x - half - 3)} {number(y + 4)}l{number(2 * half + 6)} -8"
        marks.append(element("path", d=path, class_="break"))
    return element("g", *marks)


def category_chart(growth: Sequence[CategoryCount], *, width: float, height: float) -> Markup:
    """Live categories after each session as a line, and below it the labelled ones.

    Parameters
    ----------
    growth : sequence of CategoryCount
    width, height : float
        In pixels.
    """
    plot = Plot(width, height, right=46.0)
    labelled = [count.labelled for count in growth]
    everything = [count.labelled + count.discovered for count in growth]
    top = max([*everything, 1]) * 1.08
    place = scale(0, top, plot.y1, plot.y0)
    centres, _ = _bands(plot, len(growth))
    marks = [plot.grid([t for t in ticks(0, top, 4) if t == int(t)], place)]
    lines: list[tuple[str, list[int]]] = [("base", labelled), ("all", everything)]
    for css, values in lines:
        points = [f"{number(x)} {number(place(v))}" for x, v in zip(centres, values, strict=True)]
        if len(points) > 1:
            floor = f"L{number(centres[-1])} {number(plot.y1)}L{number(centres[0])} {number(plot.y1)}Z"
            marks.append(element("path", d=f"M{'L'.join(points)}{floor}", class_=f"area {css}"))
            marks.append(element("path", d=f"M{'L'.join(points)}", class_=f"line {css}"))
    for i, count in enumerate(growth):
        tip = f"After session {count.session}: {everything[i]:,} categories, {labelled[i]:,} labelled"
        dot = element(
            "circle", element("title", tip), cx=centres[i], cy=place(everything[i]), r=3.2, class_="dot all"
        )
        marks.append(dot)
    if growth:
        marks += _ends(plot, place(everything[-1]), everything[-1], place(labelled[-1]), labelled[-1])
    marks.append(plot.axis([str(count.session) for count in growth], centres, "session"))
    label = f"Live categories after each session, now {everything[-1] if growth else 0:,}."
    return picture(width, height, label, *marks)


def _ends(plot: Plot, y_all: float, n_all: int, y_base: float, n_base: int) -> list[Markup]:
    """The last values at the right, kept apart."""
    labels = [element("text", f"{n_all:,}", x=plot.x1 + 4, y=y_all + 4, class_="value")]
    if n_base != n_all:
        y = max(y_base + 4, y_all + 18)
        labels.append(element("text", f"{n_base:,}", x=plot.x1 + 4, y=y, class_="value soft"))
    return labels


def spread_chart(spreads: Sequence[Spread], *, width: float, height: float) -> Markup:
    """The spread of each category by session of birth: points, their median, and the labelled ones' range.

    Parameters
    ----------
    spreads : sequence of Spread
    width, height : float
        In pixels.
    """
    plot = Plot(width, height, left=48.0)
    births = sorted({spread.birth for spread in spreads})
    values = np.array([spread.value for spread in spreads])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.9, 1.1)
    pad = max(0.08 * (high - low), 0.02 * high)
    low, high = max(low - pad, 0.0), high + pad
    place = scale(low, high, plot.y1, plot.y0)
    centres, half = _bands(plot, len(births))
    base = values[[spread.birth == births[0] for spread in spreads]] if len(values) else values
    marks = []
    if len(base) > 1 and len(births) > 1:
        lower, upper = np.quantile(base, [0.1, 0.9])
        marks.append(
            element(
                "rect",
                element("title", f"80 % of the categories of session {births[0]} lie in this band"),
                x=plot.x0,
                y=place(float(upper)),
                width=plot.x1 - plot.x0,
                height=max(place(float(lower)) - place(float(upper)), 1.0),
                class_="band",
            )
        )
    levels = ticks(low, high, 5)
    digits = 2 if len(levels) < 2 or levels[1] - levels[0] >= 0.01 else 3
    marks.append(plot.grid(levels, place, f".{digits}f"))
    for birth, x in zip(births, centres, strict=True):
        marks.append(_strip([s for s in spreads if s.birth == birth], x, min(half, 60.0), place))
    marks.append(plot.axis([str(birth) for birth in births], centres, "session of birth"))
    return picture(width, height, "Spread of each category by its session of birth.", *marks)


def _strip(spreads: Sequence[Spread], x: float, half: float, place: Callable[[float], float]) -> Markup:
    """The points of one session beside each other where they would cover each other, and their median."""
    ordered = sorted(spreads, key=lambda spread: spread.value)
    radius = 3.6 if half > 12 else 2.4
    marks, taken = [], list[tuple[float, float]]()
    for spread in ordered:
        y = place(spread.value)
        shift = next((s for s in _shifts(half, radius) if _clear(x + s, y, taken, 2 * radius)), 0.0)
        taken.append((x + shift, y))
        tip = element("title", f"{spread.name}: {spread.value:.3f}")
        marks.append(element("circle", tip, cx=x + shift, cy=y, r=radius, class_=f"pt {spread.css}"))
    if len(ordered) > 1:
        middle = place(float(np.median([spread.value for spread in ordered])))
        path = f"M{number(x - min(half, 26))} {number(middle)}h{number(2 * min(half, 26))}"
        marks.append(element("path", element("title", "median"), d=path, class_="median"))
    return element("g", *marks)


def _shifts(half: float, radius: float) -> list[float]:
    """Steps away from the middle: 0, one right, one left, two right ..."""
    steps = int(half // (2 * radius)) + 1
    return [0.0, *(sign * 2 * radius * k for k in range(1, steps) for sign in (1, -1))]


def _clear(x: float, y: float, taken: Sequence[tuple[float, float]], apart: float) -> bool:
    return all((x - a) ** 2 + (y - b) ** 2 >= (apart - 0.2) ** 2 for a, b in taken[-60:])


def sparkline(by_session: Mapping[int, int], sessions: Sequence[int], *, width: float = 120.0) -> Markup:
    """Items of a category in each session as small bars; sessions without any are a base line.

    Parameters
    ----------
    by_session : dict of session -> int
    sessions : sequence of int
        All sessions, first to last.
    width : float
    """
    height, n = 22.0, max(len(sessions), 1)
    most = max([by_session.get(session, 0) for session in sessions] or [0]) or 1
    step = width / n
    bar = max(min(step - 1.0, 14.0), step * 0.6)
    path = ""
    for i, session in enumerate(sessions):
        count = by_session.get(session, 0)
        if count:
            tall = max(count / most * (height - 2), 1.5)
            left, up = number(i * step + (step - bar) / 2), number(tall)
            path += f"M{left} {number(height - 1)}v-{up}h{number(bar)}v{up}z"
    counts = [f"{by_session[s]:,} in session {s}" for s in sessions if by_session.get(s)]
    tip = ", ".join(counts[-8:]) if counts else "no items"
    tip = f"… {tip}" if len(counts) > 8 else tip
    marks = [
        element("title", tip),
        element("path", d=f"M0 {number(height - 0.5)}h{number(width)}", class_="floor"),
    ]
    if path:
        marks.append(element("path", d=path, class_="spark"))
    return picture(width, height, f"Items per session: {tip}", *marks, class_="sparkline")


def _bands(plot: Plot, n: int) -> tuple[list[float], float]:
    """Centres of n equal columns, and half the width of a bar in one."""
    step = (plot.x1 - plot.x0) / max(n, 1)
    return [plot.x0 + step * (i + 0.5) for i in range(n)], min(step * 0.36, 34.0)


def _description(sessions: Sequence[SessionRecord]) -> str:
    return f"Items of {len(sessions)} sessions, {sum(session.rows for session in sessions):,} in all."
