"""Views of lists of runs and packs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from redraft.cli import terminal
from redraft.cli.views import render
from redraft.report.history.summaries import RunSummary
from redraft.text.columns import columns as wide
from redraft.text.columns import fitted
from redraft.text.sanitizer import one_line

_LONGEST = {"MODEL": 30, "TITLE": 40}
_SHORTEST = {"TITLE": 12, "MODEL": 10, "SCORES": 12}
# Columns added while there is room; the others are always shown. JSON and `redraft show` have all of them.
_SPARE = ("MODEL", "WORDS", "DRAFTED")
_GAP = 2
_SHORT_ID = 8

Columns = dict[str, list[str]]


def run_lines(runs: Sequence[RunSummary], now: datetime) -> list[str]:
    """Return runs in aligned columns."""
    return _lines([_run(run, now) for run in runs])


def pack_lines(packs: Sequence[Mapping[str, Any]], now: datetime) -> list[str]:
    """Return question packs and key facts in aligned columns."""
    return _lines([_pack(pack, now) for pack in packs])


def _run(run: RunSummary, now: datetime) -> dict[str, str]:
    scores = render.scores(run.scores, offline_check=run.offline_check)
    return {
        "RUN": run.run,
        "WHEN (UTC)": _when(run.created, now),
        "STATUS": run.status,
        "KIND": run.kind,
        "DRAFTED": run.strategy,
        "MODEL": run.model,
        "WORDS": "" if run.kind in render.OTHERWISE or run.limit is None else str(run.limit),
        "SCORES": render.winner_word(run.preferred) if run.kind == "compare" else scores,
        "TITLE": run.title,
    }


def _pack(pack: Mapping[str, Any], now: datetime) -> dict[str, str]:
    what = {"questions": "question", "keyfacts": "key fact", "typed": "typed question"}[pack["kind"]]
    return {
        # A prefix of this length always identifies a pack.
        "ID": pack["pack"][:_SHORT_ID],
        "WHEN (UTC)": _when(pack["created"], now),
        "WHAT": render.count(pack["keyfacts" if pack["kind"] == "keyfacts" else "questions"], what),
        "MODEL": pack["model"],
        "ORIGIN": "imported" if pack["imported"] else "built",
        "TITLE": pack["title"],
    }


def _when(created: str, now: datetime) -> str:
    """Return the day with the time, or with the year if it is not the current one."""
    then = datetime.fromisoformat(created)
    return f"{then:%b %d %H:%M}" if then.year == now.year else f"{then:%b %d %Y}"


def _lines(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the rows under their headings, without empty columns, and without optional columns that do not fit."""
    if not rows:
        return []
    columns = {head: [one_line(row[head], _LONGEST.get(head, 0)) for row in rows] for head in rows[0]}
    columns = {head: cells for head, cells in columns.items() if any(cells)}
    kept = [head for head in columns if head not in _SPARE]
    for spare in _SPARE:
        if spare in columns and _least([*kept, spare], columns) <= terminal.width():
            kept.append(spare)
    fitting = _cut({head: cells for head, cells in columns.items() if head in kept})
    return render.aligned(list(zip(*([head, *cells] for head, cells in fitting.items()), strict=True)))


def _cut(columns: Columns) -> Columns:
    """Shorten the columns with long texts until all fit, titles first."""
    columns = dict(columns)
    for head, least in _SHORTEST.items():
        if head in columns and (over := _wide(map(_width, columns, columns.values())) - terminal.width()) > 0:
            width = max(least, _width(head, columns[head]) - over)
            columns[head] = [fitted(cell, width) for cell in columns[head]]
    return columns


def _least(heads: Sequence[str], columns: Columns) -> int:
    """Return the least width of these columns with all scores in full."""
    shortest = {head: least for head, least in _SHORTEST.items() if head != "SCORES"}
    widths = ((head, _width(head, columns[head])) for head in heads)
    return _wide(min(width, shortest.get(head, width)) for head, width in widths)


def _wide(widths: Iterable[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _width(head: str, cells: Sequence[str]) -> int:
    return max(len(head), *map(wide, cells))
