"""How often, and how soon, a failed request is repeated."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from redraft.domain import Usage
from redraft.errors import (
    CapabilityError,
    CutThought,
    LateReply,
    ModelError,
    RateLimited,
    ServerUnreachable,
    TimedOut,
    UnreadableReply,
)

_TRANSIENT_TRIES = 6
_RATE_LIMIT_TRIES = 30
_CAPABILITY_TRIES = 6
_THOUGHT_TRIES = 8
# A reply that times out twice will time out again.
_LATE_TRIES = 2
# A server that is down usually stays down for longer than anyone wants to wait.
_UNREACHED_TRIES, _UNREACHED_PAUSE = 2, 2.0
_MOST_IN_A_ROW = 8
FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_MORE_TIME = "a longer --timeout, or a lower --concurrency, gives it more time"


@dataclass(slots=True)
class TimeoutHistory:
    """The number of answers of a model, and of time-outs since the last one."""

    answers: int = 0
    late: int = 0

    def answered(self) -> None:
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
        if isinstance(error, CutThought):
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

    def ended_by(self, error: ModelError) -> ModelError:
        """Return the final error of the request; after time-outs it may suggest smaller requests."""
        if not isinstance(error, TimedOut):
            return error
        tries = self._counts[type(error)]
        message = f"{error.message}, {'twice' if tries == _LATE_TRIES else f'{tries} times'}: {_MORE_TIME}"
        if self._structured and self._patience.late <= _MOST_IN_A_ROW:
            return LateReply(message, text="", usage=Usage(reported=False), place=error.place)
        return TimedOut(message, place=error.place)
