import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.embed.hashing import KEY_BYTES, digest_of, item_key, state_digest, view_key
from vbcgcd.embed.protocol import ItemError


@given(st.text(), st.text())
def test_equal_texts_alone_have_equal_keys(one, other):
    assert (item_key(one) == item_key(other)) == (one == other)


def test_a_key_is_of_the_content_not_of_the_name(tmp_path):
    (tmp_path / "a").write_bytes(b"same")
    (tmp_path / "b").write_bytes(b"same")
    (tmp_path / "c").write_bytes(b"other")
    a, b, c = (item_key(tmp_path / name) for name in "abc")
    assert a == b != c
    assert len(a) == KEY_BYTES
    with pytest.raises(ItemError, match="No such file"):
        item_key(tmp_path / "absent")


def test_arrays_differ_by_shape_and_type():
    values = np.arange(12, dtype=np.uint8)
    keys = {item_key(v) for v in (values, values.reshape(3, 4), values.view(np.int8), values[::-1])}
    assert len(keys) == 4
    assert item_key(values.reshape(3, 4).T) == item_key(values.reshape(3, 4).T.copy())


def test_views_have_keys_of_their_own():
    key = item_key("picture")
    keys = {view_key(key, view, seed, {"flip": f}) for view in (0, 1) for seed in (0, 1) for f in (0.1, 0.2)}
    assert len(keys | {key}) == 9


def test_state_digest_sees_names_values_and_types():
    torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
    one = {"a": torch.arange(4.0), "n": torch.tensor(3)}
    assert state_digest(one) == state_digest({"n": torch.tensor(3), "a": torch.arange(4.0)})
    others = [
        {"b": one["a"], "n": one["n"]},
        {"a": one["a"] + 1, "n": one["n"]},
        {"a": one["a"].bfloat16(), "n": one["n"]},
        {"a": one["a"].reshape(2, 2), "n": one["n"]},
    ]
    assert len({state_digest(s) for s in (one, *others)}) == 5


def test_digests_are_the_same_in_another_process():
    code = (
        "from vbcgcd.embed.hashing import *; print(item_key('x').hex(), digest_of({'b': (1, 2), 'a': None}))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.split() == [item_key("x").hex(), digest_of({"a": None, "b": [1, 2]})]
