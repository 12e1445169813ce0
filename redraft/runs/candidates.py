"""The other drafts of a run that makes several: each is made by a run of its own, side by side.

Their texts are candidates beside the run's own draft, among which its graph chooses. A candidate's run is recorded
before the first of them begins: whoever goes on with the whole goes on with them.
"""

from __future__ import annotations

import asyncio

from redraft.errors import BudgetError, IncompleteError, NotShrinkingError, RejectedRequest, ReplyError
from redraft.events import Noted, StageStarted, part_of_another
from redraft.models.budget import Budget
from redraft.runs.driving import Driver
from redraft.runs.floor import Floor
from redraft.runs.preparing import Order, record
from redraft.runs.sampling import candidate
from redraft.store.parts import Candidate
from redraft.store.runs import Run
from redraft.store.threads import off_loop

_LEFT_OUT = (BudgetError, IncompleteError, NotShrinkingError, RejectedRequest, ReplyError)
"""What leaves a candidate out, and ends nothing else. Whether the budget has room for the rest the whole finds out."""


async def draft_candidates(floor: Floor, driver: Driver, run: Run) -> None:
    """Bring the runs of all candidates to their end, unless one was chosen before."""
    candidates = await off_loop(floor.store.candidates.of, run.id)
    if any(one.chosen for one in candidates):
        return
    async with floor.at_work(run.id) as job:
        limits = job.run.limits
        if not candidates:
            candidates = await off_loop(_recorded, floor, job.run)
        others = [one for one in candidates if one.run]
        job.observe(StageStarted("other drafts", 0))
        budget = Budget(max_calls=limits.max_calls, max_cost=limits.max_cost, pot=run.id)
        for one in others:
            floor.shared[one.run], floor.limited[one.run] = budget, limits
        work = (_drafted(floor, driver, run, one, len(candidates)) for one in others)
        ended = await asyncio.gather(*work, return_exceptions=True)
        if failures := [one for one in ended if isinstance(one, BaseException)]:
            raise failures[0]


def _recorded(floor: Floor, run: Run) -> list[Candidate]:
    """The candidates of a run nobody has begun on: what cannot be planned is said before the first call of any."""
    store, writer = floor.store, floor.people.objects.get(floor.people.model or "")
    document = store.documents.get(run.document)
    prepared = [candidate(document, run.settings, number, writer) for number in range(2, run.settings.drafts + 1)]
    with store.at_once():
        parts = [record(one, Order(), run.limits, store) for one in prepared]
        store.candidates.add(run.id, [part.id for part in parts])
    floor.prepared |= {part.id: one for part, one in zip(parts, prepared, strict=True)}
    return store.candidates.of(run.id)


async def _drafted(floor: Floor, driver: Driver, run: Run, one: Candidate, count: int) -> None:
    part = await off_loop(floor.store.runs.get, one.run)
    if part.status == "done":
        return
    name = f"candidate {one.number} of {count}"
    with part_of_another(name, run.id):
        try:
            await driver.drive(part)
        except _LEFT_OUT as error:
            floor.observe(Noted(f"{name} is left out: {error.message}"))
