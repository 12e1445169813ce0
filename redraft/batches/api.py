"""Batches for applications: started, resumed, and processed in this process or by workers."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import Unpack

from redraft.batches.engine import engine_named
from redraft.batches.queue import Batch, BatchItemRow
from redraft.batches.request import BatchRequest, open_again, open_batch
from redraft.batches.sources import check, of_document
from redraft.batches.tables import (
    BatchResult,
    BatchSnapshot,
    drive,
    folder_named,
    read_batch,
    read_snapshot,
    write_folder,
)
from redraft.batches.worker import BatchWorker, terms_of
from redraft.document import Document, is_content_id
from redraft.domain import widened
from redraft.errors import UsageError
from redraft.evaluators.base import Metric
from redraft.evaluators.catalog import metrics as known_metrics
from redraft.evaluators.catalog import with_rubrics
from redraft.evaluators.rubric import Rubric
from redraft.events import BatchProgress, Notice, with_errors_logged
from redraft.fields import list_argument, settings_argument
from redraft.graphs.state import Options
from redraft.graphs.strategies import is_object
from redraft.llm.langsmith import tracing
from redraft.readers.documents import no_document
from redraft.runs.driver import Runner
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.runs.order import Source
from redraft.runs.session import Session, runner_of
from redraft.settings import DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.store.connection import off_loop

_ABOUT_ONE = ("pack", "keyfacts", "reference")
_MEMORY = ":memory:"
_LOOK_AGAIN = 1.0


async def batch(
    session: Session,
    sources: Sequence[Source],
    *,
    name: str | None = None,
    folder: str | Path | None = None,
    workers: int | None = None,
    metrics: Sequence[Metric] = (),
    settings: DraftConfig | None = None,
    judging: JudgeConfig | None = None,
    refinement: RefineConfig | None = None,
    **options: Unpack[Options],
) -> BatchResult:
    """Summarize any number of documents, like `redraft batch`, with a session's store, models and limits.

    A source is what the command takes (a file, a folder, a pattern, a `.jsonl` file), a `Document`, or the id of one in
    the store. `metrics`, `settings`, `judging`, `refinement` and `options` are as for `Session.summarize` and apply to
    each document; the session's limits apply to all of them together. Summaries are also written to `folder`, if given.
    The batch runs in this process, or in so many `workers`, which know models
    and metrics only by name.

    The same sources with the same settings, or the same `name`, are the same batch: it continues where it stopped, and
    failed items are retried. Raises `UsageError` for invalid input or `DocumentError` for a missing source before
    anything is paid for, and `RedraftError` if no worker can be started. An error of one document is stored in its
    item; an error that affects all of them, such as a used-up budget, is the `error` of the result. Cancelling returns
    the current items to the queue: nothing is lost, and the same call, or `resume_batch`, continues. The session's
    observer receives `BatchProgress` on every change and, without `workers`, the events of the runs.
    """
    runner = runner_of(session)
    request = _request(runner, metrics, {**options, "settings": settings, "judging": judging, "refinement": refinement})
    _check_workers(session, workers, request.settings.strategy)
    listed = list_argument([sources] if isinstance(sources, str | Path | Document) else sources, "sources")
    if not listed:
        raise UsageError("no document was given", hint="give the path of one, or of several")

    def row_or_path(source: Source) -> str | BatchItemRow:
        """Return a source as a batch stores it; a document passed as an object is added to the store."""
        documents = session.store.documents
        if isinstance(source, Document):
            return of_document(session.store, source)
        if not isinstance(source, str | Path):
            raise no_document(source)
        is_stored = is_content_id(str(source)) and documents.has(str(source))
        return of_document(session.store, documents.get(str(source))) if is_stored else str(source)

    batch_sources = await off_loop(lambda: [row_or_path(source) for source in listed])
    await off_loop(check, batch_sources, folder)
    path = await off_loop(folder_named, folder)
    limits = runner.limits or Limits()
    opened = await off_loop(open_batch, session.store, batch_sources, request, limits, folder=path, name=name)
    return await run_batch(session, opened, workers)


async def resume_batch(
    session: Session, name: str, *, limits: Limits | None = None, workers: int | None = None
) -> BatchResult:
    """Continue the batch of this name, as `redraft batch resume` does; what failed or was set aside is tried again.

    It keeps the settings that it began with, and its folder; `limits` replace its own. The rest is as for `batch`.
    Raises a `RunError` where there is none of that name.
    """
    runner = runner_of(session)
    _check_workers(session, workers)
    limits = settings_argument(Limits, limits, "limits")
    opened = await off_loop(open_again, session.store, name, runner.places, limits)
    return await run_batch(session, opened, workers)


async def run_batch(session: Session, opened: Batch, workers: int | None = None) -> BatchResult:
    """Work on an open batch to its end, and write the results to its folder. If cancelled, the current items are back
    in the queue when this returns."""
    runner, store, name = runner_of(session), session.store, opened.name
    limits, loop, stopping = Limits.model_validate(opened.limits), asyncio.get_running_loop(), threading.Event()
    working: asyncio.Future[object]
    if workers is None:
        observer, key = with_errors_logged(runner.observer), f"{os.getpid()}-{secrets.token_hex(4)}"
        worker = BatchWorker(ExperimentRunner(store, limits, observer=observer, session=session), name, key)
        with tracing(runner.traced):
            working = asyncio.create_task(worker.work())
    else:
        terms = await off_loop(terms_of, store, name, workers, traced=runner.traced)

        def note(message: str) -> None:
            loop.call_soon_threadsafe(runner.observe, Notice(message))

        def stop_if_cancelled(_: BatchSnapshot) -> None:
            if stopping.is_set():
                raise InterruptedError

        def work() -> None:
            with engine_named("local", None, terms.db) as engine:
                drive(store, engine, terms, note, stop_if_cancelled)

        working = asyncio.ensure_future(asyncio.to_thread(work))

    latest: BatchProgress | None = None
    try:
        while True:
            is_over, now = working.done(), await off_loop(read_snapshot, store, name)
            news = widened(BatchProgress, now.counts, now, batch=name)
            if news != latest:
                latest = news
                runner.observe(news)
            if is_over:
                break
            await asyncio.wait([working], timeout=_LOOK_AGAIN)
        await working
    finally:
        stopping.set()
        if workers is None:
            working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    result = await off_loop(read_batch, store, name)
    await off_loop(write_folder, store, result, result.report)
    return result


def _request(runner: Runner, metrics: Sequence[Metric], options: Mapping[str, Any]) -> BatchRequest:
    """Return the settings for all documents; raises for options that concern a single document or ask a person."""
    order = runner.defaults.of_call("summarize", {**options, "metrics": metrics})
    if order.judging is not None:
        chosen = dict.fromkeys((*order.judging.metrics, *(order.refinement.goals if order.refinement else ())))
        known_metrics(chosen, with_rubrics(order.judging, runner.defaults.evaluators))
        if stray := [name for name in _ABOUT_ONE if getattr(order.judging, name)]:
            raise UsageError(f"{stray[0]} applies to one document only", hint="leave it out")
    if order.refinement is not None and order.refinement.review:
        raise UsageError(
            "a review works on one summary, and a batch has many",
            hint="leave out review; a summary can be refined with it afterwards",
        )
    return BatchRequest(order.settings, order.judging, order.refinement)


def _check_workers(session: Session, workers: int | None, strategy: str = "") -> None:
    """Refuse workers that would know nothing of what this process has."""
    if workers is None:
        return
    if workers < 1:
        raise UsageError("there must be at least 1 worker", hint="give 1 or more, or leave workers out")
    runner, hint = runner_of(session), "leave workers out to run the batch in this process"
    # Rubrics are part of the settings.
    metrics = [name for name, metric in runner.defaults.own.items() if not isinstance(metric, Rubric)]
    if objects := [*runner.defaults.roles.objects, *metrics, *([strategy] if is_object(strategy) else ())]:
        raise UsageError(
            f"{objects[0]} is an object of this process, and other workers can only be given names", hint=hint
        )
    if runner.defaults.prices is not None:
        raise UsageError(
            "a table of prices is an object of this process, and other workers do not have it",
            hint=f"give the price of a model in its ModelSettings, or {hint}",
        )
    if session.store.address == _MEMORY:
        raise UsageError("other workers cannot see a database in memory", hint=f"name a file, or {hint}")
