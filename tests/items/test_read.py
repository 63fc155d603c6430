import contextlib
import io
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vbcgcd.errors import InputError, MissingFileError
from vbcgcd.items import read_items


def test_nothing_there(tmp_path):
    with pytest.raises(MissingFileError):
        read_items(tmp_path / "none.csv")


def test_an_unsupported_file_type(tmp_path):
    (tmp_path / "a.xlsx").touch()
    with pytest.raises(InputError, match=r"'\.xlsx'"):
        read_items(tmp_path / "a.xlsx")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text\na\n")
    path.chmod(0)
    with pytest.raises(InputError):
        read_items(path)


def test_a_string_is_a_path(tmp_path):
    (tmp_path / "a.csv").write_text("text\na\n")
    assert read_items(str(tmp_path / "a.csv")).values == ["a"]


def test_no_heavy_library_is_imported():
    # scikit-learn imports pandas itself where it is installed; nothing may come on top.
    program = (
        "import sys, sklearn.exceptions; before = set(sys.modules); import vbcgcd.items; "
        "print(*({'torch', 'PIL', 'pandas', 'pyarrow', 'polars'} & (set(sys.modules) - before)))"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == ""


def start(ending):
    """A small sound file of each sort."""
    rows = np.arange(6.0).reshape(3, 2)
    if ending == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, rows)
        return buffer.getvalue()
    if ending == ".npz":
        buffer = io.BytesIO()
        np.savez(buffer, x=rows, y=np.arange(3))
        return buffer.getvalue()
    if ending == ".parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"text": ["a", "b"], "label": [1, 2]}), sink)
        return sink.getvalue().to_pybytes()
    return {
        ".csv": b'text,label\n"a, b",1\nc,2\n',
        ".jsonl": b'{"text": "a", "label": 1}\n{"text": "b", "label": 2}\n',
    }[ending]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".npy", ".npz", ".parquet"])
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_any_bytes_give_items_or_an_input_error(tmp_path, ending, data):
    content = bytearray(start(ending))
    for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)))):
        content[place] = byte
    path = tmp_path / f"fuzzed{ending}"
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    with contextlib.suppress(InputError):
        items = read_items(path)
        assert len(items) == len(items.references) > 0
