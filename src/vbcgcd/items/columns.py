"""Which column is what: chosen by the caller, else guessed from names and contents, never at random."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.items.cells import Nature
from vbcgcd.items.items import Column, check_kind

TEXT_NAMES = (
    *("text", "sentence", "utterance", "document", "content", "body", "message", "review"),
    *("question", "query", "comment", "tweet", "title", "description", "abstract", "subject"),
)
#: Names that decide between several columns of strings, but do not make one a text beside something else.
WEAK_TEXT_NAMES = (
    *("msg", "post", "prompt", "input", "transcript", "feedback", "email_body", "message_body"),
    *("message_text", "ticket_text", "texts", "sentences", "phrase", "email", "note", "caption", "summary"),
)
IMAGE_NAMES = (
    *("image", "image_path", "img", "img_path", "picture", "photo", "path", "filepath", "file_path"),
    *("file", "filename", "file_name"),
)
EMBEDDING_NAMES = ("embedding", "embeddings", "vector", "emb")
LABEL_NAMES = (
    *("label", "labels", "category", "class", "class_name", "label_name", "intent", "target", "y"),
    *("fine_label", "intent_name", "category_name", "topic", "tag"),
)
ID_NAMES = (
    *("id", "item_id", "row_id", "uid", "uuid", "guid", "key", "ref", "reference", "ticket_id", "idx"),
    *("index", "", "unnamed:_0"),
)
SPLIT_NAMES = ("split", "partition", "subset", "set", "fold")

#: This many numbered columns of numbers are an embedding even beside a text.
MANY = 8

__all__ = ["LABEL_NAMES", "SPLIT_NAMES", "Columns", "choose_columns", "pick_column"]


@dataclass(frozen=True)
class Columns:
    """The columns of a table to read.

    Parameters
    ----------
    kind : {"image", "text", "embedding"}
    values : tuple of str
        The column of the items; for an embedding, possibly several columns of numbers.
    label, id : str, optional
        The columns of the labels and of the ids.
    explicit_id : bool
        Whether the caller chose the id column; one that was guessed may turn out not to be unique.
    shown : (str, str), optional
        For an embedding, "text" or "image" and the column that shows what the vectors stand for.
    """

    kind: str
    values: tuple[str, ...]
    label: str | None = None
    id: str | None = None
    explicit_id: bool = False
    shown: tuple[str, str] | None = None

    @property
    def names(self) -> list[str]:
        """Every column to read."""
        shown = () if self.shown is None else self.shown[1:]
        return [*self.values, *shown, *(name for name in (self.label, self.id) if name is not None)]

    @property
    def report(self) -> dict[str, Column]:
        """Which column is read as what."""
        parts: dict[str, Column] = {self.kind: self.values[0] if len(self.values) == 1 else self.values}
        if self.shown is not None:
            parts[self.shown[0]] = self.shown[1]
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
    prefer: Mapping[str, Any] | None = None,
) -> Columns:
    """Decide what the columns of a table are.

    Parameters
    ----------
    natures : dict of column -> nature
        What each column holds, in the order of the table.
    source : str
        The table; errors name it.
    kind, text, image, embedding, label, id
        The choices of the caller; see `read_items`.
    ignore : sequence of str
        Columns that are none of these.
    prefer : mapping, optional
        Choices that count only where the caller makes none and where the table has such columns.

    Returns
    -------
    Columns

    Raises
    ------
    InputError
        A column does not exist, no column fits, or several do.
    """
    for option, name in (("text", text), ("image", image), ("label", label), ("id", id)):
        _check_exists(name, natures, source, option)
    options = {"text": text, "image": image, "embedding": embedding}
    liked = _preferences(prefer or {}, natures, kind, options)
    choice, shown = _choice(natures, source, kind, options if _any(options) else liked)
    explicit_id = id is not None
    label = label if label is not None else liked.get("label")
    id = id if id is not None else liked.get("id")
    used = {
        *ignore,
        *(choice[1] if choice else ()),
        *(shown or ())[1:],
        *(n for n in (label, id) if n is not None),
    }
    label = label if label is not None else pick_column(_rest(natures, used), LABEL_NAMES)
    used |= {label} if label is not None else set()
    id_column = id if id is not None else pick_column(_rest(natures, used), ID_NAMES)
    used |= {id_column} if id_column is not None else set()
    free = {n: natures[n] for n in _rest(natures, used) if _normalise(n) not in SPLIT_NAMES}
    kind, values = choice or _guess(free, kind, source, liked.get("kind"))
    if kind == "embedding" and shown is None:
        shown = _shown_beside(free, values)
    columns = Columns(kind, values, label, id_column, explicit_id, shown)
    if len(set(columns.names)) < len(columns.names):
        raise InputError(f"A column of {source} is used twice ({columns.report}); choose different columns.")
    return columns


def _any(options: Mapping[str, Any]) -> bool:
    return any(value is not None for value in options.values())


def _preferences(
    prefer: Mapping[str, Any], natures: Mapping[str, Nature], kind: str | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """What was chosen before and can be chosen here; not what the items are, where the caller says so."""
    items = ("text", "image", "embedding", "kind")
    decided = kind is not None or _any(options)
    return {
        name: value
        for name, value in prefer.items()
        if (name == "kind" or _all_there(value, natures)) and not (decided and name in items)
    }


def _all_there(value: Any, natures: Mapping[str, Nature]) -> bool:
    if isinstance(value, str):
        return value in natures or value in _numbered(natures)
    return value is not None and all(name in natures for name in value)


def _choice(
    natures: Mapping[str, Nature], source: str, kind: str | None, options: Mapping[str, Any]
) -> tuple[tuple[str, tuple[str, ...]] | None, tuple[str, str] | None]:
    """Kind and columns of the items where they are named, and the column that shows vectors."""
    choices = {
        option: options[option]
        for option in ("text", "image", "embedding")
        if options.get(option) is not None
    }
    if kind is not None:
        check_kind(kind)
    beside = {option: value for option, value in choices.items() if option != "embedding"}
    with_vectors = "embedding" in choices or kind == "embedding"
    if len(beside) > 1 or (kind is not None and choices and kind not in choices and not with_vectors):
        names = [*([f"kind {kind!r}"] if kind else []), *(f"{k} {v!r}" for k, v in choices.items())]
        raise InputError(
            f"{' and '.join(names)} contradict each other; use only one of the options 'text' and 'image', "
            "alone or beside 'embedding'.",
            option="kind" if kind else next(iter(choices)),
        )
    if with_vectors and kind not in (None, "embedding"):
        raise InputError(
            f"kind {kind!r} and embedding {choices['embedding']!r} contradict each other; with vectors the "
            "kind is embedding.",
            option="kind",
        )
    if not choices:
        return None, None
    if with_vectors:
        shown = next(((option, str(value)) for option, value in beside.items()), None)
        if "embedding" not in choices:
            return None, shown
        return ("embedding", _embedding_columns(choices["embedding"], natures, source)), shown
    [(kind, value)] = choices.items()
    return (kind, (str(value),)), None


def _shown_beside(free: Mapping[str, Nature], values: Sequence[str]) -> tuple[str, str] | None:
    """The column of texts or pictures beside vectors, where there is no doubt which one it is."""
    taken = set(values)
    rest = {name: nature for name, nature in free.items() if name not in taken}
    strong = {kind: names for kind, names in _strong(rest).items() if names and kind != "embedding"}
    if len(strong) != 1:
        return None
    [(kind, names)] = strong.items()
    return kind, names[0]


def pick_column(names: Iterable[str], preferences: Sequence[str]) -> str | None:
    """The column whose name comes first in ``preferences``; case, blanks and hyphens do not matter.

    Examples
    --------
    >>> pick_column(["Class-Name", "x"], ("label", "class_name"))
    'Class-Name'
    """
    by_name = {_normalise(name): name for name in reversed(list(names))}
    return next((by_name[name] for name in preferences if name in by_name), None)


def _normalise(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _rest(natures: Mapping[str, Nature], used: set[Any]) -> list[str]:
    return [name for name in natures if name not in used]


def _check_exists(name: str | None, natures: Mapping[str, Nature], source: str, option: str) -> None:
    if name is not None and name not in natures:
        raise InputError(
            f"{source} has no column {name!r}; its columns are {_list_names(natures)}.", option=option
        )


def _embedding_columns(
    value: str | Sequence[str], natures: Mapping[str, Nature], source: str
) -> tuple[str, ...]:
    """One column, the numbered columns with a prefix, or a list of columns."""
    if isinstance(value, str):
        group = _numbered(natures).get(value)
        if value not in natures and group:
            return group
        _check_exists(value, natures, source, "embedding")
        return (value,)
    for name in value:
        _check_exists(name, natures, source, "embedding")
    if not value:
        raise InputError("embedding must name at least one column, got none.", option="embedding")
    return tuple(value)


def _guess(
    free: Mapping[str, Nature], kind: str | None, source: str, usual: str | None = None
) -> tuple[str, tuple[str, ...]]:
    strong = {k: v for k, v in _strong(free).items() if kind in (None, k) and v}
    if len(strong) > 1 and usual in strong:
        strong = {usual: strong[usual]}
    if len(strong) > 1:
        candidates = " or ".join(f"{k} ({_list_names(v)})" for k, v in strong.items())
        both = ""
        if "embedding" in strong:
            both = " With kind embedding, the vectors decide and the others name and show."
        raise InputError(
            f"{source} could hold {candidates}; choose one with the option 'kind'.{both}", option="kind"
        )
    if strong:
        [(guess, values)] = strong.items()
        return guess, values
    texts = [name for name, nature in free.items() if nature == "text"]
    text = texts[0] if len(texts) == 1 else pick_column(texts, WEAK_TEXT_NAMES)
    if kind in (None, "text") and text is not None:
        return "text", (text,)
    if kind == "embedding" or (kind is None and not texts):
        values = _weak_embedding(free)
        if values:
            return "embedding", values
    mixed = _mixed(free, kind)
    if len(mixed) == 1:  # reading it raises an error that names the cell at fault
        return mixed[0]
    option = f"option {kind!r}" if kind else "options 'text', 'image' or 'embedding'"
    raise InputError(
        f"It is not clear which column of {source} holds the {kind or 'item'}s; the columns to choose from "
        f"are {_list_names(free)}. Choose with the {option}.",
        option=kind,
    )


def _strong(free: Mapping[str, Nature]) -> dict[str, tuple[str, ...]]:
    """Columns for which name and content agree."""
    text = pick_column([name for name, nature in free.items() if nature == "text"], TEXT_NAMES)
    pictures = [name for name, nature in free.items() if nature == "picture"]
    image = pictures[0] if len(pictures) == 1 else pick_column(pictures, IMAGE_NAMES)
    vectors = [name for name, nature in free.items() if nature == "vector"]
    vector = vectors[0] if len(vectors) == 1 else pick_column(vectors, EMBEDDING_NAMES)
    groups = [g for g in _numbered(free).values() if len(g) >= MANY]
    embedding = (vector,) if vector is not None else groups[0] if len(groups) == 1 else ()
    return {
        "text": (text,) if text is not None else (),
        "image": (image,) if image is not None else (),
        "embedding": embedding,
    }


def _mixed(free: Mapping[str, Nature], kind: str | None) -> list[tuple[str, tuple[str, ...]]]:
    """Columns with the name of items, but with some cells of another type."""
    preferences = {"text": TEXT_NAMES, "image": IMAGE_NAMES, "embedding": EMBEDDING_NAMES}
    return [
        (item, (name,))
        for item, names in preferences.items()
        for name, nature in free.items()
        if kind in (None, item) and nature == "other" and _normalise(name) in names
    ]


def _weak_embedding(free: Mapping[str, Nature]) -> tuple[str, ...]:
    """The only group of numbered columns, else all columns of numbers if there are at least two."""
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
        if counts[prefix] == len(members) > 1 and sorted(members) in _ranges(len(members))
    }


def _ranges(n: int) -> tuple[list[int], list[int]]:
    return list(range(n)), list(range(1, n + 1))


def _list_names(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (", ".join(map(repr, names[:8])) + more) or "none"
