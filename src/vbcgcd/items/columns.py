"""Which column is what: said by the caller, else by name, else by content; never by a toss."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.items.items import KINDS, Column
from vbcgcd.items.natures import Nature

TEXT_NAMES = (
    *("text", "sentence", "utterance", "document", "content", "body", "message", "review"),
    *("question", "query", "comment", "tweet", "title", "description", "abstract"),
)
IMAGE_NAMES = (
    *("image", "image_path", "img", "img_path", "picture", "photo", "path", "filepath", "file_path"),
    *("file", "filename", "file_name"),
)
EMBEDDING_NAMES = ("embedding", "embeddings", "vector", "emb")
LABEL_NAMES = (
    *("label", "labels", "category", "class", "class_name", "label_name", "intent", "target", "y"),
    *("fine_label",),
)
ID_NAMES = ("id", "item_id", "row_id", "uid", "uuid", "guid", "key", "idx", "index", "", "unnamed:_0")
SPLIT_NAMES = ("split", "partition", "subset", "set", "fold")

#: So many numbered columns of numbers are an embedding even beside a text.
MANY = 8

__all__ = ["LABEL_NAMES", "SPLIT_NAMES", "Columns", "choose_columns", "named"]


@dataclass(frozen=True)
class Columns:
    """The columns in use: ``values`` is one column, or all the columns of an embedding."""

    kind: str
    values: tuple[str, ...]
    label: str | None = None
    id: str | None = None
    id_said: bool = False

    @property
    def used(self) -> list[str]:
        """Every column to read."""
        return [*self.values, *(name for name in (self.label, self.id) if name is not None)]

    @property
    def report(self) -> dict[str, Column]:
        """What was taken as what."""
        parts: dict[str, Column] = {self.kind: self.values[0] if len(self.values) == 1 else self.values}
        if self.label is not None:
            parts["label"] = self.label
        if self.id is not None:
            parts["id"] = self.id
        return parts


def choose_columns(
    natures: Mapping[str, Nature],
    *,
    source: str,
    kind: str | None = None,
    text: str | None = None,
    image: str | None = None,
    embedding: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    ignore: Sequence[str] = (),
) -> Columns:
    """Decide what the columns of a table are.

    Parameters
    ----------
    natures : dict of column -> nature
        What each column holds, in the order of the table.
    source : str
        Named in errors.
    kind, text, image, embedding, label, id
        What the caller says; see `read_items`.
    ignore : sequence of str
        Columns that are none of these.

    Returns
    -------
    Columns

    Raises
    ------
    InputError
        A column that does not exist, no column that fits, or more than one answer.
    """
    for name in (text, image, label, id):
        _check_exists(name, natures, source)
    said = _said(natures, source, kind, {"text": text, "image": image, "embedding": embedding})
    taken = {*ignore, *(said[1] if said else ()), *(n for n in (label, id) if n is not None)}
    label = label if label is not None else named(_free(natures, taken), LABEL_NAMES)
    taken |= {label} if label is not None else set()
    found_id = id if id is not None else named(_free(natures, taken), ID_NAMES)
    taken |= {found_id} if found_id is not None else set()
    free = {n: natures[n] for n in _free(natures, taken) if _plain(n) not in SPLIT_NAMES}
    kind, values = said or _guess(free, kind, source)
    columns = Columns(kind, values, label, found_id, id is not None)
    if len(set(columns.used)) < len(columns.used):
        raise InputError(f"A column of {source} is used for two things, got {columns.report}; say others.")
    return columns


def _said(
    natures: Mapping[str, Nature], source: str, kind: str | None, said: Mapping[str, Any]
) -> tuple[str, tuple[str, ...]] | None:
    """Kind and columns where the caller names them."""
    given = {key: value for key, value in said.items() if value is not None}
    if kind is not None and kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}.")
    if len(given) > 1 or (kind is not None and given and kind not in given):
        told = [*([f"kind={kind!r}"] if kind else []), *(f"{k}={v!r}" for k, v in given.items())]
        raise InputError(f"{' and '.join(told)} contradict each other; say one of text, image, embedding.")
    if not given:
        return None
    [(kind, value)] = given.items()
    return kind, _said_values(value, natures, source) if kind == "embedding" else (str(value),)


def named(names: Iterable[str], known: Sequence[str]) -> str | None:
    """The column whose name comes first among the known names; case, blanks and hyphens do not matter."""
    plain = {_plain(name): name for name in reversed(list(names))}
    return next((plain[name] for name in known if name in plain), None)


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _free(natures: Mapping[str, Nature], taken: set[Any]) -> list[str]:
    return [name for name in natures if name not in taken]


def _check_exists(name: str | None, natures: Mapping[str, Nature], source: str) -> None:
    if name is not None and name not in natures:
        raise InputError(f"{source} has no column {name!r}; its columns are {_listed(natures)}.")


def _said_values(value: str | Sequence[str], natures: Mapping[str, Nature], source: str) -> tuple[str, ...]:
    """One column, the numbered columns with a prefix, or a list of columns."""
    if isinstance(value, str):
        group = _numbered(natures).get(value)
        if value not in natures and group:
            return group
        _check_exists(value, natures, source)
        return (value,)
    for name in value:
        _check_exists(name, natures, source)
    if not value:
        raise InputError("embedding must name at least one column, got none.")
    return tuple(value)


def _guess(free: Mapping[str, Nature], kind: str | None, source: str) -> tuple[str, tuple[str, ...]]:
    strong = {k: v for k, v in _strong(free).items() if kind in (None, k) and v}
    if len(strong) > 1:
        options = " or ".join(f"{k} ({_listed(v)})" for k, v in strong.items())
        raise InputError(f"{source} could be {options}; say which with kind=.")
    if strong:
        [(found, values)] = strong.items()
        return found, values
    texts = [name for name, nature in free.items() if nature == "text"]
    if kind in (None, "text") and len(texts) == 1:
        return "text", (texts[0],)
    if kind == "embedding" or (kind is None and not texts):
        values = _weak_embedding(free)
        if values:
            return "embedding", values
    mixed = _mixed(free, kind)
    if len(mixed) == 1:  # whoever reads it names the cell that does not fit
        return mixed[0]
    which = {"text": "text=", "image": "image=", "embedding": "embedding="}.get(
        kind or "", "text=, image= or embedding="
    )
    raise InputError(
        f"It is not clear which column of {source} holds the {kind or 'item'}; its free columns are "
        f"{_listed(free)}. Say it with {which}."
    )


def _strong(free: Mapping[str, Nature]) -> dict[str, tuple[str, ...]]:
    """What names and contents agree on."""
    text = named([name for name, nature in free.items() if nature == "text"], TEXT_NAMES)
    pictures = [name for name, nature in free.items() if nature == "picture"]
    image = pictures[0] if len(pictures) == 1 else named(pictures, IMAGE_NAMES)
    vectors = [name for name, nature in free.items() if nature == "vector"]
    vector = vectors[0] if len(vectors) == 1 else named(vectors, EMBEDDING_NAMES)
    groups = [g for g in _numbered(free).values() if len(g) >= MANY]
    embedding = (vector,) if vector is not None else groups[0] if len(groups) == 1 else ()
    return {
        "text": (text,) if text is not None else (),
        "image": (image,) if image is not None else (),
        "embedding": embedding,
    }


def _mixed(free: Mapping[str, Nature], kind: str | None) -> list[tuple[str, tuple[str, ...]]]:
    """Columns that hold items by their names, but not by all of their cells."""
    known = {"text": TEXT_NAMES, "image": IMAGE_NAMES, "embedding": EMBEDDING_NAMES}
    return [
        (item, (name,))
        for item, names in known.items()
        for name, nature in free.items()
        if kind in (None, item) and nature == "other" and _plain(name) in names
    ]


def _weak_embedding(free: Mapping[str, Nature]) -> tuple[str, ...]:
    """The one group of numbered columns, else all columns of numbers if there are at least two."""
    groups = list(_numbered(free).values())
    numbers = tuple(name for name, nature in free.items() if nature == "number")
    if len(groups) == 1:
        return groups[0]
    return numbers if len(numbers) > 1 else ()


def _numbered(natures: Mapping[str, Nature]) -> dict[str, tuple[str, ...]]:
    """Columns of numbers called prefix0, prefix1, ... (or from 1) without a gap, by prefix, at least two."""
    groups: dict[str, dict[int, str]] = {}
    counts: dict[str, int] = {}
    for name, nature in natures.items():
        match = re.fullmatch(r"(.*?)([0-9]{1,9})", name, flags=re.DOTALL)
        if match and nature == "number":
            groups.setdefault(match[1], {})[int(match[2])] = name
            counts[match[1]] = counts.get(match[1], 0) + 1
    return {
        prefix: tuple(members[i] for i in sorted(members))
        for prefix, members in groups.items()
        if counts[prefix] == len(members) > 1 and sorted(members) in _runs(len(members))
    }


def _runs(n: int) -> tuple[list[int], list[int]]:
    return list(range(n)), list(range(1, n + 1))


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    shown = ", ".join(map(repr, names[:8]))
    return (shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")) or "none"
