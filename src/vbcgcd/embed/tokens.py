"""Texts and tokens, as every text embedder wants them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbcgcd.embed.devices import require
from vbcgcd.embed.protocol import ItemError
from vbcgcd.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["prepare_text", "read_tokenizer"]


def prepare_text(item: Any) -> str:
    """The text as UTF-8 can hold it; raises `ItemError` for an empty one.

    Examples
    --------
    >>> prepare_text("hello")
    'hello'
    """
    if not isinstance(item, str):
        raise ItemError(f"not a text but {type(item).__name__}")
    if not item.strip():
        raise ItemError("empty text")
    return item.encode("utf-8", "replace").decode()


def read_tokenizer(file: Path, length: int | None) -> Tokenizer:
    """The tokenizer of a ``tokenizer.json``; it does not pad, and cuts texts at ``length`` tokens."""
    require("tokenizers", extra="text")
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no class of its own
        raise InputError(f"{file} cannot be read as a tokenizer: {str(error)[:160]}.") from None
    tokenizer.no_padding()
    if length is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(length)
    return tokenizer
