"""The HTTP API, writing: decisions of visitors, each of them a command of the workspace."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Request

from vbcgcd.errors import InputError
from vbcgcd.names import normalised, unseen_character
from vbcgcd.record import plain
from vbcgcd.web import bodies, views
from vbcgcd.web.hub import Hub
from vbcgcd.web.reading import CategoryId, QuestionId, TheHub
from vbcgcd.workspace import ItemInfo, Workspace
from vbcgcd.workspace.log.lessons import ItemKey

router = APIRouter(prefix="/api/v1")
#: Letters in the name of a visitor.
LONGEST = 60
Answer = TypeVar("Answer")

__all__ = ["router", "visitor"]


def visitor(request: Request) -> str | None:
    """The name that a visitor gave, which the log keeps; None if there is none."""
    name = normalised(unquote(request.headers.get("x-visitor", ""))).strip()
    if len(name) > LONGEST or (name and unseen_character(name)):
        raise InputError(f"A visitor's name has up to {LONGEST} visible characters, got {name[:80]!a}.")
    return name or None


By = Annotated[str | None, Depends(visitor)]


def _do(
    hub: Hub,
    by: str | None,
    seen: int | None,
    concerns: Collection[int] | None,
    act: Callable[[Workspace], Any],
    items: Collection[ItemKey] | None = (),
) -> dict[str, Any]:
    """Carry out a decision; the answer names its own commits, so that a page can tell them from others'."""
    with hub.reading() as before:
        result = hub.write(act, seen=seen, concerns=concerns, items=items, by=by)
        head = hub.workspace.last_commit
    own = list(range(before.head.number + 1, head + 1))
    return {"head": head, "commits": own, "result": plain(result)}


@router.post("/categories/{category}/rename")
def rename(hub: TheHub, by: By, category: CategoryId, body: bodies.Rename) -> dict[str, Any]:
    """Name a category."""
    return _do(hub, by, body.seen, [category], lambda here: here.rename(category, body.name))


@router.post("/categories/merge")
def merge(hub: TheHub, by: By, body: bodies.Merge) -> dict[str, Any]:
    """Make one category of several; excluded items are rejected first, and become unassigned."""

    def act(here: Workspace) -> Any:
        left_out = _chosen(here, body.exclude)
        strange = next((item for item in left_out if item.category not in body.ids), None)
        if strange is not None:
            raise InputError(f"Item {strange.reference!r} is in none of these categories; leave it out.")
        rejected = here.reject_items(left_out) if left_out else None
        try:
            return here.merge(body.ids, body.name)
        except BaseException:
            if rejected is not None and here.last_commit == rejected.commit:  # nobody else's command
                here.undo()
            raise

    return _do(hub, by, body.seen, body.ids, act)


@router.post("/categories/{category}/split")
def split(hub: TheHub, by: By, category: CategoryId, body: bodies.Split) -> dict[str, Any]:
    """Cut a category into parts."""
    return _do(hub, by, body.seen, [category], lambda here: here.split(category, n_parts=body.n_parts))


@router.post("/categories/{category}/drop")
def drop(hub: TheHub, by: By, category: CategoryId, body: bodies.Drop) -> dict[str, Any]:
    """Retire a category."""
    return _do(hub, by, body.seen, [category], lambda here: here.drop(category))


@router.post("/items/move")
def move(hub: TheHub, by: By, body: bodies.Move) -> dict[str, Any]:
    """Put items into a category, or into a new one."""
    to: int | str = body.to
    if isinstance(to, int) and not body.create:
        target = [to]
    else:
        to, target = str(to), []
    return _correct(hub, by, body, target, lambda here, some: here.move_items(some, to, create=body.create))


@router.post("/items/confirm")
def confirm(hub: TheHub, by: By, body: bodies.Items) -> dict[str, Any]:
    """Say that items are where they belong."""
    return _correct(hub, by, body, [], lambda here, some: here.confirm_items(some))


@router.post("/items/reject")
def reject(hub: TheHub, by: By, body: bodies.Items) -> dict[str, Any]:
    """Say that items are not of their category."""
    return _correct(hub, by, body, [], lambda here, some: here.reject_items(some))


@router.post("/items/unlabel")
def unlabel(hub: TheHub, by: By, body: bodies.Items) -> dict[str, Any]:
    """Forget what people said about items."""
    return _correct(hub, by, body, [], lambda here, some: here.unlabel_items(some))


def _correct(
    hub: Hub,
    by: str | None,
    body: bodies.Items,
    target: list[int],
    act: Callable[[Workspace, list[ItemInfo]], Any],
) -> dict[str, Any]:
    with hub.reading():
        chosen = _chosen(hub.workspace, body.items)
        concerns = {*target, *(item.category for item in chosen if item.category is not None)}
        keys = [(item.commit, item.row) for item in chosen]
        return _do(hub, by, body.seen, concerns, lambda here: act(here, chosen), keys)


def _chosen(here: Workspace, keys: list[str]) -> list[ItemInfo]:
    now = here.snapshot()
    return [views.item_of_key(now, key) for key in dict.fromkeys(keys)]


@router.post("/review/{question}/accept")
def accept(hub: TheHub, by: By, question: QuestionId, body: bodies.Answer) -> dict[str, Any]:
    """Carry out what settles a question; refused, with the reason, if it is not what the visitor saw."""
    with hub.reading():
        asked = hub.workspace.question(question, examples=0)
        target = [body.to] if isinstance(body.to, int) else []
        return _do(
            hub,
            by,
            body.seen,
            [*asked.categories, *target],
            lambda here: here.accept(question, to=body.to, create=body.create, without=body.without),
            None if asked.items else (),  # they are named by their places in a list that may have changed
        )


@router.post("/review/{question}/dismiss")
def dismiss(hub: TheHub, by: By, question: QuestionId, body: bodies.Decision) -> dict[str, Any]:
    """Do not ask a question again unless its evidence changes."""
    return _do(hub, by, None, (), lambda here: here.dismiss(question))


@router.post("/undo")
def undo(hub: TheHub, by: By, body: bodies.Decision) -> dict[str, Any]:
    """Take back the last command; refused if there is another one since the visitor looked."""
    return _do(hub, by, body.seen, None, lambda here: here.undo())


@router.post("/redo")
def redo(hub: TheHub, by: By, body: bodies.Decision) -> dict[str, Any]:
    """Bring back what the last undo took back."""
    return _do(hub, by, body.seen, None, lambda here: here.redo())


@router.post("/settings")
def configure(hub: TheHub, by: By, body: bodies.Settings) -> dict[str, Any]:
    """Change settings that name no file or program."""
    allowed = {"reject", "names", "excerpts", "sample"}
    strange = next((name for name in body.changes if name not in allowed), None)
    if strange is not None:
        raise InputError(
            f"The setting {strange!r} cannot be changed in the browser, only {', '.join(sorted(allowed))}; "
            f"use 'vbcgcd config {strange} VALUE'.",
            option="changes",
        )
    return _do(hub, by, body.seen, None, lambda here: here.configure(**body.changes))
