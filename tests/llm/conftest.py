"""A desk for the tests of models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.support import Desk, make_book


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    made = Desk(tmp_path, make_book(tmp_path / "prompts", monkeypatch), monkeypatch)
    yield made
    made.store.close()
