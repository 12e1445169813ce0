"""A model's address without credentials, and the provider in a model's name."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

from redraft.errors import UsageError
from redraft.llm.secrets import check_key

OPENAI = "openai"
_ADDRESS = re.compile(r"@(?=https?://)")


def provider_of(model: str) -> str:
    """Return the provider in a model's name; empty for the built-in model, and if the name has none."""
    return model.partition(":")[0] if ":" in model else ""


def address_in(model: str) -> str | None:
    """Return the address in the identity of a model that was handed over: `provider:name@address`."""
    parts = _ADDRESS.split(model, maxsplit=1)
    return parts[1] if len(parts) > 1 else None


def name_of(model: str) -> str:
    """Return the model's name without its provider and address."""
    return _ADDRESS.split(model, maxsplit=1)[0].partition(":")[2]


_KEY_VARIABLE = "OPENAI_API_KEY"
DEFAULT_BASE_URL = "https://api.openai.com/v1"
# Servers other than OpenAI's own mostly want none.
_NO_KEY = "none"


def base_url(given: str | None) -> str:
    """Return the address of an OpenAI-compatible server: the given one, or the environment's, or OpenAI's own."""
    return plain_address(given or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)


Server = tuple[str, str | None, int | None]
"""Scheme, host and port. A key applies to one server."""


def server_at(url: str) -> Server:
    """Return the server behind an address."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def is_here(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def is_openais(url: str) -> bool:
    """Return whether an address belongs to OpenAI or Azure."""
    host = urlsplit(url).hostname or ""
    return host.endswith((".openai.com", ".openai.azure.com"))


def has_usual_key() -> bool:
    """Return whether there is an OPENAI_API_KEY."""
    return bool(os.environ.get(_KEY_VARIABLE, "").strip())


def key_server(urls: Sequence[str]) -> Server | None:
    """Return the one server that gets OPENAI_API_KEY from models without keys of their own: OpenAI, else the one in
    OPENAI_BASE_URL, else the first."""
    wanting = [server_at(url) for url in urls]
    usual = [server_at(DEFAULT_BASE_URL), server_at(os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)]
    return next((one for one in (*usual, *wanting) if one in wanting), None)


def openai_key(model: str, url: str, variable: str | None = None, *, usual: bool = True) -> str:
    """Return the key for an OpenAI-compatible model, from its own variable or the usual one. Raises `UsageError` if
    OpenAI's own server would be asked without a key."""
    key = os.environ.get(variable or _KEY_VARIABLE, "").strip() if variable or usual else ""
    if not key and (variable or url == DEFAULT_BASE_URL):
        raise UsageError(
            f"{model} needs an API key",
            hint=f"set {variable or _KEY_VARIABLE}, or use --model extractive, which needs none",
        )
    check_key(key, variable or _KEY_VARIABLE)
    return key or _NO_KEY


def plain_address(given: str) -> str:
    """Return the address without user, password, query and fragment. Raises `UsageError` for anything but http(s)."""
    try:
        parts = urlsplit(given.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError("the base URL is not an http(s) address", hint="for example http://localhost:11434/v1")
    if not _is_host(parts.hostname) or any(unicodedata.category(letter)[0] in "CZ" for letter in given.strip()):
        raise UsageError(
            "the base URL has characters that are not allowed in an address", hint="type it instead of copying it"
        )
    host = parts.hostname if ":" not in parts.hostname else f"[{parts.hostname}]"
    address = f"{host}:{port}" if port else host
    return urlunsplit((parts.scheme, address, parts.path.rstrip("/"), "", ""))


def _is_host(name: str) -> bool:
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return True
