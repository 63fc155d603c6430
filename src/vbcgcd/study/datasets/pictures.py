"""Picture parts of a dataset: from lists of relative paths and codes, without opening a file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from vbcgcd.items import Items

__all__ = ["picture_items"]


def picture_items(root: Path, names: list[str], codes: list[int]) -> Items:
    """Items from paths relative to a folder, and the code of each."""
    base = os.path.abspath(root)
    paths = [Path(base, name) for name in names]
    return Items("image", paths, names, str(root), np.array(codes, dtype=np.int64), {"label": "folder"})
