"""Experiments: their runs in the store, and the tables and pictures in the folder of results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from redraft.batches.request import BATCH
from redraft.errors import UsageError
from redraft.lab.doctor.checkup import DOCTOR
from redraft.lab.experiments.published import read_file_of_results
from redraft.report.history.summaries import RunSummary
from redraft.report.pages.report import ReportSection, sections
from redraft.sources import MOST_BYTES, read_file
from redraft.studio.contracts import ExperimentDetails, ExperimentLine, ExperimentList, TableEntry
from redraft.studio.endpoints import NoSuchThing
from redraft.studio.experiment_work import ORDER, ExperimentOrder, ExperimentWork, order_in, status_in
from redraft.studio.form import table_on_page
from redraft.studio.run_views import RunFilter, RunRows

_TABLES, _PICTURE = "tables.json", ".svg"
_MOST_RUNS = 500
_RUNS = ("made_in", "run", "runs", "judged_in")
"""The fields of an item that name the runs behind it."""


def name_of(row: RunSummary) -> str:
    """Return the experiment of a run; empty if there is none."""
    return row.experiment or (row.kind if row.part else "")


def listed(rows: RunRows, folder: Path, work: ExperimentWork | None) -> ExperimentList:
    """Return the experiments in the store and in the folder: those started in a studio first, then latest first."""
    found: dict[str, list[RunSummary]] = {}
    for row in rows.all():
        if (name := name_of(row)) and name != BATCH:
            found.setdefault(name, []).append(row)
    files = _folders(folder)
    known = {row.run: row for row in rows.all()} if files else {}
    for name, one in files.items():
        found[name] = [known[run] for run in _runs_in(one) if run in known] or found.get(name, [])
    lines = [_line(name, found.get(name, []), files.get(name), work) for name in {*found, *files}]
    lines.sort(key=lambda one: one.name)
    lines.sort(key=lambda one: (bool(one.status), one.latest), reverse=True)
    return ExperimentList(experiments=tuple(lines))


def _line(name: str, runs: list[RunSummary], folder: Path | None, work: ExperimentWork | None) -> ExperimentLine:
    costs: list[float | None] = [row.cost_usd for row in runs]
    order, job = order_in(folder) if folder else None, work.job(name) if work else None
    return ExperimentLine(
        name=name,
        runs=len(runs),
        done=sum(row.status == "done" for row in runs),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost),
        latest=max([*(row.updated for row in runs), *([order.created] if order else [])], default=""),
        tables=len(_tables(folder)[0]) if folder else 0,
        kind=order.asked.kind if order else "",
        status=status_in(order, job) if order else "",
    )


def shown(rows: RunRows, folder: Path, work: ExperimentWork | None, name: str) -> ExperimentDetails:
    """Return an experiment with its tables, pictures and runs."""
    files = _folders(folder).get(name)
    known = {row.run: row for row in rows.all()} if files else {}
    runs = tuple(known[run] for run in (_runs_in(files) if files else ()) if run in known)[:_MOST_RUNS]
    runs = runs or rows.listed(RunFilter(experiment=name, per=_MOST_RUNS)).rows
    if not runs and files is None:
        raise NoSuchThing(f"there is no experiment {name!r}", hint="/experiments lists them")
    tables, settings = _tables(files) if files else ((), {})
    order, job = order_in(files) if files else None, work.job(name) if work else None
    return ExperimentDetails(
        name=name,
        settings=settings,
        tables=tables,
        pictures=tuple(_pictures(files) if files else ()),
        runs=runs,
        controls=rows.controls(one.run for one in runs) if name == DOCTOR else {},
        kind=order.asked.kind if order else "",
        status=status_in(order, job) if order else "",
    )


def ordered(folder: Path, name: str) -> ExperimentOrder:
    """Return the order of an experiment that was started in a studio."""
    found = _folders(folder).get(name)
    order = order_in(found) if found else None
    if order is None:
        raise NoSuchThing(f"no experiment {name!r} was started in a studio", hint="/experiments lists them")
    return order


def drawn(folder: Path, names: Sequence[str]) -> tuple[ReportSection, ...]:
    """Return the tables of some experiments with their pictures, those of the same kind side by side."""
    found = {name: one / _TABLES for name, one in _folders(folder).items() if (one / _TABLES).is_file()}
    read = [read_file_of_results(found[name], name) for name in names if name in found]
    return sections([replace(one, tables=tuple(map(table_on_page, one.tables))) for one in read])


def picture(folder: Path, name: str, file: str) -> bytes:
    """Return a picture of an experiment. Only listed files are read."""
    found = _folders(folder).get(name)
    if found is None or file not in set(_pictures(found)):
        raise NoSuchThing("there is no picture with this name")
    return read_file(found / file, MOST_BYTES)


def _folders(folder: Path) -> dict[str, Path]:
    """Return the folders of experiments by name: the folder itself, and those in it."""
    inner = sorted(one for one in folder.iterdir() if one.is_dir()) if folder.is_dir() else []
    return {one.name: one for one in (folder, *inner) if (one / _TABLES).is_file() or (one / ORDER).is_file()}


def _runs_in(folder: Path) -> tuple[str, ...]:
    """Return the runs that an experiment has made, those with summaries first."""
    file = folder / "items.jsonl"
    return _named_in(file, file.stat().st_mtime_ns) if file.is_file() else ()


@lru_cache(maxsize=64)
def _named_in(file: Path, changed: int) -> tuple[str, ...]:  # noqa: ARG001  (a changed file is read again)
    found: dict[str, list[str]] = {name: [] for name in _RUNS}
    try:
        items = [json.loads(line) for line in read_file(file, MOST_BYTES).splitlines()]
    except (OSError, ValueError):
        return ()
    for item in items:
        for name in found.keys() & item.keys() if isinstance(item, dict) else ():
            value = item[name]
            several = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            found[name] += [one for one in several if isinstance(one, str)]
    return tuple(dict.fromkeys(run for name in _RUNS for run in found[name]))


def _pictures(folder: Path) -> Iterator[str]:
    for one in sorted(folder.iterdir()):
        if one.suffix == _PICTURE and one.is_file():
            yield one.name


def _tables(folder: Path) -> tuple[tuple[TableEntry, ...], dict[str, Any]]:
    """Return the tables of a folder, and the settings they were made with."""
    place = str(folder / _TABLES)
    if not (folder / _TABLES).is_file():
        return (), {}
    try:
        content = json.loads(read_file(folder / _TABLES, MOST_BYTES))
        tables = tuple(TableEntry.model_validate(one) for one in content["tables"])
        return tables, dict(content.get("settings", {}))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise UsageError(
            "this file has no results of an experiment", place=place, hint="redraft experiment NAME -o DIR writes them"
        ) from error
