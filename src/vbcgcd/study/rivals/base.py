"""What all rivals share: checked input, stable ids, one seed. A rival itself works on codes 0..K-1."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator

from vbcgcd.errors import InputError, NotFittedError
from vbcgcd.labels import appended, new_labels, with_unassigned
from vbcgcd.study.scoring import Outcome
from vbcgcd.validation import check_choice, check_labels, check_number, check_rows

Array = NDArray[Any]

__all__ = ["BaseRival", "Learned", "Probabilistic", "Rival"]


class Learned(NamedTuple):
    """What a rival made of a session.

    Parameters
    ----------
    codes : int array (N,)
        Code of each row; -1 where it was left unassigned.
    n_added : int
        Categories that the session added.
    novelty : array (N,) or None
        Novelty scores, where the rival has any.
    """

    codes: Array
    n_added: int
    novelty: Array | None = None


class BaseRival(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of the rivals: stable ids, no labels in `discover`, the same answer for the same seed.

    A rival implements three steps on float64 rows and integer codes. Code ``k`` is the ``k``-th category in
    the order of learning. One that can add exactly as many categories as it is told is a `Rival`.

    Attributes
    ----------
    classes_ : array (K,)
        Ids of the categories, in the order in which they were learned.
    n_sessions_ : int
        Unlabelled sessions so far.
    """

    #: Smallest and largest values of options that are not simply counts from 1 or numbers from 0.
    _limits: ClassVar[Mapping[str, tuple[float, float]]] = MappingProxyType({})
    #: Overridden by each rival's ``__init__`` (scikit-learn's convention: all options are keyword arguments).
    random_state: int | None = 0
    classes_: Array
    n_sessions_: int

    @abstractmethod
    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        """Learn labelled rows (N, d); codes 0..n_categories-1."""

    @abstractmethod
    def _learn(self, rows: Array, n_novel: int | None) -> Learned:
        """Learn an unlabelled session, told the number of novel categories or not."""

    @abstractmethod
    def _predict(self, rows: Array) -> Array:
        """Code of each row, int array (N,)."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays and tensors that the rival keeps between sessions, all of them attributes."""
        return sum(_nbytes(value) for name, value in vars(self).items() if name.endswith("_"))

    def fit(self, X: Any, y: Any) -> BaseRival:
        """Learn the labelled categories.

        Parameters
        ----------
        X : array-like (N, d)
        y : array-like (N,)
        """
        self._check_options()
        rows = check_rows(self, X, reset=True).astype(np.float64)
        classes, codes = np.unique(check_labels(y, len(rows)), return_inverse=True)
        self.__dict__.pop("classes_", None)  # the rival is not fitted until `_fit` has succeeded
        self.n_sessions_ = 0
        self._fit(rows, codes, len(classes))
        self.classes_ = classes
        return self

    def discover(self, X: Any, *, n_novel: int | None = None) -> Outcome:
        """Learn an unlabelled session and append its novel categories.

        Parameters
        ----------
        X : array-like (N, d)
        n_novel : int or None
            Number of novel categories; None where the rival can find it out.
        """
        self._check_fitted()
        rows = check_rows(self, X).astype(np.float64)
        check_number("n_novel", n_novel, low=0, high=len(rows), whole=True, words=(None,))
        learned = self._learn(rows, n_novel)
        novel = new_labels(self.classes_, learned.n_added, len(self.classes_))
        self.classes_ = appended(self.classes_, novel)
        self.n_sessions_ += 1
        labels = with_unassigned(self.classes_[learned.codes], learned.codes < 0, self.classes_)
        return Outcome(labels, novel, learned.novelty)

    def predict(self, X: Any) -> Array:
        """Id of each row, array (N,)."""
        self._check_fitted()
        return np.asarray(self.classes_[self._predict(check_rows(self, X).astype(np.float64))])

    def _check_options(self) -> None:
        """Whole numbers are counts from 1, other numbers are at least 0; rates and temperatures above it."""
        for name, parameter in inspect.signature(type(self).__init__).parameters.items():
            default, value = parameter.default, getattr(self, name, None)
            positive = name.endswith(("rate", "temperature"))
            low, high = self._limits.get(name, (1 if isinstance(default, int) else 0, np.inf))
            if name == "random_state":
                check_number(name, value, low=0, whole=True, words=(None,))
            elif isinstance(default, bool):
                check_choice(name, value, (True, False))
            elif isinstance(default, int | float):
                whole, above = isinstance(default, int), 0 if positive else -np.inf
                check_number(name, value, low=low, above=above, high=high, whole=whole)

    def _rng(self) -> np.random.Generator:
        """A generator for the current session: different in each session, the same for the same seed."""
        seed = self.random_state
        return np.random.default_rng(None if seed is None else [seed, getattr(self, "n_sessions_", 0)])

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet; call fit(X, y) with labelled rows first."
            )


class Rival(BaseRival):
    """Base class of rivals that add as many categories as they are told, be they left without rows."""

    @abstractmethod
    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array | None]:
        """Learn ``n_novel`` novel categories; codes (N,) below K + n_novel, and novelty scores or None."""

    def _estimate(self, rows: Array) -> int:
        """Number of novel categories, where the rival can estimate it."""
        raise InputError(
            f"{type(self).__name__} cannot estimate the number of novel categories; pass n_novel.",
            option="n_novel",
        )

    def _learn(self, rows: Array, n_novel: int | None) -> Learned:
        number = self._estimate(rows) if n_novel is None else n_novel
        codes, novelty = self._discover(rows, number)
        return Learned(codes, number, novelty)


class Probabilistic(BaseRival):
    """Base class of rivals whose own classifier is a distribution over categories; the others have none."""

    @abstractmethod
    def _log_joint(self, rows: Array) -> Array:
        """Log-probability of each category, up to a constant of the row, array (N, K)."""

    def predict_proba(self, X: Any) -> Array:
        """Probability of each category, array (N, K), in the order of ``classes_``."""
        self._check_fitted()
        return np.asarray(softmax(self._log_joint(check_rows(self, X).astype(np.float64)), axis=1))


def _nbytes(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_nbytes, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_nbytes, value))
    if hasattr(value, "parameters") and callable(value.parameters):  # a torch module
        return sum(int(p.numel() * p.element_size()) for p in value.parameters())
    return int(getattr(value, "nbytes", 0))
