"""`CategoryDiscoverer`: fit, then discover and predict. It only wires the rooms below."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from vbcgcd.bayes import Classifier, Posterior, Prior, log_normalise, statistics_by_label
from vbcgcd.discovery.base import BaseOptions, learn_base
from vbcgcd.discovery.cluster import CLUSTERERS
from vbcgcd.discovery.count import COUNTERS
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.novelty import Novelty
from vbcgcd.discovery.reduce import Reducer
from vbcgcd.discovery.relabel import RELABELLERS
from vbcgcd.discovery.report import SessionReport
from vbcgcd.discovery.session import Recipe, SessionResult, run_session
from vbcgcd.errors import InputError, NotFittedError
from vbcgcd.labels import appended, new_labels
from vbcgcd.labels import reject_label as default_reject_label
from vbcgcd.persistence import read_model, write_model
from vbcgcd.validation import check_choice, check_labels, check_number, check_rows, check_weight

Array = NDArray[Any]
#: With ``update_known``, rows of at least this probability teach their known category.
SURE_KNOWN = 0.95

__all__ = ["CategoryDiscoverer"]


class CategoryDiscoverer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn labelled categories, discover new ones in unlabelled sessions, forget nothing.

    Each category is a Gaussian with a Normal-inverse-Wishart posterior in a reduced space that is calibrated
    on the labelled rows. `discover` finds the novel categories of an unlabelled batch, appends them and
    leaves the known posteriors as they are, bit for bit. No rows are kept.

    Parameters
    ----------
    n_components : int or None, default=384
        Most dimensions of the reduced embedding; None keeps every direction that varies.
    whiten : bool, default=True
        Whiten by the pooled within-category covariance of the labelled rows. False gives plain principal
        components, as in the paper.
    normalise : bool or "auto", default="auto"
        Scale embeddings to unit length first. "auto" leaves out labelled rows and keeps what predicts them
        better.
    whiten_shrinkage : float or "auto", default="auto"
        Weight of the mean variance in the whitening covariance; "auto" decides likewise.
    prior_strength : float, "auto", "evidence" or "weakest", default="auto"
        Degrees of freedom of the prior covariance: how many rows it is worth. "auto" decides likewise for
        full covariances; "evidence" maximises the evidence of the labelled categories, which "auto" does
        for diagonal ones; "weakest" is D + 2.
    mean_precision_prior : float, default=0.01
        How many rows the prior mean is worth.
    covariance : {"full", "diagonal"}, default="full"
    inference : {"exact", "svi"}, default="exact"
        Exact posterior, or stochastic variational inference.
    cluster : {"mixture", "kmeans", "gmm", "hdbscan"} or callable, default="mixture"
        Start of a session. "mixture" weighs known against novel categories in the calibrated geometry; the
        others cluster all rows. A callable is called as ``cluster(rows, n_clusters, rng)``.
    relabel : {"confident", "none", "filter", "reassign", "em"}, default="confident"
        Which rows teach a novel category: those that the start finds probably novel; all of its cluster;
        those that no known category explains better (the authors' code); every row moved to its best
        category (the paper); soft expectation-maximisation with frozen known categories.
    count : {"rehearsal", "evidence", "merge", "silhouette"}, default="rehearsal"
        How the number of novel categories is estimated when it is not given. "rehearsal" hides labelled
        categories during `fit` and learns what a real one is worth; with fewer than four labelled categories,
        or five rows for each, it cannot, and "evidence" stands in, which tends to find too many.
    geometry : {"auto", "direction", "distance"}, default="auto"
        How alike a row and a category are when a session is clustered: by angle or by distance. "auto"
        decides on labelled rows.
    alignment : float or None, default=None
        Target R of covariance alignment, 0 in the paper; None leaves the volumes as they are.
    update_known : bool, default=False
        Let rows that surely belong to a known category update its posterior in `discover`.
    svi_steps : int, default=300
        Most steps of ``inference="svi"``.
    predictive : {"plugin", "student"}, default="plugin"
        Gaussian with the plug-in covariance, or the Student-t predictive.
    metric : {"mahalanobis", "euclidean"}, default="mahalanobis"
    log_determinant : bool, default=True
        Keep the log-determinant in the classifier.
    dtype : {"float32", "float64"}, default="float32"
        Storage of the posteriors and arithmetic of the classifier.
    random_state : int or None, default=0

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
    >>> report = model.discover(X[~labelled], n_novel=1)
    >>> model.classes_
    array([0, 1, 2])
    """

    classes_: Array
    births_: Array
    knowledge_: Knowledge
    n_sessions_: int
    n_discovered_: int

    def __init__(
        self,
        *,
        n_components: int | None = 384,
        whiten: bool = True,
        normalise: bool | str = "auto",
        whiten_shrinkage: float | str = "auto",
        prior_strength: float | str = "auto",
        mean_precision_prior: float = 0.01,
        covariance: str = "full",
        inference: str = "exact",
        cluster: str | Callable[..., Array] = "mixture",
        relabel: str = "confident",
        count: str = "rehearsal",
        geometry: str = "auto",
        alignment: float | None = None,
        update_known: bool = False,
        svi_steps: int = 300,
        predictive: str = "plugin",
        metric: str = "mahalanobis",
        log_determinant: bool = True,
        dtype: str = "float32",
        random_state: int | None = 0,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.normalise = normalise
        self.whiten_shrinkage = whiten_shrinkage
        self.prior_strength = prior_strength
        self.mean_precision_prior = mean_precision_prior
        self.covariance = covariance
        self.inference = inference
        self.cluster = cluster
        self.relabel = relabel
        self.count = count
        self.geometry = geometry
        self.alignment = alignment
        self.update_known = update_known
        self.svi_steps = svi_steps
        self.predictive = predictive
        self.metric = metric
        self.log_determinant = log_determinant
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> CategoryDiscoverer:
        """Learn the labelled categories: the base session. If it fails, the model is as it was.

        Parameters
        ----------
        X : array-like (N, d)
        y : array-like (N,)
            Labels of any kind: strings, integers, with gaps.

        Returns
        -------
        CategoryDiscoverer
            This object.
        """
        self.check_options()
        fresh = type(self)(**self.get_params(deep=False))
        rows = check_rows(fresh, X, reset=True)
        fresh.classes_, codes = np.unique(check_labels(y, len(rows)), return_inverse=True)
        fresh.knowledge_ = learn_base(rows, codes, self._base_options())
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
    ) -> SessionReport:
        """Find the novel categories of an unlabelled batch and append them.

        Known posteriors are unchanged, bit for bit, unless ``update_known``. The order of the rows does not
        matter. If anything fails, the model is as it was.

        Parameters
        ----------
        X : array-like (N, d)
            Rows of known and novel categories, in any mix.
        n_novel : int or None
            Number of novel categories; None estimates it, and 0 is a possible answer. A category that no row
            would belong to is not made, so a batch with too little in it yields fewer.
        sample_weight : array-like (N,), optional
        progress : callable, optional
            Told the name of each step as it begins.

        Returns
        -------
        SessionReport
        """
        self.check_options()
        self._check_fitted()
        rows = check_rows(self, X)
        weight = check_weight(sample_weight, len(rows))
        if n_novel is not None and not (
            isinstance(n_novel, numbers.Real)
            and not isinstance(n_novel, bool)
            and float(n_novel).is_integer()
            and 0 <= n_novel <= len(rows)
        ):
            raise InputError(
                f"n_novel must be a whole number from 0 to {len(rows)} (all rows) or None, got {n_novel!r}; "
                "use None to estimate it."
            )
        new_labels(self.classes_, 0, self.n_discovered_)  # labels that cannot continue fail before the work
        order = _canonical_order(rows, weight)
        reduced = self.knowledge_.reduced(rows[order])
        weight = None if weight is None else weight[order]
        result = run_session(
            reduced,
            self.knowledge_,
            Recipe(self.cluster, self.relabel, self.count, self.inference, self.alignment, self.svi_steps),
            None if n_novel is None else int(n_novel),
            weight=weight,
            rng=np.random.default_rng(
                None if self.random_state is None else [self.random_state, self.n_sessions_ + 1]
            ),
            progress=progress,
        )
        back = np.argsort(order)
        report = self._report(result, back, n_novel is None)
        known = self.knowledge_
        if self.update_known:
            best = result.probabilities.argmax(axis=1)
            sure = (best < len(self.classes_)) & (result.probabilities.max(axis=1) >= SURE_KNOWN)
            known = known.absorbed(reduced, np.where(sure, best, -1), weight)
        self._learned(known.extended(result.posterior), report.novel, self.n_sessions_ + 1)
        self.n_sessions_ += 1
        self.n_discovered_ += report.n_novel
        return report

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> CategoryDiscoverer:
        """Learn from more labelled rows: known labels update their posteriors, unseen ones add categories.

        The projection and the prior stay as they are. Before `fit` this is `fit`.

        Parameters
        ----------
        X : array-like (N, d)
        y : array-like (N,)
        classes : ignored
            Scikit-learn's convention; categories need not be announced here.
        """
        if not hasattr(self, "knowledge_"):
            return self.fit(X, y)
        self.check_options()
        rows = check_rows(self, X)
        labels = check_labels(y, len(rows))
        if any((labels.dtype.kind in kind) != (self.classes_.dtype.kind in kind) for kind in ("iuf", "b")):
            raise InputError(
                f"Labels must be of the kind the model was fitted with ({self.classes_.dtype}), "
                f"got {labels.dtype}."
            )
        unseen = np.setdiff1d(labels, self.classes_)
        classes = appended(self.classes_, unseen)
        position = {label: i for i, label in enumerate(classes.tolist())}
        codes = np.array([position[label] for label in labels.tolist()])
        reduced = self.knowledge_.reduced(rows)
        n_known = len(self.classes_)
        known = self.knowledge_.absorbed(reduced, np.where(codes < n_known, codes, -1))
        if len(unseen):
            fresh = statistics_by_label(
                reduced, codes - n_known, len(unseen), structure=self.prior_.structure
            )
            known = known.extended(known.posterior_of(fresh))
        self._learned(known, unseen, self.n_sessions_)
        return self

    def novelty(self, X: Any) -> Array:
        """Novelty score of each row, array (N,): one minus its p-value under the best category.

        Uniform on [0, 1] for rows of the categories the model knows, near 1 for others: ``novelty(X) > 0.95``
        raises a false alarm for one known row in twenty. In the ``direction`` geometry the angle counts and
        not the length: a row far out in the direction of a category is not novel.
        """
        reduced = self._reduced(X)
        return self.novelty_.score(reduced, self.posterior_.mean)

    def predict(self, X: Any, *, reject: float | None = None, reject_label: Any = None) -> Array:
        """Most probable category of each row, array (N,).

        Parameters
        ----------
        X : array-like (N, d)
        reject : float, optional
            Answer "none of these" where the novelty exceeds ``1 - reject``: the share of known rows that
            are wrongly refused.
        reject_label : optional
            What that answer is; -1 for numbers and "none of these" for strings by default.
        """
        reduced = self._reduced(X)
        labels = np.asarray(self.classes_[self.knowledge_.classifier.predict(reduced, self.posterior_)])
        if reject is None:
            return labels
        if not (isinstance(reject, numbers.Real) and 0 < reject < 1):
            raise InputError(
                f"reject must lie between 0 and 1, got {reject!r}; 0.05 refuses 1 known row in 20."
            )
        answer = default_reject_label(self.classes_) if reject_label is None else reject_label
        refused = self.novelty_.score(reduced, self.posterior_.mean) > 1 - reject
        given = np.array([answer])
        same = (given.dtype.kind in "iuf") == (labels.dtype.kind in "iuf") and labels.dtype.kind != "O"
        kind = np.result_type(labels.dtype, given.dtype) if same else np.dtype(object)
        return np.where(refused, np.array([answer], dtype=kind), labels.astype(kind))

    def predict_log_proba(self, X: Any) -> Array:
        """Log-probability of each category, array (N, K): calibrated, with equal prior weights."""
        log_density = self._log_density(X)
        return log_normalise(self.temperature_ * log_density)

    def predict_proba(self, X: Any) -> Array:
        """Probability of each category, array (N, K): calibrated, with equal prior weights."""
        return np.exp(self.predict_log_proba(X))

    def score_samples(self, X: Any) -> Array:
        """Log-density of each row under the equal mixture of all categories (reduced space), array (N,)."""
        density = self._log_density(X)
        return np.asarray(np.logaddexp.reduce(density, axis=1) - np.log(density.shape[1]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file (safetensors, no pickle): complete, or the file stays as it was."""
        self._check_fitted()
        if callable(self.cluster):
            raise InputError("A model whose cluster is a function of yours cannot be saved; use a named one.")
        values = {
            "params": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in self.get_params().items()
            },
            "n_sessions": self.n_sessions_,
            "n_discovered": self.n_discovered_,
            "n_features": self.n_features_in_,
            "feature_names": getattr(self, "feature_names_in_", np.empty(0)).tolist(),
        }
        write_model(path, self.knowledge_, self.classes_, self.births_, values)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CategoryDiscoverer:
        """A model from a file that `save` wrote: it predicts and discovers exactly as the one saved."""
        knowledge, classes, births, values = read_model(path)
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
        """The configuration of the paper: raw N(0, I) prior, k-means, one relabelling, alignment at R = 0.

        Options given here override it.

        Examples
        --------
        >>> from vbcgcd import CategoryDiscoverer
        >>> CategoryDiscoverer.paper(n_components=100).alignment
        0.0
        """
        settings: dict[str, Any] = {
            "whiten": False,
            "normalise": False,
            "prior_strength": "weakest",
            "cluster": "kmeans",
            "relabel": "reassign",
            "count": "silhouette",
            "alignment": 0.0,
        }
        return cls(**{**settings, **options})

    @property
    def reducer_(self) -> Reducer:
        """The frozen projection."""
        return self.knowledge_.reducer

    @property
    def prior_(self) -> Prior:
        """The prior of every category."""
        return self.knowledge_.prior

    @property
    def posterior_(self) -> Posterior:
        """Posteriors of all categories, in the order of ``classes_``."""
        return self.knowledge_.posterior

    @property
    def novelty_(self) -> Novelty:
        """The calibrated novelty score."""
        return self.knowledge_.novelty

    @property
    def temperature_(self) -> float:
        """Probabilities are softmax(temperature log-density).

        Densities in many dimensions are too sure of themselves; labelled rows that are left out tell by how
        much.
        """
        return self.knowledge_.temperature

    @property
    def nbytes(self) -> int:
        """Bytes of the posteriors: what a category costs, times their number."""
        return self.posterior_.nbytes

    def _log_density(self, X: Any) -> Array:
        reduced = self._reduced(X)
        return self.knowledge_.classifier.log_density(reduced, self.posterior_)

    def _check_fitted(self) -> None:
        if not hasattr(self, "knowledge_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet; call fit(X, y) with labelled rows first."
            )

    def _reduced(self, X: Any) -> Array:
        self._check_fitted()
        return self.knowledge_.reduced(check_rows(self, X))

    def _report(self, result: SessionResult, back: Array, estimated: bool) -> SessionReport:
        """The session's outcome with rows in the order in which they were given."""
        novel = new_labels(self.classes_, result.responsibility.shape[1], self.n_discovered_)
        n_known, is_novel = len(self.classes_), result.responsibility.sum(axis=1) >= 0.5
        best = result.probabilities[:, :n_known].argmax(axis=1)
        if len(novel):
            best = np.where(is_novel, n_known + result.responsibility.argmax(axis=1), best)
        labels = appended(self.classes_, novel)[best][back]
        return SessionReport(
            session=self.n_sessions_ + 1,
            labels_=labels,
            probabilities_=result.probabilities[back],
            novelty_=result.novelty[back],
            novel=novel,
            sizes=np.array([int((labels == label).sum()) for label in novel], dtype=np.int64),
            estimated=estimated,
            count=result.count,
            novel_share=result.novel_share,
            evidence=result.evidence,
            ratio_before=result.ratio_before,
            ratio_after=result.ratio_after,
            steps=tuple(result.steps),
        )

    def _learned(self, knowledge: Knowledge, labels: Array, session: int) -> None:
        """Take over knowledge whose last categories are new since a session."""
        self.knowledge_ = knowledge
        self.classes_ = appended(self.classes_, labels)
        self.births_ = np.concatenate([self.births_, np.full(len(labels), session)])

    def _classifier(self) -> Classifier:
        return Classifier(self.metric, self.predictive, self.log_determinant, np.dtype(self.dtype))  # type: ignore[arg-type]

    def _base_options(self) -> BaseOptions:
        return BaseOptions(
            n_components=self.n_components,
            whiten=self.whiten,
            normalise=self.normalise,
            whiten_shrinkage=self.whiten_shrinkage,
            prior_strength=self.prior_strength,
            mean_precision_prior=self.mean_precision_prior,
            covariance=self.covariance,  # type: ignore[arg-type]
            inference=self.inference,
            geometry=self.geometry,
            svi_steps=self.svi_steps,
            count=self.count,
            classifier=self._classifier(),
            random_state=self.random_state,
        )

    def check_options(self) -> None:
        """Raise ``InputError`` for the first option that has a value which is not allowed."""
        check_choice("covariance", self.covariance, ("full", "diagonal"))
        check_choice("inference", self.inference, ("exact", "svi"))
        if not callable(self.cluster):
            check_choice("cluster", self.cluster, ("mixture", *CLUSTERERS))
        check_choice("relabel", self.relabel, tuple(RELABELLERS))
        check_choice("count", self.count, tuple(COUNTERS))
        check_choice("geometry", self.geometry, ("auto", "direction", "distance"))
        check_choice("predictive", self.predictive, ("plugin", "student"))
        check_choice("metric", self.metric, ("mahalanobis", "euclidean"))
        check_choice("dtype", self.dtype, ("float32", "float64"))
        for name in ("whiten", "log_determinant", "update_known"):
            check_choice(name, getattr(self, name), (True, False))
        check_choice("normalise", self.normalise, (True, False, "auto"))
        check_number("n_components", self.n_components, low=1, whole=True, words=(None,))
        check_number("whiten_shrinkage", self.whiten_shrinkage, low=0, high=1, words=("auto",))
        check_number("prior_strength", self.prior_strength, above=0, words=("auto", "evidence", "weakest"))
        check_number("mean_precision_prior", self.mean_precision_prior, above=0)
        check_number("alignment", self.alignment, words=(None,))
        check_number("svi_steps", self.svi_steps, low=1, whole=True)
        check_number("random_state", self.random_state, low=0, whole=True, words=(None,))


def _canonical_order(rows: Array, weight: Array | None) -> Array:
    """An order of the rows that does not depend on how they were given."""
    keys = rows if weight is None else np.column_stack([rows, weight])
    few = keys[:, :: max(keys.shape[1] // 8, 1)]
    order = np.lexsort(few.T)
    tied = (few[order][1:] == few[order][:-1]).all(axis=1).any()
    return np.lexsort(keys.T) if tied else order
