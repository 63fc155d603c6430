"""Engines by name."""

import builtins
import sys

import pytest

from vbcgcd.engine import open_engine
from vbcgcd.errors import InputError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "spark"}, "engine must be one of 'here', 'processes', 'ray'"),
        ({"name": "processes", "workers": 0}, "workers must be a whole number of at least 1"),
        ({"name": "here", "workers": 3}, "'here' is one process, got 3 workers"),
        ({"name": "processes", "address": "10.0.0.5:6379"}, "'processes' has no address"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        open_engine(**options)


def test_without_ray_the_error_says_how_to_install_it(monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **more):
        if name == "ray" or name.startswith("ray."):
            raise ModuleNotFoundError(name)
        return real(name, *args, **more)

    monkeypatch.delitem(sys.modules, "vbcgcd.engine.ray", raising=False)
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(InputError, match=r"pip install 'vbcgcd\[cluster\]'") as raised:
        open_engine("ray")
    assert raised.value.option == "engine"
