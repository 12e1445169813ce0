"""Experiments in the studio: each runs in its own thread, with its order and its results in a folder. The HTTP API
plans, starts, follows, stops and resumes them, and reads their runs, tables and pictures."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError, create_model, field_validator
from pydantic.dataclasses import dataclass as record
from starlette.requests import Request
from starlette.responses import Response

from redraft.cli.views.progress import ProgressTotals
from redraft.domain import DEFERRED, Document, Totals, adapter_of, widened
from redraft.errors import RedraftError, RunCommand, RunError, UsageError
from redraft.events import Event, Notice, PartDone, StageStarted
from redraft.fields import validated
from redraft.lab.experiments.experiment import UNDECIDED, is_undecided
from redraft.lab.experiments.published import (
    TABLES,
    ReportSection,
    Results,
    read_file_of_results,
    report_page,
    result_files,
    sections,
    stored_results,
)
from redraft.lab.studio.items import ITEMS, items_behind, score_addresses, stored_items
from redraft.lab.studio.orders import ExperimentBody, ExperimentPlan, design_of, plan_asked, plan_table
from redraft.llm.addresses import OPENAI, USUAL, LocalServer, shown_name
from redraft.report.history.summaries import RunSummary
from redraft.report.tables import Report, Table
from redraft.runs.experiment_runner import ExperimentRunner, describe_error
from redraft.sources import MAX_BYTES, read_file, write
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio.context import StudioContext, context_of
from redraft.studio.doors import NotFound, worded_error
from redraft.studio.endpoints import Endpoint, typed, with_names
from redraft.studio.orders import ExpiringItems, limits_of
from redraft.studio.start import SentRequest, sent_with

T = TypeVar("T")
_log = logging.getLogger("redraft")
PACKAGE = "redraft.lab.studio"
ORDER = "order.json"
_HINT = "name another folder with --experiments"
_LISTED = (RunCommand("experiment"), " lists them")
_OPEN = {
    "code": UNDECIDED,
    "message": "the judge could not decide: see the table of failures",
    "hint": "run it again with another judge, or without the metric; the same judge would answer the same",
}
_NAME = re.compile(r"[^a-z0-9]+")
_TAKEN = frozenset({"new", "compare", "change", "start"})
_MAX_RUNS, _MAX_LINES = 500, 100
State = Literal["running", "done", "incomplete", "stopped", "failed", "interrupted"]
"""`incomplete`: it ended, but something failed or the budget was used up."""


@record(frozen=True, kw_only=True, config=DEFERRED)
class ExperimentState:
    """Where an experiment stands, with an error that ended it."""

    status: State | Literal[""] = ""
    """Empty if a command ran it."""
    error: dict[str, str] | None = None


@record(frozen=True, kw_only=True, config=DEFERRED)
class ExperimentOrder(ExperimentState):
    """The order of an experiment, stored with its results."""

    asked: ExperimentBody
    documents: tuple[str, ...]
    """The ids of the documents."""
    created: str

    # Orders had a batch before: its documents are listed with the others.
    _without_batch = field_validator("asked", mode="before")(
        lambda asked: (
            {name: asked[name] for name in asked if name != "from_batch"} if isinstance(asked, dict) else asked
        )
    )


@record(frozen=True, kw_only=True, config=DEFERRED)
class ExperimentEntry(ExperimentState):
    """An experiment by name."""

    name: str
    kind: str = ""


@record(frozen=True, kw_only=True, config=DEFERRED)
class ExperimentProgress(ExperimentEntry, Totals):
    """The progress of an experiment, with the totals of its calls and the seconds since it began."""

    done: int = 0
    """Finished parts: summaries, verdicts, answers."""
    of: int = 0
    """All parts; 0 before the first one is finished."""
    failed: int = 0
    """Failed calls."""
    log: tuple[str, ...] = ()
    """Messages, latest first."""


@record(frozen=True, kw_only=True, config=DEFERRED)
class ExperimentLine(ExperimentEntry):
    """An experiment in the list."""

    runs: int
    done: int
    cost_usd: float | None
    latest: str
    tables: int
    """Tables in its folder."""


ExperimentList = create_model("ExperimentList", experiments=tuple[ExperimentLine, ...])
"""The experiments in the folder of results."""


@record(frozen=True, kw_only=True, config=DEFERRED)
class ExperimentDetails(ExperimentEntry):
    """An experiment with its tables, pictures and runs."""

    settings: dict[str, Any]
    tables: tuple[Table, ...]
    pictures: tuple[str, ...]
    runs: tuple[RunSummary, ...]


ExperimentStarted = create_model("ExperimentStarted", name=str, progress=str)
"""An experiment that has started, and the address of its progress."""
ExperimentPlanned = create_model("ExperimentPlanned", plan=Table)
"""The estimated cost of an experiment, step by step; the last row is the total."""


@dataclass(slots=True)
class ExperimentJob:
    """An experiment that is running, or has run since the studio was started."""

    name: str
    folder: Path
    order: ExperimentOrder
    documents: Sequence[Document]
    context: StudioContext
    done: int = 0
    of: int = 0
    log: deque[str] = field(default_factory=lambda: deque(maxlen=_MAX_LINES))
    usage: ProgressTotals = field(default_factory=ProgressTotals)
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _task: asyncio.Task[None] | None = None
    _thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether it is running."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Store the order and start."""
        self._keep("running")
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), name=f"experiment {self.name}")
        self._thread.start()

    def stop(self) -> None:
        """Stop, and wait until it has ended. Finished runs are kept."""
        if self._loop is not None and self._task is not None and self.is_running:
            self._loop.call_soon_threadsafe(self._task.cancel)
        if self._thread is not None:
            self._thread.join()

    async def _work(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        try:
            asked, config, store = self.order.asked, self.context.config, store_of(self.context)
            design = design_of(asked, self.context.models)
            for document in self.documents:
                store.documents.add(document)
            limits = limits_of(config.limits, asked.max_cost, asked.max_calls)
            runner = ExperimentRunner(store, limits, config.prices, self._observe)
            outcome = await design.run(self.documents, runner)
            report = outcome.report()
            for file, text in result_files(report).items():
                write(self.folder / file, text, _HINT)
            stopped = outcome.stopped
            error = describe_error(stopped) if stopped else _OPEN if is_undecided(report) else None
            self._keep("done" if outcome.complete else "incomplete", error)
        except asyncio.CancelledError:
            self._keep("stopped")
        except Exception as error:  # noqa: BLE001  (whatever it is, the experiment is shown as failed)
            if not isinstance(error, RedraftError):
                _log.exception("an experiment of the studio failed")
            self._keep("failed", describe_error(error))
        self.ended = time.monotonic()

    def _keep(self, status: State, error: dict[str, str] | None = None) -> None:
        self.order = replace(self.order, status=status, error=error)
        content = adapter_of(ExperimentOrder).dump_json(self.order, indent=2, exclude_none=True).decode()
        write(self.folder / ORDER, f"{content}\n", _HINT)

    def _observe(self, event: Event) -> None:
        if isinstance(event, PartDone):
            self.done, self.of = max(self.done, event.number), event.of
            self.log.appendleft(event.name)
        elif isinstance(event, Notice):
            self.log.appendleft(event.message)
        elif not isinstance(event, StageStarted):
            self.usage.take(event)


class Lab:
    """The experiments of a studio. A read-only studio has no store for them, and no route that starts them."""

    def __init__(self, context: StudioContext) -> None:
        self._context, self._folder = context, context.config.results
        self.jobs: dict[str, ExperimentJob] = {}
        """The experiments that this studio has run, by name."""
        self._lock = threading.Lock()
        self.planned: ExpiringItems[ExperimentPlan] = ExpiringItems()
        """The experiments waiting for confirmation."""

    def start(self, plan: ExperimentPlan) -> str:
        """Start an experiment, and return its name."""
        created, body = datetime.now(UTC).isoformat(timespec="milliseconds"), plan.asked
        ids = tuple(document.id for document in plan.documents)
        wished_name = _NAME.sub("-", body.name.lower()).strip("-") or f"{body.kind}-{created[:10]}"
        with self._lock:
            names = (wished_name, *(f"{wished_name}-{number}" for number in range(2, 1000)))
            name = next(name for name in names if name not in _TAKEN and not (self._folder / name).exists())
            try:
                (self._folder / name).mkdir(parents=True)
            except OSError as error:
                place = str(self._folder)
                raise UsageError(f"cannot write results: {error.strerror}", place=place, hint=_HINT) from error
        self._begin(name, ExperimentOrder(asked=body, documents=ids, created=created, status="running"), plan.documents)
        return name

    def resume(self, name: str) -> ExperimentProgress:
        """Run an experiment again. Finished work is not repeated."""
        order = self.order(name)
        if self._is_running(name):
            raise RunError(f"experiment {name} is running", hint="wait for it, or stop it first")
        self._begin(name, order)
        return self.progress(name)

    def stop(self, name: str) -> ExperimentProgress:
        """Stop an experiment, and wait until it has stopped."""
        if not self._is_running(name):
            fix = (RunCommand("experiment", name), " shows its status")
            raise RunError(f"experiment {name} is not running", fix=fix)
        self.jobs[name].stop()
        return self.progress(name)

    def _begin(self, name: str, order: ExperimentOrder, documents: Sequence[Document] | None = None) -> None:
        if documents is None:
            documents = [store_of(self._context).documents.get(key) for key in order.documents]
        self.jobs[name] = ExperimentJob(name, self._folder / name, order, documents, self._context)
        self.jobs[name].start()

    def _is_running(self, name: str) -> bool:
        return name in self.jobs and self.jobs[name].is_running

    def _entry(self, name: str, order: ExperimentOrder | None) -> dict[str, Any]:
        """Return the name of an experiment, with its kind and state unless a command ran it; it is interrupted if it is
        stored as running and nothing is running it."""
        if order is None:
            return {"name": name}
        is_interrupted = order.status == "running" and not self._is_running(name)
        status = "interrupted" if is_interrupted else order.status
        error = worded_error(order.error, f"/api/experiments/{name}")
        return {"name": name, "kind": order.asked.kind, "status": status, "error": error}

    def order(self, name: str) -> ExperimentOrder:
        """Return the order of an experiment that was started in a studio."""
        order = order_in(self._folder_of(name))
        if order is None:
            raise NotFound(f"experiment {name!r} was not started in a studio", fix=_LISTED)
        return order

    def _folders(self) -> dict[str, Path]:
        """Return the folders of experiments by name: the folder itself, and those in it."""
        root = self._folder
        inner = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
        return {path.name: path for path in (root, *inner) if (path / TABLES).is_file() or (path / ORDER).is_file()}

    def _runs_in(self, folder: Path) -> list[RunSummary]:
        """Return the runs that the items of a folder name, as far as they are stored."""
        items = stored_items(folder / ITEMS)
        stored = {row.run: row for row in self._context.rows.all()} if items else {}
        stages = [item["runs"] for item in items if isinstance(item.get("runs"), dict)]
        names = dict.fromkeys(run for runs in stages for run in runs.values() if isinstance(run, str))
        return [stored[run] for run in names if run in stored]

    def all(self) -> Any:
        """Return the experiments in the folder: those started in a studio first, then latest first."""
        lines = list[ExperimentLine]()
        for name, folder in self._folders().items():
            runs, order = self._runs_in(folder), order_in(folder)
            costs = [row.cost_usd for row in runs]
            counts: dict[str, Any] = {"runs": len(runs), "done": sum(row.status == "done" for row in runs)}
            counts |= {
                "tables": len(_stored(folder).tables),
                "cost_usd": None if None in costs else sum(filter(None, costs)),
            }
            latest = max([*(row.updated for row in runs), order.created if order else ""])
            lines.append(ExperimentLine(**self._entry(name, order), **counts, latest=latest))
        lines.sort(key=lambda line: (bool(line.status), line.latest), reverse=True)
        return ExperimentList(experiments=tuple(lines))

    def _folder_of(self, name: str) -> Path:
        """Return the folder of an experiment."""
        folder = self._folders().get(name)
        if folder is None:
            raise NotFound(f"there is no experiment {name!r}", fix=_LISTED)
        return folder

    def details(self, name: str) -> ExperimentDetails:
        """Return an experiment of the folder."""
        folder = self._folder_of(name)
        stored, runs = _stored(folder), tuple(self._runs_in(folder)[:_MAX_RUNS])
        entry, pictures = self._entry(name, order_in(folder)), tuple(_pictures(folder))
        settings = dict(stored.settings)
        return ExperimentDetails(**entry, settings=settings, tables=stored.tables, pictures=pictures, runs=runs)

    def progress(self, name: str) -> ExperimentProgress:
        """Return the progress of an experiment that was started in a studio."""
        job = self.jobs.get(name)
        if job is None:
            return ExperimentProgress(**self._entry(name, self.order(name)), cost_usd=None)
        seconds = (job.ended or time.monotonic()) - job.began
        figures = {"done": job.done, "of": job.of, "failed": job.usage.failed, "log": tuple(job.log)}
        entry = self._entry(name, job.order)
        return widened(ExperimentProgress, job.usage.totals, seconds=seconds, **figures, **entry)

    def sections(self, names: Sequence[str]) -> tuple[ReportSection, ...]:
        """Return the tables of some experiments with their pictures, those of the same kind side by side."""
        folders = {name: folder for name, folder in self._folders().items() if (folder / TABLES).is_file()}
        return sections([_shown_results(folders[name], name) for name in names if name in folders])

    def score_items(self, name: str, place: Mapping[str, str]) -> dict[str, Any]:
        """Return a score of an experiment with the items behind it."""
        folder = self._folder_of(name)
        if not (folder / TABLES).is_file():
            raise NotFound(f"there are no results of experiment {name!r}", fix=_LISTED)
        return items_behind(folder / ITEMS, name, _shown_results(folder, name).tables, place)

    def file(self, name: str, file: str) -> bytes:
        """Return a picture of an experiment or a file of its results. Only listed files are read."""
        folder = self._folder_of(name)
        if file not in (*DOWNLOADS, *_pictures(folder)):
            raise NotFound("there is no file with this name")
        if file == "report.html":
            return report_page([read_file_of_results(folder / TABLES, name)]).encode()
        if not (folder / file).is_file():
            raise NotFound(f"{name} has no {file}", fix=(RunCommand("experiment"), " writes it"))
        return read_file(folder / file, MAX_BYTES)


@asynccontextmanager
async def open_lab(context: StudioContext) -> AsyncIterator[Lab]:
    """Open the context of experiments; running ones are stopped at the end, and can be resumed."""
    lab = Lab(context)
    try:
        yield lab
    finally:
        for job in list(lab.jobs.values()):
            await off_loop(job.stop)


def lab_of(request: Request) -> Lab:
    """Return the context of a request for an experiment."""
    lab: Lab = context_of(request).added[PACKAGE]
    return lab


def store_of(context: StudioContext) -> Store:
    """Return the store that experiments write."""
    assert context.work is not None, "a read-only studio has no route that leads here"
    return context.work.session.store


def order_in(folder: Path) -> ExperimentOrder | None:
    """Return the order in a folder of results; None if a command made them."""
    try:
        order: ExperimentOrder = adapter_of(ExperimentOrder).validate_json(read_file(folder / ORDER, MAX_BYTES))
        return order
    except (OSError, ValidationError):
        return None


def _pictures(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".svg" and path.is_file())


def _stored(folder: Path) -> Report:
    """Return the results in a folder: the tables, and the settings they were made with."""
    return stored_results(folder / TABLES) if (folder / TABLES).is_file() else Report("", "", (), {}, (), ())


def names_for_people(names: Collection[str]) -> dict[str, str]:
    """Return the models at this machine's usual ports among `names`: without the server unless two have the same
    name."""
    models: dict[str, tuple[str, LocalServer]] = {}
    for server in USUAL:
        own_names = [name for name in names if name.startswith(server.prefix)]
        models |= {name: (name.removeprefix(server.prefix), server) for name in own_names}
    bare_names = [model for model, _ in models.values()]
    return {
        name: model if bare_names.count(model) == 1 else shown_name(f"{OPENAI}:{model}", server.url)
        for name, (model, server) in models.items()
    }


def _shown_results(folder: Path, name: str) -> Results:
    order = order_in(folder)
    titles = names_for_people({*order.asked.models, *order.asked.judges}) if order else {}
    # Settings have the name that the server has been asked for.
    titles |= {f"{OPENAI}:{model.partition('/')[2]}": title for model, title in titles.items()}
    file, titled = folder / TABLES, lambda table: replace(table, rows=with_names(table.rows, titles))
    results = read_file_of_results(file, name, titled)
    shown = tuple(replace(table, addresses=score_addresses(name, table.table)) for table in results.shown)
    parts = ("about", "headline", "settings", "verdict")
    texts: dict[str, Any] = {part: with_names(getattr(results, part), titles) for part in parts}
    return replace(results, shown=shown, **texts)


DOWNLOADS = {"report.html": "Report, a web page", "report.md": "Report (Markdown)", "items.csv": "All items (CSV)"}
"""The results of an experiment that can be downloaded, by their files."""


async def planned(request: Request, sent: SentRequest) -> ExperimentPlan:
    """Return the experiment that a request asks for, with its documents."""
    context, body = context_of(request), validated(ExperimentBody, sent.fields)
    before = lab_of(request).planned.look(sent.kept) if sent.kept else None
    return await off_loop(plan_asked, context.reading, context.models, body, sent.files, before)


async def start(request: Request) -> BaseModel | Response:
    """Start an experiment, or return its plan."""
    context = context_of(request)
    plan = await planned(request, await sent_with(request))
    if plan.asked.dry_run:
        return typed(ExperimentPlanned(plan=await off_loop(plan_table, plan, context)))
    name = await off_loop(lab_of(request).start, plan)
    return ExperimentStarted(name=name, progress=f"/api/experiments/{name}/progress")


def handling(work: Callable[..., T]) -> Callable[[Request], Awaitable[T]]:
    """Return a handler that calls a method of the lab, with the experiment in the address if there is one."""

    @wraps(work)
    async def handler(request: Request) -> T:
        return await off_loop(work, lab_of(request), *request.path_params.values())

    return handler


listed, details, progress = handling(Lab.all), handling(Lab.details), handling(Lab.progress)
stop, resume = handling(Lab.stop), handling(Lab.resume)
_ALL, _ONE = "/api/experiments", "/api/experiments/{name}"
EXPERIMENTS = (
    Endpoint("GET", _ALL, listed, says="List experiments.", gives=ExperimentList),
    Endpoint(
        *("POST", _ALL, start, ExperimentBody, 201),
        says="Start an experiment, or plan it.",
        gives=ExperimentStarted,
        plans=ExperimentPlanned,
        forms=True,
    ),
    Endpoint("GET", _ONE, details, says="An experiment with its tables."),
    Endpoint("GET", f"{_ONE}/progress", progress, says="The progress of an experiment."),
    Endpoint("POST", f"{_ONE}/stop", stop, says="Stop an experiment. Finished work is kept."),
    Endpoint("POST", f"{_ONE}/resume", resume, says="Resume an experiment."),
)
"""The endpoints for experiments."""
