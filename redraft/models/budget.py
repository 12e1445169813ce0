"""Hard limits on calls and money: a call that could pass one is not made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from redraft.errors import BudgetError


class Budget:
    """What a run may still use. Calls in flight hold their worst case until they are settled."""

    def __init__(self, *, max_calls: int | None, max_cost: float | None, calls: int = 0, cost: float = 0.0) -> None:
        self._max_calls = max_calls
        self._max_cost = max_cost
        self.calls = calls
        self.cost = cost

    @contextmanager
    def reserve(self, worst_cost: float) -> Iterator[None]:
        """Hold room for one call while it is made; afterwards only what was `spent` remains."""
        if self._max_calls is not None and self.calls >= self._max_calls:
            raise BudgetError(
                f"--max-calls {self._max_calls} is used up", hint="resume the run with a higher --max-calls"
            )
        if self._max_cost is not None and self.cost + worst_cost > self._max_cost:
            raise BudgetError(
                f"the next call could cost ${worst_cost:.4f}, and with ${self.cost:.4f} spent or under way that may"
                f" pass --max-cost {self._max_cost:g}",
                hint="resume the run with a higher --max-cost",
            )
        self.calls += 1
        self.cost += worst_cost
        try:
            yield
        finally:
            self.calls -= 1
            self.cost -= worst_cost

    def spent(self, cost: float) -> None:
        """Record a call that was made."""
        self.calls += 1
        self.cost += cost
