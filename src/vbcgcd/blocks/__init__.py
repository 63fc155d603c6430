"""Rows that are read block by block: arrays, NumPy files, Parquet and Arrow, without loading them whole."""

from vbcgcd.blocks.arrays import ArrayBlocks, NpyBlocks
from vbcgcd.blocks.opening import is_source, open_rows
from vbcgcd.blocks.protocol import RowBlocks, in_blocks, loaded

__all__ = ["ArrayBlocks", "NpyBlocks", "RowBlocks", "in_blocks", "is_source", "loaded", "open_rows"]
