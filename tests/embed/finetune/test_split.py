import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.embed.finetune.split import stratified_split
from vbcgcd.errors import InputError


@given(
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    share=st.floats(0.01, 0.9),
    seed=st.integers(0, 9),
)
def test_every_category_keeps_its_share(counts, share, seed):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    if max(counts) < 3:
        with pytest.raises(InputError, match="validation_share=0"):
            stratified_split(codes, share, seed)
        return
    train, validation = stratified_split(codes, share, seed)
    assert sorted([*train, *validation]) == list(range(len(codes)))
    for code, count in enumerate(counts):
        held = int((codes[validation] == code).sum())
        if count < 3:
            assert held == 0
        else:
            assert 1 <= held <= count - 2
            assert abs(held - share * count) <= 1 or held == count - 2


def test_the_seed_decides():
    codes = np.repeat([0, 1], 50)
    first = stratified_split(codes, 0.2, 0)[1]
    assert np.array_equal(first, stratified_split(codes, 0.2, 0)[1])
    assert not np.array_equal(first, stratified_split(codes, 0.2, 1)[1])


def test_no_share_no_validation():
    train, validation = stratified_split(np.array([0, 0, 1]), 0.0, 0)
    assert train.tolist() == [0, 1, 2]
    assert len(validation) == 0
