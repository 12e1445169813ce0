"""A recorded model whose calls may be made by other workers of its batch, and which makes some of theirs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from typing_extensions import override

from redraft.models.base import Model, Reply, Request
from redraft.models.recorded import RecordedModel
from redraft.models.spread.board import Board
from redraft.models.spread.wire import written
from redraft.prompts.contract import Given_, Value_


class SpreadModel(RecordedModel):
    """A recorded model; what it has no place for just now waits on a board."""

    def __init__(self, inner: Model, *, board: Board, run: str, **known: Any) -> None:
        """`known` is what a `RecordedModel` takes besides."""
        super().__init__(inner, run=run, **known)
        self._board = board
        self._place_of = run

    @override
    async def _asked(
        self, request: Request[Given_, Value_], key: str, size: int, waits_since: float | None = None
    ) -> Reply[Value_]:
        place, since = (self._place_of, key), time.monotonic() if waits_since is None else waits_since
        if await self._board.is_made_elsewhere(place, self._limiter, lambda: written(request)):
            reply = await self._cached(request, key)
            if reply is not None:
                # Nobody had asked this before.
                return replace(reply, cached=False)
            return await super()._asked(request, key, size, since)
        try:
            return await super()._asked(request, key, size, since)
        finally:
            self._board.made_here(self._limiter)

    def is_asked_so(self, request: Request[Any, Any], key: str) -> bool:
        """Whether a request of this run goes by this key when this model is asked."""
        return self._key(self._filled(request)) == key

    async def make(self, request: Request[Any, Any], key: str) -> None:
        """Make a call for another worker, who has the reply from the ledger; nothing is asked that is there."""
        filled = self._filled(request)
        if await self._cached(filled, key) is None:
            await super()._asked(filled, key, len(filled.text.encode("utf-8", "replace")))
