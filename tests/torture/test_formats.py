import numpy as np

from torture.formats import attack


def test_fuzzed_inputs_are_read_or_refused():
    counts = attack(np.random.default_rng(3), 600, weights=False)
    assert set(counts) == {"read", "refused"}
    assert min(counts.values()) > 100
