"""A directory that lives for years: sessions, categories with names, undo, and queries for reports."""

from typing import TYPE_CHECKING

from vbcgcd.lazy import lazy_names

if TYPE_CHECKING:
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
        ItemChange,
        ItemContent,
        ItemInfo,
        ItemsResult,
        MapItem,
        NameProposal,
        NameSuggestion,
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
    "ItemChange",
    "ItemContent",
    "ItemInfo",
    "ItemsResult",
    "MapItem",
    "NameProposal",
    "NameSuggestion",
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "vbcgcd.record": ("SessionRecord",),
        "vbcgcd.workspace.snapshot": ("Category", "Snapshot"),
        "vbcgcd.workspace.values": (
            "Candidate",
            "CategoryCount",
            "CategoryInfo",
            "CategoryResult",
            "CategoryView",
            "Changes",
            "CommandInfo",
            "ConfigResult",
            "Explanation",
            "ExportResult",
            "ItemChange",
            "ItemContent",
            "ItemInfo",
            "ItemsResult",
            "MapItem",
            "NameProposal",
            "NameSuggestion",
            "Overview",
            "Predictions",
            "RepairResult",
            "ReportResult",
            "SeedlingInfo",
            "SourceInfo",
            "UndoResult",
        ),
        "vbcgcd.workspace.workspace": ("Workspace",),
    },
)
