"""Arrays as users bring them, turned into arrays as the mathematics wants them, or one clear error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.blocks import RowBlocks, is_source, open_rows
from vbcgcd.checks import check_choice, check_number
from vbcgcd.errors import InputError, NumericalError

Array = NDArray[Any]

#: The smallest and largest weight of a row that can be computed with in single precision.
WEIGHTS = (1e-9, 1e9)

__all__ = [
    "check_choice",
    "check_finite",
    "check_labels",
    "check_number",
    "check_rows",
    "check_source",
    "check_weight",
    "is_single",
    "to_numpy",
]


class _NotNumbers(InputError, TypeError):
    """Ours and Python's, as scikit-learn expects where values are no numbers at all."""


def check_rows(estimator: Any, X: Any, *, reset: bool = False) -> Array:
    """Float array (N, d) from NumPy, pandas, polars or a torch tensor on the CPU.

    Parameters
    ----------
    estimator : BaseEstimator
        Its ``n_features_in_`` is set (``reset``) or compared.
    X : array-like (N, d)
    reset : bool

    Raises
    ------
    InputError
        Empty, not two-dimensional, not numeric, of another width than in ``fit``, or not finite.
    """
    from sklearn.utils.validation import validate_data

    if is_source(X) or isinstance(X, bytes):
        raise InputError(
            f"X must be an array of numbers here, got {type(X).__name__}; fit, discover, predict and "
            "predict_top read files, and vbcgcd.blocks.loaded(path) loads one."
        )
    X = to_numpy(X)
    try:
        rows = validate_data(
            estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
    except TypeError as error:
        raise _NotNumbers(f"X must be numbers: {error}.") from None
    except (ValueError, OverflowError) as error:
        raise InputError(str(error)) from None
    _check_finite(rows)
    return np.asarray(rows)


def check_source(estimator: Any, rows: Any) -> RowBlocks:
    """A source of rows of the width that the estimator was fitted with.

    Raises
    ------
    InputError
        It cannot be read, or has another width.
    """
    source = open_rows(rows)
    if source.width != estimator.n_features_in_:
        raise InputError(
            f"The source has rows of {source.width} numbers, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input; give rows of the same embedding as in fit."
        )
    return source


def check_labels(y: Any, n_rows: int) -> Array:
    """One-dimensional array of labels, one for each row."""
    from sklearn.utils.multiclass import check_classification_targets

    if y is None:
        raise InputError(
            "This model requires y to be passed, but the target y is None; give one label for each row."
        )
    labels = _label_array(y)
    missing = [i for i, v in enumerate(labels) if v is None or v != v] if labels.dtype.kind in "Of" else []
    if missing:
        raise InputError(
            f"y contains NaN or None in {len(missing)} of {len(labels)} rows, first in row {missing[0]}; "
            "give every labelled row a label, or leave these rows out and discover their categories."
        )
    kinds = {type(v) for v in labels} if labels.dtype == object else set()
    if len(kinds) > 1:
        names = ", ".join(sorted(k.__name__ for k in kinds))
        raise InputError(f"y mixes labels of the types {names}; use one type for all labels.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("y contains infinity; give every labelled row a label.")
    labels = labels.astype(next(iter(kinds))) if kinds and kinds <= {str, int, bool} else labels
    try:
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            # Many one-row categories are fine here.
            warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
            check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise InputError(f"y cannot be used as labels: {error}") from None
    if len(labels) != n_rows:
        raise InputError(
            f"X has {n_rows} rows but y has {len(labels)} labels (inconsistent numbers of samples); "
            "give one label for each row."
        )
    return labels


def _label_array(y: Any) -> Array:
    from sklearn.utils.validation import column_or_1d

    y = to_numpy(y)
    if isinstance(y, list | tuple) and len({type(v) for v in y}) > 1:
        y = np.array(y, dtype=object)  # NumPy would turn mixed labels into strings
    try:
        return np.asarray(column_or_1d(np.asarray(y), warn=True))
    except ValueError as error:
        raise InputError(str(error)) from None


def check_weight(weight: Any, n_rows: int) -> Array | None:
    """Float array (N,) of weights that are 0 or of a usual magnitude, or None."""
    if weight is None:
        return None
    try:
        weight = np.asarray(to_numpy(weight))
        if np.iscomplexobj(weight):
            raise TypeError
        weight = weight.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be numbers, one for each row.") from None
    if weight.shape != (n_rows,):
        raise InputError(f"sample_weight must have shape ({n_rows},), got {weight.shape}.")
    if not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() == 0:
        raise InputError("sample_weight must be finite and not negative, and not zero for every row.")
    low, high = WEIGHTS
    bad = np.flatnonzero((weight > high) | ((weight > 0) & (weight < low)))
    if len(bad):
        raise InputError(
            f"sample_weight must be 0 or from {low:g} to {high:g}, got {weight[bad[0]]:.4g} in row {bad[0]}; "
            "a weight of 1 counts as one row."
        )
    return weight


def check_finite(what: str, *arrays: Any) -> None:
    """Raise a `NumericalError` unless all numbers of these results are finite.

    Examples
    --------
    >>> import numpy as np
    >>> check_finite("The novelty", np.zeros(3), 0.5)
    """
    for array in map(np.asarray, arrays):
        if array.size and not (np.isfinite(array.max()) and np.isfinite(array.min())):
            raise NumericalError(
                f"{what} came out as NaN or infinity, and was not used. Scale the embeddings to ordinary "
                "magnitudes, and remove rows that are far from all others."
            )


def is_single(x: Any) -> bool:
    """Whether it is one row and not several; what has no shape is left to `check_rows` to refuse."""
    try:
        return np.ndim(to_numpy(x)) == 1
    except ValueError:
        return False


def to_numpy(array: Any) -> Any:
    """Tensors of torch as arrays, and whatever else as it is."""
    if type(array).__module__.partition(".")[0] == "torch":
        array = array.detach().cpu()
        array = (array.float() if array.is_floating_point() and array.itemsize < 4 else array).numpy()
    if getattr(array, "dtype", None) == np.float16:
        array = np.asarray(array, dtype=np.float32)
    return array


def _check_finite(rows: Array) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):
            return
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"X contains NaN or infinity (inf) in {len(np.unique(bad[:, 0]))} of {len(rows)} rows, first at "
            f"row {row}, column {column}; remove these rows or fill in the missing values."
        )
