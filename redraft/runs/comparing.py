"""Comparing two summaries of a document: which of them the judges prefer."""

from __future__ import annotations

from redraft.domain import GIVEN, OTHER
from redraft.errors import UsageError
from redraft.evaluators.base import Case, statements_of
from redraft.evaluators.preference import prefer, same
from redraft.evaluators.statistics import Statistics
from redraft.events import StageStarted
from redraft.runs.floor import Floor
from redraft.store.runs import Run
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
    first, second = made[GIVEN], made[OTHER]
    async with floor.working(run.id) as foreman:
        for draft in (first, second):
            case = Case(statements_of(draft.text), (), foreman.desk(), text=draft.text)
            await off_loop(store.judgments.keep, draft.id, await Statistics().evaluate(case))
        preferred = same()
        if first.text.strip() != second.text.strip():
            referees = foreman.referees(run.judging)
            floor.observe(StageStarted("preference", 2 * len(referees)))
            document, tokens = foreman.prepared.document, foreman.prepared.plan.document_tokens
            preferred = await prefer(referees, document, tokens, first.text, second.text)
        await off_loop(store.judgments.keep, first.id, preferred)
    await floor.finish(run.id, first.id, "complete")
