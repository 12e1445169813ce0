"""Prices of models, and hard limits on calls and money: a call that could exceed one is not made."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import ceil
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from redraft.domain import content_id
from redraft.errors import BudgetError, Raise, StoreError, UsageError
from redraft.fields import first_error
from redraft.settings import Limits, Price
from redraft.sources import MAX_SETTINGS_BYTES, read_file
from redraft.store.calls import Call, Calls, LimitReachedError, Reservation, ReservationTerms
from redraft.store.connection import off_loop
from redraft.text.words import count, dollars

# How often to check whether another process has settled a call.
_POLL_SECONDS = 0.2


class Budget:
    """What several runs may spend together: `Session(budget=redraft.Budget(max_cost=5))`. A call that could exceed it
    is not made, in whichever of the runs. What is spent and reserved is in the ledger."""

    def __init__(
        self,
        *,
        max_cost: float | None = None,
        max_calls: int | None = None,
        name: str | None = None,
        budget_key: str | None = None,
        paced: bool = False,
        outer: Budget | None = None,
        deadline: float | None = None,
    ) -> None:
        """A budget with a `name` is shared by all processes that use this name on the same database, and counts all
        that was ever spent under it; one without is spent by the sessions that it is passed to.

        redraft's own budgets have a `budget_key`, such as the id of a run, may be part of an `outer` budget, and are
        `paced` if they share the limits per minute, too. `deadline` is the time from now that the runs may take, in
        seconds."""
        Limits(max_cost=max_cost, max_calls=max_calls)
        if name is not None and not (isinstance(name, str) and name.strip()):
            raise UsageError("the name of a budget is no text", hint='give it one, such as Budget(name="nightly")')
        self.max_cost, self.max_calls, self.name = max_cost, max_calls, name
        key = content_id(f"budget\n{name}") if name else secrets.token_hex(8)
        self.terms = ReservationTerms(budget_key or key, max_calls, max_cost)
        self._is_of_session = budget_key is None
        self._outer, self._paced = outer, paced
        self._budgets: list[Budget] = [self, *(outer._budgets if outer else ())]
        """This budget and the outer ones."""
        self.ends_at = None if deadline is None else time.monotonic() + deadline
        self.in_flight = 0
        """How many calls are being reserved or sent."""
        self._runs: set[str] = set()
        self._unsettled: dict[int, StoreError] = {}
        """Calls whose end could not be recorded in the ledger."""
        self._changes = 0
        self._changed = asyncio.Event()

    def __repr__(self) -> str:
        return f"Budget(max_cost={self.max_cost}, max_calls={self.max_calls}, name={self.name!r})"

    @property
    def pace_key(self) -> str | None:
        """Return the key of the budget whose processes share the limits per minute; None without one."""
        return self.terms.budget_key if self._paced else self._outer.pace_key if self._outer else None

    @asynccontextmanager
    async def reserved(self, calls: Calls, call: Call) -> AsyncIterator[Reservation]:
        """Reserve the maximum cost of a call while it is made. If there is no room, the call waits for running calls to
        leave some; it is refused only when none is running."""
        budgets = self._budgets
        while True:
            for budget in budgets:
                budget.in_flight += 1
            changes = [budget._changes for budget in budgets]
            reservation, lack, unchanged = Reservation(), None, [True]
            try:
                await off_loop(calls.book, reservation, call, *(budget.terms for budget in budgets))
                for budget in budgets:
                    budget._runs.add(call.run or "")
                yield reservation
            except LimitReachedError as error:
                lack = error
            except StoreError as error:
                for budget in budgets:
                    budget._unsettled |= {} if reservation.call is None else {reservation.call: error}
                raise
            finally:
                try:
                    if not reservation.sent:
                        await off_loop(calls.take_back, reservation)
                finally:
                    entered = zip(budgets, changes, strict=True)
                    unchanged = [budget._leave(number, wakes=lack is None) for budget, number in entered]
            if lack is None:
                return
            full = next(number for number, budget in enumerate(budgets) if budget.terms is lack.terms)
            if unchanged[full]:
                await budgets[full]._wait(call, lack)

    def _leave(self, changes: int, *, wakes: bool) -> bool:
        """Count a call out; return whether nothing has changed since it came in. A failed reservation does not wake
        other waiting calls while a call is running."""
        self.in_flight -= 1
        unchanged = self._changes == changes
        if wakes or not self.in_flight:
            self._changes += 1
            self._changed.set()
            self._changed = asyncio.Event()
        return unchanged

    async def _wait(self, call: Call, lack: LimitReachedError) -> None:
        """Wait for the room that other calls leave; raise `BudgetError` if there are no others. It says how to go on:
        with a higher limit of the run, or a larger budget of the session."""
        if self.in_flight:
            await self._changed.wait()
            return
        if {run for _, run in lack.in_flight} - self._runs:
            await asyncio.sleep(_POLL_SECONDS)
            return
        if lost := [self._unsettled[call_id] for call_id, _ in lack.in_flight if call_id in self._unsettled]:
            raise lost[0]
        terms, booked = self.terms, call.booked_usd or 0.0
        limit, spent = dollars(terms.max_cost or 0, exact=True), f"{dollars(lack.usd)} spent"
        enough = ceil(100 * max(2 * (terms.max_cost or 0), booked + _SPARE * lack.usd)) / 100
        more, precaution = Raise("max_cost", enough, booked), ""
        problem = f"the next call could cost {dollars(call.booked_usd)}, and with"
        problem += f" {spent if lack.usd else 'nothing spent'} that may exceed the limit of {limit}"
        if terms.max_calls is not None and lack.calls >= terms.max_calls:
            problem = f"the limit of {count(terms.max_calls, 'call')} is used up"
            more = Raise("max_calls", 2 * terms.max_calls, 1)
        elif terms.max_cost is not None and lack.usd > terms.max_cost:
            problem = f"{spent}, {dollars(lack.usd - terms.max_cost)} more than the limit of {limit}"
            problem += ": replies were longer than allowed, so no further calls are made"
            precaution = "check that the server respects the limit of a reply, or "
        go_on: tuple[str | Raise, ...] = (f"{precaution}resume the run with ", more)
        if self._is_of_session:
            larger = f"a larger budget, such as Budget({more.name}={more.value:g})"
            go_on = (f"{precaution}resume the run in a session with {larger}",)
        raise BudgetError(problem, fix=go_on)


_SPARE = 1.1
"""Replies may be a little longer than those before."""
_DATE = re.compile(r"-\d{4}(\d{4}|-\d{2}-\d{2})?\Z")


FREE = Price(prompt=0, completion=0)
_TABLE = TypeAdapter(dict[str, Price])


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model name, as given after `openai:`; the user's own apply wherever the model is served."""

    builtin: dict[str, Price]
    own: dict[str, Price]

    def price(self, name: str, *, at_openai: bool) -> Price | None:
        """Return the price of a model, or of the model that it is a dated version of; None if unknown."""
        prices = {**self.builtin, **self.own} if at_openai else self.own
        return prices.get(name) or prices.get(_DATE.sub("", name))


@lru_cache(maxsize=1)
def builtin_prices() -> PriceTable:
    """Return redraft's built-in table."""
    text = (resources.files("redraft.llm") / "prices.toml").read_text("utf-8")
    return PriceTable(_TABLE.validate_python(tomllib.loads(text)["prices"]), {})


def price_table(path: str | Path | None) -> PriceTable:
    """Return the built-in table, overridden by the entries of the TOML file at `path`."""
    builtin = builtin_prices()
    if path is None:
        return builtin
    try:
        text = read_file(Path(path).expanduser(), MAX_SETTINGS_BYTES).decode()
        prices = _TABLE.validate_python(tomllib.loads(text)["prices"])
    except OSError as error:
        raise UsageError(f"cannot read the prices: {error.strerror}", place=str(path)) from error
    except (KeyError, ValueError) as error:
        reason = "it has no [prices]" if isinstance(error, KeyError) else str(error)
        reason = first_error(error) if isinstance(error, ValidationError) else reason
        raise UsageError(
            f"not a price table: {reason}",
            place=str(path),
            hint='write [prices] and lines such as "my-model" = { prompt = 0.25, completion = 2.0 }',
        ) from error
    return PriceTable(builtin.builtin, prices)
