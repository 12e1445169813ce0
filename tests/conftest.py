"""What holds for every test: nothing leaves this machine, and nothing of the user's own settings comes in."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.fresh import copy_new_databases
from tests.passed import Passed

# How long an example takes says more about what else the machine is doing.
settings.register_profile("redraft", deadline=None)
settings.load_profile("redraft")

# Nothing here speaks TLS, and to read who is trusted in all the world takes 40 ms for each client of a model.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull
# A fixture of a module is made before those of its tests: it, too, counts tokens as they do.
os.environ.pop("TIKTOKEN_CACHE_DIR", None)

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def pytest_configure(config: pytest.Config) -> None:
    if note := os.environ.get("REDRAFT_TESTS_PASSED"):
        config.pluginmanager.register(Passed(config, Path(note)))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in _LOOPBACK:
            raise AssertionError(f"a test wants to connect to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("REDRAFT_", "OPENAI_", "TIKTOKEN_"))]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _copied_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    copy_new_databases(monkeypatch)


@pytest.fixture(autouse=True)
def _closed_stores() -> Iterator[None]:
    """Close the stores of the harnesses that a test has made."""
    before = len(getattr(sys.modules.get("tests.judges"), "OPENED", ()))
    yield
    opened: list[Any] = getattr(sys.modules.get("tests.judges"), "OPENED", [])
    while len(opened) > before:
        opened.pop().close()


@pytest.fixture
def api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key, OpenAI's models are not asked, wherever they are."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")


@pytest.fixture
def harness(tmp_path: Path) -> Any:
    """A judge of an island of twelve keepers."""
    from tests.judges import Harness

    return Harness(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    from redraft.store.store import Store

    with Store(tmp_path / "redraft.db") as store_:
        yield store_


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A desk for the tests of models."""
    from tests.llm.support import Desk, make_book

    desk_ = Desk(tmp_path, make_book(tmp_path / "prompts", monkeypatch), monkeypatch)
    yield desk_
    desk_.store.close()
