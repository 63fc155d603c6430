"""The tools: each is a method whose signature and docstring are what an assistant reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from vbcgcd.errors import InputError
from vbcgcd.record import plain
from vbcgcd.workspace import Workspace

#: Items that one call may ask about.
MOST_ITEMS = 100
#: Tools that look, and tools that change the workspace; an assistant gets the second ones only if allowed.
READ = ("status", "categories", "category", "items", "unassigned", "sessions", "predict", "explain")
WRITE = ("rename", "merge", "move_items", "confirm_items", "reject_items", "undo")
#: Tools that are offered where `Workspace` has the method that they need.
NEEDS = {"open_questions": "review"}

__all__ = ["MOST_ITEMS", "NEEDS", "READ", "WRITE", "Tools"]


class Tools:
    """What an assistant can ask of a workspace.

    Parameters
    ----------
    here : Workspace
    """

    def __init__(self, here: Workspace) -> None:
        self._here = here

    def status(self) -> dict[str, Any]:
        """What the workspace knows: how many categories, items, sessions and unassigned items it has."""
        here = self._here
        records = here.sessions(undone=False)
        last = records[-1] if records else None
        return {
            "workspace": here.path.name,
            "embedder": here.embedder,
            "categories": len(here.entries()),
            "items": here.count_items(),
            "unassigned": here.count_unassigned(),
            "seedlings": here.seedlings(),
            "sessions": len(records),
            "last_session": None if last is None else {"session": last.session, "time": last.time},
        }

    def categories(self, find: str = "", first: int = 0, limit: int = 50) -> dict[str, Any]:
        """List categories: id, name, size, the session they were born in, and typical items.

        find: only those with this text in their name or typical items. first, limit: which part of the list.
        """
        every = self._here.categories(n_samples=3, items=True)
        word = find.casefold()
        found = [
            info
            for info in every
            if any(word in part.casefold() for part in (info.name, *info.samples, *info.sample_texts))
        ]
        keys = ("id", "name", "size", "birth", "reliability", "nearest_name", "samples", "sample_texts")
        first = max(0, first)
        part = found[first : first + _limit(limit)]
        rows = [{key: getattr(info, key) for key in keys} for info in part]
        return {"categories": rows, "found": len(found), "first": first}

    def category(self, category: str, items: int = 8) -> dict[str, Any]:
        """One category by id or name: its items by session, the most typical and the most doubtful ones."""
        here = self._here
        entry = here.category(category)
        [view] = here.overview(n_items=_limit(items), n_map=0, only=[entry.id]).categories
        values = view.as_json()
        chosen = (*view.typical, *view.doubtful)
        contents = here.item_contents(chosen)
        for row, content in zip((*values["typical"], *values["doubtful"]), contents, strict=True):
            row["text"] = content.text
        del values["excerpts"]
        return values

    def items(self, where: list[str] | None = None, first: int = 0, limit: int = 20) -> dict[str, Any]:
        """Find items among all that sessions have seen.

        where: conditions that must all hold, such as "category=lost card", "probability<0.5", "text~refund",
        "session=3", "state=guessed", "category=none". first, limit: which part of the list.
        """
        here = self._here
        found = here.items(*(where or ()))
        first = max(0, first)
        part = found[first : first + _limit(limit)]
        names = {info.id: info.name for info in here.entries(retired=True)}
        rows = []
        for item, content in zip(part, here.item_contents(part), strict=True):
            name = "" if item.category is None else names[item.category]
            rows.append({**item.as_json(), "name": name, "text": content.text})
        return {"items": rows, "found": len(found), "first": first}

    def unassigned(self, limit: int = 20) -> dict[str, Any]:
        """The items that fit no category well enough, the most novel first."""
        here = self._here
        some = here.unassigned(_limit(limit))
        rows = [
            {**item.as_json(), "text": content.text}
            for item, content in zip(some, here.item_contents(some), strict=True)
        ]
        return {"items": rows, "found": here.count_unassigned(), "seedlings": here.seedlings()}

    def sessions(self, limit: int = 20) -> dict[str, Any]:
        """The last sessions: what each learned or discovered, from which data, and when."""
        records = self._here.sessions()
        keys = ("session", "command", "time", "source", "rows", "novel", "unassigned", "undone")
        rows = [
            {key: getattr(record, key) for key in keys} for record in records[::-1][: _limit(limit)][::-1]
        ]
        return {"sessions": rows, "found": len(records)}

    def predict(
        self, texts: list[str] | None = None, vectors: list[list[float]] | None = None
    ) -> dict[str, Any]:
        """The category of each text (or vector, in a workspace of vectors), with probability and novelty.

        A novelty near 1 means that the item probably belongs to no known category. Nothing is stored.
        """
        return {"predictions": list(self._here.predict(self._data(texts, vectors)).rows())}

    def explain(self, text: str = "", vector: list[float] | None = None) -> dict[str, Any]:
        """Why a text (or vector) belongs to its category: candidates, evidence, typical items."""
        data = self._data([text] if text else None, None if vector is None else [vector])
        return self._here.explain(data, items=True).as_json()

    def open_questions(self, limit: int = 10) -> dict[str, Any]:
        """What a person should look at next, the most useful question first."""
        review: Any = getattr(self._here, NEEDS["open_questions"])
        return dict(plain(review(_limit(limit), items=True)))

    def rename(self, category: str, name: str) -> dict[str, Any]:
        """Rename a category, given by id or name. Its id stays the same; `undo` takes it back."""
        return self._here.rename(category, name).as_json()

    def merge(self, categories: list[str], name: str = "") -> dict[str, Any]:
        """Merge categories, given by id or name, into one; `undo` takes it back."""
        return self._here.merge(categories, name or None).as_json()

    def move_items(self, items: list[str], to: str, create: bool = False) -> dict[str, Any]:
        """Move items, given as source:reference, into a category; create: it is a new one of this name."""
        return self._here.move_items(items, to, create=create).as_json()

    def confirm_items(self, items: list[str]) -> dict[str, Any]:
        """Confirm that items are where they belong; they count as labelled from now on."""
        return self._here.confirm_items(items).as_json()

    def reject_items(self, items: list[str]) -> dict[str, Any]:
        """Say that items are not of their category; they become unassigned."""
        return self._here.reject_items(items).as_json()

    def undo(self) -> dict[str, Any]:
        """Undo the last command on the workspace, whoever gave it."""
        return self._here.undo().as_json()

    def _data(self, texts: list[str] | None, vectors: list[list[float]] | None) -> Any:
        """Items to predict; never a path, so that no file is opened because an assistant asked."""
        from vbcgcd.items import Items

        kind = str((self._here.embedder or {}).get("kind", "text"))
        given = {"text": texts, "embedding": vectors}.get(kind)
        if not given or (texts and vectors):
            wanted = {"text": "texts", "embedding": "vectors"}.get(kind)
            raise InputError(
                f"This workspace holds {kind}s: give {wanted}, and nothing else."
                if wanted
                else f"This workspace holds {kind}s, which cannot be given here; use 'vbcgcd predict'."
            )
        if len(given) > MOST_ITEMS:
            raise InputError(f"At most {MOST_ITEMS} items can be given at once, got {len(given)}.")
        if kind == "embedding" and len({len(vector) for vector in given}) > 1:
            raise InputError("The vectors differ in length.")
        values: Any = np.array(given, dtype=float) if kind == "embedding" else list(given)
        return Items(kind, values, [str(row) for row in range(len(given))], "the question")


def _limit(limit: int) -> int:
    return max(0, min(limit, MOST_ITEMS))
