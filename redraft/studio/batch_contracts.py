"""What the HTTP API gives of batches. Fields are added, never changed."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from redraft.batches.standing import Stage
from redraft.store.batches import Counts, State
from redraft.studio.contracts import TableEntry

BatchOrder = Literal["pause", "cancel", "resume"]
Which = Literal["", "waiting", "leased", "done", "short", "failed", "aside"]
"""A state of documents; `short` are those of the ones that are done which fell short of what was asked."""


class BatchStatus(BaseModel):
    """How a batch stands."""

    batch: str
    status: Stage
    created: str
    items: Counts
    calls: int
    cost_usd: float | None
    """None where a price is not known."""
    a_minute: float | None
    """How many documents have come to their end a minute in the last ten minutes; None where nobody works on it."""
    seconds_left: float | None
    """If it goes on so."""
    error: dict[str, str] | None
    """What stands in the way of every document."""
    folder: str | None
    model: str
    strategy: str
    words: int | None
    goals: dict[str, float]
    max_cost: float | None
    max_calls: int | None
    at_work: bool
    """Whether this studio is working on it."""
    orders: tuple[BatchOrder, ...]
    """What can be done with it now."""


class BatchList(BaseModel):
    """All batches, newest first."""

    batches: tuple[BatchStatus, ...]


class WantedItems(BaseModel):
    """Which documents of a batch are listed, and which page of them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    state: Which = ""
    q: str = Field(default="", max_length=300)
    """What is in the name of the document or in its path."""
    page: int = Field(default=1, ge=1)
    per: int = Field(default=50, ge=1, le=200)


class ItemRow(BaseModel):
    """A document of a batch."""

    number: int
    """Its place in the batch, from 1 on."""
    source: str
    name: str
    """The last part of that, or its id in a file of lines."""
    title: str
    state: State
    short: bool
    attempts: int
    run: str | None
    """The run that has the rest of it: /api/runs/RUN, /api/runs/RUN/dossier."""
    words: int | None
    scores: dict[str, float | None]
    self_check: bool
    """Whether the built-in model has judged what it has written itself."""
    calls: int | None
    cost_usd: float | None
    error: dict[str, str] | None


class ItemList(BaseModel):
    """A page of the documents of a batch."""

    rows: tuple[ItemRow, ...]
    total: int
    """How many documents are meant, on all pages."""
    page: int
    pages: int
    metrics: tuple[str, ...]
    """Those that any of these rows has a score of."""


class BatchTables(BaseModel):
    """What came of a batch in tables, as `redraft batch status NAME` prints them."""

    tables: tuple[TableEntry, ...]
