"""Connections that say nothing: one that brings no whole request in time is closed, be it by a byte at a time, and
nobody may hold many such.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

SECONDS = 10.0
"""How long a request may take to be said, and how long its body may rest."""
SLOWEST = 1_000
"""So many bytes a second bring a body more time: one that comes more slowly is given up in about as many SECONDS."""
MOST_OF_AN_ADDRESS = 64
"""The connections that one address may have open without a whole request on them."""
_Protocol: Any = AutoHTTPProtocol
# By server, for there may be several in a process.
_half_open: Counter[tuple[int, str]] = Counter()


class Connection(_Protocol):  # type: ignore[misc]
    """uvicorn's connection, which waits for a request no longer than it has to."""

    _timer: asyncio.TimerHandle | None = None
    _from = (0, "")
    _reading: Any = None
    """The request whose body is read."""
    _due = 0.0
    """When that body is to be here, as far as it has come."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take a connection, or close it at once where its address has too many that say nothing."""
        peer = transport.get_extra_info("peername")
        self._from = (id(self.server_state), str(peer[0]) if isinstance(peer, tuple) else "")
        super().connection_made(transport)
        if _half_open[self._from] >= MOST_OF_AN_ADDRESS:
            transport.abort()
        else:
            self._wait(SECONDS)

    def connection_lost(self, error: Exception | None) -> None:
        """Nobody is there any more."""
        self._wait_no_more()
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Read on; the time of a request that is not whole yet is not begun anew by a byte."""
        super().data_received(data)
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            if self._timer is None:
                self._wait(SECONDS)
            return
        self._wait_no_more()
        if cycle.more_body:
            self._wait(self._patience(len(data)))

    def _patience(self, size: int) -> float:
        """How long the rest of a body is waited for, of which so much has just come."""
        now = time.monotonic()
        if self._reading is not self.cycle:
            self._reading, self._due = self.cycle, now + SECONDS
        self._due += size / SLOWEST
        return min(SECONDS, self._due - now)

    def _wait(self, seconds: float) -> None:
        _half_open[self._from] += 1
        self._timer = asyncio.get_running_loop().call_later(seconds, self._too_late)

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            _half_open[self._from] -= 1
            if not _half_open[self._from]:
                del _half_open[self._from]

    def _too_late(self) -> None:
        self._wait_no_more()
        # What has been answered needs no more of its body.
        self.transport.abort()
