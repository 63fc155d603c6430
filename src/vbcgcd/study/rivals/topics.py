"""What rivals that are topic models share: documents without words, and topics that count as new.

BERTopic and Turftopic use words to describe topics, and embeddings alone to decide which topic a document
belongs to. The study has embeddings, so each document has the same placeholder words, and only descriptions,
which nobody reads here, lose by it.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: BERTopic's weights of words need two of them.
PLACEHOLDER = "some document"

__all__ = ["PLACEHOLDER", "admitting", "quiet", "wordless"]


def wordless(n_documents: int) -> list[str]:
    """As many documents as there are rows."""
    return [PLACEHOLDER] * n_documents


def admitting(similarity: Array, n_novel: int | None, default: float) -> float:
    """The similarity to known topics below which exactly ``n_novel`` topics are new.

    Parameters
    ----------
    similarity : array (T,)
        Of each topic of a session to the known topic that is most like it.
    n_novel : int or None
        The number; where there are fewer topics, all are new. None keeps the default.
    default : float

    Examples
    --------
    >>> round(admitting(np.array([0.9, 0.2, 0.6]), 2, 0.7), 2)
    0.75
    """
    if n_novel is None:
        return default
    ordered = np.sort(similarity)
    if n_novel == 0 or not len(ordered):
        return -1.1
    if n_novel >= len(ordered):
        return 1.1
    return float(ordered[n_novel - 1 : n_novel + 1].mean())


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Neither warnings nor prints of the libraries below; BERTopic and UMAP have many of both."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        before = logging.root.manager.disable
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(before)
