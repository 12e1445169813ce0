"""Serving the studio: its address, its host names, and its shutdown."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn
from platformdirs import user_state_path
from starlette.applications import Starlette
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from redraft.errors import Set, UsageError
from redraft.studio.app import studio
from redraft.studio.context import StudioConfig
from redraft.studio.guard import TOKEN_SENT

HEAD_SECONDS = 5.0
"""The maximum time for the head of a request."""
BODY_SECONDS = 10.0
"""The maximum time between two parts of the body of a request."""
SLOWEST = 1_000
"""The minimum rate of a body in bytes per second; a slower one is aborted after about BODY_SECONDS."""
MAX_STRANGERS = 128
"""The maximum number of connections without the token. Many systems allow a process 256 open files."""
_ACCEPTED_AT_ONCE = 16
# Far fewer than MAX_STRANGERS, so that a request that came with its connection is read before newer ones displace it.
_WAITING_TO_BE_ACCEPTED = 2_048
_Protocol: Any = AutoHTTPProtocol


class HttpConnection(_Protocol):  # type: ignore[misc]
    """uvicorn's connection, with time limits for requests and a limited number of strangers: the connections of a
    server that have not sent the token, oldest first.

    A new connection is always accepted, and the oldest idle one is closed for it. So whoever fills the room with
    connections displaces his own, and the owner's request is read.
    """

    _timer: asyncio.TimerHandle | None = None
    _reading: Any = None
    """The request whose body is being received."""
    _due = 0.0
    """The deadline of that body."""
    app_state: Mapping[str, Any]
    """What the state of each request begins with."""

    def __init__(self, strangers: dict[HttpConnection, None], **server: Any) -> None:
        super().__init__(**server)
        self._strangers = strangers

    @property
    def is_idle(self) -> bool:
        """Return whether there is no request to answer."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Accept a connection, and close the oldest stranger if there are too many."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, TOKEN_SENT: partial(self._strangers.pop, self, None)}
        self._strangers[self] = None
        if len(self._strangers) > MAX_STRANGERS:
            idle = (connection for connection in self._strangers if connection.is_idle)
            oldest = next(idle, next(iter(self._strangers)))
            del self._strangers[oldest]
            oldest.transport.abort()
        self._wait(HEAD_SECONDS)

    def connection_lost(self, error: Exception | None) -> None:
        """Clean up after a closed connection."""
        self._wait(None)
        self._strangers.pop(self, None)
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Receive data. More data does not restart the time limit of a request."""
        super().data_received(data)
        if self.is_idle:
            if self._timer is None:
                self._wait(HEAD_SECONDS)
            return
        if not self.cycle.more_body:
            self._wait(None)
            return
        now = time.monotonic()
        if self._reading is not self.cycle:
            self._reading, self._due = self.cycle, now + BODY_SECONDS
        self._due += len(data) / SLOWEST
        self._wait(min(BODY_SECONDS, self._due - now))

    def _wait(self, seconds: float | None) -> None:
        """Abort the connection after some seconds, even of a request that was answered without the rest of its body;
        None waits for nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = None if seconds is None else loop.call_later(seconds, self.transport.abort)


USUAL_PORT = 8765
_TRIED = 50
_MIN_TOKEN = 8
_SECONDS_TO_END = 5
_SECONDS_KEPT_OPEN = 30
"""Longer than common clients keep an idle connection, so that none sends a request while it is being closed."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class StudioServer(uvicorn.Server):
    """uvicorn's server, which makes the studio end its event streams at shutdown."""

    def __init__(self, app: Starlette) -> None:
        super().__init__(
            # Requests are not logged: an address may contain the token.
            uvicorn.Config(
                app,
                log_level="critical",
                access_log=False,
                http=cast("Any", partial(HttpConnection, {})),
                backlog=_ACCEPTED_AT_ONCE,
                ws="none",
                timeout_graceful_shutdown=_SECONDS_TO_END,
                timeout_keep_alive=_SECONDS_KEPT_OPEN,
            )
        )
        self._app = app
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_WAITING_TO_BE_ACCEPTED)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        super().handle_exit(sig, frame)
        self.end()

    def end(self) -> None:
        """Shut down; can be called from any thread."""
        self.should_exit = True
        if self._loop is not None and hasattr(self._app.state, "context"):
            self._loop.call_soon_threadsafe(self._app.state.context.closing.set)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach this host."""
    if host in _LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def config_for(host: str, port: int, config: StudioConfig) -> StudioConfig:
    """Return the configuration for an address: host names, token, and whether reading needs it."""
    if config.token and len(config.token) < _MIN_TOKEN:
        raise UsageError(
            f"the token needs at least {_MIN_TOKEN} characters", hint="leave it out, and the studio makes one"
        )
    if (
        not config.token.isascii()
        or not config.token.isprintable()
        or any(character in config.token for character in ' ";,\\')
    ):
        raise UsageError("the token has characters that a cookie cannot hold", hint="use letters and digits")
    local = is_loopback(host)
    if not config.guarded and not local:
        raise UsageError(
            f"without a token it is only for this machine, but other machines can reach {host or 'all addresses'}",
            hint="let it have a token",
        )
    everywhere = host in ("0.0.0.0", "::", "")  # noqa: S104  (it is the user who asks for that)
    names = {host.lower()} if not everywhere else {socket.gethostname().lower()}
    return replace(
        config,
        token=config.token or secrets.token_urlsafe(24),
        exposed=not local,
        hosts=frozenset({*names, *_LOOPBACK}) if local or everywhere else frozenset(names),
        any_address=everywhere,
        # A browser sends cookies to all ports of a machine.
        cookie=f"redraft_studio_{port}",
    )


def listening(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens at this port, or by default at the usual one or the next free one."""
    tried = [port] if port is not None else list(range(USUAL_PORT, USUAL_PORT + _TRIED))
    for number in tried:
        try:
            family, _, _, _, address = socket.getaddrinfo(host or None, number, type=socket.SOCK_STREAM)[0]
            is_dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
            # Only listening proves that the port is free.
            return socket.create_server(address[:2], family=family, backlog=128, dualstack_ipv6=is_dual)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or number == tried[-1]:
                reason = (error.strerror or str(error)).partition(" (while")[0]
                fix = ("choose another ", Set("port"))
                raise UsageError(f"cannot listen at {host}:{number}: {reason}", fix=fix) from error
    raise AssertionError("there is at least one port to try")


def address_of(host: str, port: int, config: StudioConfig) -> str:
    """Return the address to open, with the token if it is needed."""
    shown_host = "127.0.0.1" if host in ("0.0.0.0", "") else "::1" if host == "::" else host  # noqa: S104
    name = f"[{shown_host}]" if ":" in shown_host else shown_host
    token = f"/?token={config.token}" if config.guarded or not config.read_only else "/"
    return f"http://{name}:{port}{token}"


@contextmanager
def token_on_file(port: int, config: StudioConfig) -> Iterator[Path]:
    """Keep the token in a file that only the user can read, for programs, while the studio runs."""
    file = user_state_path("redraft") / f"studio-{port}.token"
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.unlink(missing_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as opened:
        opened.write(f"{config.token}\n")
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


def serve(host: str, port: int | None, config: StudioConfig, opened: Callable[[str, StudioConfig], None]) -> None:
    """Serve the studio until Ctrl-C or SIGTERM. Running work is stopped then, and can be resumed."""
    with listening(host, port) as bound, ExitStack() as stack:
        number = int(bound.getsockname()[1])
        studio_config = config_for(host, number, config)
        server = StudioServer(studio(studio_config))
        stack.enter_context(token_on_file(number, studio_config))
        opened(address_of(host, number, studio_config), studio_config)
        # uvicorn raises the signal again after shutdown.
        before = {signal_number: signal.getsignal(signal_number) for signal_number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for signal_number in before:
                signal.signal(signal_number, signal.SIG_IGN)
            server.run(sockets=[bound])
        finally:
            for signal_number, handler in before.items():
                signal.signal(signal_number, handler)
