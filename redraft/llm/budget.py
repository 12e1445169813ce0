"""Prices of models, and limits: hard ones on calls and money, how many requests a provider gets at once, and how often
each is repeated."""

from __future__ import annotations

import asyncio
import random
import re
import secrets
import time
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import ceil
from pathlib import Path
from weakref import WeakKeyDictionary, WeakValueDictionary

from pydantic import TypeAdapter, ValidationError

from redraft.domain import Usage, content_id
from redraft.errors import (
    BudgetError,
    CapabilityError,
    LateReply,
    ModelError,
    Raise,
    RateLimited,
    ServerUnreachable,
    Set,
    StoreError,
    TimedOut,
    TransientError,
    TruncatedReasoning,
    UnreadableReply,
    UsageError,
)
from redraft.fields import first_error
from redraft.settings import Limits, Price
from redraft.sources import MAX_SETTINGS_BYTES, read_file
from redraft.store.calls import Call, Calls, LimitReachedError, Reservation, ReservationTerms
from redraft.store.connection import off_loop
from redraft.text.words import count, dollars, lasting

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
        self.in_flight: set[int] = set()
        """The calls that are being reserved or sent."""
        self._runs: set[str] = set()
        self._unsettled: dict[int, StoreError] = {}
        """Calls whose end could not be recorded in the ledger."""
        self._changed = asyncio.Event()
        """Set when the next call ends."""

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
        budgets, reservation = self._budgets, Reservation()
        try:
            while reservation.call is None:
                changes = [budget._changed for budget in budgets]
                for budget in budgets:
                    budget._runs.add(call.run or "")
                    budget.in_flight.add(id(reservation))
                try:
                    await off_loop(calls.book, reservation, call, *(budget.terms for budget in budgets))
                except LimitReachedError as lack:
                    for budget in budgets:
                        budget.in_flight.discard(id(reservation))
                    full = next(number for number, budget in enumerate(budgets) if budget.terms is lack.terms)
                    await budgets[full]._wait(call, lack, changes[full])
            yield reservation
        except StoreError as error:
            for budget in budgets:
                budget._unsettled |= {} if reservation.call is None else {reservation.call: error}
            raise
        finally:
            try:
                if not reservation.sent:
                    await off_loop(calls.take_back, reservation)
            finally:
                for budget in budgets:
                    budget.in_flight.discard(id(reservation))
                    budget._changed.set()
                    budget._changed = asyncio.Event()

    async def _wait(self, call: Call, lack: LimitReachedError, change: asyncio.Event) -> None:
        """Wait for the room that other calls leave; raise `BudgetError` if there are no others. It says how to go on:
        with a higher limit of the run, or a larger budget of the session."""
        if self.in_flight:
            await change.wait()
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
        raise BudgetError(problem, fix=go_on) from None


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


_BACK_OFF = 0.7
FIRST_PAUSE = 0.5
# Limits are mostly per minute, which six tries outlast.
_GROWTH = 3
Pace = Callable[[int], Awaitable[float]]
"""Counts a request of so many tokens against the limits per minute and returns 0, or the seconds to wait before it."""


class Limiter:
    """Lets requests through in order. The concurrency adapts: a 429 or a time-out lowers it at once, and answers raise
    it again one by one, up to the user's limit. After a second 429 without an answer, requests go one at a time. Used
    in one event loop."""

    def __init__(self, concurrency: int, *, pace: Pace | None = None) -> None:
        self.ceiling = concurrency
        self.allowed = float(concurrency)
        self.in_flight = 0
        self.throttled = 0
        """How often the provider's rate limit was exceeded since the last answer; several requests at once count as
        one."""
        self._pace = pace
        self._resume_at = 0.0
        self._lowered_at = 0.0
        self._turn, self._changed = asyncio.Lock(), asyncio.Event()

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[float]:
        """Wait for a slot and hold it; yields the time when it began."""
        # They take turns in order, and the first one waits for room.
        async with self._turn:
            while (hold := self.hold) or self.in_flight >= max(1, int(self.allowed)):
                self._changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), hold or None)
            self.in_flight += 1
        try:
            while self._pace and (wait := await self._pace(tokens)):  # noqa: ASYNC110  (there is no event to wait for)
                await asyncio.sleep(wait)
            yield time.monotonic()
        finally:
            self.in_flight -= 1
            self._changed.set()

    def record_answer(self) -> None:
        """Record an answer and raise the concurrency slightly."""
        self.throttled = 0
        self.allowed = min(float(self.ceiling), self.allowed + 1 / max(1.0, self.allowed))
        self._changed.set()

    def record_rate_limit(self, began: float, retry_after: float | None, limits: Limits) -> None:
        """Record a 429 of a request that began at `began`, and hold everyone back: for as long as the provider asks, or
        else for longer each time. Nobody is held back for longer than the limits allow, or when no try is left."""
        is_first = began >= self._lowered_at
        self.throttled += is_first
        wait = retry_after
        if (wait is None or wait < FIRST_PAUSE) and is_first:
            # Jitter keeps processes that failed together from retrying together.
            wait = FIRST_PAUSE * _GROWTH ** (self.throttled - 1) * random.uniform(0.6, 1.4)
            wait = min(wait, limits.longest_wait)
        is_over = wait is None or wait > limits.longest_wait or self.throttled >= limits.tries
        self.record_throttling(began, None if is_over else wait)
        if is_first:
            self.allowed = max(1.0, self.allowed * _BACK_OFF) if self.throttled == 1 else 1.0

    def record_throttling(self, began: float, retry_after: float | None) -> None:
        """Record a rate limit or a time-out of a request that began at `began`; several at once count as one."""
        now = time.monotonic()
        if began >= self._lowered_at:
            self.allowed = max(1.0, min(self.allowed, self.in_flight) * _BACK_OFF)
            self._lowered_at = now
        if retry_after is not None:
            self._resume_at = max(self._resume_at, now + retry_after)

    @property
    def hold(self) -> float:
        """Return the seconds for which the provider has asked everyone to wait."""
        return max(0.0, self._resume_at - time.monotonic())


_Shared = WeakValueDictionary[tuple[str, int, int], Limiter]
_limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()


def shared_limiter(provider: str, concurrency: int, *, pacer: int = 0, pace: Pace | None = None) -> Limiter:
    """Return the limiter of a provider with this concurrency, shared by the runs of an event loop; with a `pace` by
    those with the same `pacer`."""
    shared = _limiters.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    return shared.setdefault((provider, concurrency, pacer), Limiter(concurrency, pace=pace))


_REPAIRS = 6
"""How often a request is repeated because the provider lacks a feature."""
_THOUGHT_TRIES = 8
# A reply that times out twice will time out again.
_LATE_TRIES = 2
# A server that is down usually stays down for longer than anyone wants to wait.
_UNREACHED_TRIES, _UNREACHED_PAUSE = 2, 2.0
_MAX_CONSECUTIVE_TIMEOUTS = 8
_MORE_TIME = "a longer timeout, or a lower concurrency, gives it more time"


class RetryPolicy:
    """Decides on the attempts at one request, within the run's limits; `structured` requests can be split. `patience`
    counts the `answers` of the model, and the `late` ones: its time-outs since the last answer."""

    def __init__(self, limiter: Limiter, patience: Counter[str], limits: Limits, *, structured: bool) -> None:
        self._limiter = limiter
        self._patience = patience
        self._limits = limits
        self._structured = structured
        self._answers = patience["answers"]
        self._counts: Counter[type[ModelError]] = Counter()

    def pause(self, error: ModelError, *, repaired: bool) -> float | None:
        """Return the seconds before the next attempt; None if there is none."""
        self._counts[type(error)] += 1
        tries = self._counts[type(error)]
        if isinstance(error, TimedOut):
            self._patience["late"] += 1
        if isinstance(error, UnreadableReply):
            # A cut reply would be cut again: the caller can ask for less, or with more room.
            return None if error.cut or (repaired and not error.moved) else 0.0
        if isinstance(error, TruncatedReasoning):
            return 0.0 if error.retryable and tries <= _THOUGHT_TRIES else None
        if not error.retryable:
            return None
        if isinstance(error, CapabilityError):
            return 0.0 if tries <= _REPAIRS else None
        longest_wait = self._limits.longest_wait
        if isinstance(error, RateLimited):
            # The limiter holds everyone back.
            is_over = self._limiter.throttled >= self._limits.tries or (error.retry_after or 0) > longest_wait
            return None if is_over else 0.0
        most = self._limits.tries
        # Jitter keeps tasks that failed together from retrying together.
        pause: float = FIRST_PAUSE * 2 ** (tries - 1) * random.uniform(0.6, 1.4)
        if isinstance(error, TimedOut):
            # Prose cannot be asked for in parts; while others are answered it may only have waited.
            waits = not self._structured and self._patience["answers"] > self._answers
            most = most if waits else min(most, _LATE_TRIES)
        elif isinstance(error, ServerUnreachable):
            most, pause = min(most, _UNREACHED_TRIES), _UNREACHED_PAUSE
        return None if tries >= most else min(longest_wait, pause)

    def final_error(self, error: ModelError) -> ModelError:
        """Return the final error of the request with a next step: after time-outs it may suggest smaller requests, and
        after a rate limit it says when to go on."""
        if isinstance(error, RateLimited):
            wait, longest_wait = error.retry_after, self._limits.longest_wait
            if wait is not None and wait > longest_wait:
                resume = f"the provider asks to wait for {lasting(wait)}: resume the run then, or let it wait with "
                return error.advised(resume, Raise("longest_wait", wait))
            return error.advised("resume the run later, or ask less at once with ", Set("concurrency", 1))
        if not isinstance(error, TimedOut):
            is_unexplained = isinstance(error, TransientError) and not error.fix
            return error.advised("resume the run when the server answers again") if is_unexplained else error
        tries = self._counts[type(error)]
        often = {1: "", 2: ", twice"}.get(tries, f", {tries} times")
        message = f"{error.message}{often}: {_MORE_TIME}"
        if self._structured and self._patience["late"] <= _MAX_CONSECUTIVE_TIMEOUTS:
            final: ModelError = LateReply(message, text="", usage=Usage(reported=False), place=error.place)
        else:
            more_time = Raise("timeout", 2 * self._limits.timeout)
            final = TimedOut(message, place=error.place, fix=("resume the run with ", more_time))
        final.status, final.__cause__ = error.status, error.__cause__
        return final
