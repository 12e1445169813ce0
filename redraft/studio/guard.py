"""Access control: host names, origins, the token, and limits on the size of requests."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from redraft.errors import RedraftError
from redraft.sources import readable_size
from redraft.studio.context import StudioConfig
from redraft.studio.doors import by_program
from redraft.studio.endpoints import Problem, is_for_programs, refusal

MAX_BYTES = 20_000_000
"""The maximum size of an upload with its form, in bytes."""
_MAX_BODY_BYTES = 4_000_000
TOKEN_SENT = "token_sent"  # noqa: S105
"""The name in a request's state of the function that tells its connection of a valid token."""
_UPLOADS = frozenset({"/api/runs", "/api/batches", "/api/chapters", "/runs/new"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_HERE = frozenset({"same-origin", "none"})
_POLICY = "; ".join(
    f"{name} {value}"
    for name, value in {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }.items()
)
_HEADERS: Mapping[str, str] = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    # Forms need the referrer on this origin; other origins must not get it.
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class RequestTooLarge(RedraftError):
    """The request is too large."""

    code = "too_large"


class Guard:
    """Middleware that checks every request, and adds headers to every reply."""

    def __init__(self, app: ASGIApp, config: StudioConfig, uploads: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._config = config
        self._uploads = _UPLOADS | uploads
        self._token = config.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), str(scope["path"])
        by_program.set(is_for_programs(path) and headers.get("sec-fetch-site") != "same-origin")
        query = dict(parse_qsl(bytes(scope["query_string"]).decode("latin-1"), keep_blank_values=True))
        token_places = self._token_places(scope, headers, query)
        if token_places and TOKEN_SENT in scope.get("state", {}):
            scope["state"][TOKEN_SENT]()
        limit, received = MAX_BYTES if path in self._uploads else _MAX_BODY_BYTES, 0
        too_large = f"The request is larger than {readable_size(limit)}"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                reply_headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    reply_headers.setdefault(name, value)
                reply_headers.setdefault("cache-control", "no-cache" if path.startswith("/static/") else "no-store")
            await send(message)

        async def receiving() -> Message:
            nonlocal received
            message = await receive()
            # Content-Length may be wrong.
            received += len(message.get("body", b""))
            if received > limit:
                raise RequestTooLarge(too_large, hint="use a smaller file")
            return message

        announced = headers.get("content-length", "0")
        reply = self._reply(scope, headers, query, token_places)
        if reply is None and announced.isdecimal() and int(announced) > limit:
            reply = refusal(path, 413, Problem(code="too_large", message=too_large))
        if reply is not None:
            await reply(scope, receive, sending)
            return
        # A client may disconnect.
        with suppress(ClientDisconnect):
            await self._app(scope, receiving, sending)

    def _reply(
        self, scope: Scope, headers: Headers, query: Mapping[str, str], token_places: Sequence[str]
    ) -> Response | None:
        """Return the refusal of a request, or for a token in the address a redirect that sets the cookie and removes
        the token from it; None for a request that is passed on."""
        path = str(scope["path"])
        try:
            host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        except ValueError:
            host = ""
        is_called_right = host in self._config.hosts
        if not is_called_right and self._config.any_address:
            with suppress(ValueError):
                is_called_right = bool(ipaddress.ip_address(host))
        if not is_called_right:
            # Another host name may be an attacker's that resolves to this machine.
            problem = Problem(code="host", message="The studio does not answer to this host name", hint=_SAY_HOST)
            return refusal(path, 421, problem)
        writes = scope["method"] not in _READING
        if writes and self._config.read_only:
            return refusal(path, 405, Problem(code="read_only", message="This studio is read-only"))
        if (writes or self._config.guarded) and not token_places:
            hint = _SEND_TOKEN if is_for_programs(path) else _SAY_TOKEN
            message = "This is not the studio’s token" if "token" in query else "The studio needs its token"
            reply = refusal(path, 401, Problem(code="token", message=message, hint=hint))
            reply.headers["www-authenticate"] = "Bearer"
            return reply
        if writes and not is_from_here(headers):
            problem = Problem(code="origin", message="The request did not come from a page of this studio")
            return refusal(path, 403, problem)
        if "address" in token_places:
            rest = urlencode([(name, value) for name, value in query.items() if name != "token"])
            # Leading slashes could redirect to another host.
            address = quote(path.lstrip("/\\"))
            reply = RedirectResponse(f"/{address}{'?' if rest else ''}{rest}", 303)
            reply.set_cookie(self._config.cookie, self._config.token, httponly=True, samesite="strict", path="/")
            return reply
        return None

    def _token_places(self, scope: Scope, headers: Headers, query: Mapping[str, str]) -> list[str]:
        """Return where a request has the token: in its address if it only reads, in a header, in the cookie."""
        jar: SimpleCookie = SimpleCookie()
        with suppress(CookieError):
            jar.load(headers.get("cookie", ""))
        kind, _, token = headers.get("authorization", "").partition(" ")
        tokens = {
            "address": query.get("token", "") if scope["method"] in _READING else "",
            "header": token.strip() if kind.lower() == "bearer" else "",
            "cookie": jar[self._config.cookie].value if self._config.cookie in jar else "",
        }
        return [
            place
            for place, text in tokens.items()
            if self._token and hmac.compare_digest(text.encode("utf-8", "replace"), self._token)
        ]


_SAY_HOST = "open the address that `redraft studio` printed"
_SAY_TOKEN = f"{_SAY_HOST} at its last start"
_SEND_TOKEN = "send Authorization: Bearer TOKEN, with the token that `redraft studio` printed at its last start"  # noqa: S105


def is_from_here(headers: Headers) -> bool:
    """Return whether a request that writes comes from the studio's own pages, or from a program that is not a browser.

    A browser sends the origin of each such request, and no page can change that.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site not in _HERE:
        return False
    if origin is not None:
        return urlsplit(origin).netloc == headers.get("host", "") and bool(urlsplit(origin).netloc)
    return site is not None or "authorization" in headers
