"""What the tests of pages share: one run, its dossier, and its page, made once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from redraft.report.dossier.build import read_dossier
from redraft.report.dossier.contents import Dossier
from redraft.report.pages.dossier import dossier_page
from redraft.store.store import Store
from tests.pages.support import refined


class Exported(NamedTuple):
    """A run with what is shown of it."""

    database: Path
    run: str
    dossier: Dossier
    page: Path


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("exported")
    database = folder / "redraft.db"
    run = refined(database)
    with Store(database) as store:
        dossier = read_dossier(store, run)
    page = folder / "dossier.html"
    page.write_text(dossier_page(dossier), "utf-8")
    return Exported(database, run, dossier, page)
