"""Judging a summary that is there, refining it, and refining it otherwise from any of its drafts."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.domain import Document
from redraft.errors import RunError
from redraft.events import Observer, unobserved
from redraft.history.results import Result
from redraft.models.base import Model
from redraft.models.prices import PriceTable
from redraft.runs.drafting import Means
from redraft.runs.preparing import Order
from redraft.runs.session import Reviewer
from redraft.settings import (
    BuildKeyfacts,
    BuildName,
    BuildQuestions,
    Evaluate,
    Judging,
    Limits,
    Refine,
    Refinement,
    Settings,
)
from redraft.store.store import Store


async def evaluate(
    source: str | Document,
    summary: str,
    settings: Settings | None = None,
    *,
    store: Store,
    judging: Judging | None = None,
    limits: Limits | None = None,
    prices: PriceTable | None = None,
    model: Model | None = None,
    judges: Sequence[Model] = (),
    observer: Observer = unobserved,
) -> Result:
    """Judge a summary of a document by every metric that the judging names, or by all of them."""
    means = Means(store, limits, prices, model, judges, None, observer)
    settings = settings or Settings()
    order = Order(Evaluate(judging=means.judging(judging, None, settings)), given=summary)
    return await means.begin(source, settings, order)


async def refine(
    source: str | Document,
    summary: str,
    refinement: Refinement,
    settings: Settings | None = None,
    *,
    store: Store,
    judging: Judging | None = None,
    limits: Limits | None = None,
    prices: PriceTable | None = None,
    model: Model | None = None,
    judges: Sequence[Model] = (),
    reviewer: Reviewer | None = None,
    observer: Observer = unobserved,
) -> Result:
    """Refine a summary until it meets its goals, or as far as it goes. Its limit is `words`, or else its own length."""
    means = Means(store, limits, prices, model, judges, reviewer, observer)
    settings = settings or Settings()
    purpose = Refine(judging=means.judging(judging, refinement, settings), refinement=refinement)
    order = Order(purpose, given=summary)
    return await means.begin(source, settings, order)


async def build_pack(
    source: str | Document,
    settings: Settings | None = None,
    *,
    store: Store,
    what: BuildName = "questions",
    judging: Judging | None = None,
    limits: Limits | None = None,
    prices: PriceTable | None = None,
    model: Model | None = None,
    judges: Sequence[Model] = (),
    observer: Observer = unobserved,
) -> Result:
    """Build what a document's summaries are judged by, in a run that judges none; what is known is kept."""
    means = Means(store, limits, prices, model, judges, None, observer)
    settings = settings or Settings()
    judging = means.seated((judging or Judging()).model_copy(update={"metrics": ()}), settings)
    purpose = BuildQuestions(judging=judging) if what == "questions" else BuildKeyfacts(judging=judging)
    return await means.begin(source, settings, Order(purpose))


async def fork(
    key: str,
    number: int,
    *,
    store: Store,
    refinement: Refinement,
    limits: Limits | None = None,
    prices: PriceTable | None = None,
    model: Model | None = None,
    judges: Sequence[Model] = (),
    reviewer: Reviewer | None = None,
    observer: Observer = unobserved,
) -> Result:
    """Refine the draft of round `number` of a run anew, in a run of its own. What was judged is not asked again."""
    run = store.runs.get(key)
    rounds = store.judgments.rounds(run.id)
    drafts = {made.number: made.draft for made in rounds}
    if not rounds and run.draft is not None:
        drafts[0] = run.draft
    draft = drafts.get(number)
    if draft is None:
        there = ", ".join(str(one) for one in sorted(drafts))
        raise RunError(f"run {run.id} has no draft of round {number}", hint=f"its rounds are: {there}")
    means = Means(store, limits, prices, model, judges, reviewer, observer)
    judging = run.judging.model_copy(update={"metrics": ()}) if run.judging else None
    purpose = Refine(judging=means.judging(judging, refinement, run.settings), refinement=refinement)
    order = Order(purpose, given=store.runs.draft(draft).text, parent=run.id)
    return await means.begin(store.documents.get(run.document), run.settings, order)
