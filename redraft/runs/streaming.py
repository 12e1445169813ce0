"""The events of a run as an iterator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from typing import Any

from redraft.events import Event, streamed


async def streaming(work: Coroutine[Any, Any, object]) -> AsyncGenerator[Event, None]:
    """What happens while `work` is done, as it happens. Whoever stops looking stops the work."""
    happened: asyncio.Queue[Event | None] = asyncio.Queue()

    async def watched() -> None:
        try:
            with streamed(happened.put_nowait):
                await work
        finally:
            happened.put_nowait(None)

    task = asyncio.create_task(watched())
    try:
        while (event := await happened.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(task, return_exceptions=True)
