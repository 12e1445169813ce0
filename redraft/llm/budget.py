"""Hard limits on calls and money: a call that could pass one is not made."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redraft.errors import BudgetError, StoreError
from redraft.store.bookings import Booking, Bookings, NoRoomError, ReservationTerms
from redraft.store.calls import Call
from redraft.store.connection import off_loop

# How long it takes at most to see that another process has settled a call.
_LOOK_AGAIN = 0.2


class Budget:
    """What runs may still use together. All of it is in the ledger: what was used before, and what others use now."""

    def __init__(
        self, *, max_calls: int | None, max_cost: float | None, pot: str | None = None, paced: bool = False
    ) -> None:
        """A `pot` is what every process calls it that draws on the same budget; without one nobody else does.

        Where they are `paced` they keep to the limits a minute together, too.
        """
        self.terms = ReservationTerms(pot or secrets.token_hex(8), max_calls, max_cost)
        self.paced = paced
        self.in_flight = 0
        """How many calls are on their way, into the ledger or to the provider."""
        self._runs: set[str] = set()
        self._unsettled: dict[int, StoreError] = {}
        """The calls of which the ledger does not know that they are over, since it could not be written to."""
        self._changes = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def booked(self, bookings: Bookings, call: Call) -> AsyncIterator[Booking]:
        """Have a call on record at its most while it is made; settled, it leaves what it did not use.

        Most calls cost less than their most. So while others are in flight a call without room waits for what they
        leave; it is refused only when nothing else is under way, and whatever was paid for has arrived.
        """
        while True:
            changes = self._changes
            self.in_flight += 1
            booking, lack = Booking(), None
            try:
                await off_loop(bookings.book, booking, call, self.terms)
                self._runs.add(call.run or "")
                yield booking
            except NoRoomError as error:
                lack = error
            except StoreError as error:
                self._unsettled |= {} if booking.call is None else {booking.call: error}
                raise
            finally:
                try:
                    if not booking.sent:
                        await off_loop(bookings.take_back, booking)
                finally:
                    self.in_flight -= 1
                    unchanged = self._changes == changes
                    # Those that have failed wake nobody while there is a call to wait for.
                    if lack is None or not self.in_flight:
                        self._wake()
            if lack is None:
                return
            if unchanged:
                await self._wait(call, lack)

    def _wake(self) -> None:
        self._changes += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def _wait(self, call: Call, lack: NoRoomError) -> None:
        """Wait for what others leave. Where there are none, nothing comes of waiting."""
        if self.in_flight:
            await self._changed.wait()
        elif {run for _, run in lack.in_flight} - self._runs:
            await asyncio.sleep(_LOOK_AGAIN)
        elif lost := [self._unsettled[one] for one, _ in lack.in_flight if one in self._unsettled]:
            raise lost[0]
        else:
            raise self._used_up(call, lack)

    def _used_up(self, call: Call, lack: NoRoomError) -> BudgetError:
        """What stands in the way of a call, and what to do about it."""
        terms = self.terms
        if terms.max_calls is not None and lack.calls >= terms.max_calls:
            return BudgetError(
                f"--max-calls {terms.max_calls} is used up", hint="resume the run with a higher --max-calls"
            )
        if terms.max_cost is not None and lack.usd > terms.max_cost:
            return BudgetError(
                f"${lack.usd:.4f} is spent, ${lack.usd - terms.max_cost:.4f} more than --max-cost {terms.max_cost:g}:"
                " replies were longer than they were allowed to be; no further call is made",
                hint="see that the server keeps to the limit of a reply, or resume the run with a higher --max-cost",
            )
        return BudgetError(
            f"the next call could cost ${call.booked_usd or 0.0:.4f}, and with ${lack.usd:.4f} spent that may pass"
            f" --max-cost {terms.max_cost:g}",
            hint="resume the run with a higher --max-cost",
        )
