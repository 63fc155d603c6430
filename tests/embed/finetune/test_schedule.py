import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.embed.finetune.schedule import rate_factor


@given(steps=st.integers(1, 300), warmup=st.floats(0, 1))
def test_it_rises_then_falls(steps, warmup):
    factors = [rate_factor(s, steps, warmup) for s in range(steps)]
    assert all(0 < f <= 1 for f in factors)
    top = factors.index(max(factors))
    assert factors[: top + 1] == sorted(factors[: top + 1])
    assert factors[top:] == sorted(factors[top:], reverse=True)
    assert top <= math.ceil(warmup * steps)


def test_half_a_cosine_ends_at_zero():
    assert rate_factor(0, 100, 0.0) == 1
    assert rate_factor(50, 100, 0.0) == pytest.approx(0.5)
    assert rate_factor(100, 100, 0.0) == pytest.approx(0)
    assert rate_factor(9, 100, 0.1) == pytest.approx(1)
    assert rate_factor(4, 100, 0.1) == pytest.approx(0.5)
