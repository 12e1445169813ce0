"""A page or file at a web address that a user names: fetched once, with limits of size, time and redirects."""

from __future__ import annotations

import ipaddress
import re
import socket
import time
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from redraft.errors import DocumentError
from redraft.readers.formats import Format, format_of
from redraft.sources import size_limit

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_SECONDS, _MOST_SECONDS, _BLOCK = 20, 60, 65_536
_TYPES: dict[str, Format] = {"text/html": "html", "application/xhtml+xml": "html", "application/pdf": "pdf"}
SAVE_HINT = "save the page in your browser (as .html), and give the path of that file"


def is_address(source: str) -> bool:
    """Return whether a source is a web address."""
    return _ADDRESS.fullmatch(source) is not None


class _Redirects(HTTPRedirectHandler):
    """Redirects to other web addresses: at most five, and none from the public net into a private one."""

    max_redirections = 5

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        if not is_address(newurl) or (_is_public(req.full_url) and not _is_public(newurl)):
            fp.close()
            raise OSError(f"it redirects to {newurl:.100}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_public(address: str) -> bool:
    infos = socket.getaddrinfo(urlsplit(address).hostname, None)
    return all(ipaddress.ip_address(str(info[4][0]).partition("%")[0]).is_global for info in infos)


def fetch(address: str) -> tuple[bytes, str, Format | None]:
    """Return the bytes at an address, the name of the file, and its format, None to go by its name; raise
    `DocumentError` if that is impossible, too large, or takes too long."""
    request = Request(address, headers={"User-Agent": "redraft", "Accept": "text/html, */*;q=0.5"})  # noqa: S310 - http(s) only
    began, data, limit = time.monotonic(), bytearray(), size_limit.get()
    try:
        with build_opener(_Redirects).open(request, timeout=_SECONDS) as reply:
            while block := reply.read(_BLOCK):
                data += block
                if len(data) > limit or time.monotonic() - began > _MOST_SECONDS:
                    raise OSError(f"it is larger than {limit:,} bytes, or takes more than {_MOST_SECONDS} seconds")
            kind, final = reply.headers.get_content_type(), urlsplit(reply.url)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(error, HTTPError):
            error.close()
        raise DocumentError(f"it cannot be fetched: {reason}", place=address, hint=SAVE_HINT) from error
    name = unquote(final.path.rstrip("/").rpartition("/")[2]) or final.hostname or "page"
    return bytes(data), name, _TYPES.get(kind) or format_of(bytes(data))
