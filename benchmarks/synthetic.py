"""Embeddings of any number of categories with the geometry of real ones.

Gaussians are fitted to a real dataset in its reduced space. A synthetic category borrows the covariance of a
real one, and its mean is that of its model, moved in the span of the real means: by a fraction of a draw from
the covariance between categories. Categories with one model are neighbours that are hard to tell apart, as
real ones have them. Rows are mapped back to the space of the embeddings.

VBCGCD_DATA=... python benchmarks/synthetic.py    # how well the categories can be told apart
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from common import data_folder, table

Array = NDArray[Any]

FILES = {
    "CLINC150": "clinc150-minilm.npz",
    "CIFAR-100": "cifar100-efficientnet-lite0.npz",
    "StackOverflow": "stackoverflow20-minilm.npz",
    "ESC-50": "esc50-yamnet.npz",
}
#: How far a mean is moved, in units of the spread of the real ones: at 0.35, ten thousand categories like
#: those of CLINC150 are told apart about as well as its own 150.
MOVED = 0.35
#: Rows drawn at a time; each block has a generator of its own.
BLOCK_ROWS = 8192
#: Rows of each category, and rows to classify, in the table.
ROWS_EACH, TEST_ROWS = 20, 2000


@dataclass(frozen=True, eq=False)
class World:
    """Categories from which any number of rows can be drawn.

    Parameters
    ----------
    means : array (K, D)
        Of the categories, in reduced space.
    model : int array (K,)
        The real category whose covariance each has.
    factors : array (R, D, D)
        Lower Cholesky factors of the real categories' covariances.
    center : array (d,)
    back : array (D, d)
        Reduced space to embeddings: ``x = center + z back``.
    unit : bool
        Whether embeddings have unit length.
    """

    means: Array
    model: Array
    factors: Array
    center: Array
    back: Array
    unit: bool

    @classmethod
    def like(cls, dataset: str, n_categories: int, seed: int = 0, *, apart: int = 0) -> World:
        """So many categories like those of a dataset: CLINC150, CIFAR-100, StackOverflow or ESC-50.

        The means of the last ``apart`` are moved by a whole draw: neighbours of a category as near as the
        others are would pass for it in a session.
        """
        real, factors, center, back, unit = _real(dataset)
        rng = np.random.default_rng(seed)
        middle = real.mean(axis=0)
        model = rng.permutation(np.arange(n_categories) % len(real))
        # A random combination of centred means has their covariance, and stays in their span.
        mix = rng.standard_normal((n_categories, len(real))) / np.sqrt(len(real))
        fresh = mix @ (real - middle)
        moved = np.where(np.arange(n_categories) < n_categories - apart, MOVED, 1.0)
        means = real[model] + moved[:, None] * fresh
        return cls(means.astype(np.float32), model, factors, center, back, unit)

    @property
    def width(self) -> int:
        """Width of an embedding."""
        return int(self.back.shape[1])

    def rows(self, codes: Array, seed: int = 0) -> Array:
        """An embedding of each given category, float32 array (N, d)."""
        out = np.empty((len(codes), self.width), np.float32)
        self._fill(out, np.asarray(codes), seed)
        return out

    def write(self, path: str | Path, codes: Array, seed: int = 0) -> None:
        """The same rows as an .npy file, without holding them all."""
        out = open_memmap(path, mode="w+", dtype=np.float32, shape=(len(codes), self.width))
        self._fill(out, np.asarray(codes), seed)
        out.flush()

    def _fill(self, out: Array, codes: Array, seed: int) -> None:
        for block, start in enumerate(range(0, len(codes), BLOCK_ROWS)):
            part = codes[start : start + BLOCK_ROWS]
            rng = np.random.default_rng([seed, block])
            noise = rng.standard_normal((len(part), self.means.shape[1]), dtype=np.float32)
            reduced = self.means[part]
            for real in np.unique(self.model[part]):
                members = self.model[part] == real
                reduced[members] += noise[members] @ self.factors[real].T
            rows = self.center + reduced @ self.back
            if self.unit:
                rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            out[start : start + BLOCK_ROWS] = rows


@functools.cache
def _real(dataset: str) -> tuple[Array, Array, Array, Array, bool]:
    from vbcgcd import CategoryDiscoverer

    with np.load(data_folder() / FILES[dataset]) as file:
        rows, labels = file["train_x"].astype(np.float32), file["train_y"].astype(int)
    model = CategoryDiscoverer(count="silhouette", random_state=0).fit(rows, labels)
    reducer, posterior = model.reducer_, model.posterior_
    factors = np.linalg.cholesky(np.stack([posterior.covariance(k) for k in range(len(posterior))]))
    unit = bool(np.allclose(np.linalg.norm(rows[:100].astype(np.float64), axis=1), 1, atol=1e-2))
    return (
        posterior.mean.astype(np.float32),
        factors.astype(np.float32),
        reducer.center.astype(np.float32),
        np.linalg.pinv(reducer.projection).astype(np.float32),
        unit,
    )


def main() -> None:
    from vbcgcd.discovery.reduce import fit_reducer

    lines = []
    for n_categories in (150, 1000, 3000, 10_000):
        world = World.like("CLINC150", n_categories)
        codes = np.repeat(np.arange(n_categories), ROWS_EACH)
        reducer = fit_reducer(rows := world.rows(codes, 1), codes)
        reduced = reducer.transform(rows, dtype=np.float32)
        means = reduced.reshape(n_categories, ROWS_EACH, -1).mean(axis=1)
        truth = np.random.default_rng(0).integers(0, n_categories, TEST_ROWS)
        fresh = reducer.transform(world.rows(truth, 2), dtype=np.float32)
        answer = (fresh @ means.T - 0.5 * np.einsum("kd,kd->k", means, means)).argmax(axis=1)
        lines.append((f"{n_categories:,}", f"{100 * np.mean(answer == truth):.1f}"))
    table(
        f"Categories like those of CLINC150, {ROWS_EACH} rows each: nearest mean after whitening",
        ("categories", "accuracy, %"),
        lines,
    )


if __name__ == "__main__":
    main()
