"""Where the calls of a worker's runs wait: for a place of its own, or until another worker has made them.

A worker makes as many calls at once as fall to it. What is ready beyond that waits here, in its order. As long as other
workers have nothing of their own to do it is put out for them, too: whoever is first has it. A call that one of them
has made is answered from the ledger, as any call would be that was made before.

The database is looked at only while something is put out, or may be: ten times a second, less often when nothing
changes, and when a place is free for what is put out.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

from redraft.models.limiter import Limiter
from redraft.models.spread.wire import failure_in
from redraft.store.errands import Errand, Errands, Place, Standing
from redraft.store.threads import off_loop

_SHORTEST, _LONGEST, _SLOWER = 0.1, 0.4, 1.3
# Of what others have room for, so much more is put out: what they take up while nobody here has looked yet.
_AHEAD = 4
FIRST: ContextVar[bool] = ContextVar("first", default=False)
"""Whether a call comes before all others that wait: there is something else to be asked only when it is answered."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A call that waits. `answered` says whether another worker has made it; if not it is to be made here, now."""

    place: Place
    limiter: Limiter
    write: Callable[[], str | None]
    answered: asyncio.Future[bool] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    first: bool = field(default_factory=FIRST.get)
    out: bool = False
    taken: bool = False
    seen: bool = False
    """Whether it has waited for a look at the database. What is over sooner is not worth the telling."""
    only_here: bool = False

    @property
    def may_go_out(self) -> bool:
        return self.seen and not self.out and not self.only_here and not self.answered.done()


class Board:
    """The calls of one worker's runs that wait. All of it happens in one event loop."""

    def __init__(self, errands: Errands, batch: str, asker: str) -> None:
        self._errands = errands
        self._batch = batch
        self._asker = asker
        self._room = 0
        self._here: Counter[Limiter] = Counter()
        self._waiting: dict[Place, _Waiting] = {}
        self._adopted: set[Place] = set()
        self._over: set[Place] = set()
        """What is still on record and that nobody waits for."""
        self._woken = asyncio.Event()
        self._tending: asyncio.Task[None] | None = None

    @property
    def most(self) -> int:
        """How many calls are put out at once, at most."""
        return self._room + -(-self._room // _AHEAD)

    def others_have(self, room: int) -> None:
        """Say for how many calls other workers have room."""
        if room != self._room:
            self._room = room
            self._wake()

    @asynccontextmanager
    async def of(self, run: str) -> AsyncIterator[None]:
        """Within it calls of a run are put out. Those that others have in hand since before it was taken up are waited
        for, and asked by nobody else."""
        self._adopted |= await off_loop(self._errands.adopt, run, self._asker)
        try:
            yield
        finally:
            self._adopted = {place for place in self._adopted if place[0] != run}
            await off_loop(self._errands.clear, run)

    async def is_made_elsewhere(self, place: Place, limiter: Limiter, write: Callable[[], str | None]) -> bool:
        """Wait until another worker has made a call, or until there is a place for it here; that is to be given back.

        `write` is asked for the request, once it is to be put out; None is one that nobody else can make. Raises what
        the call has failed with, where nobody need try again.
        """
        adopted = place in self._adopted
        if not adopted and self._next(limiter) is None and self._has_place(limiter):
            self._here[limiter] += 1
            return False
        self._adopted.discard(place)
        one = _Waiting(place, limiter, write, out=adopted, taken=adopted)
        self._waiting[place] = one
        self._wake()
        try:
            return await one.answered
        except asyncio.CancelledError:
            if one.answered.done() and not one.answered.cancelled() and not one.answered.exception():
                # It was cancelled after it was told to go.
                self._here[limiter] -= not one.answered.result()
            raise
        finally:
            del self._waiting[place]
            if one.out:
                self._over.add(place)
            self._wake()

    def made_here(self, limiter: Limiter) -> None:
        """Give back the place of a call."""
        self._here[limiter] -= 1
        self._wake()

    def _has_place(self, limiter: Limiter) -> bool:
        return self._here[limiter] < limiter.places

    def _next(self, limiter: Limiter) -> _Waiting | None:
        """The first of those that nobody has in hand."""
        waiting = (one for one in self._in_order() if one.limiter is limiter)
        return next((one for one in waiting if not one.taken and not one.answered.done()), None)

    def _in_order(self) -> list[_Waiting]:
        return sorted(self._waiting.values(), key=lambda one: not one.first)

    def _wake(self) -> None:
        self._woken.set()
        if (self._waiting or self._over) and (self._tending is None or self._tending.done()):
            self._tending = asyncio.create_task(self._tend())

    async def _tend(self) -> None:
        """See to those who wait, as long as there are any."""
        pause, due = _SHORTEST, time.monotonic() + _SHORTEST
        try:
            while self._waiting or self._over:
                self._woken.clear()
                back = self._let_go()
                if back or (time.monotonic() >= due and self._concerns_others):
                    pause = _SHORTEST if await self._exchange(back) else min(_LONGEST, pause * _SLOWER)
                    due = time.monotonic() + pause
                if back:
                    # Somebody may have been quicker, and there is a place for the next.
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(due - time.monotonic() if self._concerns_others else None):
                        await self._woken.wait()
        except Exception as error:  # noqa: BLE001  (whoever waits is to hear of it)
            self._over.clear()
            for one in self._waiting.values():
                if not one.answered.done():
                    one.answered.set_exception(error)

    @property
    def _concerns_others(self) -> bool:
        return bool(self._room or self._over or any(one.out for one in self._waiting.values()))

    def _let_go(self) -> list[_Waiting]:
        """Have the first ones made here for whom there are places; returns those that must be called back before."""
        back: list[_Waiting] = []
        for limiter in {one.limiter for one in self._waiting.values()}:
            while self._has_place(limiter) and (one := self._next(limiter)) is not None:
                self._here[limiter] += 1
                if one.out:
                    one.taken = True
                    back.append(one)
                else:
                    one.answered.set_result(False)
        return back

    async def _exchange(self, back: list[_Waiting]) -> bool:
        """Look what became of what is put out, and put out what waits; whether anything has changed."""
        ours: set[Place] = set()
        try:
            ours = await off_loop(self._errands.call_back, [one.place for one in back]) if back else ours
        finally:
            # Where that could not be stored, nobody has their places either.
            for one in back:
                self._called_back(one, ours=one.place in ours)
        if over := set(self._over):
            await off_loop(self._errands.drop, over)
            self._over -= over
        changed = bool(over or back)
        if out := [one for one in self._waiting.values() if one.out]:
            standing = await off_loop(self._errands.standing, self._asker)
            changed |= sum(self._stands(one, standing.get(one.place)) for one in out) > 0
        return await self._put_out() or changed

    def _called_back(self, one: _Waiting, *, ours: bool) -> None:
        """One for which there is a place here is ours again, or somebody was quicker."""
        one.out = one.out and not ours
        if ours and not one.answered.done():
            one.answered.set_result(False)
        else:
            self._here[one.limiter] -= 1

    def _stands(self, one: _Waiting, standing: Standing | None) -> bool:
        """Take note of how a call stands that was put out; whether that is news."""
        before = one.taken
        one.taken = standing is not None and standing.state == "taken"
        if one.answered.done():
            return True
        if standing is None:
            one.out = False
        elif standing.state == "made":
            one.answered.set_result(True)
        elif standing.state == "failed" and standing.failure is not None:
            one.answered.set_exception(failure_in(standing.failure))
        elif standing.state == "back":
            one.out, one.only_here = False, True
            self._over.add(one.place)
        return one.answered.done() or not one.out or one.taken != before

    async def _put_out(self) -> bool:
        """Put out what has waited long enough, as much as others may have room for."""
        free = self.most - sum(one.out for one in self._waiting.values())
        chosen: list[Errand] = []
        for one in self._in_order():
            if len(chosen) < free and one.may_go_out:
                request = one.write()
                one.only_here, one.out = request is None, request is not None
                if request is not None:
                    chosen.append(Errand(*one.place, request, one.first))
            one.seen = True
        if chosen:
            await off_loop(self._errands.put_out, self._batch, self._asker, chosen)
        return bool(chosen)
