"""How a run stands: that it is being worked on, how that ended, and how long it took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from langgraph.errors import GraphBubbleUp

from redraft.errors import BudgetError, RedraftError
from redraft.store.runs import Status
from redraft.store.store import Store
from redraft.store.threads import off_loop

WAITING = "review"
"""Why a run has stopped that waits for a person."""


@dataclass(slots=True)
class Record:
    """Why a run came to its end, once it has."""

    reason: str = "complete"


@asynccontextmanager
async def on_record(store: Store, run: str) -> AsyncIterator[Record]:
    """Record that a run is being worked on, then how that ended and how long it took."""
    record, began = Record(), time.monotonic()
    await off_loop(store.runs.set_status, run, "running")
    try:
        yield record
    except BaseException as error:
        await record_stop(store, run, error)
        raise
    else:
        await off_loop(store.runs.set_status, run, "done", stop_reason=record.reason)
    finally:
        await off_loop(store.runs.add_seconds, run, time.monotonic() - began)


async def record_stop(store: Store, run: str, error: BaseException) -> None:
    """Record what has stopped a run."""
    status, reason, described = _told(error)
    # Whoever stops the run has to wait until that is on record.
    writing = asyncio.ensure_future(off_loop(store.runs.set_status, run, status, stop_reason=reason, error=described))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await writing
        raise


def _told(error: BaseException) -> tuple[Status, str, dict[str, str] | None]:
    """The status of a run that has ended so, the reason in a word, and the error as it is stored."""
    match error:
        case GraphBubbleUp():
            return "waiting", WAITING, None
        case BudgetError():
            return "stopped", "budget", _described(error)
        case RedraftError():
            return "failed", error.code, _described(error)
        case asyncio.CancelledError() | KeyboardInterrupt() | GeneratorExit():
            return "interrupted", "cancelled", None
    message = f"{type(error).__name__}: {error}"
    return "failed", "bug", {"code": "bug", "message": message, "hint": "please report it"}


def _described(error: RedraftError) -> dict[str, str]:
    return {"code": error.code, "message": str(error), "hint": error.hint}
