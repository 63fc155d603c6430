"""`SessionRecord`: what one session did, in one frozen value for people, programs and the disk.

The session makes it, the estimator and the workspace return it, a commit stores it as JSON, and the command
line and the report render it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items import Failure
from vbcgcd.ranking import is_sparse, ranking
from vbcgcd.tabular import Tabular, carried, html_page, html_table

Array = NDArray[Any]

Command = Literal["learn", "discover"]
#: Fields that are not written as JSON.
ARRAYS = frozenset({"labels_", "probabilities_", "novelty_", "lessons_", "classes_", "table_", "kept_"})
#: Names in the JSON of release 0.1.0, and what they are called now.
_RENAMED = {"unfamiliar": "flagged", "model": "prior"}

__all__ = ["ARRAYS", "CountCurve", "Lessons", "SessionRecord", "Step", "plain"]


def plain(value: Any) -> Any:
    """Only dicts, lists, strings, numbers, truth values and None; a number that is not finite becomes None.

    A value with a method ``as_json`` decides for itself.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"share": np.float32(0.5), "ids": np.array([1, 2]), 3: float("nan")})
    {'share': 0.5, 'ids': [1, 2], '3': None}
    """
    if hasattr(value, "as_json") and not isinstance(value, type):
        return value.as_json()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


class Step(NamedTuple):
    """One step of a session: its name, its seconds and what is worth knowing about it."""

    name: str
    seconds: float
    details: Mapping[str, Any]


class CountCurve(NamedTuple):
    """Score of each candidate number of novel categories.

    ``chosen`` is the number in the end: a later pass may have dropped or added some. ``method`` is "distinct"
    where nothing could be rehearsed.
    """

    method: str
    candidates: tuple[int, ...]
    scores: tuple[float, ...]
    chosen: int


class Lessons(NamedTuple):
    """What each row of an unlabelled session taught, so that it can be taken back exactly.

    Attributes
    ----------
    row, category : int array (M,)
        A row, and a category that it taught, by its position in the order in which they were learned.
    weight : array (M,)
        What the row counted for in the statistics of that category.
    waiting : int array (N,)
        The seedling that each row belongs to after the session, with weight 1; -1 for none.
    lineage : int array (S,)
        What each seedling was before the session; -1 if it is new.
    grown : mapping of int -> int
        The seedling before the session that a category took over, by the position of the category.
    """

    row: Array
    category: Array
    weight: Array
    waiting: Array
    lineage: Array
    grown: Mapping[int, int]


@dataclass(frozen=True)
class SessionRecord(Tabular):
    """Outcome of one session, labelled or not.

    Categories are named by the estimator's labels or by the workspace's ids. Items of a workspace are rows
    here.

    Parameters
    ----------
    session : int
        0 is the base session.
    command : {"learn", "discover"}
        Whether the session was labelled.
    rows : int
        Rows that took part.
    novel : mapping of category -> name
        Categories that the session added, in order.
    counts : mapping of category -> int
        Rows of the session in each category that has any.
    seconds : float
    mean_probability : float or None
        Mean probability of the assigned categories.
    flagged : float or None
        Share of rows with a novelty above 0.95 under the categories known before the session (for a labelled
        session, after it).
    estimated : bool or None
        Whether the number of novel categories was estimated; None for a labelled session.
    unassigned : int
        Rows that fit no category well enough; no category learned from them.
    seedlings : tuple of int
        Rows of each seedling after the session: groups that are too small or too doubtful to be a category
        yet, of which only statistics are kept.
    grown : mapping of category -> int
        Novel categories that grew from a seedling, and the session in which it began.
    returned : mapping of category -> int
        Categories found in earlier sessions that came back as a group, which was recognised, and its rows.
    warnings : tuple of str
        What the labelled rows are too few to judge, in words.
    novel_share : float or None
        Estimated share of novel rows.
    evidence : float or None
        Log evidence of the novel categories.
    ratio_before, ratio_after : tuple of float
        Covariance volume R of each novel category against the known ones, before and after alignment.
    count : CountCurve or None
        Score of each candidate number, where it was estimated.
    steps : tuple of Step
    prior : mapping
        The prior that a base session chose.
    unlabelled : int
        Items of a labelled session without a label; they were left out.
    failures : tuple of Failure
        Items that could not be embedded; on disk at most the first hundred are named.
    n_failures : int
        How many there were.
    source, kind : str
        Where the items came from, as the user named it, and whether they are texts, images or embeddings.
    columns : mapping
        Which columns of a table were used for what.
    source_path, source_digest : str
        Absolute path of the user's file or folder, and the digest of a file's content.
    source_read : float
        When it was read, in seconds since 1970.
    commit : int or None
        The workspace's commit that holds the session.
    time : str
        When it was committed: UTC, ISO 8601.
    undone : bool
        Whether it was undone since.
    labels_ : array (N,)
        Category of each row: the best novel one if the row is novel with a probability of at least one half,
        else the best known one; -1 or "none of these", as `predict` answers, where it is unassigned. If that
        is the label of a category, another mark stands for it, so select rows by `is_unassigned_`. Like the
        next two it is not part of the JSON form, and empty in a record that was read from disk.
    probabilities_ : array (N, K)
        Probability of each category, in the order in which categories were learned. What a row lacks to 1 is
        the probability that it belongs to none of them. After a session of many rows only the best few of
        each row are above 0, and from 50 million rows x categories on it is a `scipy.sparse.csr_array`.
    novelty_ : array (N,)
        Novelty before the session: uniform on [0, 1] for rows of known categories, high for novel ones.
    lessons_ : Lessons or None
        What each row taught; None for a labelled session, with ``inference="svi"``, and in a record that was
        read from disk.
    classes_ : array (K,)
        The categories, in the order of ``probabilities_``.
    table_ : mapping
        Of a workspace's session: a column with a value for each item, by name. `to_pandas` and
        `to_polars` give it as a frame; without it they make one of the arrays above.
    kept_ : mapping
        Columns of the input that were asked for.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vbcgcd import CategoryDiscoverer
    >>> X, y = load_iris(return_X_y=True)
    >>> record = CategoryDiscoverer().fit(X[:100], y[:100]).discover(X[50:], n_novel=1)
    >>> record.rows, record.n_novel, list(record.novel)
    (100, 1, [2])
    >>> SessionRecord.from_json(record.as_json()) == record
    True
    >>> record.to_pandas()[["category", "unassigned"]].value_counts().to_dict()
    {(2, False): 55, (1, False): 45}
    """

    session: int
    command: Command
    rows: int
    novel: Mapping[Any, str]
    counts: Mapping[Any, int]
    seconds: float = 0.0
    mean_probability: float | None = None
    flagged: float | None = None
    estimated: bool | None = None
    unassigned: int = 0
    seedlings: tuple[int, ...] = ()
    grown: Mapping[Any, int] = field(default_factory=dict)
    returned: Mapping[Any, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    novel_share: float | None = None
    evidence: float | None = None
    ratio_before: tuple[float, ...] = ()
    ratio_after: tuple[float, ...] = ()
    count: CountCurve | None = None
    steps: tuple[Step, ...] = field(default=(), compare=False)
    prior: Mapping[str, Any] = field(default_factory=dict)
    unlabelled: int = 0
    failures: tuple[Failure, ...] = ()
    n_failures: int = 0
    source: str = ""
    kind: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    source_path: str = ""
    source_digest: str = ""
    source_read: float = 0.0
    commit: int | None = None
    time: str = ""
    undone: bool = False
    labels_: Array = field(default_factory=lambda: np.empty(0), compare=False, repr=False)
    probabilities_: Array = field(default_factory=lambda: np.empty((0, 0)), compare=False, repr=False)
    novelty_: Array = field(default_factory=lambda: np.empty(0), compare=False, repr=False)
    lessons_: Lessons | None = field(default=None, compare=False, repr=False)
    classes_: Array = field(default_factory=lambda: np.empty(0), compare=False, repr=False)
    table_: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    kept_: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def n_novel(self) -> int:
        """Number of novel categories."""
        return len(self.novel)

    @property
    def novel_rows(self) -> int:
        """Rows of categories that the session added."""
        return sum(self.counts.get(category, 0) for category in self.novel)

    @property
    def known_rows(self) -> int:
        """Rows of categories that were known before."""
        return self.rows - self.novel_rows - self.unassigned

    @property
    def is_unassigned_(self) -> Array:
        """Whether each row of ``labels_`` is unassigned, boolean array (N,), whatever the labels are."""
        return ~np.isin(self.labels_, np.array(list(self.counts), dtype=self.labels_.dtype))

    def columns_of_rows(self) -> dict[str, Any]:
        """A value for each row, by the name of the column: its category, how probable, how novel, the second.

        Raises
        ------
        InputError
            The record was read from disk, where single rows are not part of it.
        """
        if not self.table_ and len(self.labels_) != self.rows:
            raise InputError(
                f"This record of session {self.session} was read from disk and has no rows; list its items "
                f"with Workspace.items('session={self.session}')."
            )
        return carried(self.table_ or _table(self), self.kept_)

    def _repr_html_(self) -> str:
        rest = self.rows if self.table_ or len(self.labels_) else 0
        return html_page(repr(self), html_table(self if rest else (), rest))

    def as_json(self) -> dict[str, Any]:
        """Plain values, without the arrays of single rows."""
        values = {
            f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name not in ARRAYS | {"steps"}
        }
        values["count"] = None if self.count is None else plain(self.count._asdict())
        values["steps"] = [{"name": step.name, "seconds": round(step.seconds, 3)} for step in self.steps]
        return {**values, "known_rows": self.known_rows, "novel_rows": self.novel_rows}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], **log: Any) -> SessionRecord:
        """The record that `as_json` wrote, in this release or an earlier one.

        Categories that read as integers become integers again, the ids of a workspace; labels that are
        strings of digits do not come back as strings.

        Parameters
        ----------
        values : mapping
        **log
            Fields that the log knows better, such as ``commit`` and ``time``.
        """
        values = {**values, **log}
        names = {f.name for f in fields(cls)} - ARRAYS
        known = {name: values[name] for name in names & values.keys()}
        for old, new in _RENAMED.items():
            if old in values:
                known.setdefault(new, values[old])
        return cls(
            **{
                **known,
                "novel": {_category(key): name for key, name in values["novel"].items()},
                "counts": {_category(key): int(n) for key, n in values["counts"].items()},
                "grown": {_category(key): int(n) for key, n in values.get("grown", {}).items()},
                "returned": {_category(key): int(n) for key, n in values.get("returned", {}).items()},
                "count": _curve(values.get("count")),
                "seedlings": tuple(values.get("seedlings", ())),
                "warnings": tuple(values.get("warnings", ())),
                "steps": tuple(Step(s["name"], s["seconds"], {}) for s in values.get("steps", ())),
                "failures": tuple(Failure(**failure) for failure in values.get("failures", ())),
                "ratio_before": tuple(values.get("ratio_before", ())),
                "ratio_after": tuple(values.get("ratio_after", ())),
            }
        )

    def __repr__(self) -> str:
        how = {None: "labelled", True: "estimated", False: "given"}[self.estimated]
        names = ", ".join(str(name) for name in list(self.novel.values())[:4])
        names = f": {names}{', ...' if self.n_novel > 4 else ''}" if self.novel else ""
        categories = "category" if self.n_novel == 1 else "categories"
        rest = f", {self.unassigned} unassigned" if self.unassigned else ""
        return (
            f"SessionRecord(session {self.session}: {self.rows} rows, {self.known_rows} known and "
            f"{self.novel_rows} novel in {self.n_novel} {categories} ({how}){names}{rest}; "
            f"{self.seconds:.1f} s)"
        )

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table

        table = Table(title=f"Session {self.session}", title_justify="left")
        table.add_column("category")
        for name in ("rows", "probability", "R before", "R after"):
            table.add_column(name, justify="right")
        for k, (category, name) in enumerate(self.novel.items()):
            members = np.flatnonzero(self.labels_ == category)
            best = self.probabilities_[members].max(axis=1) if len(members) else np.empty(0)
            sure = f"{best.mean():.2f}" if len(members) else ""
            ratios = (f"{r[k]:+.1f}" if len(r) > k else "" for r in (self.ratio_before, self.ratio_after))
            table.add_row(str(name), str(self.counts.get(category, 0)), sure, *ratios)
        return Group(repr(self), table)


def _table(record: SessionRecord) -> dict[str, Any]:
    """The columns of a record that an estimator returned: rows are numbered."""
    probability, classes, unassigned = record.probabilities_, record.classes_, record.is_unassigned_
    index = np.arange(probability.shape[0])
    order = np.argsort(classes)
    own = order[np.searchsorted(classes, record.labels_, sorter=order).clip(max=len(classes) - 1)]
    if is_sparse(probability):
        ranks = ranking(probability, np.where(unassigned, -1, own))
        own_value, second, second_value, none = ranks.own, ranks.other, ranks.other_value, 1 - ranks.total
    else:
        others = probability.copy()
        others[index[~unassigned], own[~unassigned]] = -1
        second, own_value = others.argmax(axis=1), probability[index, own]
        second_value, none = others[index, second], 1 - probability.sum(axis=1, dtype=np.float64)
        second = np.where(second_value < 0, -1, second)
    nothing: Any = -1 if classes.dtype.kind in "iuf" else ""
    rest = np.array([*classes.tolist(), nothing], dtype=None if classes.dtype.kind in "iufU" else object)
    return {
        "row": index,
        "category": record.labels_,
        "probability": np.where(unassigned, np.clip(none, 0, 1), own_value),
        "unassigned": unassigned,
        "novelty": record.novelty_,
        "second": rest[second],  # the last stands for none
        "second_probability": second_value.clip(min=0),
    }


def _category(key: Hashable) -> Any:
    """A category as JSON's keys hold it: an integer id again, or a label."""
    return int(key) if isinstance(key, str) and re.fullmatch("-?[0-9]+", key) else key


def _curve(values: Mapping[str, Any] | None) -> CountCurve | None:
    if values is None:
        return None
    return CountCurve(
        values["method"], tuple(values["candidates"]), tuple(values["scores"]), int(values["chosen"])
    )
