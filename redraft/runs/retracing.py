"""Looking back at a run: where its summary comes from, and what it lacks, with a model's help or without."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from redraft.models.tracing import tracing
from redraft.runs.asking import Asked
from redraft.runs.beginning import put_on_record
from redraft.runs.floor import Floor
from redraft.runs.lineages import to_trace
from redraft.store.runs import Run
from redraft.store.threads import off_loop
from redraft.text.embeddings import load_encoder

T = TypeVar("T")


async def retraced(
    floor: Floor,
    asked: Asked,
    read: Callable[..., T],
    asking: Callable[[Floor, Run], Awaitable[T]],
    key: str,
    ask: bool,
    by: Any,
) -> T:
    """What is `read` of a run; or else found by `asking` about it, in a run of its own."""
    if ask:
        settings = floor.people.settings(asked.settings)
        judging = floor.people.judging(asked.judging, settings)
        document, order = await off_loop(to_trace, floor.store, key, settings, judging, by)
        run = await put_on_record(floor, document, settings, order)
        with tracing(floor.traced):
            return await asking(floor, run)
    return await off_loop(read, floor.store, key, encoder=await off_loop(load_encoder, str(by)) if by else None)
