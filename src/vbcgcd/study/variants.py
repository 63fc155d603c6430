"""A variant from the paper's appendix: posteriors as replay."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier

from vbcgcd.bayes import sample_embeddings
from vbcgcd.model import CategoryDiscoverer
from vbcgcd.study.scoring import Outcome, outcome_of

Array = NDArray[Any]

__all__ = ["Replay"]


class Replay:
    """A neural classifier that learns only from samples of our posteriors (the paper's appendix on replay).

    After each session a fresh network is trained on equally many samples of every category, known and novel,
    so that only the posteriors are remembered. Every epoch draws fresh samples: they cost nothing, and the
    network would overfit to the same ones.

    Parameters
    ----------
    n_samples : int, default=300
        Samples of each category in each epoch.
    hidden : int, default=512
        Units of the one hidden layer.
    epochs : int, default=20
    random_state : int, default=0
    **options
        Of `CategoryDiscoverer`.
    """

    def __init__(
        self,
        *,
        n_samples: int = 300,
        hidden: int = 512,
        epochs: int = 20,
        random_state: int = 0,
        **options: Any,
    ) -> None:
        self.n_samples, self.hidden, self.epochs, self.random_state = n_samples, hidden, epochs, random_state
        self.model = CategoryDiscoverer(**{"random_state": random_state, **options})

    def fit(self, X: Any, y: Any) -> Replay:
        """Learn the labelled rows, then train on samples."""
        self.model.fit(X, y)
        return self._train()

    def discover(self, X: Any, *, n_novel: int | None = None) -> Outcome:
        """Learn an unlabelled session, then train on samples of all categories."""
        outcome = outcome_of(self.model.discover(X, n_novel=n_novel))
        self._train()
        return outcome

    def predict(self, X: Any) -> Array:
        """Category of each row by the network."""
        rows = self.model.knowledge_.reduced(np.asarray(X, dtype=np.float32))
        return np.asarray(self.model.classes_[self.network_.predict(rows)])

    @property
    def nbytes(self) -> int:
        """Bytes kept between sessions: the posteriors, from which the network can be trained again."""
        return self.model.nbytes

    def _train(self) -> Replay:
        known, session = self.model.posterior_, self.model.n_sessions_
        rng = np.random.default_rng([self.random_state, session])
        self.network_ = MLPClassifier((self.hidden,), batch_size=256, random_state=self.random_state)
        for _ in range(self.epochs):
            rows, codes = sample_embeddings(known, self.n_samples, random_state=rng)
            order = rng.permutation(len(codes))
            self.network_.partial_fit(rows[order], codes[order], classes=np.arange(len(known)))
        return self
