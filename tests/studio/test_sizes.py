"""Pages for whoever has no token or no run yet, and with titles that broke them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redraft.store.store import Store
from tests.studio.served import TOKEN, Served, served
from tests.studio.test_rows import add


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("sizes")
    with Store(folder / "redraft.db") as store:
        add(store, "bbbb")
    with served(folder) as studio:
        yield studio


def test_error_page_leads_on_with_commands(at: Served) -> None:
    with at.client() as client:
        lost = client.get("/nothing").text
    assert 'aria-label="Studio"' in lost
    assert 'href="/experiments"' in lost
    with at.stranger() as client:
        reply = client.get("/runs")
        assert "<h1>This is not the studio’s token</h1>" in client.get("/runs?token=wrong").text
    assert "<code>redraft studio</code>" in reply.text
    assert "/static/" not in reply.text, "it may load no file"
    assert "style-src 'sha256-" in reply.headers["content-security-policy"]
    assert "script-src" not in reply.headers["content-security-policy"]


@pytest.mark.nightly
def test_token_is_entered_in_the_page(chrome: Any, at: Served) -> None:
    page = chrome.new_page()
    page.goto(f"{at.url}/runs?q=bbbb")
    assert page.evaluate("getComputedStyle(document.querySelector('.studio-top')).borderBottomStyle") == "solid"
    page.fill("[name=token]", "wrong")
    page.click("text=Open the studio")
    page.wait_for_selector("h1:has-text('This is not the studio’s token')")
    page.fill("[name=token]", TOKEN)
    page.click("text=Open the studio")
    page.wait_for_selector("h1:has-text('Runs')")
    assert TOKEN not in page.url


def test_empty_run_list_has_no_filter(at: Served, tmp_path: Path) -> None:
    with served(tmp_path) as empty, empty.client() as client:
        none = client.get("/runs").text
    with at.client() as client:
        listing, without = client.get("/runs").text, client.get("/runs?q=nothing-has-this").text
    assert ["No runs yet" in page for page in (none, listing, without)] == [True, False, False]
    assert ['class="filter"' in page for page in (none, listing, without)] == [False, True, True]
