"""What pages look like at the sizes and with the texts that broke them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft.order import Evaluate
from redraft.store.store import Store
from tests.browser import browser, need_browser
from tests.store.support import run
from tests.studio.served import TOKEN, Served, served
from tests.studio.test_rows import JUDGING, add

LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 2
LINES = (
    "(one) => { const all = document.createRange(); all.selectNodeContents(one); return all.getClientRects().length; }"
)
WORDY = "The history of the lighthouse keeper who lost her ledger in the great storm and found it again " * 2


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("sizes")
    with Store(folder / "redraft.db") as store:
        add(store, "aaaa", LONG, order=Evaluate(judging=JUDGING))
        add(store, "bbbb", WORDY)
        store.runs.add(replace(run("cccc"), document=store.runs.get("bbbb").document))
        store.runs.set_status("cccc", "failed")
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


def test_every_page_has_an_icon(at: Served) -> None:
    with at.client() as client:
        for path in ("/runs", "/runs/aaaa", "/nothing"):
            assert 'rel="icon" href="data:image/svg+xml,' in client.get(path).text, path


@pytest.mark.nightly
def test_token_is_entered_in_the_page(at: Served) -> None:
    need_browser()
    with browser() as chrome:
        page: Any = chrome.new_page()
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


@pytest.mark.slow
def test_phone_breaks_addresses_not_buttons(at: Served) -> None:
    need_browser()
    with browser() as chrome:
        page: Any = chrome.new_page(viewport={"width": 390, "height": 900})
        page.goto(at.entrance)
        page.goto(f"{at.url}/api")
        parts = "[...document.querySelectorAll('.wide code')].flatMap((one) => [...one.childNodes])"
        broken = page.evaluate(f"{parts}.filter((one) => ({LINES})(one) > 1).map((one) => one.textContent)")
        assert broken == []
        for path in ("/experiments", "/batches", "/runs"):
            page.goto(f"{at.url}{path}")
            assert page.locator(".button.go").evaluate(LINES) == 1, path
        page.set_viewport_size({"width": 320, "height": 600})
        page.goto(f"{at.url}/models")
        assert page.evaluate("document.documentElement.scrollWidth") == 320


@pytest.mark.slow
def test_printed_lists_omit_screen_controls(at: Served) -> None:
    need_browser()
    with browser() as chrome:
        page: Any = chrome.new_page()
        page.goto(at.entrance)
        page.emulate_media(media="print")
        seen = [page.is_visible(one) for one in ("table.runs", ".studio-top", ".headline .button", ".filter", ".bar")]
        assert seen == [True, False, False, False, False]


@pytest.mark.nightly
def test_long_titles_hide_nothing(at: Served) -> None:
    need_browser()
    with browser() as chrome:
        for width in (1440, 1024, 390):
            page: Any = chrome.new_page(viewport={"width": width, "height": 900})
            page.goto(at.entrance)
            for path in ("/runs", "/runs/aaaa", "/runs/bbbb"):
                page.goto(f"{at.url}{path}")
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
                if path == "/runs":
                    hidden = (
                        "[...document.querySelectorAll('.scroll')].some((one) => one.scrollWidth > one.clientWidth)"
                    )
                    assert not page.evaluate(hidden), f"columns are out of sight at {width}"
                    days = "[...document.querySelectorAll('.day')].map((one) => one.getClientRects().length)"
                    assert page.evaluate(days) == [1, 1, 1], f"a date is broken at {width}"
                    continue
                title = page.evaluate(
                    "() => { const all = document.createRange(); all.selectNodeContents(document.querySelector('h1'));"
                    " return all.getBoundingClientRect().toJSON(); }"
                )
                keys = page.evaluate("document.querySelector('[data-keys-toggle]').getBoundingClientRect().toJSON()")
                assert title["right"] <= keys["left"] or keys["width"] == 0, (path, width)
            page.close()


@pytest.mark.slow
def test_page_without_summary_overlaps_nothing(at: Served) -> None:
    need_browser()
    with browser() as chrome:
        for width in (1440, 1024):
            page: Any = chrome.new_page(viewport={"width": width, "height": 900})
            page.goto(at.entrance)
            page.goto(f"{at.url}/runs/cccc")
            assert page.is_visible("text=No summary yet.")
            panes = [page.locator(f".pane.{name}").bounding_box() for name in ("summary", "ask", "document")]
            summary, ask, document = panes
            assert summary["y"] + summary["height"] <= ask["y"] < document["y"] + document["height"], width
            assert 250 <= ask["x"] + ask["width"] <= document["x"], width
            page.close()
