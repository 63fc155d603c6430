"""Base session: accuracy against NCM, LDA and QDA; speed of fit and predict against QDA in the same run.

VBCGCD_DATA=... python benchmarks/base_session.py
VBCGCD_DATA=... python benchmarks/base_session.py --fit  # processor time of `fit` alone, on one thread
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from common import LABELLED, console, fastest, load, table
from vbcgcd import CategoryDiscoverer

SEEDS = (0, 1, 2)
REG_PARAMS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
DIM = 384


def labelled_split(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """80 % of the training rows of half of the classes, and the test rows of these classes."""
    train_x, train_y, test_x, test_y = load(name)
    rng = np.random.default_rng(seed)
    classes = rng.permutation(train_y.max() + 1)[: LABELLED[name]]
    rows = []
    for c in classes:
        members = rng.permutation(np.flatnonzero(train_y == c))
        rows.append(members[: round(0.8 * len(members))])
    chosen, keep = np.concatenate(rows), np.isin(test_y, classes)
    return train_x[chosen], train_y[chosen], test_x[keep], test_y[keep]


def ncm(x: np.ndarray, y: np.ndarray, tx: np.ndarray, ty: np.ndarray) -> float:
    """Nearest class mean, Euclidean, on rows of unit length or as they are, whichever is better."""
    scores = []
    for scale in (lambda a: a, normalize):
        means = np.stack([scale(x)[y == c].mean(axis=0) for c in np.unique(y)])
        nearest = euclidean_distances(scale(tx), means).argmin(axis=1)
        scores.append(float(np.mean(np.unique(y)[nearest] == ty)))
    return max(scores)


def best_qda(x: np.ndarray, y: np.ndarray, tx: np.ndarray, ty: np.ndarray) -> float:
    """QDA's best accuracy over regularisation and dimension, both chosen on the test rows: a flattered rival.

    Its covariances need more rows than dimensions, so fewer components are tried as well.
    """
    pca = PCA(min(DIM, x.shape[1]), random_state=0).fit(x)
    zx, zt = pca.transform(x), pca.transform(tx)
    fewest = np.unique(y, return_counts=True)[1].min()
    dims = [d for d in (32, 64, 128, 256, DIM) if d < fewest]
    return max(
        QuadraticDiscriminantAnalysis(reg_param=r).fit(zx[:, :d], y).score(zt[:, :d], ty)
        for r in REG_PARAMS
        for d in dims
    )


def accuracy() -> None:
    rows = []
    for name in LABELLED:
        scores: dict[str, list[float]] = {}
        for seed in SEEDS:
            x, y, tx, ty = labelled_split(name, seed)
            scores.setdefault("vbcgcd", []).append(CategoryDiscoverer().fit(x, y).score(tx, ty))
            scores.setdefault("NCM", []).append(ncm(x, y, tx, ty))
            lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
            scores.setdefault("LDA, shrinkage", []).append(lda.fit(x, y).score(tx, ty))
            scores.setdefault("QDA, best reg_param", []).append(best_qda(x, y, tx, ty))
        rows += [(name, m, f"{100 * np.mean(s):.2f}", f"{100 * np.std(s):.2f}") for m, s in scores.items()]
    table(
        f"Base-session test accuracy, {len(SEEDS)} class orders (80 % of the rows of half of the classes)",
        ("dataset", "method", "accuracy %", "sd"),
        rows,
    )


def speed() -> None:
    x, y, _, _ = labelled_split("CIFAR-100", 0)
    pca = PCA(DIM, random_state=0).fit(x)
    x = pca.transform(x)
    test = pca.transform(load("CIFAR-100")[2])
    ours = CategoryDiscoverer(n_components=DIM)
    fast, exact = ours.fit(x, y).predict(test), CategoryDiscoverer(dtype="float64").fit(x, y).predict(test)
    left, right = np.random.default_rng(0).random((2, 4096, DIM), dtype=np.float32)
    product = fastest(lambda: left.T @ right, 20)
    rate = 2 * 4096 * DIM**2 / product
    rows = []
    predict = fastest(lambda: ours.predict(test))
    # The classifier alone, and with the rehearsal that `discover` needs to estimate numbers.
    fit = fastest(lambda: CategoryDiscoverer(n_components=DIM, count="evidence").fit(x, y))
    rehearsed = fastest(lambda: CategoryDiscoverer(n_components=DIM).fit(x, y), 2)
    for dtype in (np.float64, np.float32):
        qx, qt = x.astype(dtype), test.astype(dtype)
        qda = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(qx, y)
        qda_fit = fastest(lambda qx=qx: QuadraticDiscriminantAnalysis(reg_param=0.1).fit(qx, y), 3)
        qda_predict = fastest(lambda qda=qda, qt=qt: qda.predict(qt), 3)
        kind = np.dtype(dtype).name
        rows.append((f"fit, QDA on {kind}", f"{fit:.2f}", f"{qda_fit:.2f}", f"{qda_fit / fit:.1f}"))
        rows.append(("  with rehearsal", f"{rehearsed:.2f}", f"{qda_fit:.2f}", f"{qda_fit / rehearsed:.1f}"))
        rows.append(
            (
                f"predict, QDA on {kind}",
                f"{predict:.2f}",
                f"{qda_predict:.2f}",
                f"{qda_predict / predict:.1f}",
            )
        )
    table(
        f"{len(np.unique(y))} categories of CIFAR-100, D = {DIM}: fit {len(x)} rows, predict {len(test)}",
        ("", "vbcgcd s", "QDA s", "times faster"),
        rows,
    )
    dense = 2 * len(test) * len(np.unique(y)) * DIM**2
    console.print(
        f"predict: {100 * np.mean(fast == exact):.2f} % of rows as in float64; "
        f"{dense / predict / rate:.2f} of the machine's float32 matrix-product rate "
        f"({rate / 1e9:.0f} GFLOP/s), counting the operations of dense squared distances."
    )


def fit_speed(repeats: int = 5) -> None:
    """Processor time of `fit` on one thread, ours and QDA's in turns: other programs count less."""
    x, y, _, _ = labelled_split("CIFAR-100", 0)
    x = PCA(DIM, random_state=0).fit_transform(x)
    exact = x.astype(np.float64)
    actions = {
        "vbcgcd": lambda: CategoryDiscoverer(n_components=DIM).fit(x, y),
        "vbcgcd without rehearsal": lambda: CategoryDiscoverer(n_components=DIM, count="evidence").fit(x, y),
        "QDA on float32": lambda: QuadraticDiscriminantAnalysis(reg_param=0.1).fit(x, y),
        "QDA on float64": lambda: QuadraticDiscriminantAnalysis(reg_param=0.1).fit(exact, y),
    }
    best = dict.fromkeys(actions, np.inf)
    for _ in range(repeats):
        for name, action in actions.items():
            start = time.process_time()
            action()
            best[name] = min(best[name], time.process_time() - start)
    table(
        f"{len(np.unique(y))} categories of CIFAR-100, D = {DIM}: processor seconds to fit {len(x)} rows",
        ("", "s"),
        [(name, f"{seconds:.2f}") for name, seconds in best.items()],
    )


if __name__ == "__main__":
    if "--fit" in sys.argv[1:]:
        with threadpool_limits(1):
            fit_speed()
        sys.exit()
    with threadpool_limits(2):
        accuracy()
        speed()
