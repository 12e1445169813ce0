"""Batches in the studio: how they stand, their documents by pages, their tables; paused, cancelled and gone on with."""

from __future__ import annotations

import asyncio
import io
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import pytest

import redraft
from redraft import DraftConfig, Limits, ModelSettings, Session
from redraft.batches.queue import Batch, Batches, BatchItemRow
from redraft.batches.request import BatchRequest
from redraft.batches.sources import add_items
from redraft.batches.tables import read_batch
from redraft.domain import adapter_of, record_json
from redraft.report.tables import Table
from redraft.store.store import Store
from redraft.studio.contracts import BatchList, BatchStatus, ItemList
from tests.browser import browser, serious
from tests.chatserver import ChatRequest, ChatServer, summarizer
from tests.judges import KEY
from tests.studio.served import FITS, Served, Visit, events_of, served, until
from tests.support import story

EVIL = "<img src=x onerror=\"document.title='pwned'\">"
_NAMED_EVIL = f"x/{EVIL}"


class Gate:
    """A model that answers once it is let."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.asked = 0
        self._write = summarizer()

    async def __call__(self, request: ChatRequest) -> Any:
        self.asked += 1
        while not self.opened.is_set():  # noqa: ASYNC110  (it is set in another thread)
            await asyncio.sleep(0.02)
        return self._write(request)


def document(number: int) -> str:
    return f"# Report {number}\n\n{story(12).text.replace('keeper', f'keeper {number}')}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a batch at rest, one of a strange name, and one of ten thousand documents."""
    root = tmp_path_factory.mktemp("batches")
    (root / "in").mkdir()
    for number in range(6):
        (root / "in" / f"report-{number}.md").write_text(document(number), "utf-8")
    (root / "in" / f"{EVIL}.txt").write_text("", "utf-8")
    (root / "in" / "100%_empty.txt").write_text("", "utf-8")

    async def fill() -> None:
        async with Session(root / "redraft.db") as session:
            await redraft.batch(session, [root / "in"], name="reports", words=40, metrics=["coverage"])
            await redraft.batch(session, [root / "in"], name=_NAMED_EVIL, words=40)

    asyncio.run(fill())
    with Store(root / "redraft.db") as store:
        request = record_json(BatchRequest(DraftConfig(words=200)))
        Batches(store).open(Batch("large", request, Limits(max_cost=50).model_dump(mode="json")))
        Batches(store).add(
            "large", (BatchItemRow(f"/corpus/{number:05}.pdf", f"{number:05}") for number in range(10_000))
        )
        Batches(store).lease("large", "w", 16, 10_000.0)
    return root


@pytest.fixture(scope="module")
def at(folder: Path) -> Iterator[Served]:
    with served(folder) as studio:
        yield studio


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: Gate) -> Iterator[Served]:
    """A studio beside a batch of four documents that nobody works on yet, with a model that waits to be let."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "in").mkdir()
    for number in range(4):
        (tmp_path / "in" / f"{number}.md").write_text(document(number), "utf-8")
    with ChatServer(gate) as server, Store(tmp_path / "redraft.db") as store:
        settings = DraftConfig(
            model="openai:m", base_url=server.base_url, context_tokens=1024, chunk_tokens=192, words=40
        )
        limits = Limits(concurrency=2).model_dump(mode="json")
        (tmp_path / "out").mkdir()
        Batches(store).open(Batch("b", record_json(BatchRequest(settings)), limits, str(tmp_path / "out")))
        add_items(store, "b", [str(tmp_path / "in")])
        models = {"m": ModelSettings(model="openai:m", base_url=server.base_url)}
        with served(tmp_path, models=models) as studio:
            yield studio
        gate.opened.set()


def items(client: httpx.Client, batch: str, **wanted: str | int) -> ItemList:
    reply = client.get(f"/api/batches/{batch}/items", params=wanted)
    assert reply.status_code == 200, reply.text
    return ItemList.model_validate(reply.json())


def snapshot(client: httpx.Client, batch: str = "b") -> BatchStatus:
    return adapter_of(BatchStatus).validate_python(client.get(f"/api/batches/{batch}").json())


@pytest.mark.parametrize("form", ["docx", "md", "html", "txt"])
def test_summaries_of_a_batch_are_downloaded_together(client: httpx.Client, form: str) -> None:
    reply = client.get(f"/api/batches/reports/download/{form}")
    assert reply.headers["content-disposition"] == f'attachment; filename="reports-{form}.zip"'
    assert "content-length" not in reply.headers, "it is sent while it is made"
    with ZipFile(io.BytesIO(reply.content)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [*(f"report-{number}.{form}" for number in range(6)), "not included.txt"]
        missing = archive.read("not included.txt").decode()
        first = archive.read(f"report-0.{form}")
    assert sorted(line.partition(". ")[2] for line in missing.splitlines()) == [
        "100%_empty.txt: the document is empty",
        f"{EVIL}.txt: the document is empty",
    ]
    alone = client.get(f"/runs/{items(client, 'reports', q='report-0').rows[0].run}/download/{form}").content
    assert first == alone or form == "docx", "a word processor's file has the time in it"
    assert f'href="/api/batches/reports/download/{form}" download' in client.get("/batches/reports").text


def test_list_has_every_batch_with_its_state(client: httpx.Client) -> None:
    listed = {batch.name: batch for batch in BatchList.model_validate(client.get("/api/batches").json()).batches}
    assert list(listed) == ["large", _NAMED_EVIL, "reports"], "newest first"
    reports, large = listed["reports"], listed["large"]
    assert (reports.status, reports.counts.all, reports.counts.done, reports.counts.failed) == ("done", 8, 6, 2)
    assert (reports.words, reports.model, reports.orders) == (40, "extractive", ("resume",))
    assert (large.status, large.counts.leased, large.max_cost) == ("working", 16, 50)
    assert large.orders == ("pause", "cancel")
    assert (large.a_minute, large.seconds_left) == (None, None), "nothing has come to its end yet"
    text = client.get("/batches/reports").text
    assert re.search(r"6 of 8 documents done, <span[^>]*>2 failed</span>", text)
    assert "/batches/reports?state=failed#documents" in text
    assert "the document is empty" in text.partition('class="failures')[2].partition("</section>")[0]
    page = client.get("/batches").text
    assert page.count('class="what"') == 3
    assert "10,000" in page
    assert EVIL not in page


@pytest.mark.slow
def test_documents_are_filtered_by_state_and_name(client: httpx.Client) -> None:
    every = items(client, "reports")
    assert (every.total, len(every.rows), every.metrics) == (8, 8, ("coverage",))
    failed = items(client, "reports", state="failed")
    assert [row.name for row in failed.rows] == ["100%_empty.txt", f"{EVIL}.txt"]
    assert {row.state for row in items(client, "reports", state="done").rows} == {"done"}
    assert items(client, "reports", state="waiting").total == 0
    assert [row.name for row in items(client, "reports", q="REPORT-3").rows] == ["report-3.md"]
    assert [row.name for row in items(client, "reports", q="100%_").rows] == ["100%_empty.txt"]
    assert items(client, "reports", q="100_%").total == 0, "signs stand for themselves"
    for row in every.rows:
        if row.state == "done":
            assert row.run is not None
            run = client.get(f"/api/runs/{row.run}").json()
            assert (run["title"], run["words"], run["scores"]) == (row.title, row.words, row.scores)
            assert client.get(f"/api/runs/{row.run}/dossier").status_code == 200
        else:
            assert row.error is not None
            assert row.error["message"].endswith("the document is empty")
            assert row.error["hint"] == "give a file that contains text"


@pytest.mark.slow
def test_ten_thousand_documents_are_paged(client: httpx.Client) -> None:
    first = client.get("/batches/large")
    assert first.text.count('class="what"') == 50
    assert len(first.content) < 100_000
    assert "page 1 of 200" in first.text
    last = items(client, "large", page=999, per=200)
    assert (last.page, last.pages, last.total, len(last.rows)) == (50, 50, 10_000, 200)
    assert last.rows[-1].number == 10_000
    numbers = [row.number for page in (3, 4) for row in items(client, "large", page=page).rows]
    assert numbers == list(range(101, 201))
    assert [row.number for row in items(client, "large").rows[:2]] == [1, 2]
    assert items(client, "large", page=1, q="x" * 300).total == 0
    for wrong in ("per=201", "page=0", "state=lost", f"q={'x' * 301}"):
        assert client.get(f"/api/batches/large/items?{wrong}").status_code == 422, wrong
    assert "Results so far" not in first.text, "there are none"


def test_tables_are_those_of_the_command(client: httpx.Client, folder: Path) -> None:
    with Store(folder / "redraft.db") as store:
        known = read_batch(store, "reports").report
    assert "shown_name" not in client.get("/api/batches/reports").json()
    shown = client.get("/api/batches/reports/tables").json()["tables"]
    assert shown == [json.loads(json.dumps(record_json(table))) for table in known.tables]
    figures: Table = next(table for table in known.tables if table.name == "figures")
    rows = {row[0]: dict(zip(figures.columns, row, strict=True)) for row in figures.rows}
    for row in rows.values():
        values: list[Any] = [row[name] for name in ("min", "95% low", "mean", "95% high", "max")]
        assert [round(value, 6) for value in values] == sorted(round(value, 6) for value in values)
    for path in ("/batches/reports", "/batches/reports/tables"):
        page = client.get(path).text
        assert all(table.title in page for table in known.tables[1:]), path


def test_what_there_is_not_is_said(client: httpx.Client) -> None:
    for what in ("", "/items", "/tables", "/events"):
        reply = client.get(f"/api/batches/gone{what}")
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "no_thing"), what
    assert client.post("/api/batches/gone/pause").status_code == 404
    refused = client.post("/api/batches/reports/pause")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "run")
    assert "is done" in refused.json()["error"]["message"]
    assert refused.json()["error"]["hint"] == "GET /api/batches/reports shows its status"
    assert reply.json()["error"]["hint"] == "GET /api/batches lists them"
    asked_by_page = client.get("/api/batches/gone", headers={"sec-fetch-site": "same-origin"}).json()
    assert asked_by_page["error"]["hint"] == "/batches lists them"
    assert "<h1" in client.get("/batches/gone").text


@pytest.mark.nightly
def test_batch_is_resumed_paused_and_cancelled(work: Served, gate: Gate) -> None:
    def order(name: str) -> BatchStatus:
        reply = client.post(f"/api/batches/b/{name}")
        assert reply.status_code == 200, reply.text
        return adapter_of(BatchStatus).validate_python(reply.json())

    with work.client() as client:
        assert (snapshot(client).status, snapshot(client).orders) == ("idle", ("pause", "cancel", "resume"))
        for name, status in (("pause", "paused"), ("cancel", "cancelled")):
            order("resume")
            until(lambda: snapshot(client).counts.leased == 2)
            assert (snapshot(client).at_work, snapshot(client).orders) == (True, ("pause", "cancel"))
            assert client.post("/api/batches/b/resume").status_code == 409
            ordered = order(name)
            assert (ordered.status, ordered.counts.leased) == (status, 2 if name == "pause" else ordered.counts.leased)
            if name == "pause":
                gate.opened.set()
            until(lambda: not snapshot(client).at_work)
            assert (snapshot(client).counts.done, snapshot(client).counts.waiting) == (2, 2)
            gate.opened.clear()
        gate.opened.set()
        order("resume")
        messages = events_of(client, "b", "batches")
        assert messages[-1] == {"kind": "done", "status": "done"}
        assert messages[-2]["items"]["done"] == 4
        until(lambda: not snapshot(client).at_work)
        assert snapshot(client).orders == ()
        out = Path(snapshot(client).folder or "")
        assert {path.name for path in out.iterdir()} == {*(f"{n}.md" for n in range(4)), "report.md", "items.jsonl"}


@pytest.mark.slow
def test_closing_studio_releases_its_work(work: Served, tmp_path: Path) -> None:
    with served(tmp_path, models=work.told.models) as another, another.client() as client:
        client.post("/api/batches/b/resume")
        until(lambda: snapshot(client).counts.leased == 2)
    with Store(tmp_path / "redraft.db") as store:
        assert Batches(store).counts("b").waiting == 4
        assert Batches(store).get("b").status == "open"
        assert {item.deaths for item in Batches(store).items("b")} == {0}


@pytest.fixture(scope="module")
def chrome(folder: Path) -> Iterator[Any]:
    # The folder is filled in an event loop of its own, which the browser's would be in the way of.
    del folder
    with browser() as browser_:
        yield browser_


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "scheme"),
    [(1280, "dark"), (360, "light")]
    + [pytest.param(*one, marks=pytest.mark.nightly) for one in ((1024, "light"), (1280, "light"), (360, "dark"))],
)
def test_batch_pages_are_accessible_and_fit(visit: Visit, width: int, scheme: str) -> None:
    """Nothing serious for axe-core, nothing wider than the screen, and no name that becomes markup."""
    strange = httpx.URL("/").copy_with(path=f"/batches/{_NAMED_EVIL}").raw_path.decode()
    for path in (strange, "/batches/reports", "/batches/reports/tables", "/batches/large", "/batches"):
        page = visit(path, width, scheme=scheme)
        page.wait_for_timeout(200)
        assert page.inner_text("h1"), path
        assert serious(page) == [], path
        assert page.evaluate(FITS), path
        assert page.title() != "pwned", path
        assert page.locator("img").count() == 0, path
    page.click(f".what a:has-text('{_NAMED_EVIL[:8]}')")
    page.wait_for_selector("h1:has-text('onerror')")
