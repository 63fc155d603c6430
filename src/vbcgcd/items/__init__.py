"""Anything on disk -> items: tables, folders of pictures and arrays, with labels where there are some."""

from vbcgcd.items.items import Items
from vbcgcd.items.read import read_items

__all__ = ["Items", "read_items"]
