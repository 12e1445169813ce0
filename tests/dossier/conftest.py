"""What the tests of dossiers share: one refinement by the built-in model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from redraft.report.dossier.contents import Dossier, read_dossier
from redraft.store.store import Store
from tests.pages.support import refined


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, str]]:
    """A database with a run, and the run's id."""
    database = tmp_path_factory.mktemp("dossier") / "redraft.db"
    run = refined(database)
    with Store(database) as store:
        yield store, run


@pytest.fixture(scope="session")
def dossier(shelf: tuple[Store, str]) -> Dossier:
    store, run = shelf
    return read_dossier(store, run)
