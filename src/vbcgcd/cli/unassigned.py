"""``vbcgcd unassigned``: the items that fit no category well enough, and the seedlings."""

from __future__ import annotations

from typing import Annotated

import typer

from vbcgcd.cli import arguments as a
from vbcgcd.cli.categories import shown_names, texts_of
from vbcgcd.cli.common import AsJson, errors_are_messages, finish

__all__ = ["unassigned"]


@errors_are_messages
def unassigned(
    n: Annotated[int, typer.Option("--items", min=0, help="How many items to list.")] = 20,
    session: Annotated[
        int | None, typer.Option("--session", min=0, help="Only items of this session.")
    ] = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """List the items that fit no category well enough, the most novel first, and the seedlings.

    A seedling is a group that is too small or too doubtful to be a category yet.
    To find out where unassigned items belong now, run predict on their data.

    Example: vbcgcd unassigned

    Example: vbcgcd unassigned --session 3 --items 100
    """
    from vbcgcd.show import categories as show

    here = a.open_workspace(workspace)
    items, seedlings = here.unassigned(n, session=session), here.seedlings()
    total = here.count_unassigned(session=session)
    texts = texts_of(here, items)
    names = {info.id: info.name for info in here.entries(retired=True)}
    rows = [
        {
            **item.as_json(),
            "second_name": "" if item.second is None else names[item.second],
            "text": texts[item.commit, item.reference],
        }
        for item in items
    ]
    finish(
        {"unassigned": total, "items": rows, "seedlings": seedlings},
        as_json,
        lambda: show.unassigned(items, shown_names(here), texts, total=total, seedlings=seedlings),
        steps=["vbcgcd predict DATA"] if total else [],
    )
