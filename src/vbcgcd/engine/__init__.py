"""Who computes, never what: pure functions over blocks, run here, in processes or on a Ray cluster."""

from typing import TYPE_CHECKING

from vbcgcd.lazy import lazy_names

if TYPE_CHECKING:
    from vbcgcd.engine.opening import ENGINES, open_engine
    from vbcgcd.engine.protocol import Engine, Work, WorkersLost
    from vbcgcd.engine.tree import group_blocks, reduce_tree

__all__ = ["ENGINES", "Engine", "Work", "WorkersLost", "group_blocks", "open_engine", "reduce_tree"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "vbcgcd.engine.opening": ("ENGINES", "open_engine"),
        "vbcgcd.engine.protocol": ("Engine", "Work", "WorkersLost"),
        "vbcgcd.engine.tree": ("group_blocks", "reduce_tree"),
    },
)
