"""What people do in the studio, each action in a real browser: from the form with its price to the deleted run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.browser import serious
from tests.studio.served import READY, Served, at_rest, begin
from tests.support import chapter

pytestmark = pytest.mark.slow
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


@pytest.fixture(scope="module")
def run(client: httpx.Client) -> str:
    run_id = begin(client, kind="refine", words=60, goals={"coverage": 1.0}, rounds=1,
                 text=MARKDOWN)  # fmt: skip
    at_rest(client, run_id)
    return run_id


@pytest.fixture(scope="module")
def inside(chrome: Any, at: Served) -> Any:
    """Somebody who has opened the printed address."""
    context = chrome.new_context(viewport={"width": 1440, "height": 900}, permissions=["clipboard-read"])
    context.request.get(at.entrance)
    return context


@pytest.fixture
def blank(inside: Any) -> Iterator[Any]:
    blank_page = inside.new_page()
    troubles: list[str] = []
    blank_page.on("pageerror", lambda error: troubles.append(str(error)))
    yield blank_page
    blank_page.close()
    assert troubles == []


@pytest.fixture
def page(blank: Any, at: Served, run: str) -> Any:
    opened(blank, f"{at.url}/runs/{run}")
    # The menus are the last thing that its scripts do.
    blank.wait_for_selector("html[data-opinions=yes]", state="attached")
    return blank


def opened(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(READY, state="attached")


def report(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "mimeType": "text/markdown", "buffer": (f"{text}. " + "The lamp burned. " * 30).encode()}


def test_markdown_is_shown_as_meant_never_markup(page: Any, client: Any, run: str) -> None:
    text = client.get(f"/api/runs/{run}/dossier").json()["document"]["text"]
    result = page.evaluate("[...document.querySelectorAll('[data-text] .block p')].map((one) => one.textContent)")
    assert [paragraph for paragraph in result if paragraph not in text] == [], (
        "every character of the document is there"
    )
    visible = page.inner_text("[data-text]")
    for words in ("The Salt Ledger", "He said salt and salt and left, for SALT_1. See the deed", "x = *not emphasis*"):
        assert words in visible
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
    result = page.evaluate("[...CSS.highlights.get('found-now')].map(String)")
    assert result == ["grain"]
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
    text = page.locator(".call-texts").inner_text()
    for words in ("Prompt · ", "Reply · ", "Tokens", "Cost", "Time"):
        assert words in text
    prompt, reply = (page.locator(".call-texts details").nth(at) for at in range(2))
    assert [details.get_attribute("open") is not None for details in (prompt, reply)] == [True, True]
    prompt.evaluate("(details) => { details.open = false }")
    page.fill(".call-texts input", "sarn")
    assert prompt.locator("mark").count() > 1
    assert {all_inner_text.lower() for all_inner_text in prompt.locator("mark").all_inner_texts()} == {"sarn"}
    assert prompt.get_attribute("open") is not None, "a folded text with a match is unfolded"
    assert EVIL in prompt.locator("pre").inner_text()
    assert page.locator(".call-texts [role=status]").inner_text().endswith(" found")
    page.fill(".call-texts input", "[.*")
    assert page.locator(".call-texts [role=status]").inner_text() == "Not found"
    assert page.locator(".call-texts img, .call-texts mark").count() == 0
    assert serious(page) == []
    page.locator(".open-call").first.click()
    assert page.locator(".call-texts").count() == 0


def test_experiment_form_fits_its_kind(blank: Any, at: Served, client: httpx.Client) -> None:
    opened(blank, f"{at.url}/experiments/new")
    fields = ("rubrics", "steps", "per_third", "chunk_sizes", "summaries", "file")
    for kind, expected in {
        "grid": {"rubrics", "chunk_sizes", "file"},
        "thesis": {"steps", "per_third", "file"},
        "chunk-size": {"chunk_sizes", "file"},
        "booookscore": {"summaries"},
    }.items():
        blank.check(f"[data-kind][value={kind}]")
        assert {name for name in fields if blank.is_visible(f"[name={name}]")} == expected
    blank.check("[data-kind][value=grid]")
    blank.set_input_files("[data-file]", [report("lamp.md", "# The Lamp\n\nThe keeper wrote of it")])
    for name, value in (("models", "extractive"), ("metrics", "spread")):
        blank.check(f"[name={name}][value={value}]")
    blank.fill("[name=word_limits]", "20, 40")
    blank.fill("[name=name]", "lamps")
    blank.click("text=Show the plan")
    blank.click("text=Start the experiment")
    blank.wait_for_selector("td:has-text('extractive, 40 words') >> nth=0", state="attached")
    blank.wait_for_selector(READY, state="attached")
    links = blank.locator("[aria-labelledby=its-runs] td a")
    assert links.count() >= 2
    assert serious(blank) == []
    links.first.click()
    blank.wait_for_selector("#summary .prose")
