"""Running experiments: each in its own thread, with its order and its results in a folder."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError, field_validator

from redraft.domain import Document
from redraft.errors import RedraftError, RunCommand, RunError, UsageError
from redraft.events import Event, Notice, PartDone, StageStarted
from redraft.lab.experiments.experiment import UNDECIDED, is_undecided
from redraft.lab.experiments.pictures import result_files
from redraft.lab.studio.experiment_orders import ExperimentBody, ExperimentPlan, design_of
from redraft.llm.budget import PriceTable
from redraft.runs.experiment_runner import ExperimentRunner, describe_error
from redraft.settings import Limits
from redraft.sources import MAX_BYTES, read_file, write
from redraft.store.store import Store
from redraft.studio.doors import error_on_page
from redraft.studio.feeds import Progress
from redraft.studio.orders import Models, limits_of

_log = logging.getLogger("redraft")
ORDER = "order.json"
_HINT = "name another folder with --experiments"
_NAME = re.compile(r"[^a-z0-9]+")
_OPEN = {
    "code": UNDECIDED,
    "message": "the judge could not decide: see the table of failures",
    "hint": "run it again with another judge, or without the metric; the same judge would answer the same",
}
_TAKEN = frozenset({"new", "compare", "change", "start"})
_LINES = 100
State = Literal["running", "done", "incomplete", "stopped", "failed", "interrupted"]
"""`incomplete`: it ended, but something failed or the budget was used up."""


class ExperimentOrder(BaseModel):
    """The order of an experiment, stored with its results."""

    asked: ExperimentBody
    documents: tuple[str, ...]
    """The ids of the documents."""
    created: str
    status: State = "running"
    error: dict[str, Any] | None = None

    @field_validator("asked", mode="before")
    @classmethod
    def _without_old_fields(cls, stored: Any) -> Any:
        """Leave out what an earlier version stored, no request has any more, and this one did not use."""
        if not isinstance(stored, dict):
            return stored
        return {name: value for name, value in stored.items() if value or name in ExperimentBody.model_fields}


class ExperimentProgress(BaseModel):
    """The progress of an experiment."""

    name: str
    status: State
    done: int
    """Finished parts: summaries, verdicts, answers."""
    of: int
    """All parts; 0 before the first one is finished."""
    calls: int
    cached: int
    failed: int
    """Failed calls."""
    cost_usd: float | None
    seconds: float
    log: tuple[str, ...]
    """Messages, latest first."""
    error: dict[str, str] | None


@dataclass(slots=True)
class ExperimentJob:
    """An experiment that is running, or has run since the studio was started."""

    name: str
    folder: Path
    order: ExperimentOrder
    documents: Sequence[Document]
    store: Store
    limits: Limits
    prices: PriceTable
    models: Models
    done: int = 0
    of: int = 0
    log: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    calls: Progress = field(default_factory=Progress)
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
        """Stop as soon as possible. Finished runs are kept."""
        if self._loop is not None and self._task is not None and self.is_running:
            self._loop.call_soon_threadsafe(self._task.cancel)

    def join(self) -> None:
        """Wait until it has ended."""
        if self._thread is not None:
            self._thread.join()

    async def _work(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        try:
            experiment, design = design_of(self.order.asked, self.models)
            for document in self.documents:
                self.store.documents.add(document)
            runner = ExperimentRunner(self.store, self.limits, self.prices, self._observe)
            outcome = await experiment.run(self.documents, design, runner)
            report = experiment.report(outcome)
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

    def _keep(self, status: State, error: dict[str, Any] | None = None) -> None:
        self.order = self.order.model_copy(update={"status": status, "error": error})
        text = json.dumps(self.order.model_dump(mode="json", exclude_none=True), ensure_ascii=False, indent=2)
        write(self.folder / ORDER, f"{text}\n", _HINT)

    def _observe(self, event: Event) -> None:
        if isinstance(event, PartDone):
            self.done, self.of = max(self.done, event.number), event.of
            self.log.appendleft(event.name)
        elif isinstance(event, Notice):
            self.log.appendleft(event.message)
        elif not isinstance(event, StageStarted):
            self.calls.note(event)

    def progress(self, address: str = "") -> ExperimentProgress:
        """Return the progress, with an error as pages tell it, or the API at an `address`."""
        calls, end = self.calls, self.ended or time.monotonic()
        return ExperimentProgress(
            name=self.name,
            status=self.order.status,
            done=self.done,
            of=self.of,
            calls=calls.calls,
            cached=calls.cached,
            failed=calls.failed,
            cost_usd=calls.cost_usd,
            seconds=end - self.began,
            log=tuple(self.log),
            error=error_on_page(self.order.error, address),
        )


class ExperimentManager:
    """The experiments of this studio."""

    def __init__(self, store: Store, folder: Path, limits: Limits, prices: PriceTable) -> None:
        self._store, self._folder, self._limits, self._prices = store, folder, limits, prices
        self._jobs: dict[str, ExperimentJob] = {}
        self._lock = threading.Lock()

    def job(self, name: str) -> ExperimentJob | None:
        """Return the experiment with this name if this studio has run it, else None."""
        return self._jobs.get(name)

    def start(self, plan: ExperimentPlan, models: Models) -> str:
        """Start an experiment, and return its name."""
        created = datetime.now(UTC).isoformat(timespec="milliseconds")
        order = ExperimentOrder(
            asked=plan.asked, documents=tuple(document.id for document in plan.documents), created=created
        )
        with self._lock:
            name = self._new_name(plan.asked, created)
            try:
                (self._folder / name).mkdir(parents=True)
            except OSError as error:
                place = str(self._folder)
                raise UsageError(f"cannot write results: {error.strerror}", place=place, hint=_HINT) from error
        self._begin(name, order, plan.documents, models)
        return name

    def resume(self, name: str, models: Models) -> None:
        """Run an experiment again. Finished work is not repeated."""
        job, order = self._jobs.get(name), order_in(self._folder / name)
        if order is None:
            raise RunError(f"experiment {name} was not started in a studio", hint="run its command again")
        if job is not None and job.is_running:
            raise RunError(f"experiment {name} is running", hint="wait for it, or stop it first")
        documents = [self._store.documents.get(key) for key in order.documents]
        self._begin(name, order, documents, models)

    def stop(self, name: str) -> None:
        """Stop an experiment, and wait until it has stopped."""
        job = self._jobs.get(name)
        if job is None or not job.is_running:
            raise RunError(
                f"experiment {name} is not running", fix=(RunCommand("experiment", name), " shows its status")
            )
        job.stop()
        job.join()

    def close(self) -> None:
        """Stop all of them."""
        for job in self._jobs.values():
            job.stop()
        for job in self._jobs.values():
            job.join()

    def _begin(self, name: str, order: ExperimentOrder, documents: Sequence[Document], models: Models) -> None:
        limits = limits_of(self._limits, order.asked.max_cost, order.asked.max_calls)
        job = ExperimentJob(name, self._folder / name, order, documents, self._store, limits, self._prices, models)
        self._jobs[name] = job
        job.start()

    def _new_name(self, asked: ExperimentBody, created: str) -> str:
        wanted = _NAME.sub("-", asked.name.lower()).strip("-") or f"{asked.kind}-{created[:10]}"
        names = [wanted, *(f"{wanted}-{number}" for number in range(2, 1000))]
        return next(name for name in names if name not in _TAKEN and not (self._folder / name).exists())


def order_in(folder: Path) -> ExperimentOrder | None:
    """Return the order in a folder of results; None if a command made them."""
    try:
        return ExperimentOrder.model_validate_json(read_file(folder / ORDER, MAX_BYTES))
    except (OSError, ValidationError):
        return None


def status_in(order: ExperimentOrder, job: ExperimentJob | None) -> State:
    """Return the status of an experiment; it is interrupted if it is stored as running and nothing is running it."""
    return "interrupted" if order.status == "running" and (job is None or not job.is_running) else order.status


def progress_of(name: str, order: ExperimentOrder, job: ExperimentJob | None, address: str = "") -> ExperimentProgress:
    """Return the progress of an experiment, as `ExperimentJob` does, even if it ran before the studio was started."""
    if job is not None:
        return job.progress(address)
    known: dict[str, Any] = dict.fromkeys(("done", "of", "calls", "cached", "failed", "seconds"), 0)
    error = error_on_page(order.error, address)
    return ExperimentProgress(name=name, status=status_in(order, None), cost_usd=None, log=(), error=error, **known)
