"""Hard limits on calls and money: a call that could pass one is not made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from redraft.errors import BudgetError

# A sum of many small costs is not exact, and a limit that is met to the cent is not passed.
_ROUNDING = 1e-9


@dataclass(slots=True)
class Reservation:
    """Room held for one call. Unless the call is `spent`, it is given back."""

    cost: float | None = None

    def spent(self, cost: float) -> None:
        """Record that the call was made, and what it cost."""
        self.cost = cost


class Budget:
    """What a run may still use. Calls in flight hold their worst case until they are settled."""

    def __init__(self, *, max_calls: int | None, max_cost: float | None, calls: int = 0, cost: float = 0.0) -> None:
        self._max_calls = max_calls
        self._max_cost = max_cost
        self.calls = calls
        self.cost = cost
        self._held_calls = 0
        self._held_cost = 0.0
        self._settled = asyncio.Event()

    @asynccontextmanager
    async def reserve(self, worst_cost: float) -> AsyncIterator[Reservation]:
        """Hold room for one call while it is made; afterwards only what was spent remains.

        Most calls cost less than their worst case. So while others are in flight a call without room waits for what
        they leave; it is refused only when nothing else is under way, and whatever was paid for has arrived.
        """
        while lack := self._lack(worst_cost):
            if not self._held_calls:
                raise BudgetError(lack[0], hint=lack[1])
            await self._settled.wait()
        self._held_calls += 1
        self._held_cost += worst_cost
        reservation = Reservation()
        try:
            yield reservation
        finally:
            self._settle(reservation, worst_cost)

    def _lack(self, worst_cost: float) -> tuple[str, str] | None:
        """What stands in the way of a call, and what to do about it."""
        if self._max_calls is not None and self.calls + self._held_calls >= self._max_calls:
            return f"--max-calls {self._max_calls} is used up", "resume the run with a higher --max-calls"
        if self._max_cost is None or self.cost + self._held_cost + worst_cost <= self._max_cost + _ROUNDING:
            return None
        return (
            f"the next call could cost ${worst_cost:.4f}, and with ${self.cost:.4f} spent that may pass"
            f" --max-cost {self._max_cost:g}",
            "resume the run with a higher --max-cost",
        )

    def _settle(self, reservation: Reservation, worst_cost: float) -> None:
        self._held_calls -= 1
        # Without calls in flight nothing is held, whatever the rounding of the sums says.
        self._held_cost = self._held_cost - worst_cost if self._held_calls else 0.0
        if reservation.cost is not None:
            self.calls += 1
            self.cost += reservation.cost
        self._settled.set()
        self._settled = asyncio.Event()
