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

from redraft.errors import BudgetError, Raise, StoreError, UsageError
from redraft.fields import error_text
from redraft.settings import Price
from redraft.sources import MAX_SETTINGS_BYTES, read_file
from redraft.store.calls import Call
from redraft.store.connection import off_loop
from redraft.store.reservations import LimitReachedError, Reservation, Reservations, ReservationTerms
from redraft.text.words import count, dollars

# How often to check whether another process has settled a call.
_POLL_SECONDS = 0.2


class Budget:
    """The remaining budget that runs share; usage and reservations are in the ledger."""

    def __init__(
        self,
        *,
        max_calls: int | None,
        max_cost: float | None,
        budget_key: str | None = None,
        paced: bool = False,
        deadline: float | None = None,
    ) -> None:
        """`budget_key` names a budget that several processes share. `paced` budgets share
        the limits per minute, too. `deadline` is the time from now that the runs may take, in seconds."""
        self.terms = ReservationTerms(budget_key or secrets.token_hex(8), max_calls, max_cost)
        self.paced = paced
        self.ends_at = None if deadline is None else time.monotonic() + deadline
        self.in_flight = 0
        """How many calls are being reserved or sent."""
        self._runs: set[str] = set()
        self._unsettled: dict[int, StoreError] = {}
        """Calls whose end could not be recorded in the ledger."""
        self._changes = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def reserved(self, reservations: Reservations, call: Call) -> AsyncIterator[Reservation]:
        """Reserve the maximum cost of a call while it is made. If there is no room, the call waits for running calls to
        leave some; it is refused only when none is running."""
        while True:
            changes = self._changes
            self.in_flight += 1
            reservation, lack = Reservation(), None
            try:
                await off_loop(reservations.book, reservation, call, self.terms)
                self._runs.add(call.run or "")
                yield reservation
            except LimitReachedError as error:
                lack = error
            except StoreError as error:
                self._unsettled |= {} if reservation.call is None else {reservation.call: error}
                raise
            finally:
                try:
                    if not reservation.sent:
                        await off_loop(reservations.take_back, reservation)
                finally:
                    self.in_flight -= 1
                    unchanged = self._changes == changes
                    # A failed reservation does not wake other waiting calls while a call is running.
                    if lack is None or not self.in_flight:
                        self._changes += 1
                        self._changed.set()
                        self._changed = asyncio.Event()
            if lack is None:
                return
            if unchanged:
                await self._wait(call, lack)

    async def _wait(self, call: Call, lack: LimitReachedError) -> None:
        """Wait for the room that other calls leave; raise `BudgetError` if there are no others."""
        if self.in_flight:
            await self._changed.wait()
        elif {run for _, run in lack.in_flight} - self._runs:
            await asyncio.sleep(_POLL_SECONDS)
        elif lost := [self._unsettled[call_id] for call_id, _ in lack.in_flight if call_id in self._unsettled]:
            raise lost[0]
        else:
            raise self._used_up(call, lack)

    def _used_up(self, call: Call, lack: LimitReachedError) -> BudgetError:
        """Return the error of a call that exceeds a limit."""
        terms = self.terms
        if terms.max_calls is not None and lack.calls >= terms.max_calls:
            more = Raise("max_calls", 2 * terms.max_calls, 1)
            return BudgetError(f"the limit of {count(terms.max_calls, 'call')} is used up", fix=(_RESUME, more))
        booked = call.booked_usd or 0.0
        least = ceil(100 * max(2 * (terms.max_cost or 0), booked + _SPARE * lack.usd)) / 100
        more, limit = Raise("max_cost", least, booked), dollars(terms.max_cost or 0, exact=True)
        spent = f"{dollars(lack.usd)} spent" if lack.usd else "nothing spent"
        if terms.max_cost is not None and lack.usd > terms.max_cost:
            return BudgetError(
                f"{spent}, {dollars(lack.usd - terms.max_cost)} more than the limit of {limit}:"
                " replies were longer than allowed, so no further calls are made",
                fix=(f"check that the server respects the limit of a reply, or {_RESUME}", more),
            )
        return BudgetError(
            f"the next call could cost {dollars(call.booked_usd)}, and with {spent} that may exceed"
            f" the limit of {limit}",
            fix=(_RESUME, more),
        )


_RESUME = "resume the run with "
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
        prices = _TABLE.validate_python(
            tomllib.loads(read_file(Path(path).expanduser(), MAX_SETTINGS_BYTES).decode())["prices"]
        )
    except OSError as error:
        raise UsageError(f"cannot read the prices: {error.strerror}", place=str(path)) from error
    except (KeyError, ValueError) as error:
        raise UsageError(
            f"not a price table: {_reason(error)}",
            place=str(path),
            hint='write [prices] and lines such as "my-model" = { prompt = 0.25, completion = 2.0 }',
        ) from error
    return PriceTable(builtin.builtin, prices)


def _reason(error: KeyError | ValueError) -> str:
    if isinstance(error, KeyError):
        return "it has no [prices]"
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {error_text(first)}"
    return str(error)
