"""The HTTP API, reading: every page has its JSON here."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from vbcgcd.record import plain
from vbcgcd.web import views
from vbcgcd.web.hub import Hub
from vbcgcd.workspace import Snapshot, queries
from vbcgcd.workspace.log.lessons import STATES
from vbcgcd.workspace.queries.chart import Chart, chart

router = APIRouter(prefix="/api/v1")
#: Items in one answer, at the most.
MOST = 500
CategoryId = Annotated[int, Path(ge=0)]
Offset = Annotated[int, Query(ge=0)]
Limit = Annotated[int, Query(ge=1, le=MOST)]
QuestionId = Annotated[str, Path(pattern=r"^[a-z]+-[a-z0-9-]{1,200}$")]
ItemKey = Annotated[str, Path(pattern=r"^[0-9]{1,9}-[0-9]{1,12}$")]

__all__ = ["QuestionId", "hub_of", "router"]


def hub_of(request: Request) -> Hub:
    """The workspace behind this server."""
    hub: Hub = request.app.state.hub
    return hub


TheHub = Annotated[Hub, Depends(hub_of)]


@router.get("/status")
def status(request: Request, hub: TheHub) -> dict[str, Any]:
    """Name, commit, counts, and what undo and redo would do."""
    app = request.app.state
    return hub.once("status", lambda now: views.status(now, app.title, read_only=app.read_only))


@router.get("/home")
def home(hub: TheHub, since: Annotated[int | None, Query(ge=0)] = None) -> dict[str, Any]:
    """Sessions over time, and what changed after the commit ``since``."""
    return hub.once(("home", since), lambda now: views.home(now, since))


@router.get("/sessions")
def sessions(hub: TheHub) -> dict[str, Any]:
    """All sessions and commands."""
    return hub.once("sessions", views.sessions_page)


@router.get("/categories")
def categories(
    hub: TheHub,
    find: Annotated[str, Query(max_length=400)] = "",
    retired: bool = False,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=100_000)] = 100_000,
) -> Response:
    """All categories; with ``find``, those whose name or one of whose items contains a text."""
    find = find.strip()

    def compute(now: Snapshot) -> bytes:
        rows = [row for row in views.category_rows(now) if retired or row["status"] == "live"]
        if find:
            hits = _item_hits(now, find)
            rows = [
                {**row, "hits": hits.get(row["id"], 0)}
                for row in rows
                if find.casefold() in row["name"].casefold() or row["id"] in hits
            ]
        answer = {"head": now.head.number, "total": len(rows), "categories": rows[offset : offset + limit]}
        return json.dumps(plain(answer), ensure_ascii=False).encode()

    key = ("categories", find, retired, offset, limit)
    return Response(hub.once(key, compute), media_type="application/json")


def _item_hits(snapshot: Snapshot, find: str) -> dict[int, int]:
    """Items of each category whose text contains a text."""
    import warnings

    hits: dict[int, int] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # texts that are not there any more cannot be searched
        for item in queries.list_items(snapshot, f"text~{find}"):
            if item.category is not None:
                hits[item.category] = hits.get(item.category, 0) + 1
    return hits


@router.get("/categories/{category}")
def category(hub: TheHub, category: CategoryId) -> dict[str, Any]:
    """One category: facts, sessions, neighbours, lineage and history."""
    return hub.once(("category", category), lambda now: views.category_page(now, category))


@router.get("/categories/{category}/items")
def category_items(
    hub: TheHub,
    category: CategoryId,
    order: Literal["typical", "doubtful"] = "typical",
    offset: Offset = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Items of a category, a page at a time."""
    with hub.reading() as now:
        queries.get_category(now, category, retired=True)
        items, total = views.ordered_items(now, category, order, offset, limit)
        return {"head": now.head.number, "total": total, "items": views.item_values(now, items)}


@router.get("/items")
def items(
    hub: TheHub,
    where: Annotated[list[str], Query(max_length=20)] = [],  # noqa: B006
    key: Annotated[list[str], Query(max_length=MOST)] = [],  # noqa: B006
    offset: Offset = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Items that meet all conditions, such as ``probability<0.5``; or those with the given keys."""
    with hub.reading() as now:
        if key:
            found = [views.item_of_key(now, one) for one in key]
        else:
            found = list(hub.once(("items", *where), lambda snapshot: queries.list_items(snapshot, *where)))
        shown = found[offset : offset + limit]
        return {"head": now.head.number, "total": len(found), "items": views.item_values(now, shown)}


@router.get("/items/{key}")
def item(hub: TheHub, key: ItemKey) -> dict[str, Any]:
    """One item, and why it belongs to its category, where its source can still be read."""
    from vbcgcd.errors import VbcgcdError

    with hub.reading() as now:
        found = views.item_of_key(now, key)
        values = views.item_values(now, [found])[0]
        try:
            why, problem = plain(hub.workspace.explain_item(found, n=5)), None
        except VbcgcdError as error:
            why, problem = None, str(error)
        similar = views.item_values(now, views.similar_items(now, found))
        answer = {"head": now.head.number, **values, "explanation": why, "problem": problem}
        return {**answer, "neighbours": similar}


@router.get("/review")
def review(
    hub: TheHub,
    kind: str | None = None,
    limit: Annotated[int, Query(ge=0, le=1000)] = 200,
) -> dict[str, Any]:
    """What is worth a person's minute, the most worthwhile first, without examples."""

    def compute(now: Snapshot) -> dict[str, Any]:
        found = hub.workspace.review(limit, kind=kind, examples=0)  # type: ignore[arg-type]
        return {"head": now.head.number, **plain(found)}

    return hub.once(("review", kind, limit), compute)


@router.get("/review/{question}")
def question(hub: TheHub, question: QuestionId) -> dict[str, Any]:
    """One question with typical and doubtful items of its categories."""
    with hub.reading() as now:
        asked = hub.workspace.question(question, examples=6)
        values = plain(asked)
        values["items"] = views.item_values(now, asked.items)
        for side, part in zip(values["sides"], asked.sides, strict=True):
            side["typical"] = views.item_values(now, part.typical)
            side["doubtful"] = views.item_values(now, part.doubtful)
        return {"head": now.head.number, **values}


@router.get("/map")
def map_(hub: TheHub) -> dict[str, Any]:
    """What the map shows, without its points: categories and where they are."""

    def compute(now: Snapshot) -> dict[str, Any]:
        all_ = chart(now)
        names = {c.id: c for c in now.state.live}
        labelled = queries.labelled_sessions(now)
        return {
            "head": now.head.number,
            "points": len(all_.position),
            "states": list(STATES),
            "sessions": [r.session for r in queries.list_sessions(now, undone=False)],
            "categories": [
                {
                    "id": int(i),
                    "name": names[int(i)].name,
                    "birth": names[int(i)].birth,
                    "labelled": names[int(i)].birth in labelled,
                    "x": float(x),
                    "y": float(y),
                }
                for i, (x, y) in zip(all_.ids, all_.means, strict=True)
            ],
        }

    return hub.once("map", compute)


@router.get("/map/points")
def map_points(hub: TheHub) -> Response:
    """All points as bytes, little endian: x and y, then category, session, commit, row, novelty and state."""
    return Response(
        hub.once("points", lambda now: _packed(chart(now))), media_type="application/octet-stream"
    )


def _packed(all_: Chart) -> bytes:
    columns = (
        all_.position.astype("<f4").ravel(),
        all_.category.astype("<i4"),
        all_.session.astype("<i4"),
        all_.commit.astype("<i4"),
        all_.row.astype("<i4"),
        all_.novelty.astype("<f4"),
        all_.state.astype(np.uint8),
    )
    return b"".join(column.tobytes() for column in columns)


@router.get("/settings")
def settings(hub: TheHub) -> dict[str, Any]:
    """All settings, and where data is read from."""
    return hub.once(
        "settings",
        lambda now: {
            "head": now.head.number,
            "settings": plain(queries.get_config(now)),
            "embedder": plain(now.state.embedder),
            "sources": plain(queries.list_sources(now)),
        },
    )


@router.get("/events")
async def events(hub: TheHub) -> StreamingResponse:
    """Server-sent events: ``changed`` with the new commit, and the progress of long work."""

    async def lines() -> Any:
        yield b"retry: 1000\n\n"
        async for event in hub.events():
            yield b": alive\n\n" if event is None else f"data: {json.dumps(event)}\n\n".encode()

    return StreamingResponse(
        lines(),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )
