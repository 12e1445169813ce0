"""Carries out a stored run by its kind: drafting and refining, chapters, packs, comparisons."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from redraft.domain import GIVEN, OTHER, Evaluation, KeyFacts, Pack, Piece
from redraft.errors import (
    BudgetError,
    DeadlineError,
    IncompleteError,
    NotShrinkingError,
    RejectedRequest,
    ReplyError,
    RunError,
    UsageError,
    stored_advice,
)
from redraft.evaluators.base import Case, statements_of
from redraft.evaluators.preference import prefer, same
from redraft.evaluators.statistics import Statistics
from redraft.events import Notice, PartDone, StageStarted, nested_run
from redraft.graphs.job import Job
from redraft.graphs.policy import undecided_metrics
from redraft.llm.budget import Budget
from redraft.report.history.results import lost_rounds
from redraft.runs.driver import AnswerLike, Reviewer, drive
from redraft.runs.open_runs import OpenRuns
from redraft.runs.order import chapter_document, chapter_settings, order_of_chapter
from redraft.runs.prepare import PreparedDocument, prepare, record
from redraft.settings import REFERENCES
from redraft.store.connection import off_loop
from redraft.store.documents import ChapterRun
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.words import has_words


async def build(runs: OpenRuns, run: Run) -> None:
    """Ask for what is not known yet; the run's judging names what it came to."""
    assert run.judging is not None
    async with runs.at_work(run.id) as job:
        reference = job.judges.reference
        if run.kind == "pack":
            runs.observe(StageStarted("questions about the document", 0))
            built = {"pack": (await reference.pack(complete=True)).id}
        else:
            runs.observe(StageStarted("key facts of the document", 0))
            built = {"keyfacts": (await reference.keyfacts(complete=True)).id}
        await off_loop(runs.store.runs.change, run.id, {"order.judging": run.judging.model_copy(update=built)})
    await runs.finish(run.id, "", "complete")


def check_summaries(first: str, second: str) -> None:
    """Refuse a summary that says nothing: there is no preference for silence."""
    for name, text in (("A", first), ("B", second)):
        if not has_words(text):
            raise UsageError("it has no words", place=f"summary {name}")


async def compare(runs: OpenRuns, run: Run) -> None:
    """Compare two summaries, and store the result with the first. Identical texts need no judge."""
    store = runs.store
    drafts = {draft.node: draft for draft in await off_loop(store.runs.drafts, run.id)}
    if not {GIVEN, OTHER} <= drafts.keys():
        raise RunError(f"the summaries of run {run.id} were never stored", hint="start it again")
    first, second = drafts[GIVEN], drafts[OTHER]
    async with runs.at_work(run.id) as job:
        for draft in (first, second):
            case = Case(statements_of(draft.text), (), job.judges.reader, text=draft.text)
            await off_loop(store.judgments.keep, draft.id, await Statistics().evaluate(case))
        if first.text.strip() == second.text.strip():
            preferred = same()
        else:
            runs.observe(StageStarted("preference", 2 * len(job.referees)))
            tokens = job.plan.document_tokens
            preferred = await prefer(job.referees, job.document, tokens, first.text, second.text)
        await off_loop(store.judgments.keep, first.id, preferred)
    await runs.finish(run.id, first.id, "complete")


async def may_gain(runs: OpenRuns, run: Run) -> bool:
    """Return whether working on a finished run again may improve it: a chunk was left out, a metric or item has no
    verdict, a goal is unsure, a revision failed, its pack has become more complete, or one of its chapters may gain.
    Holes in its pack are retried first, and a run that was judged by the pack restarts only if some were filled:
    answers come from the cache, but a reviewing person is asked again."""
    if await off_loop(runs.store.runs.gaps.of, run.id):
        return True
    if await off_loop(lost_rounds, runs.store, run):
        return True
    for chapter in await off_loop(runs.store.chapters.of, run.id):
        part = await off_loop(runs.store.runs.get, chapter.run) if chapter.run else None
        if part is None or part.status != "done" or await may_gain(runs, part):
            return True
    if run.kind in REFERENCES.values():
        built = await off_loop(_built, runs.store, run)
        return built is not None and bool(built.missing) and not built.imported
    evaluations = (await off_loop(runs.store.judgments.of, run.draft)).values() if run.draft and run.judging else ()
    refinement = run.refinement
    reviewed = refinement is not None and refinement.review
    if not reviewed and any(evaluation.outcome == "failed" or evaluation.unjudged for evaluation in evaluations):
        return True
    if refinement and undecided_metrics(
        {evaluation.metric: evaluation for evaluation in evaluations}, refinement.goals, refinement.judged_share
    ):
        return True
    return await _closed(runs, run, [evaluation for evaluation in evaluations if evaluation.missing])


def _built(store: Store, run: Run) -> Pack | KeyFacts | None:
    key = getattr(run.judging, run.kind)
    shelf = store.packs if run.kind == "pack" else store.keyfacts
    return shelf.get(key) if key else None


async def _closed(runs: OpenRuns, run: Run, lacking: list[Evaluation]) -> bool:
    """Return whether a hole in the pack behind these evaluations has been filled."""
    if not lacking:
        return False
    async with runs.visiting(run.id) as job_factory:
        assert run.judging is not None
        reference = (await off_loop(job_factory.panel, run.judging)).reference
        for evaluation in lacking:
            is_pack = "pack" in evaluation.details
            now = await (reference.pack(complete=True) if is_pack else reference.keyfacts(complete=True))
            rested = (evaluation.details.get("pack", evaluation.details.get("keyfacts")), evaluation.missing)
            if (now.id, now.missing) != rested:
                return True
    return False


AT_ONCE = 8
"""How many chapters are worked on concurrently; the run's limits bound the number of requests."""
_LEFT_OUT_OF_CHAPTERS = (IncompleteError, NotShrinkingError, RejectedRequest, ReplyError)
"""Errors that end only one chapter."""


async def draft_chapters(runs: OpenRuns, run: Run) -> bool:
    """Run all chapters to their end; returns whether the whole can continue. An error that ends one of them ends the
    run after the others have finished, since their cost is already spent. With a used-up budget, the available chapters
    become the draft of the whole."""
    store = runs.store
    try:
        async with runs.at_work(run.id) as job:
            chapters, limits = await off_loop(store.chapters.of, run.id), job.run.limits
            budget = Budget(
                max_calls=limits.max_calls,
                max_cost=limits.max_cost,
                budget_key=run.id,
                outer=runs.budget,
                deadline=limits.deadline,
            )
            work = _ChapterRuns(runs, job, budget, asyncio.Semaphore(AT_ONCE), len(chapters))
            # Planning errors of all chapters are raised before the first call.
            planned = sum([await work.prepare(chapter) for chapter in chapters if not chapter.run])
            job.observe(StageStarted("chapters", planned))
            ended = await asyncio.gather(*map(work.chapter, chapters), return_exceptions=True)
            if failures := [error for error in ended if isinstance(error, BaseException)]:
                raise next((failure for failure in failures if not isinstance(failure, BudgetError)), failures[0])
    except BudgetError:
        if (await off_loop(store.runs.get, run.id)).draft is None or run.kind == "evaluate":
            raise
        return False
    return True


@dataclass(slots=True)
class _ChapterRuns:
    """The chapters of one run while they are worked on."""

    runs: OpenRuns
    job: Job
    budget: Budget
    room: asyncio.Semaphore
    count: int
    done: int = 0
    prepared: dict[int, PreparedDocument] = field(default_factory=dict)

    async def prepare(self, chapter: ChapterRun) -> int:
        """Prepare a new chapter under the settings of the whole; returns how many calls its draft takes."""
        document = chapter_document(self.job.document, chapter.title, chapter.chunk.span)
        settings = chapter_settings(self.job.run.settings, document)
        writer = self.runs.model_roles.objects.get(settings.model)
        prepared = await off_loop(prepare, document, settings, writer)
        self.prepared[chapter.chunk.index] = prepared
        return prepared.plan.expected_calls

    async def chapter(self, chapter: ChapterRun) -> None:
        """Finish the summary of a chapter and store it for the whole."""
        async with self.room:
            part = await self._recorded(chapter)
            self.runs.budgets[part.id] = self.budget
            self.runs.limited[part.id] = self.job.run.limits
            if part.status != "done" or await may_gain(self.runs, part):
                with nested_run(chapter.title, self.job.run.id):
                    part = await self._carried_out(chapter, part)
            await self._keep(chapter, part)
            self.done += 1
            self.job.observe(PartDone(chapter.title, self.done, self.count))

    async def _recorded(self, chapter: ChapterRun) -> Run:
        """Return the run of a chapter, recording it if new."""
        run, store = self.job.run, self.runs.store
        if chapter.run:
            return await off_loop(store.runs.get, chapter.run)
        order = order_of_chapter(run.order)
        prepared = self.prepared.pop(chapter.chunk.index)

        def recorded() -> Run:
            with store.transaction():
                part = record(prepared, order, store, tuple(self.runs.own.values()))
                store.chapters.put(replace(chapter, run=part.id), run=run.id)
            return part

        part = await off_loop(recorded)
        self.runs.prepared[part.id] = prepared
        return part

    async def _carried_out(self, chapter: ChapterRun, part: Run) -> Run:
        """Return the run after it has ended. A chapter without a summary leaves a gap in the whole."""
        store = self.runs.store
        try:
            await drive(self.runs, part)
        except _LEFT_OUT_OF_CHAPTERS as error:
            gaps = await off_loop(store.runs.gaps.of, part.id)
            if part.settings.query is None or gaps:
                await self.job.gap(chapter.chunk.index, error)
            else:
                self.job.observe(Notice("it says nothing about the question"))
        part = await off_loop(store.runs.get, part.id)
        if part.status == "stopped":
            problem = part.error or {}
            kind = DeadlineError if part.stop_reason == DeadlineError.code else BudgetError
            raise kind(problem.get("message", "the budget is used up"), fix=stored_advice(problem))
        return part

    async def _keep(self, chapter: ChapterRun, part: Run) -> None:
        """Keep the summary of a chapter as what the whole is made from."""
        store, job, chunk = self.runs.store, self.job, chapter.chunk
        if part.draft is None or part.status != "done":
            return
        draft = await off_loop(store.runs.draft, part.draft)
        tokens, limit = job.tokenizer.count(draft.text), part.settings.words or draft.words
        piece = Piece(0, chunk.index, chunk.index, chunk.index, draft.text, draft.words, tokens, limit)
        await off_loop(store.runs.add_piece, job.run.id, piece, [job.part(chunk)])
        await job.close_gap(chunk.index)


async def carry_out(
    runs: OpenRuns, run: Run, answer: AnswerLike | None = None, reviewer: Reviewer | None = None
) -> None:
    """Work on a run until it ends or stops. `answer` is for a run that waits for a person, and `reviewer` answers its
    next questions."""
    if run.kind == "compare":
        await compare(runs, run)
    elif run.kind in REFERENCES.values():
        await build(runs, run)
    else:
        by_chapter = run.settings.by_chapter and answer is None
        if not by_chapter or await draft_chapters(runs, run):
            await drive(runs, run, answer, reviewer)
