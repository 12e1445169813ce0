"""Batches: their status, documents and tables, and the HTTP API to start, pause, cancel and resume them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from itertools import islice
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from redraft.batches.queue import Batches, BatchItemRow, Status, item_in
from redraft.batches.request import BatchEstimate
from redraft.batches.sources import source_name, with_result
from redraft.batches.tables import BatchSnapshot, read_snapshot, report_on
from redraft.domain import record_json, widened
from redraft.errors import RedraftError, RunCommand, RunError
from redraft.llm.addresses import shown_name
from redraft.settings import DraftConfig
from redraft.store.connection import off_loop, storable
from redraft.store.store import Store
from redraft.studio import contracts
from redraft.studio.context import context_of, read, reading, streamed, work_of
from redraft.studio.doors import NotFound, worded_error
from redraft.studio.endpoints import Endpoint, typed
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
_USUAL = DraftConfig().model_dump(include={"model", "strategy", "words"}) | {"goals": {}}
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


def all_batches(store: Store, at_work: frozenset[str]) -> Any:
    """Return all batches, with those at work in this studio named."""
    return contracts.BatchList(batches=tuple(status_of(store, batch.name, at_work) for batch in Batches(store).all()))


def status_of(store: Store, name: str, at_work: frozenset[str]) -> contracts.BatchStatus:
    """Return the status of a batch."""
    snapshot = find_batch(store, name)
    # Settings from another version of redraft are shown as far as this version knows them.
    settings, refinement = (snapshot.asked.get(part) or {} for part in ("settings", "refinement"))
    asked = SimpleNamespace(**{**_USUAL, **settings, **refinement, **snapshot.limits})
    return widened(
        contracts.BatchStatus,
        snapshot,
        asked,
        title=_title(store, name),
        error=worded_error(snapshot.error, f"{_API}/{name}"),
        shown_name=shown_name(asked.model, settings.get("base_url")),
        at_work=name in at_work,
        left_out=tuple(scrubbed(note) for note in snapshot.asked.get("left_out", ())),
    )


def items_of(store: Store, name: str, item_filter: contracts.ItemFilter) -> contracts.Page:
    """Return a page of the documents of a batch."""
    find_batch(store, name)
    where, values = _chosen(name, item_filter.state, item_filter.q)
    total = int(store.connection.rows(f"SELECT count(*) AS n FROM items WHERE {where}", values)[0]["n"])  # noqa: S608
    per = item_filter.per
    pages, page = page_at(total, item_filter.page, per)
    query = f"SELECT * FROM items WHERE {where} ORDER BY idx LIMIT ? OFFSET ?"  # noqa: S608
    item_rows = store.connection.rows(query, (*values, per, (page - 1) * per))
    # Only these are read.
    rows = tuple(_row(store, item_in(row)) for row in item_rows)
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


def _row(store: Store, item: BatchItemRow) -> contracts.ItemRow:
    result = with_result(store, item)
    return widened(
        contracts.ItemRow,
        result,
        short=item.short,
        source=one_line(item.source),
        number=item.idx + 1,
        name=source_name(item.source),
        title=one_line(store.documents.title(result.document)) if result.document else "",
        error=worded_error(item.error, f"{_API}/{item.batch}"),
    )


def tables_of(store: Store, name: str) -> Any:
    """Return the results of a batch as tables."""
    return contracts.BatchTables(tables=report_on(store, find_batch(store, name)).tables)


async def progress_of(store: Store, name: str, pause: float = _PAUSE) -> AsyncIterator[Message]:
    """Yield the progress of a batch until no process is running it."""
    before: BatchSnapshot | None = None
    while True:
        snapshot = await off_loop(find_batch, store, name)
        if snapshot != before:
            before = snapshot
            yield {"kind": "progress", **record_json(snapshot)}
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


async def listed(request: Request) -> Any:
    """List batches."""
    return await read(request, all_batches, context_of(request).batches_at_work)


async def start(request: Request) -> contracts.BatchStatus | Response:
    """Start a batch, or plan it."""
    runs, context = await wanted_of(request, BatchBody), context_of(request)
    if runs.asked.dry_run:
        return typed(await plan_of_batch(context, runs))
    return await status(request, await start_batch(request, runs))


async def status(request: Request, name: str = "") -> contracts.BatchStatus:
    """Return the status of a batch. It is that in the address, or another one."""
    at_work = context_of(request).batches_at_work
    return await read(request, status_of, name or request.path_params["batch"], at_work)


async def carry_out(request: Request, order: contracts.BatchOrder) -> contracts.BatchStatus:
    """Pause, cancel or resume a batch, and return its new status; refuse an order that does not fit its status."""
    before, work = await status(request), work_of(request)
    name = before.name
    if order not in before.orders:
        fix = (RunCommand("batch status", name), " shows its status")
        raise RunError(f"batch {name!r:.80} is {before.status}: there is nothing to {order}", fix=fix)
    if order == "resume":
        await work.resume_batch(name, await limit_asked(request))
    else:
        await off_loop(Batches(work.session.store).set_status, name, _DOES[order])
    return await status(request)


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
    reading(f"{_BATCH}/items", items_of, contracts.ItemList, query=contracts.ItemFilter),
    reading(f"{_BATCH}/tables", tables_of, contracts.BatchTables),
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
