"""One limiter per provider: how many requests at once, and how often each is repeated."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary, WeakValueDictionary

from redraft.domain import Usage
from redraft.errors import (
    CapabilityError,
    LateReply,
    ModelError,
    Raise,
    RateLimited,
    ServerUnreachable,
    Set,
    TimedOut,
    TransientError,
    TruncatedReasoning,
    UnreadableReply,
)
from redraft.settings import Limits
from redraft.text.words import lasting

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
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[float]:
        """Wait for a slot and hold it; yields the time when it began."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        self._admit()
        try:
            await slot
            while self._pace and (wait := await self._pace(tokens)):  # noqa: ASYNC110  (there is no event to wait for)
                await asyncio.sleep(wait)
            yield time.monotonic()
        finally:
            # A request that was cancelled while it waited had no slot.
            if slot.done() and not slot.cancelled():
                self.in_flight -= 1
                self._admit()

    def record_answer(self) -> None:
        """Record an answer and raise the concurrency slightly."""
        self.throttled = 0
        self.allowed = min(float(self.ceiling), self.allowed + 1 / max(1.0, self.allowed))
        self._admit()

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

    def _admit(self) -> None:
        """Admit the requests that may go now; while the provider holds everyone back, set a timer."""
        while self._waiting and self.in_flight < max(1, int(self.allowed)):
            if not self._waiting[0].done():
                if self.hold:
                    if self._timer is not None:
                        self._timer.cancel()
                    self._timer = asyncio.get_running_loop().call_later(self.hold, self._admit)
                    return
                self.in_flight += 1
                self._waiting[0].set_result(None)
            self._waiting.popleft()


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
