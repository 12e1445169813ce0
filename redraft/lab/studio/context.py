"""What the pages of experiments keep while the studio is open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.requests import Request

from redraft.lab.studio.experiment_orders import ExperimentPlan
from redraft.lab.studio.experiment_work import ExperimentManager
from redraft.store.connection import off_loop
from redraft.studio.context import StudioContext, context_of
from redraft.studio.orders import ExpiringItems

PACKAGE = "redraft.lab.studio"


@dataclass(slots=True)
class LabContext:
    """The work on experiments. `manager` is None in a read-only studio."""

    manager: ExperimentManager | None
    planned: ExpiringItems[ExperimentPlan] = field(default_factory=ExpiringItems)
    """The experiments waiting for confirmation."""


@asynccontextmanager
async def open_lab(context: StudioContext) -> AsyncIterator[LabContext]:
    """Open the context of experiments; running ones are stopped at the end, and can be resumed."""
    if context.work is None:
        yield LabContext(None)
        return
    config, store = context.config, context.work.session.store
    manager = ExperimentManager(store, config.results, config.limits, config.prices)
    try:
        yield LabContext(manager)
    finally:
        await off_loop(manager.close)


def lab_of(request: Request) -> LabContext:
    """Return the context of a request for an experiment."""
    context: LabContext = context_of(request).added[PACKAGE]
    return context


def manager_of(request: Request) -> ExperimentManager:
    """Return the work on experiments; a read-only studio has no route that needs it."""
    manager = lab_of(request).manager
    assert manager is not None, "a read-only studio has no route that leads here"
    return manager
