"""Making the runs of an experiment: what fails is recorded, what the budget does not reach is not made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from redraft.domain import Document
from redraft.errors import BudgetError, StoreError
from redraft.events import PartDone
from redraft.history.results import Result
from redraft.runs.bench import Bench, Watch
from redraft.runs.failures import Failure, failure
from redraft.runs.preparing import Order
from redraft.settings import Settings


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a run: its result, or why there is none; neither where the budget was used up before."""

    result: Result | None = None
    run: str | None = None
    failure: Failure | None = None

    @property
    def status(self) -> str:
        """Whether it is `done`, has `failed`, or was `not made`."""
        if self.result is not None:
            return "done"
        return "failed" if self.failure else "not made"


@dataclass(slots=True)
class Making:
    """Makes the runs of one experiment, as many at once as the limits allow."""

    bench: Bench
    of: int
    """How many there will be, for those who watch."""
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _crowd: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._crowd = asyncio.Semaphore(self.bench.limits.concurrency)

    async def made(self, stage: str, name: str, document: Document, settings: Settings, order: Order) -> Made:
        """A run when it is done, or what kept it from being."""
        async with self._crowd:
            found = await self._made(stage, Watch(name, self.bench.observer), document, settings, order)
        self.tell(f"{name}: {found.status}")
        return found

    def tell(self, what: str) -> None:
        """Say that one more of the parts has come to its end."""
        self.bench.observer(PartDone(what, next(self._numbers), self.of))

    async def _made(self, stage: str, watch: Watch, document: Document, settings: Settings, order: Order) -> Made:
        try:
            result = await self.bench.made(document, settings, order, watch)
        except BudgetError:
            return Made(run=watch.run)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            return Made(run=watch.run, failure=failure(stage, error))
        return Made(result, result.run.id)
