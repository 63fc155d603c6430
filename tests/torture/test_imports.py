import numpy as np

from torture.imports import attack


def test_hostile_exports_are_refused_or_harmless():
    counts = attack(np.random.default_rng(1), 60)
    assert set(counts) == {"refused", "accepted"}
    assert counts["refused"] > 20
