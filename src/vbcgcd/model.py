"""`CategoryDiscoverer`: fit, then discover and predict. It only wires the rooms below."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import NotFittedError as SklearnNotFittedError

from vbcgcd.bayes import Posterior, Prior
from vbcgcd.blocks import in_blocks, is_source, loaded
from vbcgcd.checks import check_number
from vbcgcd.discovery.base import learn_base
from vbcgcd.discovery.geometry import Novelty
from vbcgcd.discovery.knowledge import Knowledge, is_rejected, learn_more
from vbcgcd.discovery.model_file import write_model
from vbcgcd.discovery.options import Options, check_n_novel, check_reject, init_from, parameters_of
from vbcgcd.discovery.reduce import Reducer
from vbcgcd.discovery.session import run_session
from vbcgcd.discovery.sound import read_sound_model
from vbcgcd.discovery.top import top_probabilities
from vbcgcd.errors import InputError, NotFittedError
from vbcgcd.labels import appended, new_labels, with_rejections
from vbcgcd.record import SessionRecord
from vbcgcd.row_by_row import RowByRow
from vbcgcd.validation import check_labels, check_rows, check_source, check_weight

Array = NDArray[Any]

#: Rows of a source that are predicted at a time.
PREDICT_ROWS = 16_384
#: What makes our default the method of the paper; see `CategoryDiscoverer.paper`.
PAPER: dict[str, Any] = {
    "standardise": True,
    "whiten": False,
    "normalise": False,
    "prior_variance": 1.0,
    "cluster": "kmeans",
    "relabel": "reassign",
    "count": "silhouette",
    "alignment": 0.0,
    "log_determinant": False,
    "unassigned": False,
}

__all__ = ["CategoryDiscoverer", "TopLabels"]


class TopLabels(NamedTuple):
    """The most probable categories of each row; see `CategoryDiscoverer.predict_top`.

    Attributes
    ----------
    labels : array (N, k)
        The most probable first.
    probabilities : array (N, k)
        Calibrated, with equal prior weights, as `predict_proba` gives them.
    rest : array (N,)
        Probability of all other categories together. With many categories it is partly an estimate.
    bound : array (N,)
        What that probability is at most; 1 where nothing is proven.
    novelty : array (N,)
        Novelty score, as `novelty` gives it.
    """

    labels: Array
    probabilities: Array
    rest: Array
    bound: Array
    novelty: Array


class _NotFitted(NotFittedError, SklearnNotFittedError):  # type: ignore[misc]
    """Ours and scikit-learn's, so that either can be caught."""


class _Roles(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin):  # type: ignore[misc]
    """A classifier whose reduced embeddings other steps of a pipeline can use."""


class CategoryDiscoverer(RowByRow, _Roles, BaseEstimator):  # type: ignore[misc]
    """Learn labelled categories, discover novel ones in unlabelled sessions, forget nothing.

    Each category is a Gaussian with a Normal-inverse-Wishart posterior in a reduced space that is calibrated
    on the labelled rows. `discover` finds the novel categories of an unlabelled batch, appends them and
    leaves the known posteriors unchanged, bit for bit. No rows are kept.

    {parameters}

    Attributes
    ----------
    classes_ : array (K,)
        Labels of the categories, in the order in which they were learned.
    knowledge_ : Knowledge
        All that is known: the frozen projection, the prior, the posteriors and their calibration. Its parts
        can also be read as ``reducer_``, ``prior_``, ``posterior_``, ``temperature_`` and ``novelty_``.
    births_ : int array (K,)
        Session in which each category was learned; 0 is the base session.
    n_sessions_ : int
        Unlabelled sessions so far.
    n_discovered_ : int
        Novel categories found so far; their numbers are never used again.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vbcgcd import CategoryDiscoverer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CategoryDiscoverer().fit(X, y)
    >>> print(round(model.score(X, y), 2))
    0.98

    Two species are labelled, the third arrives without labels:

    >>> labelled = y < 2
    >>> model = CategoryDiscoverer().fit(X[labelled], y[labelled])
    >>> record = model.discover(X[~labelled], n_novel=1)
    >>> model.classes_
    array([0, 1, 2])
    """

    classes_: Array
    births_: Array
    knowledge_: Knowledge
    n_sessions_: int
    n_discovered_: int

    __init__ = init_from(Options)

    @property
    def options(self) -> Options:
        """The options, checked: an `InputError` names the first that has an impossible value."""
        return Options(**{each.name: getattr(self, each.name) for each in fields(Options)})

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CategoryDiscoverer:
        """Learn the labelled categories: the base session. If it fails, the model stays unchanged.

        Parameters
        ----------
        X : array-like (N, d), path or RowBlocks
            Rows of a file (see `discover`) are loaded.
        y : array-like (N,)
            Labels of any kind: strings, integers, with gaps.
        sample_weight : array-like (N,), optional
            Weight of each row in the projection and in the posterior of its category: a weight of 2 counts
            as the row twice, one of 0 as no row. The calibration leaves out each row with all of its weight.
            Not together with ``head``.

        Returns
        -------
        CategoryDiscoverer
            This object.
        """
        options = self.options
        fresh = type(self)(**self.get_params(deep=False))
        rows = check_rows(fresh, loaded(X) if is_source(X) else X, reset=True)
        labels, weight = check_labels(y, len(rows)), check_weight(sample_weight, len(rows))
        if weight is not None and options.head is not None:
            raise InputError(
                "A head takes no sample_weight; leave out the weights, or fit with head=None.",
                option="sample_weight",
            )
        if weight is not None and not weight.all():
            rows, labels, weight = rows[weight > 0], labels[weight > 0], weight[weight > 0]
        fresh.classes_, codes = np.unique(labels, return_inverse=True)
        fresh.knowledge_ = learn_base(rows, codes, options, weight)
        fresh.births_ = np.zeros(len(fresh.classes_), dtype=np.int64)
        fresh.n_sessions_ = fresh.n_discovered_ = 0
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        for name in [name for name in vars(fresh) if name.endswith("_")]:
            setattr(self, name, getattr(fresh, name))
        return self

    def discover(
        self,
        X: Any,
        *,
        n_novel: int | None = None,
        sample_weight: Any = None,
        progress: Callable[[str], None] = lambda name: None,
    ) -> SessionRecord:
        """Find the novel categories of an unlabelled batch and append them.

        Known posteriors stay unchanged, bit for bit, unless ``update_known``. The order of the rows does not
        matter. If anything fails, the model stays unchanged.

        Parameters
        ----------
        X : array-like (N, d), path or RowBlocks
            Rows of known and novel categories, in any mix. A file ``.npy``, ``.parquet`` or ``.arrow``, a
            folder of Parquet files, or any other `vbcgcd.blocks.RowBlocks` is read block by block and never
            loaded whole. More than 40,000 rows, from wherever, are searched by samples, and all of them
            decide.
        n_novel : int or None
            Number of novel categories, at most half the number of rows; None estimates it, and 0 is a
            possible answer. A category that no row would belong to is not created, so a batch with too little
            in it yields fewer.
        sample_weight : array-like (N,), optional
            Weight of each row.
        progress : callable, optional
            Called with the name of each step as it begins.

        Returns
        -------
        SessionRecord

        Examples
        --------
        >>> model = CategoryDiscoverer().fit([[0.0], [1.0], [8.0], [9.0]], ["a", "a", "b", "b"])
        >>> model.discover([[30.0], [30.5], [31.0], [31.5]], n_novel=1).n_novel
        1
        """
        options = self.options
        self._check_fitted()
        rows = check_source(self, X) if is_source(X) else check_rows(self, X)
        weight = check_weight(sample_weight, len(rows))
        n_novel = check_n_novel(n_novel, len(rows))
        session = max(self.n_sessions_, int(self.births_.max())) + 1  # rows observed one by one are one

        def labels_of(n_novel: int) -> Array:
            return appended(self.classes_, new_labels(self.classes_, n_novel, self.n_discovered_))

        labels_of(0)  # labels that cannot continue fail before the work
        knowledge, record = run_session(
            rows,
            self.knowledge_,
            options,
            labels_of=labels_of,
            session=session,
            n_novel=n_novel,
            weight=weight,
            rng=options.generator(session),
            progress=progress,
        )
        self._append(knowledge, labels_of(record.n_novel)[len(self.classes_) :], session)
        self.n_sessions_ = session
        self.n_discovered_ += record.n_novel
        return record

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> CategoryDiscoverer:
        """Learn from more labelled rows: known labels update their posteriors, unseen ones add categories.

        The projection and the prior stay unchanged. Before `fit` this is `fit`.

        Parameters
        ----------
        X : array-like (N, d)
        y : array-like (N,)
        classes : ignored
            Scikit-learn's convention; categories need not be announced here.
        sample_weight : array-like (N,), optional
            Weight of each row: a weight of 2 is the row twice, exactly, and one of 0 no row. Not together
            with ``head``.

        Examples
        --------
        >>> model = CategoryDiscoverer().fit([[0.0], [1.0], [8.0], [9.0]], ["a", "a", "b", "b"])
        >>> model.partial_fit([[20.0], [21.0]], ["c", "c"]).classes_
        array(['a', 'b', 'c'], dtype='<U1')
        """
        if not hasattr(self, "knowledge_"):
            return self.fit(X, y, sample_weight)
        _ = self.options
        rows = check_rows(self, X)
        labels, weight = check_labels(y, len(rows)), check_weight(sample_weight, len(rows))
        if weight is not None and self.knowledge_.head is not None:
            raise InputError("A head takes no sample_weight; leave out the weights.", option="sample_weight")
        if weight is not None and not weight.all():
            rows, labels, weight = rows[weight > 0], labels[weight > 0], weight[weight > 0]
        if any((labels.dtype.kind in kind) != (self.classes_.dtype.kind in kind) for kind in ("iuf", "b")):
            raise InputError(
                f"y has type {labels.dtype}, but the model was fitted with {self.classes_.dtype}; use the "
                "same type.",
                option="y",
            )
        unseen = np.setdiff1d(labels, self.classes_)
        position = {label: i for i, label in enumerate(appended(self.classes_, unseen).tolist())}
        codes = np.array([position[label] for label in labels.tolist()])
        knowledge = learn_more(self.knowledge_, self.knowledge_.reduced(rows), codes, weight=weight)
        self._append(knowledge, unseen, self.n_sessions_)
        return self

    def transform(self, X: Any) -> Array:
        """Reduced embeddings, array (N, D): the space in which the categories are Gaussians.

        In a `sklearn.pipeline.Pipeline` it can be a step before any other estimator; ``set_output`` chooses
        what it returns.

        Examples
        --------
        >>> model = CategoryDiscoverer().fit([[0.0], [1.0], [8.0], [9.0]], ["a", "a", "b", "b"])
        >>> model.transform([[4.5]]).shape, model.get_feature_names_out().tolist()
        ((1, 1), ['categorydiscoverer0'])
        """
        self._check_fitted()
        rows = check_rows(self, X)
        # In the longer precision of the two: the last digits depend on which rows are reduced together.
        dtype = np.promote_types(rows.dtype, self.posterior_.mean.dtype)
        return self.knowledge_.reduced(rows, dtype=dtype).astype(rows.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.reducer_.n_components

    def novelty(self, X: Any) -> Array:
        """Novelty score of each row, array (N,): one minus its p-value under the best category.

        Uniform on [0, 1] for rows of the categories the model knows, near 1 for others: ``novelty(X) > 0.95``
        raises a false alarm for one known row in twenty. In the ``direction`` geometry the angle counts and
        not the length: a row far out in the direction of a category is not novel.
        """
        reduced = self._reduced(X)
        return self.knowledge_.novelty_of(reduced)

    def predict(self, X: Any, *, reject: float | None = None, reject_label: Any = None) -> Array:
        """Most probable category of each row, array (N,).

        Parameters
        ----------
        X : array-like (N, d), path or RowBlocks
            Rows of a file (see `discover`) are read block by block.
        reject : float, optional
            Answer "none of these" where the novelty exceeds ``1 - reject``: the share of known rows that
            are rejected wrongly. None and 0 reject nothing.
        reject_label : optional
            What that answer is; -1 for numbers and "none of these" for strings by default.

        Examples
        --------
        >>> model = CategoryDiscoverer().fit([[0.0], [1.0], [8.0], [9.0]], ["a", "a", "b", "b"])
        >>> model.predict([[0.4], [8.4]])
        array(['a', 'b'], dtype='<U1')
        """
        if is_source(X):
            self._check_fitted()
            blocks = in_blocks(check_source(self, X), PREDICT_ROWS)
            return np.concatenate(
                [self.predict(rows, reject=reject, reject_label=reject_label) for _, rows in blocks]
            )
        reduced = self._reduced(X)
        labels = np.asarray(self.classes_[self.knowledge_.predict(reduced)])
        rate = check_reject(reject)
        if rate is None:
            return labels
        rejected = is_rejected(self.knowledge_.novelty_of(reduced), rate)
        return with_rejections(labels, rejected, self.classes_, reject_label)

    def predict_log_proba(self, X: Any) -> Array:
        """Log-probability of each category, array (N, K): calibrated, with equal prior weights."""
        return self._known.log_probabilities(self._reduced(X))

    def predict_proba(self, X: Any) -> Array:
        """Probability of each category, array (N, K): calibrated, with equal prior weights."""
        return np.exp(self.predict_log_proba(X))

    def predict_top(self, X: Any, k: int = 5, *, certify: bool = False) -> TopLabels:
        """The most probable categories of each row, for models with too many for `predict_proba`.

        Parameters
        ----------
        X : array-like (N, d), path or RowBlocks
            Rows of a file (see `discover`) are read block by block.
        k : int, default=5
            How many; all where there are fewer.
        certify : bool, default=False
            Bound the probability of the other categories by a proof, which takes longer.

        Returns
        -------
        TopLabels

        Examples
        --------
        >>> model = CategoryDiscoverer().fit([[0.0], [1.0], [8.0], [9.0]], ["a", "a", "b", "b"])
        >>> top = model.predict_top([[0.4], [8.4]], k=1)
        >>> top.labels
        array([['a'],
               ['b']], dtype='<U1')
        """
        check_number("k", k, low=1, whole=True)
        if is_source(X):
            self._check_fitted()
            blocks = in_blocks(check_source(self, X), PREDICT_ROWS)
            parts = [self.predict_top(rows, k, certify=certify) for _, rows in blocks]
            return TopLabels(*map(np.concatenate, zip(*parts, strict=True)))
        reduced = self._reduced(X)
        top = top_probabilities(self.knowledge_, reduced, int(k), certify=certify)
        return TopLabels(
            np.asarray(self.classes_[top.categories]),
            np.exp(top.log_probability),
            top.rest,
            top.bound,
            self.knowledge_.novelty_of(reduced),
        )

    def score_samples(self, X: Any) -> Array:
        """Log-density of each row under the equal mixture of all categories (reduced space), array (N,)."""
        reduced = self._reduced(X)
        density = self.knowledge_.classifier.log_density(reduced, self.posterior_)
        return np.asarray(np.logaddexp.reduce(density, axis=1) - np.log(density.shape[1]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file (safetensors, no pickle): complete, or the file stays unchanged.

        Examples
        --------
        >>> import tempfile
        >>> model = CategoryDiscoverer().fit([[0.0], [1.0], [8.0], [9.0]], ["a", "a", "b", "b"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.safetensors")
        ...     CategoryDiscoverer.load(f"{folder}/model.safetensors").predict([[8.4]])
        array(['b'], dtype='<U1')
        """
        self._check_fitted()
        params = self.get_params()
        if callable(self.options.cluster):
            raise InputError(
                "A model with its own cluster function cannot be saved; set cluster to a name such as "
                "'kmeans'.",
                option="cluster",
            )
        values = {
            "params": {k: v.item() if isinstance(v, np.generic) else v for k, v in params.items()},
            "n_sessions": self.n_sessions_,
            "n_discovered": self.n_discovered_,
            "n_features": self.n_features_in_,
            "feature_names": getattr(self, "feature_names_in_", np.empty(0)).tolist(),
        }
        write_model(path, self.knowledge_, self.classes_, self.births_, values)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CategoryDiscoverer:
        """A model from a file that `save` wrote: it predicts and discovers as before; see there."""
        knowledge, classes, births, values = read_sound_model(path, cls._get_param_names())
        model = cls(**values["params"])
        model.knowledge_ = knowledge
        model.classes_, model.births_ = classes, births
        model.n_sessions_, model.n_discovered_ = values["n_sessions"], values["n_discovered"]
        model.n_features_in_ = values["n_features"]
        if values["feature_names"]:
            model.feature_names_in_ = np.array(values["feature_names"], dtype=object)
        return model

    @classmethod
    def paper(cls, **options: Any) -> CategoryDiscoverer:
        """The method of the paper: prior N(0, I), k-means, one relabelling, covariance alignment at R = 0.

        Both fits of a session stop early, the provisional one before relabelling too (Algorithm 1), and rows
        are classified by the distance alone, without the log-determinant (equation 6). The prior presumes
        entries of about unit size, so the labelled rows are scaled to unit variance in each dimension. The
        paper does not say how many rows its prior is worth; the strength is chosen by leaving labelled rows
        out. Options override the preset: ``inference="svi"`` trains step by step what is found exactly
        otherwise, ``log_determinant=True`` gives Gaussian densities, and ``prior_variance=0.1`` a prior that
        is narrow beside the rows, as the paper's is by its own figures.

        Examples
        --------
        >>> from vbcgcd import CategoryDiscoverer
        >>> CategoryDiscoverer.paper(n_components=100).alignment
        0.0
        """
        return cls(**{**PAPER, **options})

    @property
    def reducer_(self) -> Reducer:
        """The frozen projection."""
        return self._known.reducer

    @property
    def prior_(self) -> Prior:
        """The prior of every category."""
        return self._known.prior

    @property
    def posterior_(self) -> Posterior:
        """Posteriors of all categories, in the order of ``classes_``."""
        return self._known.posterior

    @property
    def novelty_(self) -> Novelty:
        """The calibrated novelty score."""
        return self._known.novelty

    @property
    def temperature_(self) -> float:
        """Probabilities are softmax(temperature log-density); labelled rows that are left out set it."""
        return self._known.temperature

    @property
    def nbytes(self) -> int:
        """Bytes of the posteriors: what a category costs, times their number; and those of the head."""
        head = self._known.head
        return self.posterior_.nbytes + (0 if head is None else head.nbytes)

    @property
    def _known(self) -> Knowledge:
        self._check_fitted()
        return self.knowledge_

    def _check_fitted(self) -> None:
        if not hasattr(self, "knowledge_"):
            raise _NotFitted(
                f"This {type(self).__name__} is not fitted yet; call fit(X, y) with labelled rows first."
            )

    def _reduced(self, X: Any) -> Array:
        self._check_fitted()
        return self.knowledge_.reduced(check_rows(self, X))

    def _append(self, knowledge: Knowledge, labels: Array, session: int) -> None:
        """Take over knowledge whose last categories are new since a session."""
        self.knowledge_ = knowledge
        self.classes_ = appended(self.classes_, labels)
        self.births_ = np.concatenate([self.births_, np.full(len(labels), session)])


_DOC = CategoryDiscoverer.__doc__ or ""
CategoryDiscoverer.__doc__ = _DOC.replace("{parameters}", parameters_of(Options))
