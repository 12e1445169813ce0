"""Comparing two summaries of a document: which of them the judges prefer."""

from __future__ import annotations

from redraft.agents.evidence import EvidenceDesk
from redraft.domain import GIVEN, OTHER, Draft
from redraft.errors import RunError, UsageError
from redraft.evaluators.base import Case, statements_of
from redraft.evaluators.preference import prefer, same
from redraft.evaluators.statistics import Statistics
from redraft.events import RunDone, RunStarted, StageStarted
from redraft.runs.floor import Floor
from redraft.runs.jobs import desk_of
from redraft.runs.preparing import recall
from redraft.runs.recording import on_record
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.store.threads import off_loop
from redraft.text.words import count_words


def check_summaries(first: str, second: str) -> None:
    """Refuse a summary that says nothing: there is no preference for silence."""
    for name, text in (("A", first), ("B", second)):
        if not count_words(text):
            raise UsageError("there is not one word in it", place=f"summary {name}")


async def compare(floor: Floor, run: Run) -> None:
    """Which of the two summaries is better, kept with the first. Of one text twice nobody need be asked."""
    assert run.judging is not None
    store = floor.store
    made = {draft.node: draft for draft in await off_loop(store.runs.drafts, run.id)}
    if not {GIVEN, OTHER} <= made.keys():
        raise RunError(f"the summaries of run {run.id} were never stored", hint="begin it anew")
    first, second = made[GIVEN], made[OTHER]
    if first.text.strip() == second.text.strip():
        await _of_one_text(floor, run, first, second)
        return
    async with floor.working(run.id) as foreman:
        await _measured(store, foreman.desk(), first, second)
        referees = foreman.referees(run.judging)
        floor.observe(StageStarted("preference", 2 * len(referees)))
        document, tokens = foreman.prepared.document, foreman.prepared.document_tokens
        preferred = await prefer(referees, document, tokens, first.text, second.text)
        await off_loop(store.judgments.keep, first.id, preferred)
    await floor.finish(run.id, first.id, "complete")


async def _of_one_text(floor: Floor, run: Run, first: Draft, second: Draft) -> None:
    """A tie, for which no model is opened: none of them need have a key."""
    store = floor.store
    with store.claim(run.id):
        async with on_record(store, run.id):
            floor.observe(RunStarted(run.id))
            prepared = floor.prepared.pop(run.id, None)
            if prepared is None:
                prepared = await off_loop(recall, store, run)
            await _measured(store, desk_of(prepared, [prepared.settings]), first, second)
            await off_loop(store.judgments.keep, first.id, same())
            await off_loop(store.runs.choose_draft, run.id, first.id)
    floor.observe(RunDone(run.id, "complete"))


async def _measured(store: Store, desk: EvidenceDesk, *drafts: Draft) -> None:
    """Keep the statistics of both."""
    for draft in drafts:
        case = Case(statements_of(draft.text), (), desk, text=draft.text)
        await off_loop(store.judgments.keep, draft.id, await Statistics().evaluate(case))
