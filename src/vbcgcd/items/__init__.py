"""Anything on disk -> items: tables, folders of pictures and arrays, with labels where there are some."""

from vbcgcd.items.items import Failure, Items
from vbcgcd.items.read import read_items

__all__ = ["Failure", "Items", "read_items"]
