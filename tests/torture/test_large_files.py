"""The attacks on files, with posteriors that stay in their files and digests of their parts."""

import os
import sys

import pytest

from torture import world
from torture.everything import ATTACKS as EVERY
from torture.table import BAD, FINDINGS, run
from vbcgcd import mapped
from vbcgcd.workspace.log import blocks

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "win32", reason="needs fork")
ATTACKS = ("bit flips", "truncated and missing files", "faults while reading", "kill before every disk call")


@pytest.fixture(scope="module", autouse=True)
def everything_is_large():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped, "LARGE", 0)
        patch.setattr(blocks, "BLOCK", 256)
        world.world.cache_clear()
        yield
    world.world.cache_clear()


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_does_no_harm(name):
    FINDINGS.clear()
    assert name in EVERY
    counts, _ = run(name, short=True, seed=0)
    assert counts.total() > 0
    assert not [counts[word] for word in BAD if counts[word]], FINDINGS[:5]
