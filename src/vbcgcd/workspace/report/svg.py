"""Small pieces for drawing: escaped SVG elements, scales, round ticks and the width of a text."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup, escape

__all__ = ["Plot", "element", "number", "picture", "scale", "shortened", "text_width", "ticks"]

#: Widths in em of letters that are far from the usual 0.56, for the sans-serif faces of common systems.
_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[] -"), frozenset("mwMW@%&#")


def number(value: float) -> str:
    """A coordinate, to a tenth."""
    text = f"{value:.1f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def element(name: str, *children: str, **attributes: object) -> Markup:
    """One element; children that are not markup and all attributes are escaped.

    Examples
    --------
    >>> str(element("text", "a < b", x=1.25, font_size=12, class_="name"))
    '<text x="1.2" font-size="12" class="name">a &lt; b</text>'
    """
    parts = []
    for key, value in attributes.items():
        if value is not None:
            text = number(value) if isinstance(value, float) else value
            parts.append(f' {key.rstrip("_").replace("_", "-")}="{escape(text)}"')
    inside = Markup("").join(children)
    return Markup(f"<{name}{''.join(parts)}>{inside}</{name}>")


def picture(width: float, height: float, label: str, *children: str, class_: str = "") -> Markup:
    """A whole drawing with a text for those who do not see it."""
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {number(width)} {number(height)}",
        class_=class_ or None,
        role="img",
        aria_label=label,
        style=f"max-width:{number(width)}px",
    )


def scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """The linear map that takes ``low`` to ``start`` and ``high`` to ``end``."""
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers inside [low, high], at most about ``most``.

    Examples
    --------
    >>> ticks(0, 870)
    [0.0, 200.0, 400.0, 600.0, 800.0]
    """
    span = high - low
    if span <= 0:
        return [low]
    raw = span / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def text_width(text: str, size: float) -> float:
    """About how wide a text is, in pixels; rather too wide than too narrow."""
    em = 0.0
    for letter in text:
        if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Cf"):
            continue
        if unicodedata.east_asian_width(letter) in "WF" or unicodedata.category(letter) == "So":
            em += 1.3 if ord(letter) > 0x1F000 else 1.05
        elif letter in _NARROW:
            em += 0.36
        elif letter in _WIDE:
            em += 0.92
        else:
            em += 0.7 if letter.isupper() else 0.58
    return em * size


def shortened(text: str, letters: int) -> str:
    """The text, cut to so many letters."""
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"


@dataclass(frozen=True)
class Plot:
    """A drawing's size and the margins around its inner rectangle, in pixels."""

    width: float
    height: float
    left: float = 44.0
    right: float = 12.0
    top: float = 18.0
    bottom: float = 34.0

    @property
    def x0(self) -> float:
        """Left edge of the inner rectangle."""
        return self.left

    @property
    def x1(self) -> float:
        """Right edge."""
        return self.width - self.right

    @property
    def y0(self) -> float:
        """Upper edge."""
        return self.top

    @property
    def y1(self) -> float:
        """Lower edge."""
        return self.height - self.bottom

    def grid(self, values: list[float], place: Callable[[float], float], form: str = ",.0f") -> Markup:
        """Horizontal lines with their values on the left."""
        return Markup("").join(
            element("line", x1=self.x0, x2=self.x1, y1=place(v), y2=place(v), class_="grid")
            + element("text", format(v, form), x=self.x0 - 6, y=place(v) + 4, class_="tick end")
            for v in values
        )

    def axis(self, names: list[str], places: list[float], title: str) -> Markup:
        """Names below the inner rectangle, thinned so that they do not touch, and what they are."""
        widest = max((text_width(name, 11) for name in names), default=0.0) + 8
        marks, last = [], -math.inf
        for name, x in zip(names, places, strict=True):
            if x - last >= widest:
                marks.append(element("text", name, x=x, y=self.y1 + 15, class_="tick mid"))
                last = x
        middle = (self.x0 + self.x1) / 2
        marks.append(element("text", title, x=middle, y=self.height - 3, class_="tick mid"))
        return Markup("").join(marks)
