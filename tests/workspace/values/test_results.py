import json

import numpy as np

from vbcgcd.items import Failure
from vbcgcd.record import plain
from vbcgcd.workspace import CategoryResult, ConfigResult


def test_results_become_plain_values():
    result = CategoryResult(4, "split", {7: "a"}, {1: "b"}, {7: 3}, (Failure("x", "broken"),))
    assert json.loads(json.dumps(result.as_json())) == result.as_json()
    assert result.as_json() == {
        "commit": 4,
        "command": "split",
        "categories": {"7": "a"},
        "retired": {"1": "b"},
        "counts": {"7": 3},
        "failures": [{"reference": "x", "reason": "broken"}],
        "missing": 0,
        "shared": 0.0,
        "judged": False,
    }


def test_plain_asks_results_for_their_values():
    assert plain([ConfigResult(1, {"reject": np.float32(0.5), "x": float("nan")})]) == [
        {"commit": 1, "config": {"reject": 0.5, "x": None}}
    ]
