"""What requests carry, checked before anything is done."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

#: A commit that the visitor's page was made from.
Seen = Annotated[int | None, Field(default=None, ge=1, description="Commit that the decision is based on.")]
ItemKeys = Annotated[list[str], Field(min_length=1, max_length=20_000)]

__all__ = ["Answer", "Decision", "Drop", "Items", "Merge", "Move", "Rename", "Settings", "Split", "Texts"]


class Decision(BaseModel):
    """A decision of a visitor."""

    model_config = ConfigDict(extra="forbid")
    seen: Seen = None


class Rename(Decision):
    """A name for a category."""

    name: str = Field(max_length=400)


class Merge(Decision):
    """Categories to make one; ``exclude`` are items of theirs that do not belong there."""

    ids: list[int] = Field(min_length=2, max_length=1000)
    name: str | None = Field(default=None, max_length=400)
    exclude: list[str] = Field(default=[], max_length=20_000)


class Split(Decision):
    """How many parts; None lets the workspace judge."""

    n_parts: int | None = Field(default=None, ge=2, le=100)


class Drop(Decision):
    """Nothing more to say."""


class Items(Decision):
    """Items by their keys, such as ``3-17``."""

    items: ItemKeys


class Move(Items):
    """Where they belong; with ``create`` a name for a new category."""

    to: int | str
    create: bool = False


class Answer(Decision):
    """A yes to a question: where its items belong, and which of them (counted from 1) stay as they are."""

    to: int | str | None = None
    create: bool = False
    without: list[int] = Field(default=[], max_length=1000)


class Settings(Decision):
    """Settings that shall change."""

    changes: dict[str, str | int | float | bool | None] = Field(min_length=1, max_length=20)


class Texts(BaseModel):
    """Texts to predict."""

    model_config = ConfigDict(extra="forbid")
    texts: list[Annotated[str, Field(max_length=200_000)]] = Field(min_length=1, max_length=1000)
