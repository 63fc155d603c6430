import numpy as np
import pytest

from vbcgcd.discovery.geometry import STRANGER_BOUNDS, STRANGER_START
from vbcgcd.discovery.watch import Watch


def test_the_share_of_strangers_follows_the_stream():
    watch = Watch()
    assert watch.share == STRANGER_START
    for i in range(2000):
        watch = watch.after(float(i % 4 == 0))
    assert watch.rows == 2000
    assert watch.share == pytest.approx(0.25, abs=0.01)
    for _ in range(3000):
        watch = watch.after(0.0)
    assert watch.share < 0.01


@pytest.mark.parametrize("strange", [0.0, 1.0])
def test_it_stays_within_bounds(strange):
    watch = Watch()
    for _ in range(20_000):
        watch = watch.after(strange)
    assert STRANGER_BOUNDS[0] <= watch.share <= STRANGER_BOUNDS[1]


def test_the_first_rows_do_not_decide_alone():
    assert np.isclose(Watch().after(1.0).share, STRANGER_START + (1 - STRANGER_START) / 21)
