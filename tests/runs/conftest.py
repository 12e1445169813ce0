"""Harnesses for refinements: judged and revised by models at hand, or behind a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judges import KEY
from tests.runs.harnesses import OpenHarness, open_harnesses


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[OpenHarness]:
    """Harnesses whose models are at hand."""
    with open_harnesses(tmp_path, wired=False) as make:
        yield make


@pytest.fixture(params=["at hand", "at a server"])
def any_harness(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OpenHarness]:
    """Harnesses whose models are at hand, and again such as have them behind a server."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with open_harnesses(tmp_path, wired=request.param == "at a server") as make:
        yield make
