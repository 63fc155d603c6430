"""What commands and queries return: frozen values that can be printed, or turned into JSON."""

from vbcgcd.workspace.values.answers import Candidate, Explanation, Predictions
from vbcgcd.workspace.values.questions import DismissResult, Question, Review, Side
from vbcgcd.workspace.values.results import (
    CategoryResult,
    ConfigResult,
    ExportResult,
    ItemChange,
    ItemsResult,
    RepairResult,
    ReportResult,
    UndoResult,
)
from vbcgcd.workspace.values.views import (
    CategoryCount,
    CategoryInfo,
    CategoryView,
    Changes,
    CommandInfo,
    ItemContent,
    ItemInfo,
    MapItem,
    Overview,
    SeedlingInfo,
    SourceInfo,
)

__all__ = [
    "Candidate",
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
    "Overview",
    "Predictions",
    "Question",
    "RepairResult",
    "ReportResult",
    "Review",
    "SeedlingInfo",
    "Side",
    "SourceInfo",
    "UndoResult",
]
