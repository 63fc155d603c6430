"""A directory that lives for years: sessions, categories with names, undo, and queries for reports."""

from vbcgcd.workspace.lookup import Shown
from vbcgcd.workspace.predictions import Candidate, Explanation
from vbcgcd.workspace.results import (
    CategoryResult,
    Configured,
    Discovered,
    Exported,
    Learned,
    Predictions,
    Reported,
    Undone,
    plain,
)
from vbcgcd.workspace.state import Category
from vbcgcd.workspace.views import (
    CategoryInfo,
    CategoryView,
    Changes,
    CommandInfo,
    ItemInfo,
    MapItem,
    Overview,
    SessionInfo,
)
from vbcgcd.workspace.workspace import Workspace

__all__ = [
    "Candidate",
    "Category",
    "CategoryInfo",
    "CategoryResult",
    "CategoryView",
    "Changes",
    "CommandInfo",
    "Configured",
    "Discovered",
    "Explanation",
    "Exported",
    "ItemInfo",
    "Learned",
    "MapItem",
    "Overview",
    "Predictions",
    "Reported",
    "SessionInfo",
    "Shown",
    "Undone",
    "Workspace",
    "plain",
]
