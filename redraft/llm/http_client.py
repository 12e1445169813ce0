"""HTTP clients that follow no redirects and limit the size of responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from functools import cached_property
from typing import Any

import httpx2

from redraft.errors import OversizeReply

MAX_BYTES = 64 * 1024 * 1024
"""The size limit of an unpacked response; the longest replies of any model are a hundredth of that."""


def limit_response(client: httpx2.AsyncClient) -> None:
    """Let the client abort a response as soon as it exceeds the limit."""

    async def limit(response: httpx2.Response) -> None:
        packed = httpx2.Response(
            response.status_code, headers=response.headers.copy(), stream=response.stream, request=response.request
        )
        # It is unpacked here, piece by piece, so that the unpacked size is counted.
        response.headers.pop("content-encoding", None)
        response.stream = _LimitedStream(packed)

    client.event_hooks = {**client.event_hooks, "response": [*client.event_hooks["response"], limit]}


class _LimitedStream(httpx2.AsyncByteStream):
    """An unpacked response stream with a size limit."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._response.aiter_bytes():
            size += len(part)
            if size > MAX_BYTES:
                raise OversizeReply(f"the server's answer is longer than {MAX_BYTES / 2**20:.0f} MB, and was cut off")
            yield part

    async def aclose(self) -> None:
        await self._response.aclose()


# A chat model holds its SDK's client, which holds an HTTP client, perhaps within a part of itself.
_DEEPEST = 4


def disable_redirects(holder: Any, depth: int = _DEEPEST, visited: frozenset[int] = frozenset()) -> None:
    """Stop all HTTP clients that can be found in a chat model from following redirects: those in the attributes named
    after clients."""
    if id(holder) in visited:
        return
    if isinstance(getattr(holder, "follow_redirects", None), bool):
        holder.follow_redirects = False
    elif depth:
        # Their names, cached properties included.
        attributes = [item for kind in type(holder).__mro__ for item in vars(kind).items()]
        later = [name for name, attribute in attributes if isinstance(attribute, cached_property)]
        set_names = [*getattr(holder, "__dict__", {}), *(getattr(holder, "__pydantic_private__", None) or {})]
        for name in (name for name in dict.fromkeys([*set_names, *later]) if "client" in name.lower()):
            value = None
            # Errors in creating the client are reported when the model is asked.
            with suppress(Exception):
                value = getattr(holder, name)
            if hasattr(value, "__dict__"):
                disable_redirects(value, depth - 1, visited | {id(holder)})
