"""Who of the summary tree's calls may go: keeps a place free for a merge that is about to be ready.

The calls of a tree depend on each other along its merges. A merge that has to wait until one of the chunk summaries
gives up its place delays everything above it, so a place is kept for it as soon as the last summary it waits for is
under way. How many requests are in flight at all is the limiter's business; this decides only on the order.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class MergeScheduler:
    """Admits chunk summaries, in order, to the places that merges under way or about to begin do not need."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._leaves = 0
        self._started = 0
        self._merges = 0
        # Nothing is known before the first summaries are there, and nothing is kept.
        self._expected_after = sys.maxsize

    async def enter(self) -> None:
        """Wait for a place for a chunk summary."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        await turn

    def leave(self) -> None:
        """Give the place back."""
        self._leaves -= 1
        self._admit()

    def expect_merge(self, after: int) -> None:
        """The next merge is expected as soon as the first `after` chunk summaries are there."""
        self._expected_after = after
        self._admit()

    @contextmanager
    def merging(self) -> Iterator[None]:
        """Hold a place for a merge under way."""
        self._merges += 1
        try:
            yield
        finally:
            self._merges -= 1
            self._admit()

    def _admit(self) -> None:
        while self._waiting:
            # While a merge of the lowest level is under way the next one cannot begin, and needs no place of its own.
            kept = max(self._merges, int(self._started >= self._expected_after))
            if self._leaves >= max(1, self._places - kept):
                return
            turn = self._waiting.popleft()
            if not turn.done():
                self._leaves += 1
                self._started += 1
                turn.set_result(None)
