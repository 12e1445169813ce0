"""What the tests of pages share: one run, its dossier, and its page, made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from redraft.report.dossier.contents import Dossier, read_dossier
from redraft.report.pages.html import dossier_page
from redraft.store.store import Store
from tests.browser import browser, need_browser
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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    need_browser()
    with browser() as instance:
        yield instance


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A page that keeps what it asks for, and what goes wrong in it."""
    browser_page = chromium.new_page(viewport={"width": 1440, "height": 900})
    browser_page.requests, browser_page.troubles = [], []
    browser_page.on("request", lambda request: browser_page.requests.append(request.url))
    browser_page.on("pageerror", lambda error: browser_page.troubles.append(str(error)))
    browser_page.on(
        "console", lambda message: browser_page.troubles.append(message.text) if message.type == "error" else None
    )
    yield browser_page
    browser_page.close()
