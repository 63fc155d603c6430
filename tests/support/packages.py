"""Packages that only some methods of a study need."""

import importlib.util

import pytest

from vbcgcd.study.methods import METHODS


def skip_without_package(method):
    """Skip the test where the package of a method is not installed."""
    needs = METHODS[method].needs
    if needs and importlib.util.find_spec(needs) is None:
        pytest.skip(f"{method} needs {needs}, which is not installed (extra: rivals)")
