"""Replies of bounded size: an HTTP client that reads no more of an answer than an answer can have."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from redraft.errors import OversizeReply

MOST_BYTES = 64 * 1024 * 1024
"""As they are once they are unpacked. The longest replies of any model are a hundredth of that."""


def bound(client: httpx2.AsyncClient, most: int = MOST_BYTES) -> None:
    """Let the client give up on an answer as soon as it is longer than that."""

    async def limit(response: httpx2.Response) -> None:
        whole = httpx2.Response(
            response.status_code, headers=response.headers.copy(), stream=response.stream, request=response.request
        )
        # It is unpacked here, piece by piece, so that what was packed well is counted while it grows.
        response.headers.pop("content-encoding", None)
        response.stream = _Bounded(whole, most)

    client.event_hooks = {**client.event_hooks, "response": [*client.event_hooks["response"], limit]}


class _Bounded(httpx2.AsyncByteStream):
    """An answer, unpacked, up to a size."""

    def __init__(self, response: httpx2.Response, most: int) -> None:
        self._response = response
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._response.aiter_bytes():
            size += len(part)
            if size > self._most:
                raise OversizeReply(f"the server's answer is longer than {self._most / 2**20:.0f} MB, and was cut off")
            yield part

    async def aclose(self) -> None:
        await self._response.aclose()
