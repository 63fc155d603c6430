"""A short run of the estimator fuzz; `benchmarks/torture/estimator.py` is the long one."""

import numpy as np

from torture.estimator import fuzz


def test_every_call_answers_in_numbers_or_refuses_in_one_line():
    failures = []
    counts = fuzz(np.random.default_rng(0), 150, report=lambda seed, error: failures.append((seed, error)))
    assert not failures
    assert counts["cases"] == 150
    for name in ("fit", "answers", "discover", "partial_fit", "save"):
        assert counts[f"{name}: answered"] > 15  # most of the answers are answers
        assert counts[f"{name}: refused"] > 2
