"""What is done on a recorded run, by what it is for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from redraft.runs.building import build
from redraft.runs.comparing import compare
from redraft.runs.driving import Driver
from redraft.runs.floor import Floor
from redraft.runs.lineages import trace
from redraft.store.runs import Run


async def carry_out(floor: Floor, driver: Driver, run: Run, answer: Mapping[str, Any] | None = None) -> None:
    """Bring a run to its end, or to a stop. `answer` is for one that waits for a person."""
    if run.kind == "compare":
        await compare(floor, run)
    elif run.kind == "lineage":
        await trace(floor, run)
    elif run.kind in ("pack", "keyfacts"):
        await build(floor, run)
    else:
        try:
            await driver.drive(run, answer)
        except asyncio.CancelledError:
            await asyncio.shield(floor.left(run.id))
            raise
