"""The page of a run in a real browser: its menus, its calls, the search in its document, and every action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.browser import browser, serious
from tests.studio.served import Served, at_rest, begin, chapter, served

pytestmark = pytest.mark.nightly
EVIL = "<img src=x onerror=\"document.title='pwned'\">"
MARKDOWN = f"""# The *Salt* Ledger

{chapter().partition(chr(10))[2].strip()}

He said **salt and salt** and _left_, for `SALT_1`. See [the deed](javascript:alert(1)) {EVIL}

- one grain
- two grains

> All the salt
> of Sarn

```
x = *not emphasis*
```
"""
_READY = "html[data-ready=yes]"


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("run-page")) as made:
        yield made


@pytest.fixture(scope="module")
def client(at: Served) -> Iterator[httpx.Client]:
    with at.client() as made:
        yield made


@pytest.fixture(scope="module")
def run(client: httpx.Client) -> str:
    made = begin(client, kind="refine", words=60, goals={"coverage": 1.0}, rounds=1, allow_self_check=True,
                 text=MARKDOWN)  # fmt: skip
    at_rest(client, made)
    return made


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with browser() as made:
        yield made


@pytest.fixture
def page(chrome: Any, at: Served, run: str) -> Iterator[Any]:
    context = chrome.new_context(viewport={"width": 1440, "height": 900}, permissions=["clipboard-read"])
    made = context.new_page()
    troubles: list[str] = []
    made.on("pageerror", lambda error: troubles.append(str(error)))
    made.goto(at.entrance)
    made.goto(f"{at.url}/runs/{run}")
    made.wait_for_selector(_READY, state="attached")
    yield made
    context.close()
    assert troubles == []


def test_markdown_in_the_document_is_shown_as_what_it_means_and_never_as_markup(
    page: Any, client: Any, run: str
) -> None:
    text = client.get(f"/api/runs/{run}/dossier").json()["document"]["text"]
    shown = page.evaluate("[...document.querySelectorAll('[data-text] .block p')].map((one) => one.textContent)")
    assert [one for one in shown if one not in text] == [], "every character of the document is there"
    seen = page.inner_text("[data-text]")
    for words in ("The Salt Ledger", "He said salt and salt and left, for SALT_1. See the deed", "x = *not emphasis*"):
        assert words in seen
    assert page.locator("[data-text] strong").all_inner_texts() == ["salt and salt"]
    assert page.locator("[data-text] .item.bullet").all_inner_texts() == ["one grain", "two grains"]
    assert page.locator("[data-text] .quote").inner_text().strip() == "All the salt\nof Sarn"
    assert page.locator("[data-text] a, [data-text] img").count() == 0
    assert page.title() != "pwned"


def test_the_document_is_searched(page: Any) -> None:
    field, count = page.locator("[data-find] input"), page.locator("[data-find-count]")
    page.keyboard.press("/")
    page.keyboard.type("ALL THE salt of")
    assert count.inner_text() == "Not found", "the mark of the second line is between the words"
    field.fill("grain")
    assert count.inner_text() == "1 of 2"
    page.keyboard.press("Enter")
    assert count.inner_text() == "2 of 2"
    page.click("[aria-label='Next match']")
    assert count.inner_text() == "1 of 2"
    page.click("[aria-label='Previous match']")
    assert count.inner_text() == "2 of 2"
    found = page.evaluate("[...CSS.highlights.get('found-now')].map(String)")
    assert found == ["grain"]
    box, pane = page.evaluate(
        "[[...CSS.highlights.get('found-now')][0], document.querySelector('[data-text]')]"
        ".map((one) => one.getBoundingClientRect().toJSON())"
    )
    assert pane["top"] <= box["top"] < pane["bottom"], "the match is in view"
    page.keyboard.press("Escape")
    field.fill("[.*")
    assert count.inner_text() == "Not found"


def test_calls_are_filtered_by_stage_and_opened(page: Any) -> None:
    page.select_option("[data-calls-stage]", "Refining")
    rows = page.locator("[data-calls-rows] tr")
    assert {rows.nth(at).locator("td").nth(2).inner_text() for at in range(rows.count())} == {"Refining"}
    page.locator(".open-call").first.click()
    page.wait_for_selector(".call-texts details")
    told = page.locator(".call-texts").inner_text()
    for words in ("Prompt · ", "Reply · ", "Tokens", "Cost", "Time"):
        assert words in told
    prompt, reply = (page.locator(".call-texts details").nth(at) for at in range(2))
    assert [one.get_attribute("open") is not None for one in (prompt, reply)] == [False, True]
    page.fill(".call-texts input", "sarn")
    assert prompt.locator("mark").count() > 1
    assert {one.lower() for one in prompt.locator("mark").all_inner_texts()} == {"sarn"}
    assert prompt.get_attribute("open") is not None, "a folded text with a match is unfolded"
    assert EVIL in prompt.locator("pre").inner_text()
    assert page.locator(".call-texts [role=status]").inner_text().endswith(" found")
    page.fill(".call-texts input", "[.*")
    assert page.locator(".call-texts [role=status]").inner_text() == "Not found"
    assert page.locator(".call-texts img, .call-texts mark").count() == 0
    assert serious(page) == []
    page.locator(".open-call").first.click()
    assert page.locator(".call-texts").count() == 0


def test_the_summary_is_copied(page: Any, client: httpx.Client, run: str) -> None:
    page.click("[data-copy]")
    page.wait_for_selector("[data-copy]:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == client.get(f"/api/runs/{run}/dossier").json()["summary"]


def test_one_menu_is_open_at_a_time_and_downloads_a_file(page: Any) -> None:
    page.click("summary:has-text('Delete')")
    assert page.is_visible("text=You cannot undo it")
    page.click("summary:has-text('Download')")
    assert not page.is_visible("text=You cannot undo it")
    with page.expect_download() as taken:
        page.click("text=Word (.docx)")
    assert taken.value.suggested_filename.endswith(".docx")
    page.keyboard.press("Escape")
    assert not page.is_visible("text=Word (.docx)")


def test_a_draft_is_forked_with_a_request_and_its_cost_shown_first(page: Any, client: httpx.Client, run: str) -> None:
    page.click("summary:has-text('Fork')")
    page.click("text=Round 0")
    page.wait_for_selector("h1:has-text('Refine the summary')")
    page.select_option("[name=round]", "1")
    assert page.locator("[data-draft='1']").is_visible()
    assert not page.locator("[data-draft='0']").is_visible()
    page.fill("[name=requests]", "Name the auditor.")
    page.fill("[name=rounds]", "1")
    page.click("text=Show the estimated cost")
    page.click("button:has-text('Start')")
    page.wait_for_url(lambda url: "/runs/" in url and not url.endswith("refine"))
    made = page.url.rpartition("/")[2]
    assert at_rest(client, made)["parent"] == run


def test_a_run_is_compared_run_again_and_deleted(page: Any, at: Served, client: httpx.Client, run: str) -> None:
    other = begin(client, kind="evaluate", metrics=["coverage"], words=40, text=MARKDOWN)
    at_rest(client, other)
    page.goto(f"{at.url}/runs/{other}")
    page.click("summary:has-text('Compare with')")
    page.select_option(".menu select[name=run]", run)
    page.click("button:has-text('Compare')")
    page.wait_for_selector("text=Comparison of 2 runs")
    page.goto(f"{at.url}/runs/{other}")
    page.click("text=Run again with changes")
    assert page.input_value("[name=words]") == "40"
    page.goto(f"{at.url}/runs/{other}")
    page.click("summary:has-text('Delete')")
    page.click("text=Delete this run")
    page.wait_for_url("**/runs")
    assert client.get(f"/api/runs/{other}").status_code == 404


@pytest.mark.parametrize("width", [1440, 1024, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it_at_any_width(chrome: Any, at: Served, run: str, width: int, scheme: str) -> None:
    context = chrome.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(at.entrance)
    for path in (f"/runs/{run}", f"/runs/{run}/refine"):
        page.goto(f"{at.url}{path}")
        page.wait_for_selector("h1")
        for summary in page.locator(".menu > summary").all():
            summary.click()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert serious(page) == [], path
    context.close()
