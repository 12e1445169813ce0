"""What the tests of the studio share: a studio with nothing in it, a client of it, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.browser import browser
from tests.studio.served import Served, served


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("studio")) as studio:
        yield studio


@pytest.fixture(scope="module")
def client(at: Served) -> Iterator[httpx.Client]:
    with at.client() as made:
        yield made


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with browser() as browser_:
        yield browser_
