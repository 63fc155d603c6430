"""Any value of ours as plain values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Only dicts, lists, strings, numbers, truth values and None; a number that is not finite becomes None.

    A value with a method ``as_json`` decides for itself.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"share": np.float32(0.5), "ids": np.array([1, 2]), 3: float("nan")})
    {'share': 0.5, 'ids': [1, 2], '3': None}
    """
    if hasattr(value, "as_json") and not isinstance(value, type):
        return value.as_json()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value
