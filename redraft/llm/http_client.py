"""HTTP clients that follow no redirect and read no more of an answer than an answer can have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

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


# A chat model has the client of its provider's SDK, and that one, perhaps within a part of itself, an HTTP client.
_DEEPEST = 4


def stay_where_they_are(chat: object) -> None:
    """Let no HTTP client that can be found in a chat model follow redirects; SDKs mostly have theirs do so."""
    for client in _http_clients(chat, _DEEPEST, set()):
        client.follow_redirects = False


def _http_clients(holder: object, depth: int, seen: set[int]) -> Iterator[Any]:
    """What has a switch for following redirects, httpx's clients and their kin, in what is called a client."""
    if id(holder) in seen:
        return
    seen.add(id(holder))
    if isinstance(getattr(holder, "follow_redirects", None), bool):
        yield holder
    elif depth:
        for name in _names(holder):
            found = None
            # Whatever hinders an SDK from making its client is told when it is asked.
            with suppress(Exception):
                found = getattr(holder, name)
            if hasattr(found, "__dict__"):
                yield from _http_clients(found, depth - 1, seen)


def _names(holder: object) -> list[str]:
    """The attributes that hold clients, also those that are made when they are first looked at."""
    later = [
        name for kind in type(holder).__mro__ for name, made in vars(kind).items() if isinstance(made, cached_property)
    ]
    own = [*getattr(holder, "__dict__", {}), *(getattr(holder, "__pydantic_private__", None) or {})]
    return [name for name in dict.fromkeys([*own, *later]) if "client" in name.lower()]
