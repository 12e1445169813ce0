"""HTTP clients and addresses of model servers."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2

from redraft.errors import OversizeReply, UsageError
from redraft.llm.secrets import check_key

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


OPENAI = "openai"
_ADDRESS = re.compile(r"@(?=https?://)")


def provider_of(model: str) -> str:
    """Who serves a model of this name; nothing for the built-in one, and for a name that says nothing of it."""
    return model.partition(":")[0] if ":" in model else ""


def address_in(model: str) -> str | None:
    """The address in the identity of a model that was handed over: `provider:name@address`."""
    parts = _ADDRESS.split(model, maxsplit=1)
    return parts[1] if len(parts) > 1 else None


def name_of(model: str) -> str:
    """The model's name without its provider, and without the address that an identity has."""
    return _ADDRESS.split(model, maxsplit=1)[0].partition(":")[2]


_KEY_VARIABLE = "OPENAI_API_KEY"
DEFAULT_BASE_URL = "https://api.openai.com/v1"
# Servers other than OpenAI's own mostly want none.
_NO_KEY = "none"


def base_url(given: str | None) -> str:
    """The address of an OpenAI-compatible server: the one given, or the environment's, or OpenAI's own."""
    return plain_address(given or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)


Server = tuple[str, str | None, int | None]
"""What is behind an address: scheme, host and port. A key is for one of these."""


def server_at(url: str) -> Server:
    """The server behind an address."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def is_here(url: str) -> bool:
    """Whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def is_openais(url: str) -> bool:
    """Whether an address is OpenAI's own, or that of its models at Azure."""
    host = urlsplit(url).hostname or ""
    return host.endswith((".openai.com", ".openai.azure.com"))


def has_usual_key() -> bool:
    """Whether there is an OPENAI_API_KEY."""
    return bool(os.environ.get(_KEY_VARIABLE, "").strip())


def home_of_the_key(urls: Sequence[str]) -> Server | None:
    """The one server of several that gets OPENAI_API_KEY from those who have no key of their own.

    That is OpenAI, or else the one in OPENAI_BASE_URL, where somebody is there; otherwise that of whoever comes first.
    """
    wanting = [server_at(url) for url in urls]
    usual = [server_at(DEFAULT_BASE_URL), server_at(os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)]
    return next((one for one in (*usual, *wanting) if one in wanting), None)


def openai_key(name: str, url: str, variable: str | None = None, *, usual: bool = True) -> str:
    """The key for a model behind OpenAI's protocol, from a variable of its own where there is one, else the usual one.

    Without a key OpenAI itself is not asked.
    """
    key = os.environ.get(variable or _KEY_VARIABLE, "").strip() if variable or usual else ""
    if not key and (variable or url == DEFAULT_BASE_URL):
        raise UsageError(
            f"openai:{name} needs an API key",
            hint=f"set {variable or _KEY_VARIABLE}, or use --model extractive, which needs none",
        )
    check_key(key, variable or _KEY_VARIABLE)
    return key or _NO_KEY


def plain_address(given: str) -> str:
    """The address without user, password, query and fragment; anything but an http(s) address is refused."""
    try:
        parts = urlsplit(given.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError("the base URL is not an http(s) address", hint="for example http://localhost:11434/v1")
    if not _is_host(parts.hostname) or any(unicodedata.category(letter)[0] in "CZ" for letter in given.strip()):
        raise UsageError("the base URL has letters that no address has", hint="write it anew, without copying it")
    host = parts.hostname if ":" not in parts.hostname else f"[{parts.hostname}]"
    address = f"{host}:{port}" if port else host
    return urlunsplit((parts.scheme, address, parts.path.rstrip("/"), "", ""))


def _is_host(name: str) -> bool:
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return True
