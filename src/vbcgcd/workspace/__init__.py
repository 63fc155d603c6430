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
        DismissResult,
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
        Question,
        RepairResult,
        ReportResult,
        Review,
        SeedlingInfo,
        Side,
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
    "DismissResult",
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
    "Question",
    "RepairResult",
    "ReportResult",
    "Review",
    "SeedlingInfo",
    "SessionRecord",
    "Side",
    "Snapshot",
    "SourceInfo",
    "UndoResult",
    "Workspace",
]

_HOMES = {
    "vbcgcd.record": ("SessionRecord",),
    "vbcgcd.workspace.snapshot": ("Category", "Snapshot"),
    "vbcgcd.workspace.workspace": ("Workspace",),
}
_values = sorted(set(__all__).difference(*_HOMES.values()))

__getattr__, __dir__ = lazy_names(__name__, {**_HOMES, "vbcgcd.workspace.values": tuple(_values)})
