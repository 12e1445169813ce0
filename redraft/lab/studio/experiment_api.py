"""The HTTP API for experiments: plan, start, follow, stop and resume them, and read their runs, tables and pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from redraft.batches.request import BATCH
from redraft.errors import RunCommand, UsageError
from redraft.fields import validated
from redraft.lab.doctor.checkup import DOCTOR, probe_names
from redraft.lab.experiments.published import read_file_of_results
from redraft.lab.studio.context import lab_of, manager_of
from redraft.lab.studio.contracts import ExperimentDetails, ExperimentLine, ExperimentList
from redraft.lab.studio.experiment_orders import ExperimentPlan, ExperimentStart, plan_asked, plan_table
from redraft.lab.studio.experiment_work import (
    ORDER,
    ExperimentManager,
    ExperimentOrder,
    ExperimentProgress,
    order_in,
    progress_of,
    status_in,
)
from redraft.llm.addresses import OPENAI
from redraft.llm.servers import names_for_people
from redraft.report.history.summaries import RunSummary
from redraft.report.pages.report import ReportSection, Results, sections
from redraft.sources import MAX_BYTES, read_file
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio.context import context_of, read
from redraft.studio.contracts import TableEntry
from redraft.studio.doors import with_names
from redraft.studio.endpoints import Endpoint, NotFound, is_by_page, typed
from redraft.studio.run_views import RunFilter, RunRows
from redraft.studio.start import SentRequest, is_form, json_of, sent_with


class ExperimentStarted(BaseModel):
    """An experiment that has started."""

    name: str
    progress: str
    """The address of its progress."""


class ExperimentPlanned(BaseModel):
    """The estimated cost of an experiment, step by step; the last row is the total."""

    plan: TableEntry


async def listed(request: Request) -> ExperimentList:
    """Return all experiments."""
    context = context_of(request)
    work = lab_of(request).manager
    return await off_loop(experiment_list, context.rows, context.config.results, work)


async def details(request: Request) -> ExperimentDetails:
    """Return an experiment with its tables."""
    context, name = context_of(request), request.path_params["name"]
    work = lab_of(request).manager
    return await read(request, experiment_details, context.rows, context.config.results, work, name)


async def planned(request: Request, sent: SentRequest) -> ExperimentPlan:
    """Return the experiment that a request asks for, with its documents."""
    context, experiment_start = context_of(request), validated(ExperimentStart, sent.fields)
    before = lab_of(request).planned.look(sent.kept) if sent.kept else None
    return await off_loop(plan_asked, context.reading, context.models, experiment_start, sent.files, before)


async def start(request: Request) -> ExperimentStarted | Response:
    """Start an experiment, or return its plan."""
    context = context_of(request)
    plan = await planned(request, await sent_with(request) if is_form(request) else SentRequest(await json_of(request)))
    if isinstance(plan.asked, ExperimentStart) and plan.asked.dry_run:
        table = await off_loop(plan_table, plan, context.models, context.config.prices, context.config.limits)
        return typed(ExperimentPlanned(plan=TableEntry.of(table, rows=table.records)))
    name = await start_experiment(request, plan)
    return ExperimentStarted(name=name, progress=f"/api/experiments/{name}/progress")


async def start_experiment(request: Request, plan: ExperimentPlan) -> str:
    """Start an experiment, and return its name."""
    return await off_loop(manager_of(request).start, plan, context_of(request).models)


async def progress(request: Request) -> ExperimentProgress:
    """Return the progress of an experiment that was started in a studio."""
    context, name = context_of(request), request.path_params["name"]
    order = await off_loop(stored_order, context.config.results, name)
    manager = lab_of(request).manager
    job = manager.job(name) if manager else None
    return progress_of(name, order, job, "" if is_by_page(request) else f"/api/experiments/{name}")


async def stop(request: Request) -> ExperimentProgress:
    """Stop an experiment."""
    await off_loop(manager_of(request).stop, request.path_params["name"])
    return await progress(request)


async def resume(request: Request) -> ExperimentProgress:
    """Resume an experiment."""
    context, name = context_of(request), request.path_params["name"]
    await off_loop(stored_order, context.config.results, name)
    await off_loop(manager_of(request).resume, name, context.models)
    return await progress(request)


_ONE = "/api/experiments/{name}"
EXPERIMENTS = (
    Endpoint("GET", "/api/experiments", "List experiments.", listed, ExperimentList),
    Endpoint(
        "POST",
        "/api/experiments",
        "Start an experiment, or plan it.",
        start,
        ExperimentStarted,
        ExperimentStart,
        201,
        plans=ExperimentPlanned,
        forms=True,
    ),
    Endpoint("GET", _ONE, "An experiment with its tables.", details, ExperimentDetails),
    Endpoint("GET", f"{_ONE}/progress", "The progress of an experiment.", progress, ExperimentProgress),
    Endpoint("POST", f"{_ONE}/stop", "Stop an experiment. Finished work is kept.", stop, ExperimentProgress),
    Endpoint("POST", f"{_ONE}/resume", "Resume an experiment.", resume, ExperimentProgress),
)
"""The endpoints for experiments."""


_TABLES, _PICTURE = "tables.json", ".svg"
_MAX_RUNS = 500
_RUNS = ("made_in", "run", "runs", "judged_in")
"""The fields of an item that name the runs behind it."""


def name_of(row: RunSummary) -> str:
    """Return the experiment of a run; empty if there is none."""
    return row.experiment or (row.kind if row.part else "")


def experiment_list(rows: RunRows, folder: Path, work: ExperimentManager | None) -> ExperimentList:
    """Return the experiments in the store and in the folder: those started in a studio first, then latest first."""
    found: dict[str, list[RunSummary]] = {}
    for row in rows.all():
        if (name := name_of(row)) and name != BATCH:
            found.setdefault(name, []).append(row)
    files = _folders(folder)
    known = {row.run: row for row in rows.all()} if files else {}
    for name, path in files.items():
        found[name] = [known[run] for run in _runs_in(path) if run in known] or found.get(name, [])
    lines = [_line(name, found.get(name, []), files.get(name), work) for name in {*found, *files}]
    lines.sort(key=lambda line: line.name)
    lines.sort(key=lambda line: (bool(line.status), line.latest), reverse=True)
    return ExperimentList(experiments=tuple(lines))


def _line(name: str, runs: list[RunSummary], folder: Path | None, work: ExperimentManager | None) -> ExperimentLine:
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


def experiment_details(
    store: Store, rows: RunRows, folder: Path, work: ExperimentManager | None, name: str
) -> ExperimentDetails:
    """Return an experiment with its tables, pictures and runs."""
    files = _folders(folder).get(name)
    known = {row.run: row for row in rows.all()} if files else {}
    runs = tuple(known[run] for run in (_runs_in(files) if files else ()) if run in known)[:_MAX_RUNS]
    runs = runs or rows.listed(RunFilter(experiment=name, per=_MAX_RUNS)).rows
    if not runs and files is None:
        raise NotFound(f"there is no experiment {name!r}", fix=(RunCommand("experiment"), " lists them"))
    tables, settings = _tables(files) if files else ((), {})
    order, job = order_in(files) if files else None, work.job(name) if work else None
    return ExperimentDetails(
        name=name,
        settings=settings,
        tables=tables,
        pictures=tuple(_pictures(files) if files else ()),
        runs=runs,
        controls=probe_names(store, (run.run for run in runs)) if name == DOCTOR else {},
        kind=order.asked.kind if order else "",
        status=status_in(order, job) if order else "",
    )


def stored_order(folder: Path, name: str) -> ExperimentOrder:
    """Return the order of an experiment that was started in a studio."""
    path = _folders(folder).get(name)
    order = order_in(path) if path else None
    if order is None:
        raise NotFound(f"no experiment {name!r} was started in a studio", fix=(RunCommand("experiment"), " lists them"))
    return order


def tables_with_pictures(folder: Path, names: Sequence[str]) -> tuple[ReportSection, ...]:
    """Return the tables of some experiments with their pictures, those of the same kind side by side."""
    found = {name: path / _TABLES for name, path in _folders(folder).items() if (path / _TABLES).is_file()}
    return sections([_shown_results(found[name], name) for name in names if name in found])


def _shown_results(file: Path, name: str) -> Results:
    order = order_in(file.parent)
    known = names_for_people({*order.asked.models, *order.asked.judges}) if order else {}
    # Settings have the name that the server has been asked for.
    known |= {f"{OPENAI}:{one.partition('/')[2]}": shown for one, shown in known.items()}
    results = read_file_of_results(file, name, lambda one: replace(one, rows=with_names(one.rows, known)))
    named = {part: with_names(getattr(results, part), known) for part in ("about", "headline", "settings", "verdict")}
    return replace(results, **named)


def picture(folder: Path, name: str, file: str) -> bytes:
    """Return a picture of an experiment. Only listed files are read."""
    path = _folders(folder).get(name)
    if path is None or file not in set(_pictures(path)):
        raise NotFound("there is no picture with this name")
    return read_file(path / file, MAX_BYTES)


def _folders(folder: Path) -> dict[str, Path]:
    """Return the folders of experiments by name: the folder itself, and those in it."""
    inner = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return {path.name: path for path in (folder, *inner) if (path / _TABLES).is_file() or (path / ORDER).is_file()}


def _runs_in(folder: Path) -> tuple[str, ...]:
    """Return the runs that an experiment has made, those with summaries first."""
    file = folder / "items.jsonl"
    return _named_in(file, file.stat().st_mtime_ns) if file.is_file() else ()


@lru_cache(maxsize=64)
def _named_in(file: Path, changed: int) -> tuple[str, ...]:  # noqa: ARG001  (a changed file is read again)
    found: dict[str, list[str]] = {name: [] for name in _RUNS}
    try:
        items = [json.loads(line) for line in read_file(file, MAX_BYTES).splitlines()]
    except (OSError, ValueError):
        return ()
    for item in items:
        for name in found.keys() & item.keys() if isinstance(item, dict) else ():
            value = item[name]
            several = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            found[name] += [one for one in several if isinstance(one, str)]
    return tuple(dict.fromkeys(run for name in _RUNS for run in found[name]))


def _pictures(folder: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        if path.suffix == _PICTURE and path.is_file():
            yield path.name


def _tables(folder: Path) -> tuple[tuple[TableEntry, ...], dict[str, Any]]:
    """Return the tables of a folder, and the settings they were made with."""
    place = str(folder / _TABLES)
    if not (folder / _TABLES).is_file():
        return (), {}
    try:
        content = json.loads(read_file(folder / _TABLES, MAX_BYTES))
        tables = tuple(TableEntry.model_validate(one) for one in content["tables"])
        return tables, dict(content.get("settings", {}))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise UsageError(
            "this file has no results of an experiment", place=place, hint="redraft experiment NAME -o DIR writes them"
        ) from error
