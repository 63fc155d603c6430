"""The page: a template filled with the content of a workspace, style and script inside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

import vbcgcd
from vbcgcd import words
from vbcgcd.workspace.report.changes import became, news, recent
from vbcgcd.workspace.report.charts import category_chart, session_chart, spread_chart
from vbcgcd.workspace.report.content import Content
from vbcgcd.workspace.report.scatter import scatter

#: Widths in pixels for which charts are drawn: a desk and a phone.
WIDE, HALF, NARROW = 1080.0, 528.0, 342.0
#: Sessions in the table before the others are folded away.
SESSION_ROWS = 12

#: What a setting without a value means.
UNSET = {
    "embedder": "the default for the kind of items",
    "kind": "set by the first items",
    "reject": "nothing is rejected",
}

__all__ = ["option_lines", "render"]


@dataclass(frozen=True)
class Figure:
    """One chart, drawn for a wide and for a narrow screen."""

    wide: Markup
    narrow: Markup


def render(content: Content, *, title: str, now: datetime | None = None) -> str:
    """The whole page as HTML.

    Parameters
    ----------
    content : Content
    title : str
    now : datetime, optional
        Written on it; the present time by default.
    """
    script = _text("page.js")
    mark = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    env = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    env.globals.update({name: getattr(words, name) for name in words.__all__})
    env.globals.update(option_lines=option_lines, UNSET=UNSET)
    template = env.from_string(_text("page.html"))
    overview = content.overview
    recently, earlier = overview.sessions[-SESSION_ROWS:], overview.sessions[:-SESSION_ROWS]
    return template.render(
        title=title,
        written=words.moment((now or datetime.now(UTC)).isoformat()),
        release=vbcgcd.__version__,
        # Our own files: they hold nothing of the user's.
        style=Markup(_text("page.css")),
        script=Markup(script),
        script_mark=mark,
        content=content,
        overview=overview,
        counts=content.counts(),
        news=news(content),
        recent=recent(content),
        retired=[(info, became(content, info)) for info in overview.retired],
        tables=[part for part in (recently[::-1], earlier[::-1]) if part],
        **_figures(content),
    )


def option_lines(value: Any, unset: str = "not set") -> list[str]:
    """A setting in words, one line for each of its parts.

    Examples
    --------
    >>> option_lines({"size": 8, "grey": True}), option_lines({}), option_lines(None)
    (['size: 8', 'grey: yes'], ['defaults'], ['not set'])
    """
    if isinstance(value, Mapping):
        return [f"{key}: {', '.join(option_lines(part))}" for key, part in value.items()] or ["defaults"]
    if isinstance(value, list | tuple):
        return [", ".join(str(part) for part in value)] if value else ["none"]
    if value is None:
        return [unset]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [str(value)]


def _figures(content: Content) -> dict[str, Any]:
    overview, spreads = content.overview, content.spreads()
    sessions = overview.sessions
    views, items, classes = overview.categories, overview.map, content.classes
    wide = scatter(views, items, classes, width=WIDE, tallest=760.0)
    narrow = scatter(views, items, classes, width=NARROW, tallest=460.0)
    return {
        "items_chart": Figure(
            session_chart(sessions, width=HALF, height=260.0),
            session_chart(sessions, width=NARROW, height=220.0),
        ),
        "categories_chart": Figure(
            category_chart(overview.growth, width=HALF, height=260.0),
            category_chart(overview.growth, width=NARROW, height=220.0),
        ),
        "map_chart": Figure(wide.svg, narrow.svg),
        "map_wide": wide,
        "map_narrow": narrow,
        "spread_figure": Figure(
            spread_chart(spreads, width=WIDE, height=320.0), spread_chart(spreads, width=NARROW, height=280.0)
        ),
    }


def _text(name: str) -> str:
    return resources.files("vbcgcd.workspace.report").joinpath(name).read_text(encoding="utf-8")
