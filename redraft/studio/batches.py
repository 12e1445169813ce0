"""Batches in the store: the list, a batch's status, a page of its documents, and its tables."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from math import ceil
from typing import Any

from redraft.batches.sources import source_name
from redraft.batches.tables import BatchSnapshot, read_snapshot, report_on
from redraft.domain import record_json, widened
from redraft.errors import RunCommand, RunError
from redraft.llm.addresses import shown_name
from redraft.report.history.judges import offline_checked
from redraft.report.history.trace import scores_of
from redraft.report.tables import Table
from redraft.settings import DraftConfig
from redraft.store.batches import BatchItemRow
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio import contracts
from redraft.studio.endpoints import NotFound, error_on_page
from redraft.studio.feeds import Message
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


def listed(store: Store, at_work: frozenset[str], *, by_page: bool = True) -> Any:
    """Return all batches, with errors as pages or as the API tell them."""
    snapshots = (read_snapshot(store, batch.name) for batch in store.batches.all())
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


def items(store: Store, name: str, item_filter: contracts.ItemFilter, *, by_page: bool = True) -> contracts.ItemList:
    """Return a page of the documents of a batch. Only these are read."""
    find_batch(store, name)
    total = store.batches.how_many(name, item_filter.state, item_filter.q)
    pages = max(1, ceil(total / item_filter.per))
    page = min(item_filter.page, pages)
    item_rows = store.batches.some(
        name, item_filter.state, item_filter.q, (page - 1) * item_filter.per, item_filter.per
    )
    rows = tuple(_row(store, item, by_page=by_page) for item in item_rows)
    metrics = tuple(dict.fromkeys(metric for row in rows for metric in row.scores))
    return contracts.ItemList(rows=rows, total=total, page=page, pages=pages, metrics=metrics)


def _title(store: Store, name: str) -> str:
    """Return the name of a batch, or its first documents if it was given none."""
    if not _MADE.fullmatch(name):
        return name
    rows = store.batches.some(name, "", "", 0, _MAX_NAMED)
    more = store.batches.how_many(name) - len(rows)
    title = ", ".join(source_name(row.source) for row in rows)
    return f"{title} and {more:,} more" if more else title or name


def failures(store: Store, name: str) -> tuple[contracts.ItemRow, ...]:
    """Return the first documents of a batch that failed or were set aside."""
    rows = [row for state in ("failed", "aside") for row in store.batches.some(name, state, "", 0, _MAX_NAMED)]
    return tuple(_row(store, row) for row in rows[:_MAX_NAMED])


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
