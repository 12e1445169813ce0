"""What is done on a recorded run, by what it is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft.runs.building import build
from redraft.runs.candidates import draft_candidates
from redraft.runs.chapters import draft_chapters
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
        if run.settings.drafts > 1 and answer is None:
            await draft_candidates(floor, driver, run)
        by_chapter = run.settings.by_chapter and answer is None
        if not by_chapter or await draft_chapters(floor, driver, run):
            await driver.drive(run, answer)
