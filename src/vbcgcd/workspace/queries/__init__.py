"""Questions about a workspace: plain functions of a snapshot."""

from typing import TYPE_CHECKING

from vbcgcd.lazy import lazy_names
from vbcgcd.workspace.queries.categories import (
    category_sizes,
    count_items,
    get_category,
    list_categories,
    list_entries,
)
from vbcgcd.workspace.queries.finding import list_items
from vbcgcd.workspace.queries.items import count_unassigned, unassigned_items
from vbcgcd.workspace.queries.overview import get_config, overview, remembered_columns
from vbcgcd.workspace.queries.sessions import (
    labelled_sessions,
    last_command,
    list_changes,
    list_commands,
    list_seedlings,
    list_sessions,
    next_redo,
)
from vbcgcd.workspace.queries.sources import item_contents, list_sources

if TYPE_CHECKING:
    from vbcgcd.workspace.queries.predictions import explain, predict

__all__ = [
    "category_sizes",
    "count_items",
    "count_unassigned",
    "explain",
    "get_category",
    "get_config",
    "item_contents",
    "labelled_sessions",
    "last_command",
    "list_categories",
    "list_changes",
    "list_commands",
    "list_entries",
    "list_items",
    "list_seedlings",
    "list_sessions",
    "list_sources",
    "next_redo",
    "overview",
    "predict",
    "remembered_columns",
    "unassigned_items",
]

__getattr__, __dir__ = lazy_names(__name__, {"vbcgcd.workspace.queries.predictions": ("explain", "predict")})
