"""A worker that has no document for each of its places makes calls for the runs of others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace

from redraft.domain import Document
from redraft.errors import ModelError, RateLimited, RejectedRequest, ReplyError, StoreError, TransientError
from redraft.events import unobserved
from redraft.models.budget import Budget
from redraft.models.prices import PriceTable
from redraft.models.spread.model import SpreadModel
from redraft.models.spread.wire import read, told
from redraft.prompts.book import PromptBook
from redraft.runs.staff import at_work, hire
from redraft.settings import Limits
from redraft.store.errands import Errand, State
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.store.threads import off_loop
from redraft.text.languages import reading

_SHORTEST, _LONGEST, _SLOWER = 0.1, 0.5, 1.5
_KEPT_OPEN = 60.0
_ONCE_MORE = 0.5
# The request's own: whoever asked would hear the same.
_OF_THE_REQUEST = (ReplyError, RejectedRequest)
# These say nothing of what comes next.
_OF_THE_MOMENT = (TransientError, RateLimited)


@dataclass(frozen=True, slots=True)
class _Known:
    """What whoever is asked in a run must be told of it."""

    document: Document
    book: PromptBook


@dataclass(slots=True)
class _Opened:
    """Who is asked in a run of another worker, and how its document is read."""

    models: list[SpreadModel]
    context: Context
    closing: AsyncExitStack
    calls: int = 0
    used: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Helper:
    """Makes calls of other workers' runs, as many at once as its worker has room for."""

    store: Store
    batch: str
    worker: str
    limits: Limits
    prices: PriceTable | None
    budget: Budget
    lease_seconds: float
    in_hand: dict[asyncio.Task[None], Errand] = field(default_factory=dict)
    _opened: dict[str, _Opened] = field(default_factory=dict)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _not_for: set[str] = field(default_factory=set)
    """The runs whose calls cannot be made here: for want of a key, say, or of the run's own prompts."""

    async def work(self, spare: Callable[[], int]) -> None:
        """Make calls as long as this is not cancelled; `spare` says for how many there is room."""
        pause = _SHORTEST
        try:
            while True:
                await self._put_away()
                taken = await self._taken(spare())
                for errand in taken:
                    task = asyncio.create_task(self._one(errand))
                    self.in_hand[task] = errand
                pause = _SHORTEST if taken else min(_LONGEST, pause * _SLOWER)
                if self.in_hand:
                    done, _ = await asyncio.wait(self.in_hand, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                    pause = _SHORTEST if done else pause
                else:
                    await asyncio.sleep(pause)
        finally:
            for task in self.in_hand:
                task.cancel()
            await asyncio.gather(*self.in_hand, return_exceptions=True)
            for opened in self._opened.values():
                await opened.closing.aclose()

    async def renew(self) -> None:
        """Keep what is in hand."""
        if self.in_hand:
            await off_loop(self.store.errands.renew, self.worker, self.lease_seconds)

    async def _taken(self, room: int) -> list[Errand]:
        if room <= 0 or not await off_loop(self.store.errands.are_open, self.batch, self.worker, self._not_for):
            return []
        take = self.store.errands.take
        return await off_loop(take, self.batch, self.worker, room, self.lease_seconds, self._not_for)

    async def _put_away(self) -> None:
        """Forget what is made, and close what is not needed any more. Where that could not be stored, there is no going
        on."""
        for task in [one for one in self.in_hand if one.done()]:
            del self.in_hand[task]
            task.result()
        for run, opened in list(self._opened.items()):
            if not opened.calls and time.monotonic() - opened.used > _KEPT_OPEN:
                del self._opened[run]
                await opened.closing.aclose()

    async def _one(self, errand: Errand) -> None:
        """Make a call, or give it back."""
        state: State = "back"
        failure: str | None = None
        try:
            state, failure = await self._made(errand)
        except asyncio.CancelledError:
            await off_loop(self.store.errands.settle, errand, self.worker, "open")
            raise
        except StoreError:
            await asyncio.sleep(_ONCE_MORE)
        except Exception as error:  # noqa: BLE001 - whatever it is, the one who asked makes the call
            if not isinstance(error, _OF_THE_MOMENT):
                self._not_for.add(errand.run)
        await off_loop(self.store.errands.settle, errand, self.worker, state, failure)

    async def _made(self, errand: Errand) -> tuple[State, str | None]:
        async with self._opening:
            opened = self._opened.get(errand.run) or await self._open(errand.run)
            self._opened[errand.run] = opened
            opened.calls += 1
        try:
            request = read(errand.request)
            for model in opened.models:
                if model.is_asked_so(request, errand.key):
                    context = opened.context.copy()
                    await asyncio.create_task(model.make(request, errand.key), context=context)
                    return "made", None
            # Another version, or other prompts.
            self._not_for.add(errand.run)
            return "back", None
        except ModelError as error:
            if not isinstance(error, _OF_THE_REQUEST):
                raise
            return "failed", told(error)
        finally:
            opened.calls -= 1
            opened.used = time.monotonic()

    async def _open(self, key: str) -> _Opened:
        """Who is asked in a run, as its own worker has them, but with this one's keys, places and connections."""
        run = replace(await off_loop(self.store.runs.get, key), limits=self.limits)
        known = await off_loop(self._known, run)
        hired = await off_loop(hire, run.settings, run.judging, run.limits, self.prices, refinement=run.refinement)
        async with AsyncExitStack() as stack:
            staff = await stack.enter_async_context(at_work(hired, run, known, self.store, unobserved, self.budget))
            models = [one for one in staff.models if isinstance(one, SpreadModel)]
            with reading(known.document):
                return _Opened(models, copy_context(), stack.pop_all())

    def _known(self, run: Run) -> _Known:
        return _Known(self.store.documents.get(run.document), PromptBook(run.settings.prompts))
