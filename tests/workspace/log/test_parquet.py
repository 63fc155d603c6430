import subprocess
import sys
from pathlib import Path

import pytest

TASKS = Path("/proc/self/task")
PROGRAM = """
import os
import pyarrow
from vbcgcd.workspace.log.parquet import parquet_bytes, parquet_columns

data = parquet_bytes({"a": pyarrow.array(range(1000)), "b": pyarrow.array(["x"] * 1000)})
before = len(os.listdir("/proc/self/task"))
columns = parquet_columns(data)
assert columns["a"].to_pylist() == list(range(1000))
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not TASKS.exists(), reason="the system does not list threads")
def test_reading_starts_no_threads():
    """A thread of Arrow that still runs at the end of the process can abort it."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert run.stdout == "0\n"
