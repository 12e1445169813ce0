"""One limiter per provider: concurrency, requests and tokens per minute, and how often a request is repeated."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary, WeakValueDictionary

from redraft.domain import Usage
from redraft.errors import (
    CapabilityError,
    LateReply,
    ModelError,
    RateLimited,
    ServerUnreachable,
    TimedOut,
    TruncatedReasoning,
    UnreadableReply,
)

_WINDOW = 60.0
_BACK_OFF = 0.7
Pace = Callable[[int], Awaitable[float]]
"""Reserves tokens of a limit shared with other processes, and returns 0, or the seconds to wait."""


class Limiter:
    """Lets requests through in order. The concurrency adapts: a 429 or a time-out lowers it at once, and answers raise
    it again one by one, up to the user's limit. Used in one event loop."""

    def __init__(
        self,
        concurrency: int,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        pace: Pace | None = None,
    ) -> None:
        """With a `pace` the limits per minute are shared with other processes, and counted there."""
        self.ceiling = concurrency
        self.allowed = float(concurrency)
        self.in_flight = 0
        self._requests = None if pace else requests_per_minute
        self._tokens = None if pace else tokens_per_minute
        self._pace = pace
        self._sent: deque[tuple[float, int]] = deque()
        self._sent_tokens = 0
        self._resume_at = 0.0
        self._lowered_at = 0.0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[float]:
        """Wait for a slot and hold it; yields the time when it began."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((tokens, slot))
        self._admit()
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self._leave()
            else:
                # Its size may have made the others wait.
                self._admit()
            raise
        try:
            # The limits per minute may be shared with other processes.
            while self._pace and (wait := await self._pace(tokens)):  # noqa: ASYNC110  (there is no event to wait for)
                await asyncio.sleep(wait)
            yield time.monotonic()
        finally:
            self._leave()

    def record_answer(self) -> None:
        """Record an answer and raise the concurrency slightly."""
        self.allowed = min(float(self.ceiling), self.allowed + 1 / max(1.0, self.allowed))
        self._admit()

    def record_throttling(self, began: float, retry_after: float | None) -> None:
        """Record a rate limit or a time-out of a request that began at `began`; several at once count as one."""
        now = time.monotonic()
        if began >= self._lowered_at:
            self.allowed = max(1.0, min(self.allowed, self.in_flight) * _BACK_OFF)
            self._lowered_at = now
        if retry_after is not None:
            self._resume_at = max(self._resume_at, now + retry_after)

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        """Admit the requests that may go now, and set a timer for the next."""
        while self._waiting and self.in_flight < max(1, int(self.allowed)):
            tokens, slot = self._waiting[0]
            if slot.done():
                self._waiting.popleft()
                continue
            delay = self._delay(tokens)
            if delay > 0:
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = asyncio.get_running_loop().call_later(delay, self._admit)
                return
            self._waiting.popleft()
            self.in_flight += 1
            if self._requests or self._tokens:
                self._sent.append((time.monotonic(), tokens))
                self._sent_tokens += tokens
            slot.set_result(None)

    def _delay(self, tokens: int) -> float:
        """Return the seconds until a request of this size may be sent; one above the limit is sent if no other was."""
        now = time.monotonic()
        while self._sent and self._sent[0][0] <= now - _WINDOW:
            self._sent_tokens -= self._sent.popleft()[1]
        wait = self._resume_at - now
        if self._requests and len(self._sent) >= self._requests:
            wait = max(wait, self._sent[len(self._sent) - self._requests][0] + _WINDOW - now)
        if self._tokens and self._sent:
            excess = self._sent_tokens + tokens - self._tokens
            for moment, size in self._sent:
                if excess <= 0:
                    break
                excess -= size
                wait = max(wait, moment + _WINDOW - now)
        return wait


_Shared = WeakValueDictionary[tuple[str, int, int | None, int | None, str], Limiter]
_limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()


def shared_limiter(
    provider: str,
    concurrency: int,
    *,
    requests_per_minute: int | None,
    tokens_per_minute: int | None,
    limiter_key: str = "",
    pace: Pace | None = None,
) -> Limiter:
    """Return the limiter of a provider with these limits, shared by the runs of an event loop; with a `pace` by those
    with the same `limiter_key`."""
    shared = _limiters.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    key = (provider, concurrency, requests_per_minute, tokens_per_minute, limiter_key)
    limiter = shared.get(key) or Limiter(
        concurrency, requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute, pace=pace
    )
    shared[key] = limiter
    return limiter


_TRANSIENT_TRIES = 6
_RATE_LIMIT_TRIES = 30
_CAPABILITY_TRIES = 6
_THOUGHT_TRIES = 8
# A reply that times out twice will time out again.
_LATE_TRIES = 2
# A server that is down usually stays down for longer than anyone wants to wait.
_UNREACHED_TRIES, _UNREACHED_PAUSE = 2, 2.0
_MAX_CONSECUTIVE_TIMEOUTS = 8
FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_MORE_TIME = "a longer timeout, or a lower concurrency, gives it more time"


@dataclass(slots=True)
class TimeoutHistory:
    """The number of answers of a model, and of time-outs since the last one."""

    answers: int = 0
    late: int = 0

    def record_answer(self) -> None:
        """Record an answer."""
        self.answers += 1
        self.late = 0


class RetryPolicy:
    """Decides on the attempts at one request; `structured` requests can be split."""

    def __init__(self, patience: TimeoutHistory, *, structured: bool) -> None:
        self._patience = patience
        self._structured = structured
        self._answers = patience.answers
        self._counts: Counter[type[ModelError]] = Counter()

    def pause(self, error: ModelError, *, repaired: bool) -> float | None:
        """Return the seconds before the next attempt; None if there is none."""
        self._counts[type(error)] += 1
        tries = self._counts[type(error)]
        if isinstance(error, TimedOut):
            self._patience.late += 1
        if isinstance(error, UnreadableReply):
            # A cut reply would be cut again: the caller can ask for less, or with more room.
            return None if error.cut or (repaired and not error.moved) else 0.0
        if isinstance(error, TruncatedReasoning):
            return 0.0 if error.retryable and tries <= _THOUGHT_TRIES else None
        if not error.retryable:
            return None
        if isinstance(error, CapabilityError):
            return 0.0 if tries <= _CAPABILITY_TRIES else None
        if tries >= self._most(error):
            return None
        if isinstance(error, RateLimited) and error.retry_after is not None and error.retry_after >= FIRST_PAUSE:
            # The limiter holds everyone back until then.
            return 0.0
        if isinstance(error, ServerUnreachable):
            return _UNREACHED_PAUSE
        # Jitter keeps tasks that failed together from retrying together.
        pause: float = min(_LONGEST_PAUSE, FIRST_PAUSE * 2 ** (tries - 1))
        return pause * random.uniform(0.6, 1.4)

    def _most(self, error: ModelError) -> int:
        if isinstance(error, TimedOut):
            # Prose cannot be asked for in parts; while others are answered it may only have waited.
            waits = not self._structured and self._patience.answers > self._answers
            return _TRANSIENT_TRIES if waits else _LATE_TRIES
        if isinstance(error, ServerUnreachable):
            return _UNREACHED_TRIES
        return _RATE_LIMIT_TRIES if isinstance(error, RateLimited) else _TRANSIENT_TRIES

    def final_error(self, error: ModelError) -> ModelError:
        """Return the final error of the request; after time-outs it may suggest smaller requests."""
        if not isinstance(error, TimedOut):
            return error
        tries = self._counts[type(error)]
        message = f"{error.message}, {'twice' if tries == _LATE_TRIES else f'{tries} times'}: {_MORE_TIME}"
        if self._structured and self._patience.late <= _MAX_CONSECUTIVE_TIMEOUTS:
            return LateReply(message, text="", usage=Usage(reported=False), place=error.place)
        return TimedOut(message, place=error.place)
