"""Database addresses: a file path or a PostgreSQL URL, and how to print one without its password."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

_SCHEMES = ("postgresql://", "postgres://")

_HIDDEN = ("password", "sslpassword")

_HOSTS = ("hostaddr", "host")

_ELSEWHERE = ("PGHOSTADDR", "PGHOST", "PGSERVICE")


def is_server(address: str | Path) -> bool:
    """Return whether this is the address of a PostgreSQL server."""
    return isinstance(address, str) and address.startswith(_SCHEMES)


def is_only_here(address: str | Path) -> bool:
    """Return whether the address has another meaning on another machine: a file, a socket, or `localhost`."""
    if not is_server(address):
        return True
    parts = urlsplit(str(address))
    query = dict(parse_qsl(parts.query))
    if "service" in query:
        return False
    written = parts.netloc.rpartition("@")[2]
    hosts = next((query[name] for name in _HOSTS if query.get(name)), written)
    if not hosts:
        hosts = next((os.environ[name] for name in _ELSEWHERE if os.environ.get(name)), "")
    for name in map(unquote, hosts.split(",")):
        host = name[1:].partition("]")[0] if name.startswith("[") else name
        host = host.partition(":")[0] if name.count(":") == 1 else host
        try:
            is_here = not host or host == "localhost" or host.startswith(("/", "@"))
            is_here = is_here or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False
        if not is_here:
            return False
    return True


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
