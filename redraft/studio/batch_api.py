"""The HTTP API for batches: their status, documents, results, and orders to pause, cancel or resume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from tempfile import TemporaryFile
from zipfile import ZIP_DEFLATED, ZipFile

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from redraft.batches.request import BatchEstimate
from redraft.batches.sources import source_name
from redraft.errors import RedraftError, RunCommand, RunError
from redraft.store.batches import Status
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio import batches, contracts
from redraft.studio.context import context_of, read, streamed, work_of
from redraft.studio.endpoints import Endpoint, NotFound, is_by_page, query_of, typed
from redraft.studio.feeds import EVENT_STREAM
from redraft.studio.orders import BatchBody
from redraft.studio.start import (
    KINDS,
    DownloadFormat,
    file_of,
    limit_asked,
    plan_of_batch,
    saved_as,
    start_batch,
    wanted_of,
)
from redraft.text.sanitizer import scrubbed

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
    return await read(
        request, partial(batches.listed, by_page=is_by_page(request)), context_of(request).batches_at_work
    )


async def start(request: Request) -> contracts.BatchStatus | Response:
    """Start a batch, or plan it."""
    runs, context = await wanted_of(request, BatchBody), context_of(request)
    if runs.asked.dry_run:
        return typed(await plan_of_batch(context, runs))
    return await status(request, await start_batch(context, runs))


async def status(request: Request, name: str = "") -> contracts.BatchStatus:
    """Return the status of a batch. It is that in the address, or another one."""
    batch_name, by_page = name or request.path_params["batch"], is_by_page(request)
    running = context_of(request).batches_at_work
    snapshot = await read(request, batches.find_batch, batch_name)
    return await read(request, lambda store: batches.status_of(store, snapshot, running, by_page=by_page))


async def items(request: Request) -> contracts.ItemList:
    """Return a page of the documents of a batch."""
    list_items = partial(batches.items, by_page=is_by_page(request))
    return await read(request, list_items, request.path_params["batch"], query_of(request, contracts.ItemFilter))


async def carry_out(request: Request, order: contracts.BatchOrder) -> contracts.BatchStatus:
    """Pause, cancel or resume a batch, and return its new status; refuse an order that does not fit its status."""
    name, work = request.path_params["batch"], work_of(request)
    snapshot = await read(request, batches.find_batch, name)
    if order not in batches.orders(snapshot, context_of(request).batches_at_work):
        fix = (RunCommand("batch status", name), " shows its status")
        raise RunError(f"batch {name!r:.80} is {snapshot.status}: there is nothing to {order}", fix=fix)
    if order == "resume":
        await work.resume_batch(name, await limit_asked(request))
    else:
        await off_loop(work.session.store.batches.set_status, name, _DOES[order])
    return await status(request)


async def tables(request: Request) -> BaseModel:
    """Return the results of a batch as tables."""
    tables_of_batch = await read(request, batches.tables_of, request.path_params["batch"])
    return contracts.BatchTables(tables=tables_of_batch)


async def events(request: Request) -> Response:
    """Return the progress of a batch, until it stops. It is sent as events by the server."""
    name = request.path_params["batch"]
    await read(request, batches.find_batch, name)
    return streamed(request, batches.progress_of(context_of(request).reading, name))


async def download(request: Request) -> Response:
    """Return the summaries in a ZIP archive."""
    name, form = request.path_params["batch"], request.path_params["form"]
    kind = KINDS.get(form)
    if kind is None:
        raise NotFound(f"a batch is not written as {form!r:.40}", hint=f"choose one of {', '.join(KINDS)}")
    title = (await status(request)).title
    parts = _archive(context_of(request).reading, name, kind)
    return StreamingResponse(parts, media_type="application/zip", headers=saved_as(title, f"-{form}.zip"))


def _archive(store: Store, name: str, kind: DownloadFormat) -> Iterator[bytes]:
    """Yield an archive with the file of each document that is done, and a list of the others."""
    missing = ""
    with TemporaryFile() as file:
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for item in store.batches.items(name):
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
    Endpoint("GET", f"{_BATCH}/items", items, query=contracts.ItemFilter),
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
