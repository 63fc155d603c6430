"""What a study is made of: methods with three verbs, runs of a method, and experiments that compare runs."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = [
    "Experiment",
    "Method",
    "MethodCard",
    "Outcome",
    "Run",
    "Variant",
    "by_name",
    "outcome_of",
    "sweep",
]


class Outcome(NamedTuple):
    """What a method must report of a session.

    Parameters
    ----------
    labels_ : array (N,)
        Id of each row, known or novel.
    novel : array (J,)
        Ids that this session added.
    novelty_ : array (N,) or None
        Novelty score of each row, larger for more novel; None where the method has no such score.
    """

    labels_: Array
    novel: Array
    novelty_: Array | None = None


def outcome_of(record: Any) -> Outcome:
    """The `Outcome` in whatever a method's `discover` returned, such as a `vbcgcd.record.SessionRecord`.

    Parameters
    ----------
    record : object
        With ``labels_`` and ``novel`` (ids in order, or a mapping from ids to names); ``novelty_`` is
        optional.
    """
    labels = np.asarray(record.labels_)
    return Outcome(
        labels, np.array(list(record.novel), dtype=labels.dtype), getattr(record, "novelty_", None)
    )


@runtime_checkable
class Method(Protocol):
    """What can be run over a plan: `CategoryDiscoverer`, a rival, or any class with these three verbs.

    A method may also have ``nbytes`` (the bytes it keeps between sessions) and ``partial_fit`` (learn more
    labelled rows). Its supervised upper bound uses ``partial_fit`` session by session; without it, the bound
    is one `fit` on all rows.
    """

    def fit(self, X: Any, y: Any) -> Any:
        """Learn the labelled rows."""

    def discover(self, X: Any, *, n_novel: int | None = None) -> Any:
        """Learn an unlabelled session; return an `Outcome` or an object with its attributes."""

    def predict(self, X: Any) -> Array:
        """Id of each row."""


@dataclass(frozen=True)
class MethodCard:
    """A method in the catalogue: what it is and where its code is.

    Parameters
    ----------
    name : str
    what : str
        One line.
    where : str
        ``module:class``, or another callable; the module is imported when the method is made.
    paper : str
        Where it was published; empty for ours.
    year : int or None
    options : mapping
        Options that make it what its name says.
    torch : bool
        Whether it needs torch.
    """

    name: str
    what: str
    where: str
    paper: str = ""
    year: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    torch: bool = False

    def make(self, **options: Any) -> Method:
        """A fresh method; ``options`` override those of the card."""
        module, _, attribute = self.where.partition(":")
        try:
            create = operator.attrgetter(attribute)(importlib.import_module(module))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("torch"):
                raise
            raise InputError(
                f"{self.name} needs torch, which is not installed; install it with: pip install torch"
            ) from None
        try:
            method: Method = create(**{**self.options, **options})
        except TypeError as error:
            raise InputError(f"Cannot make {self.name} with these options: {error}.") from None
        return method


@dataclass(frozen=True)
class Run:
    """One method with its options, to be run over a plan.

    Parameters
    ----------
    method : str
        Name of a method in `vbcgcd.study.methods.METHODS`.
    options : mapping
        Override the options of the method's card.
    number_known : bool
        Whether the method is given the number of novel classes of each session.
    supervised : bool
        Measure the supervised upper bound alone and discover nothing.
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    number_known: bool = True
    supervised: bool = False


@dataclass(frozen=True)
class Variant:
    """One line of an experiment's tables.

    Parameters
    ----------
    label : str
    run : Run
    second : bool
        Whether it runs on the second embeddings (fine-tuned ones, or those of another backbone).
    """

    label: str
    run: Run
    second: bool = False


def sweep(label: str, method: str, option: str, values: Iterable[Any], **run: Any) -> list[Variant]:
    """One variant for each value of an option.

    Parameters
    ----------
    label : str
        ``{}`` in it stands for the value.
    method, option : str
        The method, and its option that varies.
    values : iterable
    **run
        Further arguments of `Run`.

    Examples
    --------
    >>> [variant.label for variant in sweep("R = {:g}", "recipe", "alignment", (0.0, 1.0))]
    ['R = 0', 'R = 1']
    """
    return [Variant(label.format(value), Run(method, {option: value}, **run)) for value in values]


@dataclass(frozen=True)
class Experiment:
    """A question of the paper and the runs that answer it.

    Parameters
    ----------
    name, title, question : str
    variants : tuple of Variant
    tables : tuple of str
        Kinds of tables that show it: keys of `vbcgcd.study.tables.KINDS`.
    plan : str or None
        Name of the plan that the experiment is about; None where it runs over any plan.
    takes_methods : bool
        Whether a list of methods can replace its variants.
    """

    name: str
    title: str
    question: str
    variants: tuple[Variant, ...]
    tables: tuple[str, ...] = ("summary",)
    plan: str | None = None
    takes_methods: bool = False

    @property
    def needs_second(self) -> bool:
        """Whether it compares two embeddings of the same rows."""
        return any(v.second for v in self.variants)


Named = TypeVar("Named", MethodCard, Experiment)


def by_name(values: Iterable[Named]) -> dict[str, Named]:
    """The values in order, keyed by their names."""
    return {value.name: value for value in values}
