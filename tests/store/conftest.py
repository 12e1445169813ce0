"""What the store promises holds for a file and for a server: most of its tests are run on both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.store.store import Store
from tests.postgres import database, needs_postgres


@pytest.fixture(params=["file", pytest.param("server", marks=needs_postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Where a database is to be: a file that is not there yet, or an empty database on a server."""
    if request.param == "file":
        yield tmp_path / "redraft.db"
    else:
        with database() as address:
            yield address


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store(place) as store:
        yield store


@pytest.fixture(autouse=True)
def _copied_databases() -> None:
    """Nothing is copied here: how a database comes into being is what these tests are about."""
