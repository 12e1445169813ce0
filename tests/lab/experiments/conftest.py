"""What tests of experiments share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chatserver import ChatServer
from tests.lab.experiments.world import serving


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """The models of the island, behind a server."""
    with serving() as running:
        yield running
