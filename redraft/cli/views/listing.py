"""How lists of runs look: a line for each, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from redraft.cli import terminal
from redraft.cli.views import preferences, render
from redraft.text.cleaning import one_line

_HEADS = ("RUN", "WHEN (UTC)", "STATUS", "KIND", "DRAFTED", "MODEL", "WORDS", "SCORES", "TITLE")
_LONGEST = {"MODEL": 24, "TITLE": 40}
_SHORTEST = {"TITLE": 12, "MODEL": 10, "SCORES": 12}
# What is done without first where all does not fit; it is in the JSON, and in `redraft show`.
_SPARE = ("DRAFTED", "WORDS", "MODEL")
_GAP = 2

Columns = dict[str, list[str]]


def run_lines(runs: Sequence[Mapping[str, Any]], now: datetime) -> list[str]:
    """The runs in aligned columns. Those with nothing in them are left out, and long texts are cut to fit."""
    rows = [_cells(run, now) for run in runs]
    columns = {head: [row[at] for row in rows] for at, head in enumerate(_HEADS)}
    columns = {head: cells for head, cells in columns.items() if any(cells)}
    for spare in (None, *_SPARE):
        columns.pop(spare or "", None)
        if _narrowest(columns) <= terminal.width():
            break
    return render.aligned(list(zip(*([head, *cells] for head, cells in _fitted(columns).items()), strict=True)))


def _cells(run: Mapping[str, Any], now: datetime) -> tuple[str, ...]:
    return (
        run["run"],
        _when(datetime.fromisoformat(run["created"]), now),
        run["status"],
        run["kind"],
        "" if run["strategy"] == "given" else run["strategy"],
        one_line(run["model"], _LONGEST["MODEL"]),
        "" if run["kind"] in render.OTHERWISE or run["words"] is None else str(run["words"]),
        preferences.outcome(run["preferred"]) if run["kind"] == "compare" else render.scores(run["scores"]),
        one_line(run["title"], _LONGEST["TITLE"]),
    )


def _when(then: datetime, now: datetime) -> str:
    """The day and the time; of another year, the day and the year."""
    return f"{then:%b %d %H:%M}" if then.year == now.year else f"{then:%b %d  %Y}"


def _fitted(columns: Columns) -> Columns:
    """The columns, those with long texts cut until all fit: the title first."""
    columns = dict(columns)
    for head in _SHORTEST:
        if head in columns and (over := _wide(columns) - terminal.width()) > 0:
            width = max(_SHORTEST[head], _width(head, columns[head]) - over)
            columns[head] = [one_line(cell, width) for cell in columns[head]]
    return columns


def _narrowest(columns: Columns) -> int:
    """How wide the columns are when all is cut that may be."""
    cut = {head: [cell[: _SHORTEST.get(head)] for cell in cells] for head, cells in columns.items() if head != "SCORES"}
    return _wide(cut | {head: cells for head, cells in columns.items() if head == "SCORES"})


def _wide(columns: Columns) -> int:
    return sum(_width(head, cells) + _GAP for head, cells in columns.items()) - _GAP


def _width(head: str, cells: Sequence[str]) -> int:
    return max(len(head), *map(len, cells))
