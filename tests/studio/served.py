"""A studio that is served as it is for users, on the loopback, and stores with something in them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from redraft.domain import Document
from redraft.readers.documents import load_bytes
from redraft.studio.app import studio
from redraft.studio.context import StudioConfig
from redraft.studio.server import StudioServer, config_for, listening
from tests.support import chapter

TOKEN = "a-token-of-the-tests"
READY = "html[data-ready=yes]"
FITS = "document.documentElement.scrollWidth <= innerWidth"
Visit = Callable[..., Any]
"""Opens a page: the fixture `visit`."""
_SECONDS = 60.0


@dataclass(frozen=True)
class Served:
    """A studio that listens."""

    url: str
    told: StudioConfig
    server: StudioServer

    @property
    def entrance(self) -> str:
        """The address with the token."""
        return f"{self.url}/?token={TOKEN}"

    def client(self, **settings: Any) -> httpx.Client:
        """Somebody who knows the token."""
        return httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=_SECONDS, **settings
        )

    def stranger(self, **settings: Any) -> httpx.Client:
        """Somebody who does not."""
        return httpx.Client(base_url=self.url, timeout=_SECONDS, **settings)


@contextmanager
def served(folder: Path, host: str = "127.0.0.1", **told: Any) -> Iterator[Served]:
    """A studio on the database of a folder, in a thread."""
    with listening(host, 0) as bound:
        port = int(bound.getsockname()[1])
        known = config_for(host, port, StudioConfig(**{"database": folder / "redraft.db", "token": TOKEN, **told}))
        server = StudioServer(studio(known))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            until(lambda: server.started or not thread.is_alive())
            assert server.started
            yield Served(f"http://127.0.0.1:{port}", known, server)
        finally:
            server.end()
            thread.join(_SECONDS)
            assert not thread.is_alive(), "the studio does not end"


def until(holds: Callable[[], object], seconds: float = _SECONDS) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def book(text: str = "", name: str = "ledger.md") -> Document:
    """A document as it is handed over."""
    return load_bytes((text or chapter()).encode(), name)


def begin(client: httpx.Client, **asked: Any) -> str:
    """Begin a run; returns its id."""
    reply = client.post("/api/runs", json={"text": chapter(), "title": "The Salt Ledger", **asked})
    assert reply.status_code == 201, reply.text
    return str(reply.json()["run"])


def at_rest(client: httpx.Client, run: str) -> dict[str, Any]:
    """How a run stands once nobody works on it."""
    until(lambda: client.get(f"/api/runs/{run}").json()["status"] != "running")
    shown: dict[str, Any] = client.get(f"/api/runs/{run}").json()
    return shown


def kept_from(page: str) -> str:
    """The name of the plan on a page."""
    match = re.search(r'name="kept" value="([^"]+)"', page)
    assert match, page
    return match[1]


def events_of(client: httpx.Client, name: str, where: str = "runs") -> list[dict[str, Any]]:
    """The events of a run, or of a batch, until it stops."""
    with client.stream("GET", f"/api/{where}/{name}/events") as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        return [json.loads(line.removeprefix("data: ")) for line in reply.iter_lines() if line.startswith("data: ")]
