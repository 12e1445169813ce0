"""The studio in a real browser: a run begun, followed, reviewed and judged there; nothing of a text is ever markup."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from redraft.settings import ModelSettings
from redraft.store.store import Store
from tests.browser import run_shown, serious
from tests.chatserver import ChatRequest, ChatServer
from tests.studio.served import FITS, READY, Served, Visit, at_rest, begin, served, until
from tests.support import chapter

EVIL = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
# Playwright has functions that it waits for evaluated in the page, whose policy forbids that. Selectors need none.


class Slow:
    """A model that answers as many requests as it is let."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.asked = self.most = 0

    def let(self, more: int) -> None:
        """Answer so many requests that are yet to come, and no others."""
        self.most = self.asked + more
        self.opened.clear()

    async def __call__(self, request: ChatRequest) -> str:
        self.asked += 1
        number = self.asked
        while number > self.most and not self.opened.is_set():  # noqa: ASYNC110  (it is set in another thread)
            await asyncio.sleep(0.02)
        return f"Hester Vane came to the island of Sarn. {EVIL} The ledger was number {request.index}."


@pytest.fixture(scope="module")
def slow() -> Slow:
    return Slow()


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory, slow: Slow) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch, ChatServer(slow) as chat:
        patch.setenv("OPENAI_API_KEY", "sk-test")
        model = ModelSettings(model="openai:slow", base_url=chat.base_url, context_tokens=4000)
        with served(tmp_path_factory.mktemp("browser"), models={"slow": model}) as studio:
            yield studio
        slow.opened.set()


@pytest.fixture
def page(visit: Visit) -> Any:
    """A page of somebody who has opened the printed address."""
    return visit("/runs")


def ready(page: Any) -> None:
    page.wait_for_selector(READY, state="attached")


@pytest.mark.slow
def test_run_is_started_after_its_plan(page: Any, at: Served, client: httpx.Client, tmp_path: Path) -> None:
    book = tmp_path / "ledger.md"
    book.write_text(f"{chapter()}\n\nThis one was handed over.\n", "utf-8")
    before = client.get("/api/runs").json()["total"]
    page.goto(f"{at.url}/runs/new")
    ready(page)
    assert page.is_hidden("text=Maximum revisions")
    page.set_input_files("[data-file]", str(book))
    page.check("[data-kind][value=refine]")
    assert page.is_visible("text=Maximum revisions")
    page.fill("[name=words]", "60")
    page.fill("[name='goal.consistency']", "")
    page.fill("[name='goal.coverage']", "0.9")
    page.fill("[name=rounds]", "1")
    page.click("text=Show the plan")
    page.wait_for_selector("h1:has-text('Plan for The Salt Ledger')")
    assert page.is_visible("text=Asking about the document")
    assert client.get("/api/runs").json()["total"] == before, "nothing has started"
    # What was said is still there for whoever changes their mind, and the file need not be handed over again.
    page.click("text=Change settings")
    page.wait_for_selector("text=Your document is kept")
    assert page.input_value("[name=words]") == "60"
    page.fill("[name=words]", "50")
    page.click("text=Show the plan")
    page.wait_for_selector("dd:text-is('50')")
    page.click("text=Start the run")
    done = at_rest(client, run_shown(page))
    assert (done["status"], done["kind"], done["limit"]) == ("done", "refine", 50)
    page.wait_for_selector("#summary .prose")
    page.go_back()
    page.wait_for_selector("text=This plan has expired")


@pytest.mark.slow
def test_faulty_form_explains_itself(page: Any, at: Served) -> None:
    page.goto(f"{at.url}/runs/new")
    ready(page)
    # A file of many megabytes is not handed to a browser in a test: the form is told a smaller limit.
    page.evaluate("document.querySelector('[data-start]').dataset.most = 10")
    page.set_input_files("[data-file]", files=[{"name": "x.txt", "mimeType": "text/plain", "buffer": b"x" * 11}])
    page.wait_for_selector("text=The limit here is 0.00001 MB")
    page.click("text=Show the plan")
    assert page.url.endswith("/runs/new")
    page.set_input_files("[data-file]", files=[{"name": "x.png", "mimeType": "image/png", "buffer": b"\x89PNG"}])
    page.fill("[name=query]", "Who kept it?")
    page.click("text=Show the plan")
    page.wait_for_selector("[role=alert]")
    assert ".png files cannot be read" in page.inner_text("[role=alert]")
    page.wait_for_selector("#problem:focus")
    assert page.input_value("[name=query]") == "Who kept it?"


@pytest.mark.nightly
def test_running_run_shows_progress_to_its_end(page: Any, at: Served, client: httpx.Client, slow: Slow) -> None:
    text = "\n\n".join(f"{chapter()} Part {number} ends here." for number in range(5))
    slow.let(2)
    run = begin(client, model="slow", words=60, text=text)
    page.goto(f"{at.url}/runs/{run}")
    until(lambda: int(page.evaluate("document.documentElement.dataset.calls ?? 0")) >= 2)
    assert page.inner_text("[data-stage]") == "drafting"
    assert page.evaluate("document.querySelector('[data-bar]').max") > 2
    assert page.is_visible("button:has-text('Stop')")
    slow.most += 2
    until(lambda: int(page.evaluate("document.documentElement.dataset.calls ?? 0")) >= 4)
    assert serious(page) == []
    # Once the run is over, its page leads on to the result.
    page.wait_for_selector("[data-pieces] .draft", timeout=60_000)
    assert "Hester Vane" in page.inner_text("[data-pieces]")
    slow.opened.set()
    page.wait_for_selector("#summary .prose", timeout=60_000)
    assert client.get(f"/api/runs/{run}").json()["status"] == "done"
    assert page.title() != "pwned"


@pytest.mark.slow
def test_waiting_run_is_reviewed_to_its_end(page: Any, at: Served, client: httpx.Client) -> None:
    text = f"{chapter()} This one is reviewed."
    run = begin(client, kind="refine", words=60, goals={"coverage": 1.0}, review=True, rounds=2, text=text)
    assert at_rest(client, run)["status"] == "waiting"
    page.goto(f"{at.url}/runs/{run}")
    page.click("a.button:has-text('Review')")
    page.wait_for_url("**/review")
    ready(page)
    findings = page.locator("li.finding")
    first = findings.count()
    assert first >= 2
    assert serious(page) == []
    with page.expect_popup() as popup:
        findings.nth(0).locator("dd a").click()
    marked = "[...(CSS.highlights.get('here') ?? [])].join('')"
    until(lambda: popup.value.evaluate(marked))
    assert popup.value.evaluate(marked) in findings.nth(0).locator("blockquote").inner_text()
    popup.value.close()
    # A wrong answer is said, and what was filled in is still there.
    findings.nth(0).locator("[name=fix]").uncheck()
    page.fill("[name=add]", "Name the auditor.")
    page.click("[data-mode=edit]")
    page.fill("[data-edited]", "  ")
    page.click("button:has-text('Use my edited draft')")
    page.wait_for_selector("[role=alert]")
    assert "the draft is empty" in page.inner_text("[role=alert]")
    assert not page.locator("li.finding").nth(0).locator("[name=fix]").is_checked()
    assert page.input_value("[name=add]") == "Name the auditor."
    ready(page)
    page.click("button:has-text('Revise')")
    page.wait_for_url(f"**/runs/{run}")
    assert at_rest(client, run)["status"] == "waiting"
    body = client.get(f"/api/runs/{run}/dossier").json()
    mended = [
        history["finding"]["explanation"]
        for history in body["findings"]
        if any(outcome["round"] == 1 for outcome in history["aimed"])
    ]
    assert "Name the auditor." in mended
    assert len(mended) == first, "one was dropped, and one came from the person"
    page.goto(f"{at.url}/runs/{run}/review")
    ready(page)
    page.click("[data-mode=edit]")
    page.fill("[data-edited]", "Hester Vane came to the island of Sarn on Monday. Mr. Dunne wrote a letter.")
    assert page.is_visible("text=You edited the draft")
    page.click("button:has-text('Use my edited draft')")
    page.wait_for_url(f"**/runs/{run}")
    assert at_rest(client, run)["status"] == "done"
    texts = [round_["draft"]["text"] for round_ in client.get(f"/api/runs/{run}/dossier").json()["rounds"]]
    assert texts[-1].endswith("Mr. Dunne wrote a letter.")


@pytest.mark.nightly
def test_finding_is_agreed_with_by_keyboard(page: Any, at: Served, client: httpx.Client) -> None:
    run = begin(client, kind="evaluate", words=40, metrics=["coverage"], text=f"{chapter()} One agrees.")
    at_rest(client, run)
    opinions = f"/api/runs/{run}/opinions"
    page.goto(f"{at.url}/runs/{run}")
    page.wait_for_selector("html[data-opinions=yes]", state="attached")
    yes = page.locator("#f1 .opinion button").nth(0)
    yes.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#f1 .opinion button[aria-pressed=true]")
    page.locator("#f1 .opinion input").fill(EVIL)
    page.keyboard.press("Enter")
    # The page says "Saved" of the answer, too.
    kept = {"agrees": True, "note": EVIL}
    until(
        lambda: (
            [kept] == [{name: opinion[name] for name in kept} for opinion in client.get(opinions).json()["opinions"]]
        )
    )
    page.reload()
    page.wait_for_selector("#f1 .opinion button[aria-pressed=true]")
    assert page.locator("#f1 .opinion input").input_value() == EVIL
    assert page.title() != "pwned"


@pytest.mark.slow
def test_no_text_is_ever_markup(page: Any, at: Served, client: httpx.Client) -> None:
    """The title, the text, the query, the summary, the run's own note and error, and the address of a page."""
    text = f"# {EVIL}\n\n{chapter().partition(chr(10))[2]}\n\n{EVIL} came to the island in May. {EVIL}"
    summary = f"{EVIL} Hester Vane came to the island of Sarn on Friday, 9 July 1931."
    body = {"text": text, "title": EVIL, "query": EVIL, "summary": summary, "kind": "refine", "review": True}
    run = begin(client, **body, goals={"consistency": 1.0, "coverage": 1.0})
    at_rest(client, run)
    with Store(at.told.database) as store:
        store.runs.set_status(run, "waiting", why=EVIL, stop_reason=EVIL, error={"code": EVIL, "message": EVIL})
    other = begin(client, kind="evaluate", metrics=["coverage"], text=text, title=EVIL, words=40)
    at_rest(client, other)
    packs = client.get("/api/packs").json()["packs"]
    key = next(pack["id"] for pack in packs if pack["title"].startswith("<img"))
    paths = [
        "/runs", f"/runs?q={EVIL}&model={EVIL}&document={EVIL}&kind={EVIL}", f"/runs/{run}", f"/runs/{run}/review",
        f"/runs/{other}", f"/compare?run={run}&run={other}", "/packs", f"/packs/{key}", "/runs/new",
        f"/runs/{EVIL}", f"/experiments/{EVIL}", f"/runs?sort={EVIL}",
    ]  # fmt: skip
    for path in paths:
        page.goto(f"{at.url}{path}")
        page.wait_for_timeout(200)
        assert page.title() != "pwned", path
        assert page.locator("img[src=x]").count() == 0, path
        assert page.evaluate("[...document.scripts].every((one) => one.src || one.type === 'text/plain')"), path
    page.goto(f"{at.url}/runs/{run}/review")
    assert "<img src=x" in page.inner_text("main")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "scheme"),
    [(1440, "light"), (360, "dark"), pytest.param(390, "light", marks=pytest.mark.nightly)]
    + [pytest.param(*one, marks=pytest.mark.nightly) for one in ((1024, "light"), (1024, "dark"), (1440, "dark"))],
)
def test_every_page_is_for_everybody_and_fits(visit: Visit, client: httpx.Client, width: int, scheme: str) -> None:
    """Nothing serious for axe-core, and nothing wider than the screen."""
    text = f"{chapter()} For everybody, at {width}."
    judged = [begin(client, kind="evaluate", metrics=["coverage"], words=words, text=text) for words in (30, 60)]
    reviewed = begin(client, kind="refine", goals={"coverage": 1.0}, review=True, words=30, text=text)
    assert at_rest(client, reviewed)["status"] == "waiting"
    for run in judged:
        at_rest(client, run)
    pack = client.get("/api/packs").json()["packs"][0]["id"]
    paths = ["/runs", "/runs/new", "/packs", f"/packs/{pack}", "/experiments", "/api", "/runs/ffff"]
    paths += ["/models", "/experiments/new", "/batches", "/nothing"]
    paths += [f"/runs/{judged[0]}", f"/compare?run={judged[0]}&run={judged[1]}", f"/runs/{reviewed}/review"]
    for path in paths:
        page = visit(path, width, scheme=scheme)
        assert serious(page) == [], path
        assert page.evaluate(FITS), path
        if path.startswith("/compare") and width >= 1024:
            cut = "[...document.querySelectorAll('main .scroll')].filter((box) => box.scrollWidth > box.clientWidth)"
            assert page.evaluate(f"{cut}.length") == 0, "tables are cut"
