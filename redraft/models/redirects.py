"""Redirects, which would take a document and a key to an address that nobody has chosen: no client follows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

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
