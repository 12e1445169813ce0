"""Where the runs of an experiment are made: each one once, however often the experiment is repeated, on one budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from redraft.domain import Document, content_id
from redraft.errors import BudgetError
from redraft.events import Event, Noted, Observer, PartDone, RunStarted, StageStarted, unobserved
from redraft.history.results import Result, read_result
from redraft.models.budget import Budget
from redraft.models.prices import PriceTable
from redraft.runs.preparing import Order, identify
from redraft.runs.workshop import Workshop
from redraft.settings import Limits, Settings
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.store.threads import off_loop
from redraft.text.documents import load


@dataclass(slots=True)
class Watch:
    """Follows one run among many: remembers which it is, and passes on what is worth telling of it."""

    name: str
    observer: Observer
    run: str | None = None

    def __call__(self, event: Event) -> None:
        """Take note of an event. Which stage a run is at says nothing where many are."""
        if isinstance(event, RunStarted):
            self.run = event.run
        elif isinstance(event, Noted):
            self.observer(Noted(f"{self.name}: {event.message}"))
        elif not isinstance(event, StageStarted | PartDone):
            self.observer(event)


@dataclass(slots=True)
class Bench:
    """Makes runs, or finds them again. Their limits hold for all of them together, over all repetitions."""

    store: Store
    limits: Limits
    prices: PriceTable | None = None
    observer: Observer = unobserved
    stopped: BudgetError | None = None
    """Why no more runs are begun."""
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = Budget(max_calls=self.limits.max_calls, max_cost=self.limits.max_cost)

    def draw_on(self, *experiment: str) -> None:
        """Say which experiment this is, so that all processes that are at it draw on one budget."""
        pot = content_id("\n".join(experiment))
        self.budget = Budget(max_calls=self.limits.max_calls, max_cost=self.limits.max_cost, pot=pot)

    async def known(self, document: Document, settings: Settings, order: Order) -> Run | None:
        """The run that asks this already, one that is done before all others. What it has used counts as used."""
        run = await off_loop(self._found, document, settings, order)
        if run is not None:
            await self.count(run.id)
        return run

    def _found(self, document: Document, settings: Settings, order: Order) -> Run | None:
        runs = self.store.runs.same(identify(document, settings, order))
        return next((run for run in runs if run.status == "done"), runs[-1] if runs else None)

    async def count(self, run: str) -> None:
        """Count what a run used before, and will use, into the budget."""
        await off_loop(self.store.bookings.share, self.budget.terms.pot, run)

    async def made(self, document: Document, settings: Settings, order: Order, watch: Watch) -> Result:
        """The run when it is done: found again, gone on with, or begun. Failures are the run's own, and raised."""
        run = await self.known(document, settings, order)
        if run is not None:
            watch.run = run.id
            if run.status == "done":
                return await off_loop(read_result, self.store, run.id)
        if self.stopped is not None:
            raise self.stopped
        try:
            async with Workshop(
                self.store, limits=self.limits, prices=self.prices, observer=watch, budget=self.budget
            ) as shop:
                result = await (shop.resume(run.id) if run else shop.begin_order(document, settings, order))
        except BudgetError as error:
            self.stopped = error
            raise
        if result.run.status == "stopped":
            # It kept what it had of a draft, which is none to judge a model by.
            self.stopped = BudgetError((result.run.error or {}).get("message", "the budget is used up"))
            raise self.stopped
        return result


def load_all(sources: Iterable[str]) -> list[Document]:
    """The documents of some sources, each document once."""
    documents = (load(source) for source in sources)
    return list({document.id: document for document in documents}.values())
