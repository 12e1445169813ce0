"""A real browser for the tests of pages: the Chromium that is installed on the machine, driven by Playwright.

Playwright's own browsers cannot be downloaded everywhere, so none of them is asked for. Without the package or without
the browser the tests are skipped, and a sentence says what is missing; with `REDRAFT_NEEDS_BROWSER` set they fail.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_NEEDED = bool(os.environ.get("REDRAFT_NEEDS_BROWSER"))
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def browser_path() -> str | None:
    """Where the browser is."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def missing() -> str:
    """What is not installed, as a sentence; empty where pages can be looked at."""
    if importlib.util.find_spec("playwright") is None:
        return 'the pages are not looked at: pip install -e ".[browser]"'
    if browser_path() is None:
        return "the pages are not looked at: install chromium (apt install chromium)"
    return ""


def need_browser() -> None:
    """Skip where there is none."""
    if lacking := missing():
        if _NEEDED:
            pytest.fail(lacking)
        pytest.skip(lacking)


@contextmanager
def browser() -> Iterator[Any]:
    """A browser that was started for this, Playwright's synchronous one."""
    need_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        # A container has no user of its own for the sandbox.
        browser_ = started.chromium.launch(
            executable_path=browser_path(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield browser_
        finally:
            browser_.close()


def run_shown(page: Any) -> str:
    """The run whose page a click leads to, once it is there: `/runs/new` and `/runs/start` are no runs."""
    page.wait_for_url(re.compile(r"/runs/\w{8}$"))
    return str(page.url.rpartition("/")[2])


def serious(page: Any) -> list[str]:
    """What axe-core finds wrong with a page that is serious or worse, with the places."""
    from axe_playwright_python.sync_playwright import Axe

    violations = Axe().run(page).response["violations"]
    return [
        f"{violation['id']}: {violation['help']}: {node['html'][:160]}"
        for violation in violations
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"][:3]
    ]
