"""What holds for every test: nothing leaves this machine, and nothing of the user's own settings comes in."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest
from hypothesis import settings

# How long an example takes says more about what else the machine is doing.
settings.register_profile("redraft", deadline=None)
settings.load_profile("redraft")

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


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
