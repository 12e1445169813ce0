"""Making a summary: from a source and settings to a stored run, and from a stored run to its result."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from redraft.domain import Document
from redraft.errors import RunError, UsageError
from redraft.events import Observer, unobserved
from redraft.history.results import Result, read_result
from redraft.models.base import Model
from redraft.models.budget import Budget
from redraft.models.prices import PriceTable
from redraft.runs.opening import resolve
from redraft.runs.preparing import Order, Prepared, check_judging, prepare, recall, record
from redraft.runs.session import Reviewer, Session
from redraft.runs.staff import Hired, by_identity, hire, located
from redraft.settings import USUAL_METRICS, Judging, Limits, Refinement, Settings
from redraft.store.runs import EXPERIMENTS, Run
from redraft.store.store import Store


@dataclass(frozen=True, slots=True)
class Means:
    """What a run works with. `model` and `judges` take the place of those that the settings name."""

    store: Store
    limits: Limits | None = None
    prices: PriceTable | None = None
    model: Model | None = None
    judges: Sequence[Model] = ()
    reviewer: Reviewer | None = None
    observer: Observer = unobserved
    budget: Budget | None = None
    """One for several runs together; otherwise each has its own."""

    async def begin(self, source: str | Document, settings: Settings, order: Order) -> Result:
        """Begin a run of any kind, and work on it to its end."""
        limits = self.limits or Limits()
        prepared = await asyncio.to_thread(prepare, source, settings, self.model, order.given)
        if order.judging is not None:
            # Whatever is amiss with how drafts are judged is said before the first one is paid for.
            await asyncio.to_thread(check_judging, order.judging, prepared, self.store)
        hired = self._hired(prepared.settings, order.judging, order.refinement, limits)
        run = record(prepared, order, limits, self.store)
        with self.store.claim(run.id):
            return await self._session(run, prepared, hired).go()

    async def go_on(self, key: str) -> Result:
        """Go on with a run of any kind where it stopped."""
        store = self.store
        run = store.runs.get(key)
        if run.kind in EXPERIMENTS:
            raise RunError(f"run {run.id} is part of an experiment", hint=f"repeat `redraft experiment {run.kind}`")
        if self.model is None:
            resolve(run.settings)
        elif self.model.identity != run.settings.model:
            raise RunError(f"run {run.id} was begun with the model {run.settings.model}, not {self.model.identity}")
        if run.status == "done" and not store.runs.gaps(run.id):
            return read_result(store, run.id)
        with store.claim(run.id):
            if self.limits is not None:
                store.runs.set_limits(run.id, self.limits)
            prepared = await asyncio.to_thread(recall, store, run)
            run = store.runs.get(run.id)
            hired = self._hired(run.settings, run.judging, run.refinement, run.limits)
            return await self._session(run, prepared, hired).go()

    def _hired(
        self, settings: Settings, judging: Judging | None, refinement: Refinement | None, limits: Limits
    ) -> list[Hired]:
        if judging and self.judges and tuple(judge.identity for judge in self.judges) != judging.judges:
            raise UsageError(f"the run's judges are {', '.join(judging.judges)}, and others were given")
        return hire(settings, judging, limits, self.prices, refinement=refinement, objects=self._objects())

    def _objects(self) -> dict[str, Model]:
        return by_identity([*([self.model] if self.model else []), *self.judges])

    def _session(self, run: Run, prepared: Prepared, hired: Sequence[Hired]) -> Session:
        return Session(self.store, run, prepared, hired, self.observer, self.reviewer, self.budget)

    def judging(self, judging: Judging | None, refinement: Refinement | None, settings: Settings) -> Judging:
        """How drafts are judged: by the metrics of the goals too, and by the judges that were handed over."""
        judging = judging or Judging()
        if self.judges:
            judging = judging.model_copy(update={"judges": tuple(judge.identity for judge in self.judges)})
        if self.model:
            settings = settings.model_copy(update={"model": self.model.identity})
        judging = located(judging, settings, refinement, self._objects())
        goals = refinement.goals if refinement else {}
        metrics = tuple(dict.fromkeys([*judging.metrics, *goals])) or (() if judging.build else USUAL_METRICS)
        return judging.model_copy(update={"metrics": metrics})


async def summarize(
    source: str | Document,
    settings: Settings | None = None,
    *,
    store: Store,
    refinement: Refinement | None = None,
    judging: Judging | None = None,
    limits: Limits | None = None,
    prices: PriceTable | None = None,
    model: Model | None = None,
    judges: Sequence[Model] = (),
    reviewer: Reviewer | None = None,
    observer: Observer = unobserved,
) -> Result:
    """Summarize a document in a new run; refine the summary, or judge it, where that is asked for too.

    `model` takes the place of the one that the settings name, and `judges` of those that the judging names.
    """
    means = Means(store, limits, prices, model, judges, reviewer, observer)
    settings = settings or Settings()
    wanted = means.judging(judging, refinement, settings) if judging or refinement else None
    return await means.begin(source, settings, Order(wanted, refinement))


async def resume(
    key: str,
    *,
    store: Store,
    limits: Limits | None = None,
    prices: PriceTable | None = None,
    model: Model | None = None,
    judges: Sequence[Model] = (),
    reviewer: Reviewer | None = None,
    observer: Observer = unobserved,
) -> Result:
    """Go on with a run where it stopped, under the settings that it began with. Other limits replace its own.

    A run that is done stays as it is; but the chunks that it had to leave out are tried again.
    """
    return await Means(store, limits, prices, model, judges, reviewer, observer).go_on(key)
