"""Batches: their status, documents and tables, and the HTTP API to start, pause, cancel and resume them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from itertools import islice
from tempfile import TemporaryFile
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from redraft.batches.queue import Batches, BatchItemRow, Status, item_in
from redraft.batches.request import BatchEstimate
from redraft.batches.sources import source_name
from redraft.batches.tables import BatchSnapshot, read_snapshot, report_on
from redraft.domain import record_json, widened
from redraft.errors import RedraftError, RunCommand, RunError
from redraft.llm.addresses import shown_name
from redraft.report.history.judges import offline_checked
from redraft.report.history.trace import scores_of
from redraft.report.tables import Table
from redraft.settings import DraftConfig
from redraft.store.connection import off_loop, storable
from redraft.store.store import Store
from redraft.studio import contracts
from redraft.studio.context import context_of, read, streamed, work_of
from redraft.studio.doors import NotFound, error_on_page
from redraft.studio.endpoints import Endpoint, is_by_page, query_of, typed
from redraft.studio.feeds import EVENT_STREAM, Message
from redraft.studio.orders import BatchBody
from redraft.studio.run_views import page_at
from redraft.studio.start import (
    DownloadFormat,
    file_of,
    format_named,
    limit_asked,
    plan_of_batch,
    saved_as,
    start_batch,
    wanted_of,
)
from redraft.text.sanitizer import one_line, scrubbed

_PAUSE = 1.0
_USUAL = DraftConfig().model_dump(include={"model", "strategy", "words"})
_MAX_NAMED = 3
_API = "/api/batches"
_MADE = re.compile(r"[0-9a-f]{8}")
SHOWN_AT_ONCE = 1000
"""Larger batches have their tables on a separate page, because they require reading every run."""


def find_batch(store: Store, name: str) -> BatchSnapshot:
    """Return the batch with this name; raise NotFound if there is none."""
    try:
        return read_snapshot(store, name)
    except RunError as error:
        raise NotFound(f"there is no batch {name!r:.80}", fix=(RunCommand("batch status"), " lists them")) from error


def all_batches(store: Store, at_work: frozenset[str], *, by_page: bool = True) -> Any:
    """Return all batches, with errors as pages or as the API tell them."""
    snapshots = (read_snapshot(store, batch.name) for batch in Batches(store).all())
    return contracts.BatchList(
        batches=tuple(status_of(store, snapshot, at_work, by_page=by_page) for snapshot in snapshots)
    )


def status_of(
    store: Store, snapshot: BatchSnapshot, at_work: frozenset[str], *, by_page: bool
) -> contracts.BatchStatus:
    """Return the status of a batch, with its error as pages or as the API tell it."""
    # Settings from another version of redraft are shown as far as this version knows them.
    settings = {**_USUAL, **(snapshot.asked.get("settings") or {})}
    refinement = snapshot.asked.get("refinement") or {}
    return widened(
        contracts.BatchStatus,
        snapshot,
        batch=snapshot.name,
        title=_title(store, snapshot.name),
        items=snapshot.counts,
        error=error_on_page(snapshot.error, "" if by_page else f"{_API}/{snapshot.name}"),
        model=settings["model"],
        shown_name=shown_name(settings["model"], settings.get("base_url")),
        strategy=settings["strategy"],
        words=settings["words"],
        goals=refinement.get("goals", {}),
        max_cost=snapshot.limits.get("max_cost"),
        max_calls=snapshot.limits.get("max_calls"),
        at_work=snapshot.name in at_work,
        orders=orders(snapshot, at_work),
        left_out=tuple(scrubbed(note) for note in snapshot.asked.get("left_out", ())),
    )


def orders(snapshot: BatchSnapshot, at_work: frozenset[str]) -> tuple[contracts.BatchOrder, ...]:
    """Return the orders that a batch accepts now."""
    counts, stage = snapshot.counts, snapshot.status
    orders_possible: list[contracts.BatchOrder] = []
    if stage in ("working", "idle"):
        orders_possible.append("pause")
    if stage in ("working", "idle") or (stage == "paused" and counts.leased):
        orders_possible.append("cancel")
    remaining = counts.waiting or counts.failed or counts.aside
    if remaining and stage != "working" and snapshot.name not in at_work:
        orders_possible.append("resume")
    return tuple(orders_possible)


def items_of(store: Store, name: str, item_filter: contracts.ItemFilter, *, by_page: bool = True) -> contracts.Page:
    """Return a page of the documents of a batch. Only these are read."""
    find_batch(store, name)
    where, values = _chosen(name, item_filter.state, item_filter.q)
    total = int(store.connection.rows(f"SELECT count(*) AS n FROM items WHERE {where}", values)[0]["n"])  # noqa: S608
    per = item_filter.per
    pages, page = page_at(total, item_filter.page, per)
    query = f"SELECT * FROM items WHERE {where} ORDER BY idx LIMIT ? OFFSET ?"  # noqa: S608
    item_rows = store.connection.rows(query, (*values, per, (page - 1) * per))
    rows = tuple(_row(store, item_in(row), by_page=by_page) for row in item_rows)
    metrics = tuple(dict.fromkeys(metric for row in rows for metric in row.scores))
    return contracts.ItemList(rows=rows, total=total, page=page, pages=pages, metrics=metrics)


def _chosen(batch: str, state: str, words: str) -> tuple[str, tuple[object, ...]]:
    """Return the SQL condition for items in a state and with these words in their source, and its values."""
    where, values = ["batch = ?"], [batch]
    if state:
        where, values = [*where, "state = ?"], [*values, "done" if state == "short" else state]
        where += ["short = 1"] if state == "short" else []
    for word in words.lower().split():
        escaped = re.sub(r"([\\%_])", r"\\\1", storable(word))
        where, values = [*where, "lower(source) LIKE ? ESCAPE '\\'"], [*values, f"%{escaped}%"]
    return " AND ".join(where), tuple(values)


def _title(store: Store, name: str) -> str:
    """Return the name of a batch, or its first documents if it was given none."""
    if not _MADE.fullmatch(name):
        return name
    rows = [*islice(Batches(store).items(name), _MAX_NAMED)]
    more = Batches(store).counts(name).all - len(rows)
    title = ", ".join(source_name(row.source) for row in rows)
    return f"{title} and {more:,} more" if more else title or name


def failures(store: Store, name: str) -> tuple[contracts.ItemRow, ...]:
    """Return the first documents of a batch that failed or were set aside."""
    query = "SELECT * FROM items WHERE batch = ? AND state IN ('failed', 'aside') ORDER BY state DESC, idx LIMIT ?"
    return tuple(_row(store, item_in(row)) for row in store.connection.rows(query, (name, _MAX_NAMED)))


def _row(store: Store, item: BatchItemRow, *, by_page: bool = True) -> contracts.ItemRow:
    run = store.runs.get(item.run) if item.run else None
    draft = store.runs.draft(run.draft) if run and run.draft else None
    totals = store.calls.totals(run.id) if run else None
    document = run.document if run else item.document
    return widened(
        contracts.ItemRow,
        item,
        source=one_line(item.source),
        number=item.idx + 1,
        name=source_name(item.source),
        title=one_line(store.documents.title(document)) if document else "",
        document=document,
        words=draft.words if draft else None,
        scores=scores_of(store, [run])[0] if run else {},
        offline_check=bool(run and offline_checked(run)),
        gaps=len(store.runs.gaps.of(run.id)) if run else None,
        calls=totals.calls if totals else None,
        cost_usd=totals.cost_usd if totals else None,
        error=error_on_page(item.error, "" if by_page else f"{_API}/{item.batch}"),
    )


def tables_of(store: Store, name: str) -> tuple[Table, ...]:
    """Return the results of a batch as tables."""
    return report_on(store, find_batch(store, name)).tables


async def progress_of(store: Store, name: str, pause: float = _PAUSE) -> AsyncIterator[Message]:
    """Yield the progress of a batch until no process is running it."""
    before: Message = {}
    while True:
        snapshot = await off_loop(find_batch, store, name)
        now: Message = {"kind": "progress", **record_json(snapshot)}
        if now != before:
            before = now
            yield now
        if snapshot.status not in ("working", "idle") and not snapshot.counts.leased:
            yield {"kind": "done" if snapshot.status == "done" else "stopped", "status": snapshot.status}
            return
        await asyncio.sleep(pause)


_PART = 1 << 16
_DOES: Mapping[contracts.BatchOrder, Status] = {"pause": "paused", "cancel": "cancelled"}
ORDERS: Mapping[contracts.BatchOrder, str] = {
    "pause": "Start no more documents; those that are running finish.",
    "cancel": "Stop the batch, including the documents that are running.",
    "resume": "Resume the batch in this studio.",
}
"""The orders, with what each does."""


async def listed(request: Request) -> BaseModel:
    """List batches."""
    listing = partial(all_batches, by_page=is_by_page(request))
    return await read(request, listing, context_of(request).batches_at_work)


async def start(request: Request) -> contracts.BatchStatus | Response:
    """Start a batch, or plan it."""
    runs, context = await wanted_of(request, BatchBody), context_of(request)
    if runs.asked.dry_run:
        return typed(await plan_of_batch(context, runs))
    return await status(request, await start_batch(request, runs))


async def status(request: Request, name: str = "") -> contracts.BatchStatus:
    """Return the status of a batch. It is that in the address, or another one."""
    batch_name, by_page = name or request.path_params["batch"], is_by_page(request)
    running = context_of(request).batches_at_work
    snapshot = await read(request, find_batch, batch_name)
    return await read(request, lambda store: status_of(store, snapshot, running, by_page=by_page))


async def items(request: Request) -> contracts.Page:
    """Return a page of the documents of a batch."""
    list_items = partial(items_of, by_page=is_by_page(request))
    return await read(request, list_items, request.path_params["batch"], query_of(request, contracts.ItemFilter))


async def carry_out(request: Request, order: contracts.BatchOrder) -> contracts.BatchStatus:
    """Pause, cancel or resume a batch, and return its new status; refuse an order that does not fit its status."""
    name, work = request.path_params["batch"], work_of(request)
    snapshot = await read(request, find_batch, name)
    if order not in orders(snapshot, context_of(request).batches_at_work):
        fix = (RunCommand("batch status", name), " shows its status")
        raise RunError(f"batch {name!r:.80} is {snapshot.status}: there is nothing to {order}", fix=fix)
    if order == "resume":
        await work.resume_batch(name, await limit_asked(request))
    else:
        await off_loop(Batches(work.session.store).set_status, name, _DOES[order])
    return await status(request)


async def tables(request: Request) -> BaseModel:
    """Return the results of a batch as tables."""
    tables_of_batch = await read(request, tables_of, request.path_params["batch"])
    return contracts.BatchTables(tables=tables_of_batch)


async def events(request: Request) -> Response:
    """Return the progress of a batch, until it stops. It is sent as events by the server."""
    name = request.path_params["batch"]
    await read(request, find_batch, name)
    return streamed(request, progress_of(context_of(request).reading, name))


async def download(request: Request) -> Response:
    """Return the summaries in a ZIP archive."""
    name, form = request.path_params["batch"], request.path_params["form"]
    kind = format_named(form, "batch")
    title = (await status(request)).title
    parts = _archive(context_of(request).reading, name, kind)
    return StreamingResponse(parts, media_type="application/zip", headers=saved_as(title, f"-{form}.zip"))


def _archive(store: Store, name: str, kind: DownloadFormat) -> Iterator[bytes]:
    """Yield an archive with the file of each document that is done, and a list of the others."""
    missing = ""
    with TemporaryFile() as file:
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for item in Batches(store).items(name):
                called = source_name(item.source)
                why = item.error["message"].removeprefix(f"{called}: ") if item.error else "it has not been finished"
                try:
                    if item.state == "done" and item.run:
                        content = file_of(store, store.runs.get(item.run), kind)[1]
                        archive.writestr(f"{item.file}{kind.suffix}", content)
                        why = ""
                except RedraftError as error:
                    why = error.message
                missing += f"{item.idx + 1}. {called}: {scrubbed(why)}\n" if why else ""
            if missing:
                # No other file of an archive has a space in its name.
                archive.writestr("not included.txt", missing)
        file.seek(0)
        while part := file.read(_PART):
            yield part


_TAKES = {"resume": contracts.ResumeBody}
_BATCH = "/api/batches/{batch:path}"
BATCHES = (
    Endpoint("GET", "/api/batches", listed, gives=contracts.BatchList),
    Endpoint("POST", "/api/batches", start, BatchBody, 201, plans=BatchEstimate, forms=True),
    Endpoint("GET", f"{_BATCH}/items", items, gives=contracts.ItemList, query=contracts.ItemFilter),
    Endpoint("GET", f"{_BATCH}/tables", tables, gives=contracts.BatchTables),
    Endpoint("GET", f"{_BATCH}/download/{{form}}", download, kind="application/zip"),
    Endpoint("GET", f"{_BATCH}/events", events, kind=EVENT_STREAM),
    *(
        Endpoint(
            "POST",
            f"{_BATCH}/{name}",
            partial(carry_out, order=name),
            _TAKES.get(name),
            says=says,
            gives=contracts.BatchStatus,
        )
        for name, says in ORDERS.items()
    ),
    # A name may contain slashes, so this route comes last.
    Endpoint("GET", _BATCH, status),
)
"""The endpoints for batches."""
