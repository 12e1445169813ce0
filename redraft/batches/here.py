"""A worker within this process, in the event loop of whoever has begun or resumed a batch."""

from __future__ import annotations

import asyncio
import os
import secrets

from redraft.batches.standing import Standing, Watcher, Watching, standing_of
from redraft.batches.work import Worker
from redraft.events import Observer
from redraft.models.tracing import tracing
from redraft.runs.workshop import Workshop
from redraft.settings import Limits
from redraft.store.batches import Batch
from redraft.store.threads import off_loop

_LOOK_AGAIN = 1.0


async def drive_here(shop: Workshop, batch: Batch, observer: Observer, watch: Watcher) -> Standing:
    """Work on a batch until there is nothing left to do, or it is not open any more.

    Whoever is cancelled meanwhile has handed back what was at work when this returns.
    """
    limits = Limits.model_validate(batch.limits)
    name = f"{os.getpid()}-{secrets.token_hex(4)}"
    worker = Worker(shop.store, batch.name, name, limits, shop.terms.prices, observer, shop=shop)
    watching = await off_loop(Watching, shop.store, batch.name)
    with tracing(shop.terms.traced):
        working = asyncio.create_task(worker.work())
    try:
        while not working.done():
            watch(*await off_loop(watching.look))
            await asyncio.wait([working], timeout=_LOOK_AGAIN)
        await working
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    return await off_loop(standing_of, shop.store, batch.name)
