"""Peak memory of fit and predict for 1,000 categories at D = 384 in float32, beyond the input.

python benchmarks/memory.py
"""

from __future__ import annotations

import resource

import numpy as np

from common import table
from vbcgcd import CategoryDiscoverer

CATEGORIES, ROWS_EACH, DIM, TEST_ROWS = 1000, 20, 384, 5000


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    rng = np.random.default_rng(0)
    rows = np.empty((CATEGORIES * ROWS_EACH, DIM), dtype=np.float32)
    rng.standard_normal(out=rows, dtype=np.float32)
    means = rng.standard_normal((CATEGORIES, DIM), dtype=np.float32)
    labels = np.repeat(np.arange(CATEGORIES), ROWS_EACH)
    for k in range(CATEGORIES):
        rows[k * ROWS_EACH : (k + 1) * ROWS_EACH] += means[k]
    # Libraries are loaded and warm before the measurement starts.
    CategoryDiscoverer().fit(rows[:200], labels[:200]).predict(rows[:10])
    before = peak_mb()
    model = CategoryDiscoverer(n_components=DIM, dtype="float32").fit(rows, labels)
    after_fit = peak_mb()
    model.predict(rows[:TEST_ROWS])
    after_predict = peak_mb()
    state = model.posterior_.nbytes / 2**20
    table(
        f"Peak memory, {CATEGORIES} categories, D = {DIM}, float32, {len(rows)} rows",
        ("", "MB"),
        [
            ("input", f"{rows.nbytes / 2**20:.0f}"),
            ("learned state (lower triangles)", f"{state:.0f}"),
            ("peak of fit beyond the input", f"{after_fit - before:.0f}"),
            (f"peak after predict of {TEST_ROWS} rows", f"{after_predict - before:.0f}"),
        ],
    )


if __name__ == "__main__":
    main()
