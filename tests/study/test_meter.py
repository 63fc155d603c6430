import sys
import time

import numpy as np

from vbcgcd.study.meter import Meter


def test_a_meter_measures_time_and_memory():
    with Meter() as meter:
        block = np.ones(2**24)  # 128 MB, touched
        time.sleep(0.1)
        del block
    assert 0.1 <= meter.seconds < 10
    assert meter.peak_bytes >= 0
    if sys.platform == "linux":
        assert meter.peak_bytes > 2**26
