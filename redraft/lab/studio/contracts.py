"""What the HTTP API for experiments replies with."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from redraft.report.history.summaries import RunSummary
from redraft.studio.contracts import TableEntry


class ExperimentLine(BaseModel):
    """An experiment."""

    name: str
    runs: int
    done: int
    cost_usd: float | None
    latest: str
    tables: int
    """Tables in its folder."""
    kind: str = ""
    status: str = ""
    """Its status; empty if a command ran it."""


class ExperimentList(BaseModel):
    """The experiments in the database and in the folder of results."""

    experiments: tuple[ExperimentLine, ...]


class ExperimentDetails(BaseModel):
    """An experiment with its tables, pictures and runs."""

    name: str
    settings: dict[str, Any]
    tables: tuple[TableEntry, ...]
    pictures: tuple[str, ...]
    runs: tuple[RunSummary, ...]
    controls: dict[str, str] = {}
    """Of `doctor`: the summary that each run judges, by run."""
    kind: str = ""
    status: str = ""
    """Its status; empty if a command ran it."""
