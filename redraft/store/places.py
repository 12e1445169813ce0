"""Where a database is: the path of a file, or the address of a server, whose password is nobody's to see."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

_SCHEMES = ("postgresql://", "postgres://")
_HIDDEN = ("password", "sslpassword")


def is_server(address: str | Path) -> bool:
    """Whether this is the address of a Postgres server."""
    return isinstance(address, str) and address.startswith(_SCHEMES)


def shown(address: str | Path) -> str:
    """The address as anybody may see it; for whoever has the password from elsewhere it is as good."""
    if not is_server(address):
        return str(address)
    parts = urlsplit(str(address))
    user, at, host = parts.netloc.rpartition("@")
    # Not parsed again: what cannot be read as an address might show a part of a password.
    name = user.partition(":")[0]
    query = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key not in _HIDDEN]
    asked = f"?{urlencode(query, quote_via=quote, safe='/')}" if query else ""
    return f"{parts.scheme}://{name}{at}{host}{parts.path}{asked}"
