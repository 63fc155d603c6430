"""Anything on disk -> items: tables, datasets, folders of pictures and arrays, with labels if any."""

from vbcgcd.items.items import Failure, Items, vector_items
from vbcgcd.items.read import read_items

__all__ = ["Failure", "Items", "read_items", "vector_items"]
