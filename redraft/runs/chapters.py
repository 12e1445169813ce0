"""The chapters of a run by chapter: each is drafted, and judged, by a run of its own, side by side.

Their summaries are the lowest pieces of the whole's tree, from which its own graph goes on. A chapter's run is recorded
when it is begun on, and stored with the chapter: whoever goes on with the whole goes on with them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from redraft.domain import Piece
from redraft.errors import BudgetError, IncompleteError, NotShrinkingError, RejectedRequest, ReplyError
from redraft.events import Noted, PartDone, StageStarted, part_of_another
from redraft.graphs.job import Job
from redraft.models.budget import Budget
from redraft.runs.driving import Driver
from redraft.runs.floor import Floor
from redraft.runs.mending import may_gain
from redraft.runs.parting import chapter_of, order_of, settings_of
from redraft.runs.preparing import Order, Prepared, prepare, record
from redraft.store.parts import Chapter
from redraft.store.runs import Run
from redraft.store.threads import off_loop

AT_ONCE = 8
"""How many chapters are worked on at once; of how many requests that comes to the run's limits have the say."""
_LEFT_OUT = (IncompleteError, NotShrinkingError, RejectedRequest, ReplyError)
"""What ends a chapter, and nothing else."""


async def draft_chapters(floor: Floor, driver: Driver, run: Run) -> bool:
    """Bring the runs of all chapters to their end, and say whether they are there for the whole to go on.

    What ends one of them ends the whole, once the others have come to their end, for what these cost is spent. Where
    the budget is used up, what there is of chapters has become the draft of the whole.
    """
    try:
        await _drafted(floor, driver, run)
    except BudgetError:
        if (await off_loop(floor.store.runs.get, run.id)).draft is None or run.kind == "evaluate":
            raise
        return False
    return True


async def _drafted(floor: Floor, driver: Driver, run: Run) -> None:
    async with floor.at_work(run.id) as job:
        chapters = await off_loop(floor.store.chapters.of, run.id)
        limits = job.run.limits
        budget = Budget(max_calls=limits.max_calls, max_cost=limits.max_cost, pot=run.id)
        work = _Work(floor, driver, job, budget, asyncio.Semaphore(AT_ONCE), len(chapters))
        # What cannot be planned for one of them is said before the first call of any.
        planned = sum([await work.prepare(chapter) for chapter in chapters if not chapter.run])
        job.observe(StageStarted("chapters", planned))
        ended = await asyncio.gather(*map(work.chapter, chapters), return_exceptions=True)
        if failures := [one for one in ended if isinstance(one, BaseException)]:
            raise next((one for one in failures if not isinstance(one, BudgetError)), failures[0])


@dataclass(slots=True)
class _Work:
    """The chapters of one run, while they are worked on."""

    floor: Floor
    driver: Driver
    job: Job
    budget: Budget
    room: asyncio.Semaphore
    count: int
    done: int = 0
    prepared: dict[int, Prepared] = field(default_factory=dict)

    async def prepare(self, chapter: Chapter) -> int:
        """Prepare a chapter that nobody has begun on, under the settings of the whole; returns how many calls its draft
        will take."""
        floor, document = self.floor, chapter_of(self.job.document, chapter.title, chapter.chunk.span)
        writer = floor.people.objects.get(floor.people.model or "")
        prepared = await off_loop(prepare, document, settings_of(self.job.run.settings, document), writer)
        self.prepared[chapter.chunk.index] = prepared
        return prepared.plan.calls - prepared.plan.compressions

    async def chapter(self, chapter: Chapter) -> None:
        """Bring the summary of a chapter to its end, and keep it for the whole."""
        async with self.room:
            part = await self._recorded(chapter)
            self.floor.shared[part.id] = self.budget
            self.floor.limited[part.id] = self.job.run.limits
            if part.status != "done" or await may_gain(self.floor, part):
                with part_of_another(chapter.title, self.job.run.id):
                    part = await self._carried_out(chapter, part)
            await self._keep(chapter, part)
            self.done += 1
            self.job.observe(PartDone(chapter.title, self.done, self.count))

    async def _recorded(self, chapter: Chapter) -> Run:
        """The run of a chapter."""
        floor, whole, store = self.floor, self.job.run, self.floor.store
        if chapter.run:
            return await off_loop(store.runs.get, chapter.run)
        order = order_of(Order(whole.purpose, own=tuple(floor.own.values())))
        prepared = self.prepared.pop(chapter.chunk.index)

        def recorded() -> Run:
            with store.at_once():
                part = record(prepared, order, whole.limits, store)
                store.chapters.begin(whole.id, chapter.chunk.index, part.id)
            return part

        part = await off_loop(recorded)
        floor.prepared[part.id] = prepared
        return part

    async def _carried_out(self, chapter: Chapter, part: Run) -> Run:
        """The run once it has come to its end. One that nothing comes of leaves a gap in the whole."""
        store = self.floor.store
        try:
            await self.driver.drive(part)
        except _LEFT_OUT as error:
            gaps = await off_loop(store.runs.gaps, part.id)
            if part.settings.query is None or gaps:
                await self.job.gap(chapter.chunk.index, error)
            else:
                self.job.observe(Noted("it says nothing on the question"))
        part = await off_loop(store.runs.get, part.id)
        if part.status == "stopped":
            told = part.error or {}
            raise BudgetError(told.get("message", "the budget is used up"), hint=told.get("hint", ""))
        return part

    async def _keep(self, chapter: Chapter, part: Run) -> None:
        """Keep the summary of a chapter as what the whole is made from."""
        store, job, chunk = self.floor.store, self.job, chapter.chunk
        if part.draft is None or part.status != "done":
            return
        draft = await off_loop(store.runs.draft, part.draft)
        tokens, limit = job.tokenizer.count(draft.text), part.settings.words or draft.words
        piece = Piece(0, chunk.index, chunk.index, chunk.index, draft.text, draft.words, tokens, limit)
        await off_loop(store.runs.add_piece, job.run.id, piece, [job.part(chunk)])
        await job.close_gap(chunk.index)
