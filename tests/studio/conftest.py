"""What the tests of the studio share: a studio with nothing in it, a client of it, and a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.browser import browser
from tests.pages.conftest import chromium as chromium
from tests.pages.conftest import page as page
from tests.studio.judged_runs import JudgedRuns, make_judged_runs
from tests.studio.served import READY, Served, served


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("studio")) as studio:
        yield studio


# Before the browser, in which another loop runs.
@pytest.fixture(scope="session")
def keepers(tmp_path_factory: pytest.TempPathFactory) -> JudgedRuns:
    return make_judged_runs(tmp_path_factory.mktemp("keepers"))


@pytest.fixture(scope="module")
def client(at: Served) -> Iterator[httpx.Client]:
    with at.client() as made:
        yield made


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with browser() as browser_:
        yield browser_


@pytest.fixture
def visit(chrome: Any, at: Served) -> Iterator[Callable[..., Any]]:
    """Opens pages for somebody who has the token; what a script or the policy complains of fails the test."""
    troubles = list[str]()

    def opened(path: str, width: int = 1280, height: int = 800, scheme: str = "light") -> Any:
        page = chrome.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.append(said.text) if "Content Security" in said.text else None)
        page.goto(at.entrance)
        page.goto(f"{at.url}{path}")
        page.wait_for_selector(READY, state="attached")
        return page

    yield opened
    for context in chrome.contexts:
        context.close()
    assert troubles == []
