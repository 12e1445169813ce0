"""Access control: host names, origins, the token, and limits on the size of requests."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
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
        sending = _with_headers(send)
        headers, path = Headers(scope=scope), str(scope["path"])
        has_token = self._has_token(scope, headers)
        if has_token and TOKEN_SENT in scope.get("state", {}):
            scope["state"][TOKEN_SENT]()
        reply = self._refused(scope, headers, path, has_token) or self._entering(scope)
        if reply is not None:
            await reply(scope, receive, sending)
            return
        limit = MAX_BYTES if path in self._uploads else _MAX_BODY_BYTES
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > limit:
            problem = Problem(code="too_large", message=_more_than(limit))
            await refusal(path, 413, problem)(scope, receive, sending)
            return
        try:
            await self._app(scope, _limited(receive, limit), sending)
        except ClientDisconnect:
            # The client has disconnected.
            return

    def _refused(self, scope: Scope, headers: Headers, path: str, has_token: bool) -> Response | None:
        """Return the refusal of a request; None if it is allowed."""
        if not self._is_called_right(headers.get("host", "")):
            problem = Problem(code="host", message="The studio does not answer to this host name", hint=_SAY_HOST)
            return refusal(path, 421, problem)
        writes = scope["method"] not in _READING
        if writes and self._config.read_only:
            return refusal(path, 405, Problem(code="read_only", message="This studio is read-only"))
        if (writes or self._config.guarded) and not has_token:
            hint = _SEND_TOKEN if is_for_programs(path) else _SAY_TOKEN
            message = "This is not the studio’s token" if "token" in _query(scope) else "The studio needs its token"
            problem = Problem(code="token", message=message, hint=hint)
            reply = refusal(path, 401, problem)
            reply.headers["www-authenticate"] = "Bearer"
            return reply
        if writes and not _is_from_here(headers):
            problem = Problem(code="origin", message="The request did not come from a page of this studio")
            return refusal(path, 403, problem)
        return None

    def _is_called_right(self, host: str) -> bool:
        """Return whether the host name is the studio's: another may be an attacker's that resolves to this machine."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._config.hosts:
            return True
        return self._config.any_address and _is_address(name)

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(token.strip()):
            return True
        if self._is_token(_cookie(headers, self._config.cookie)):
            return True
        return scope["method"] in _READING and self._is_token(_query(scope).get("token", ""))

    def _is_token(self, token: str) -> bool:
        return bool(self._token) and hmac.compare_digest(token.encode("utf-8", "replace"), self._token)

    def _entering(self, scope: Scope) -> Response | None:
        """Return a redirect that sets the cookie and removes the token from the address; None without a valid token."""
        query = _query(scope)
        if scope["method"] not in _READING or "token" not in query or not self._is_token(query["token"]):
            return None
        rest = urlencode([(name, value) for name, value in query.items() if name != "token"])
        # Leading slashes could redirect to another host.
        path = quote(str(scope["path"]).lstrip("/\\"))
        reply = RedirectResponse(f"/{path}{'?' if rest else ''}{rest}", 303)
        reply.set_cookie(self._config.cookie, self._config.token, httponly=True, samesite="strict", path="/")
        return reply


_SAY_HOST = "open the address that `redraft studio` printed"
_SAY_TOKEN = f"{_SAY_HOST} at its last start"
_SEND_TOKEN = "send Authorization: Bearer TOKEN, with the token that `redraft studio` printed at its last start"  # noqa: S105


def _is_from_here(headers: Headers) -> bool:
    """Return whether a request that writes comes from the studio's own pages, or from a program that is not a browser.

    A browser sends the origin of each such request, and no page can change that.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site not in _HERE:
        return False
    if origin is not None:
        return urlsplit(origin).netloc == headers.get("host", "") and bool(urlsplit(origin).netloc)
    return site is not None or "authorization" in headers


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return False


def _cookie(headers: Headers, name: str) -> str:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(headers.get("cookie", ""))
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""


def _query(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(bytes(scope["query_string"]).decode("latin-1"), keep_blank_values=True))


def _more_than(limit: int) -> str:
    return f"The request is larger than {readable_size(limit)}"


def _limited(receive: Receive, limit: int) -> Receive:
    """Return a receive function that limits the number of bytes, regardless of Content-Length."""
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise RequestTooLarge(_more_than(limit), hint="use a smaller file")
        return message

    return limited


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending
