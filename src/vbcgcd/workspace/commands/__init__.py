"""Commands that write: functions from a snapshot to a draft. Each is imported when it is first called."""

from typing import TYPE_CHECKING

from vbcgcd.lazy import lazy_names

if TYPE_CHECKING:
    from vbcgcd.workspace.commands.categories import (
        category_result,
        drop_draft,
        merge_draft,
        rename_draft,
    )
    from vbcgcd.workspace.commands.history import configure_draft, redo_draft, undo_draft, undo_result
    from vbcgcd.workspace.commands.relocating import relocate_sources
    from vbcgcd.workspace.commands.sessions import check_labelled, discover_draft, learn_draft
    from vbcgcd.workspace.commands.splitting import Extra, split_draft

__all__ = [
    "Extra",
    "category_result",
    "check_labelled",
    "configure_draft",
    "discover_draft",
    "drop_draft",
    "learn_draft",
    "merge_draft",
    "redo_draft",
    "relocate_sources",
    "rename_draft",
    "split_draft",
    "undo_draft",
    "undo_result",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "vbcgcd.workspace.commands.categories": (
            "category_result",
            "drop_draft",
            "merge_draft",
            "rename_draft",
        ),
        "vbcgcd.workspace.commands.history": ("configure_draft", "redo_draft", "undo_draft", "undo_result"),
        "vbcgcd.workspace.commands.relocating": ("relocate_sources",),
        "vbcgcd.workspace.commands.sessions": ("check_labelled", "discover_draft", "learn_draft"),
        "vbcgcd.workspace.commands.splitting": ("Extra", "split_draft"),
    },
)
