"""The short version of `make torture`: nothing that must never happen has happened."""

import os
import sys

import pytest

from torture.everything import ATTACKS
from torture.table import BAD, FINDINGS, run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "win32", reason="needs fork")
#: In memory this takes seconds; the long version is for a quiet machine.
SEED = int(os.environ.get("VBCGCD_TORTURE_SEED", "0"))


@pytest.mark.parametrize("name", list(ATTACKS))
def test_an_attack_does_no_harm(name):
    FINDINGS.clear()
    counts, _ = run(name, short=True, seed=SEED)
    assert counts.total() > 0
    assert not [counts[word] for word in BAD if counts[word]], FINDINGS[:5]
