"""The list of runs: filters, order, pages; quick for many runs, whole with damaged ones; nothing holds up the loop."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from blockbuster import blockbuster_ctx
from pydantic import ValidationError
from starlette.requests import Request

from redraft.batches.queue import Batch, Batches
from redraft.batches.request import BatchRequest
from redraft.batches.sources import add_items
from redraft.domain import Chunk, Document, Span, record_json
from redraft.errors import UsageError
from redraft.order import Compare, Evaluate, ExperimentPart, Refine
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig
from redraft.store.store import Store
from redraft.studio.app import studio
from redraft.studio.context import StudioConfig
from redraft.studio.pages import paged
from redraft.studio.run_views import RunFilter, RunRows
from tests.cli.local_command import LocalCommand
from tests.store.support import evaluation, fill, run
from tests.store.test_damage import DAMAGE, damaged, two_runs
from tests.studio.served import TOKEN, Served, served
from tests.support import chapter

JUDGING = JudgeConfig(metrics=("coverage",))


def add(store: Store, name: str, title: str = "A title", **changes: object) -> None:
    """A run of a document of its own, with a draft of five words."""
    document = Document.from_text(f"Of {title} there is this to say.", title)
    store.documents.add(document)
    store.runs.add(replace(run(name), document=document.id, **changes))
    store.excerpts.put(Chunk(0, Span(0, 5), 2), run=name)
    draft = store.runs.keep_draft(name, f"The draft of {name} is short.", 5, "merge")
    if changes:
        store.judgments.keep(draft, evaluation(score=len(name) / 10))
    store.runs.set_status(name, "done")
    # The store has moments to the thousandth of a second.
    time.sleep(0.002)


def names(store: Store, **wanted: object) -> list[str]:
    return [row.run for row in RunRows(store).listed(RunFilter.model_validate(wanted)).rows]


def test_runs_are_filtered_by_every_field(store: Store) -> None:
    add(store, "aaaa", "The Ferry")
    add(store, "bbbbbb", "The Mill", order=Evaluate(judging=JUDGING))
    add(store, "cc", "The Mill", order=Refine(judging=JUDGING, refinement=RefineConfig(goals={"coverage": 1})))
    add(store, "dddd", "Parts", order=ExperimentPart(kind="hamlet", judging=JUDGING), experiment="hamlet")
    store.runs.set_status("cc", "stopped")
    mill = Document.from_text("Of The Mill there is this to say.", "The Mill").id
    assert names(store) == ["cc", "bbbbbb", "aaaa"]
    assert names(store, all=True) == ["dddd", "cc", "bbbbbb", "aaaa"]
    assert names(store, experiment="hamlet") == ["dddd"]
    assert names(store, q="MILL the") == ["cc", "bbbbbb"]
    assert names(store, q="mill bbb") == ["bbbbbb"]
    assert names(store, document=mill[:10]) == ["cc", "bbbbbb"]
    assert names(store, kind="evaluate") == ["bbbbbb"]
    assert names(store, status="stopped") == ["cc"]
    assert names(store, model="extract", status="done") == ["bbbbbb", "aaaa"]
    assert names(store, model="gpt") == []


def test_runs_are_sorted_missing_values_last(store: Store) -> None:
    add(store, "aaaa", "Zebras")
    add(store, "bbbbbb", "apes", order=Evaluate(judging=JUDGING))
    add(store, "cc", "Mice", order=Evaluate(judging=JUDGING))
    assert names(store, sort="score.coverage", dir="desc") == ["bbbbbb", "cc", "aaaa"]
    assert names(store, sort="score.coverage", dir="asc") == ["cc", "bbbbbb", "aaaa"]
    assert names(store, sort="title", dir="asc") == ["bbbbbb", "cc", "aaaa"]
    assert names(store, sort="created", dir="asc") == ["aaaa", "bbbbbb", "cc"]


@pytest.mark.parametrize("wanted", [{"sort": "nonsense"}, {"kind": "nonsense"}, {"status": "nonsense"}])
def test_unknown_filter_or_order_is_refused(store: Store, wanted: dict[str, str]) -> None:
    with pytest.raises((UsageError, ValidationError), match="nonsense"):
        names(store, **wanted)


@pytest.mark.slow
def test_page_of_a_full_store_is_shown(tmp_path: Path) -> None:
    """Also of runs without a summary: those that compare, build or are part of an experiment."""
    with Store(tmp_path / "redraft.db") as store:
        fill(store)
        add(store, "aaaa", order=Compare(judging=JUDGING))
        add(store, "dddd", order=ExperimentPart(kind="hamlet", judging=JUDGING), experiment="hamlet")
    folder = tmp_path / "tables" / "lengths"
    folder.mkdir(parents=True)
    table = {
        "name": "t",
        "title": "T",
        "caption": "c",
        "basis": "b",
        "columns": ["n", "m"],
        "rows": [{"n": 1, "m": None}],
    }
    (folder / "tables.json").write_text(json.dumps({"settings": {}, "tables": [table]}), "utf-8")
    (folder / "curve.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', "utf-8"
    )
    with served(tmp_path, experiments=folder.parent) as at, at.client() as client:
        paths = ["/runs", "/runs?all=true", "/runs/fork-of-abc123", "/runs/aaaa", "/runs/dddd"]
        paths += ["/packs", "/packs/pack-1", "/keyfacts/keyfacts-1", "/experiments", "/runs?experiment=hamlet"]
        paths += ["/experiments/lengths", "/api", "/runs/new"]
        for path in paths:
            assert client.get(path).status_code == 200, path
        body = client.get("/api/experiments/lengths").json()
        assert (body["tables"][0]["columns"], body["pictures"]) == (["n", "m"], ["curve.svg"])
        assert '.csv" href="data:text/csv' in client.get("/experiments/lengths").text
        picture = client.get("/experiments/lengths/curve.svg")
        assert picture.headers["content-type"] == "image/svg+xml"
        assert "sandbox" in picture.headers["content-security-policy"]
        assert client.get("/compare?run=abc123&run=fork").status_code == 200, "one of them was never judged"
        refused = client.get("/compare?run=abc123")
        assert (refused.status_code, "<h1" in refused.text) == (422, True), "there is nothing to compare"
        for path in ("/experiments/hamlet", "/experiments/lengths/tables.json", "/experiments/lengths/..%2fx.svg"):
            assert client.get(path).status_code == 404, path
        assert client.get("/runs/new").text.count("<option") > 4
        assert client.get("/api/runs/aaaa/dossier").status_code == 409


@pytest.mark.nightly
async def test_slow_request_holds_up_no_other(tmp_path: Path) -> None:
    """Whatever reads or writes a file does so in a thread."""
    for number in range(2):
        (tmp_path / f"{number}.md").write_text(f"{chapter()} This is number {number}.", "utf-8")
    with Store(tmp_path / "redraft.db") as store:
        fill(store)
        for number in range(2):
            batch = Batch(f"b{number}", record_json(BatchRequest(DraftConfig(words=30))), {}, str(tmp_path))
            Batches(store).open(batch)
            add_items(store, batch.name, [str(tmp_path / f"{number}.md")])
    app = studio(StudioConfig(database=tmp_path / "redraft.db", token=TOKEN))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client,
    ):
        # Modules and templates are loaded once, and that may take its time.
        text = chapter()
        await _visit(client, text, "b0")
        with blockbuster_ctx():
            await _visit(client, text, "b1")


async def _visit(client: httpx.AsyncClient, text: str, batch: str) -> None:
    for path in ("/runs", "/runs/fork-of-abc123", "/packs", "/packs/pack-1", "/keyfacts/keyfacts-1", "/runs/new"):
        assert (await client.get(path)).status_code == 200, path
    reply = await client.post("/api/runs", json={"text": text, "words": 30, "kind": "evaluate"})
    assert reply.status_code == 201, reply.text
    reply = await client.get(reply.json()["events"])
    assert '"done"' in reply.text
    assert (await client.post(f"/api/batches/{batch}/resume")).status_code == 200
    assert '"done"' in (await client.get(f"/api/batches/{batch}/events")).text
    for path in ("/batches", f"/batches/{batch}", f"/batches/{batch}/tables", f"/api/batches/{batch}/items"):
        assert (await client.get(path)).status_code == 200, path


@pytest.mark.parametrize(
    ("asked", "number", "rows"),
    [("", 1, (0, 99)), ("page=2", 2, (100, 199)), ("page=11", 11, (1000, 1000)), ("page=99", 11, (1000, 1000))]
    + [(f"page={wrong}", 1, (0, 99)) for wrong in ("0", "-1", "x")],
)
def test_lists_of_packs_and_experiments_have_pages(asked: str, number: int, rows: tuple[int, int]) -> None:
    found = paged(Request({"type": "http", "query_string": asked.encode(), "headers": []}), range(1001))
    assert (found["number"], found["pages"], found["total"]) == (number, 11, 1001)
    assert (found["rows"][0], found["rows"][-1], len(found["rows"])) == (*rows, rows[1] - rows[0] + 1)
    assert not paged(Request({"type": "http", "query_string": b"", "headers": []}), ())["rows"]


__all__ = ["two_runs"]


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_run_is_named_others_listed(two_runs: tuple[LocalCommand, str, str], what: str, tmp_path: Path) -> None:
    first, bad, good = two_runs
    command = damaged(first, bad, what, tmp_path)
    with Store(command.database, to_read=True) as store:
        rows = RunRows(store).listed(RunFilter())
    assert good in [row.run for row in rows.rows]
    assert (bad in rows.damaged) is (what != "draft")


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
