"""A directory that lives for years: sessions, categories with names, undo, and queries for reports."""

from vbcgcd.record import SessionRecord
from vbcgcd.workspace.snapshot import Category, Snapshot
from vbcgcd.workspace.values import (
    Candidate,
    CategoryCount,
    CategoryInfo,
    CategoryResult,
    CategoryView,
    Changes,
    CommandInfo,
    ConfigResult,
    Explanation,
    ExportResult,
    ItemContent,
    ItemInfo,
    MapItem,
    Overview,
    Predictions,
    RepairResult,
    ReportResult,
    SeedlingInfo,
    SourceInfo,
    UndoResult,
)
from vbcgcd.workspace.workspace import Workspace

__all__ = [
    "Candidate",
    "Category",
    "CategoryCount",
    "CategoryInfo",
    "CategoryResult",
    "CategoryView",
    "Changes",
    "CommandInfo",
    "ConfigResult",
    "Explanation",
    "ExportResult",
    "ItemContent",
    "ItemInfo",
    "MapItem",
    "Overview",
    "Predictions",
    "RepairResult",
    "ReportResult",
    "SeedlingInfo",
    "SessionRecord",
    "Snapshot",
    "SourceInfo",
    "UndoResult",
    "Workspace",
]
