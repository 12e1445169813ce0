"""Database addresses: a file path or a PostgreSQL URL, and how to print one without its password."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

_SCHEMES = ("postgresql://", "postgres://")

_HIDDEN = ("password", "sslpassword")


def is_server(address: str | Path) -> bool:
    """Return whether this is the address of a PostgreSQL server."""
    return isinstance(address, str) and address.startswith(_SCHEMES)


def is_only_here(address: str | Path) -> bool:
    """Return whether the address has another meaning on another machine: a file, a socket, or `localhost`."""
    if not is_server(address):
        return True
    parts = urlsplit(str(address))
    query = dict(parse_qsl(parts.query))
    named = (query.get("service"), query.get("hostaddr"), query.get("host"), parts.hostname, os.environ.get("PGHOST"))
    host = unquote(next(filter(None, named), "localhost"))
    return host in ("localhost", "::1") or host.startswith(("/", "127."))


def shown(address: str | Path) -> str:
    """Return the address without its password."""
    if not is_server(address):
        return str(address)
    parts = urlsplit(str(address))
    user, at, host = parts.netloc.rpartition("@")
    # Not parsed again: the text of an invalid address may contain part of a password.
    name = user.partition(":")[0]
    query = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key not in _HIDDEN]
    parameters = f"?{urlencode(query, quote_via=quote, safe='/')}" if query else ""
    return f"{parts.scheme}://{name}{at}{host}{parts.path}{parameters}"
