"""Experiments in the studio: configured, planned, started, followed, stopped, resumed, read and compared."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from redraft.domain import adapter_of
from redraft.errors import UsageError
from redraft.lab.experiments.experiment import Outcome
from redraft.lab.studio.orders import KINDS, ExperimentBody, design_of, plan_asked
from redraft.lab.studio.work import (
    ORDER,
    ExperimentDetails,
    ExperimentList,
    ExperimentProgress,
    names_for_people,
    order_in,
)
from redraft.settings import ModelSettings
from redraft.store.store import Store
from tests.browser import browser, serious
from tests.chatserver import ChatRequest, ChatServer
from tests.lab.experiments.grids import design, judged, outcome
from tests.studio.served import Served, kept_from, served, until
from tests.support import chapter

EVIL = "<img src=x onerror=\"document.title='pwned'\">"
SET = "".join(
    json.dumps({"id": str(n), "title": f"Part {n}", "text": f"{chapter()} This is part {n}."}) + "\n" for n in range(2)
)


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, experiments=tmp_path / "results") as studio:
        yield studio


def given(client: httpx.Client, *, kind: str = "grid", files: Any = None, **fields: Any) -> httpx.Response:
    """Ask for an experiment with files, as a form does."""
    files = files or [("file", ("set.jsonl", SET.encode(), "application/jsonl"))]
    return client.post("/api/experiments", data={"kind": kind, "models": "extractive", **fields}, files=files)


def started(client: httpx.Client, **fields: Any) -> str:
    reply = given(client, **fields)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["name"])


def progress(client: httpx.Client, name: str) -> ExperimentProgress:
    return adapter_of(ExperimentProgress).validate_python(client.get(f"/api/experiments/{name}/progress").json())


def ended(client: httpx.Client, name: str) -> ExperimentProgress:
    until(lambda: progress(client, name).status != "running")
    return progress(client, name)


def write_results(folder: Path, grid_outcome: Outcome[Any, Any]) -> Path:
    """Write the results of a grid as a command does."""
    place = folder / "results" / "mine"
    place.mkdir(parents=True)
    for name, text in grid_outcome.report().files().items():
        (place / name).write_text(text, "utf-8")
    return place


def test_the_page_opens_with_the_verdict(at: Served, tmp_path: Path) -> None:
    scores = [("a", 2 / 3), ("b", 1 / 3)]
    judgments = [judged(f"d{number}", name, {"coverage": score}) for number in range(6) for name, score in scores]
    grid_outcome = outcome(design("a", "b"), judgments)
    write_results(tmp_path, grid_outcome)
    with at.client() as client:
        _, _, page = client.get("/experiments/mine").text.partition("</h1>")
    opened, _, rest = page.partition("<h2")
    better = "a scores 0.33 higher in coverage than b (95% interval 0.33 to 0.33)."
    assert better in opened
    assert better not in rest
    assert rest.count(grid_outcome.basis) == 1
    assert '<figure class="plot"><img' in rest
    assert re.findall(r">[^<]*\b0\.\d{3}[^<]*<", rest) == []


def test_scores_lead_to_items_with_runs_and_prompts(at: Served, tmp_path: Path) -> None:
    runs = {"drafting": "aa11"}
    judgments = [
        replace(judged(f"d{n}", name, {"coverage": n / 4}), runs={**runs, "judging by j": f"{name}{n}"})
        for n in range(3)
        for name in ("a", "b")
    ]
    folder = write_results(tmp_path, outcome(design("a", "b"), judgments))
    with at.client() as client:
        page = client.get("/experiments/mine").text
        addresses = {
            name: [unescape(address) for address in re.findall(rf'"to-item" href="([^"]*table={name}&[^"]*)"', page)]
            for name in ("scores", "configurations", "differences")
        }
        assert [len(links) for links in addresses.values()] == [2, 2, 1]
        for address in (addresses["scores"][0], addresses["configurations"][0]):
            items = client.get(address).text
            assert re.findall(r'"(/runs/[^"]*#[^"]*)"', items) == [f"/runs/a{n}#calls-of-coverage" for n in range(3)]
        assert client.get(addresses["differences"][0]).text.count("#calls-of-coverage") == 6
        assert 'href="/runs/a1#score-coverage">0.25</a>' in page, "a single summary's score leads to its run"
        for place in ("table=no", "table=scores&row=99&column=score", "table=scores&row=x&column=score", ""):
            assert client.get(f"/experiments/mine/items?{place}").status_code == 404, place
        report = client.get("/experiments/mine/report.html")
        assert (report.status_code, report.headers["content-disposition"].partition(";")[0]) == (200, "attachment")
        assert "/experiments/mine" not in report.text
        assert client.get("/experiments/mine/order.json").status_code == 404
        (folder / "items.jsonl").write_text("[1]\nno JSON", "utf-8")
        assert "The items of this experiment are not in its folder" in client.get(addresses["scores"][0]).text


@pytest.mark.nightly
def test_an_experiment_runs_from_plan_to_results(at: Served, tmp_path: Path) -> None:
    with at.client() as client:
        fields = {"word_limits": "30, 60", "metrics": ["coverage"], "name": "Short or long"}
        planned = given(client, dry_run="true", **fields)
        assert planned.status_code == 200, planned.text
        total = planned.json()["plan"]["rows"][-1]
        assert total["calls"] > 0
        assert client.get("/api/experiments").json() == {"experiments": []}, "a plan starts nothing"
        name = started(client, **fields)
        assert name == "short-or-long"
        done = ended(client, name)
        assert (done.status, done.error, done.done, done.calls > 0) == ("done", None, done.of, True)
        details = adapter_of(ExperimentDetails).validate_python(client.get(f"/api/experiments/{name}").json())
        assert (details.kind, details.status) == ("grid", "done")
        scores = next(table for table in details.tables if "coverage" in table.columns)
        assert {row[scores.columns[0]] for row in scores.records} == {"extractive, 30 words", "extractive, 60 words"}
        page = client.get(f"/experiments/{name}").text
        assert '<figure class="plot"><img' in page
        assert "data:text/csv" in page
        summaries = next(table for table in details.tables if table.name == "summaries")
        runs = [row["run"] for row in summaries.records]
        assert all(f'<a href="/runs/{run}#scores">{run}</a>' in page for run in runs)
        assert all('data-calls-of="' in client.get(f"/runs/{run}").text for run in runs)
        assert (tmp_path / "results" / name / "report.md").is_file()
        # A second one, of the same kind: both stand side by side, and finished work is not repeated.
        repeated = started(client, word_limits="30, 60", metrics=["coverage"], name="Short or long")
        assert repeated == "short-or-long-2"
        assert ended(client, repeated).calls == 0
        both = client.get(f"/experiments/compare?name={name}&name={repeated}").text
        assert "2 experiments side by side" in both
        assert len(re.findall(r'class="panels several"', both)) == len(details.tables)
        listed = ExperimentList.model_validate(client.get("/api/experiments").json()).experiments
        assert [line.name for line in listed if line.status] == [repeated, name]
        prefilled = client.get(f"/experiments/new?from={name}").text
        assert 'value="30, 60"' in prefilled
        assert client.get(f"/experiments/compare?name={name}").status_code == 422


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [one for one in KINDS if one != "booookscore"])
def test_every_kind_equals_its_commands_plan(at: Served, kind: str) -> None:
    files = [("file", ("ledger.md", chapter().encode(), "text/markdown"))]
    with at.client() as client:
        reply = given(client, kind=kind, files=files, word_limits="40", dry_run="true", judges="extractive")
    assert reply.status_code == 200, reply.text
    assert reply.json()["plan"]["rows"][-1]["calls"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"models": []}, "no model takes part"),
        ({"models": "openai:gpt-5"}, "no model 'openai:gpt-5'"),
        ({"judges": "openai:gpt-5"}, "no model 'openai:gpt-5'"),
        ({"strategies": "telepathy"}, "no strategy 'telepathy'"),
        ({"kind": "qa", "steps": "many"}, "many"),
        ({"kind": "chunk-size", "chunk_sizes": "3", "judges": "extractive"}, "must be at least 64"),
        ({"word_limits": "ten"}, "word_limits"),
        ({"documents": "ffff", "files": [("file", ("", b"", ""))]}, "no document has an id that starts with 'ffff'"),
        ({"key_env": "HOME"}, "key_env"),
    ],
)
def test_what_cannot_be_is_refused(at: Served, tmp_path: Path, asked: dict[str, Any], message: str) -> None:
    with at.client() as client:
        reply = given(client, **asked)
    assert reply.status_code in (404, 422), reply.text
    assert message in reply.json()["error"]["message"]
    assert not (tmp_path / "results").exists()


class Gate:
    """A model that answers once it is let."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    async def __call__(self, request: ChatRequest) -> str:
        while not self.opened.is_set():  # noqa: ASYNC110  (it is set in another thread)
            await asyncio.sleep(0.02)
        return f"Hester Vane came to the island of Sarn. The ledger was number {request.index}."


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def working(tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with ChatServer(gate) as chat:
        model = ModelSettings(model="openai:slow", base_url=chat.base_url, context_tokens=4000)
        with served(tmp_path, models={"slow": model}) as studio:
            yield studio
        gate.opened.set()


@pytest.mark.nightly
def test_another_studio_resumes_a_stopped_experiment(working: Served, gate: Gate, tmp_path: Path) -> None:
    fields = {"models": "slow", "judges": "extractive", "word_limits": "40", "metrics": ["consistency"]}
    fields["name"] = "../../etc/passwd"
    with working.client() as client:
        name = started(client, **fields)
        assert name == "etc-passwd", "no name leads out of the folder"
        assert client.post(f"/api/experiments/{name}/resume").status_code == 409
        stopped = client.post(f"/api/experiments/{name}/stop")
        assert (stopped.status_code, stopped.json()["status"]) == (200, "stopped")
        assert client.post(f"/api/experiments/{name}/stop").status_code == 409
        gate.opened.set()
    with served(tmp_path, models=working.told.models) as second_studio, second_studio.client() as client:
        assert progress(client, name).status == "stopped"
        assert client.post(f"/api/experiments/{name}/resume").status_code == 200
        assert ended(client, name).status == "done"
    with served(tmp_path, read_only=True) as looking, looking.client() as client:
        assert client.get(f"/experiments/{name}").status_code == 200
        assert client.post(f"/api/experiments/{name}/resume").status_code == 405
        assert client.get("/experiments/new").status_code == 404


@pytest.mark.nightly
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1024, "light"), (390, "dark")])
def test_one_is_run_in_the_browser(at: Served, tmp_path: Path, width: int, scheme: str) -> None:
    book = tmp_path / "ledger.md"
    book.write_text(f"# {EVIL}\n\n{chapter()}", "utf-8")
    with browser() as chrome:
        page: Any = chrome.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))

        def look() -> None:
            page.wait_for_selector("html[data-ready=yes]", state="attached")
            assert serious(page) == [], page.url
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url
            assert page.title() != "pwned"

        page.goto(at.entrance)
        page.goto(f"{at.url}/experiments")
        look()
        page.click("a.button >> text=New experiment")
        page.wait_for_url("**/experiments/new")
        look()
        assert page.is_visible("[name=word_limits]")
        page.check("[data-kind][value=chunk-size]")
        assert page.is_hidden("[name=word_limits]")
        page.check("[data-kind][value=grid]")
        page.click("text=Show the plan")
        page.wait_for_selector("[role=alert]")
        assert "No documents were given" in page.inner_text("[role=alert]")
        look()
        page.set_input_files("[data-file]", str(book))
        page.check("[name=models][value=extractive]")
        page.fill("[name=word_limits]", "30, 60")
        page.check("[name=metrics][value=coverage]")
        page.click("text=Show the plan")
        page.wait_for_selector("h1:has-text('Plan: Compare models')")
        look()
        page.click("text=Change settings")
        page.wait_for_selector("text=Your documents are kept")
        look()
        assert page.input_value("[name=word_limits]") == "30, 60"
        page.fill("[name=name]", "mine")
        page.click("text=Show the plan")
        page.click("text=Start the experiment")
        page.wait_for_url("**/experiments/mine")
        page.wait_for_selector("[data-experiment][data-status=done]", timeout=60_000)
        page.wait_for_selector("figure.plot img:visible >> nth=0")
        look()
        page.click(".data a.to-item >> nth=0")
        page.wait_for_selector("h1:has-text('Coverage')")
        look()
        page.click("text=Show >> nth=0")
        page.wait_for_selector(".call-texts pre:visible")
        assert page.locator("img[src=x]").count() == 0
        assert troubles == []
    with Store(at.told.database) as store:
        assert all(run_record.document for run_record in store.runs.latest(50))


@pytest.fixture
def client(at: Served) -> Iterator[httpx.Client]:
    with at.client() as studio_client:
        yield studio_client


def test_existing_summaries_and_datasets_are_accepted(tmp_path: Path) -> None:
    criteria = ExperimentBody(
        kind="thesis", models=("extractive",), context_tokens=9000, places="tfidf", by_source=True, reference="dataset"
    )
    lines = [{"id": name, "text": f"{name} {chapter()}", "summary": f"Of {name}."} for name in ("one", "two")]
    files = (("\n".join(map(json.dumps, lines)).encode(), "books.jsonl"), (chapter().encode(), "ledger.md"))
    with Store(tmp_path / "redraft.db") as store:
        plan = plan_asked(store, {}, criteria, files, None)
        design = design_of(plan.asked, {})
        first, two, ledger = (document.id for document in plan.documents)
        assert design.context.places == "tfidf"
        for half in (design.context, design.qa):
            assert half.references == {first: "Of one.", two: "Of two."}
            assert half.sets == {first: "books", two: "books", ledger: "ledger"}
        # They are kept with the documents, until there are others.
        repeated = plan_asked(store, {}, criteria.model_copy(update={"by_source": False, "reference": ""}), (), plan)
        assert design_of(repeated.asked, {}).qa.references == {first: "Of one.", two: "Of two."}
        assert design_of(repeated.asked, {}).qa.sets == {}
        for changes, titles, why in (
            ({}, files[1:], "no summaries of their own"),
            ({"places": "embeddings"}, files, "need an embedding model"),
        ):
            with pytest.raises(UsageError, match=why):
                plan_asked(store, {}, criteria.model_copy(update=changes), titles, None)


def test_the_form_offers_a_papers_settings(client: httpx.Client) -> None:
    page = client.get("/experiments/new?preset=thesis").text
    assert re.search(r'value="thesis" data-kind checked', page)
    for field in (
        'value="10000:128000:10000"',
        'value="131072"',
        'value="embeddings" selected',
        'value="direct" checked',
    ):
        assert field in page
    assert page.count('value="dataset" checked') == page.count('name="by_source" value="true" checked') == 1
    assert client.get("/experiments/new?preset=nobody").status_code == 422


@pytest.mark.slow
def test_undecided_judges_are_not_asked_again(client: httpx.Client) -> None:
    name = started(client, word_limits="40", metrics=["booookscore"], name="open")
    assert ended(client, name).status == "incomplete"
    page = client.get(f"/experiments/{name}").text
    assert "The judge could not decide" in page
    assert "Run again with changes" in page
    assert ">Resume<" not in page
    assert '<a href="/experiments">/experiments</a> lists them' in client.get("/experiments/nowhere").text


@pytest.mark.slow
def test_coherence_is_measured_from_two_files(client: httpx.Client) -> None:
    summaries = {"a": f"{chapter()[:600]} It was his.", "b": chapter()[600:1200]}
    annotations = {"a": {"It was his.": {"questions": ["Whose?"], "types": ["entity omission"]}}, "b": {}}
    files = {
        name: (f"{name}.json", json.dumps(content).encode(), "application/json")
        for name, content in (("summaries", summaries), ("annotations", annotations))
    }
    form = {"kind": "booookscore", "judges": "extractive", "name": "coherent"}
    wrong = client.post("/experiments/new", data=form)
    assert "No summaries were given" in wrong.text
    page = client.post("/experiments/new", data=form, files=files).text
    assert "Plan: Measure how coherent summaries are" in page
    repeated = client.get(f"/experiments/new?kept={kept_from(page)}").text
    assert "Your files are kept" in repeated
    page = client.post("/experiments/new", data={**form, "kept": kept_from(repeated)}).text
    started = client.post("/experiments/start", data={"kept": kept_from(page)})
    assert started.headers["location"] == "/experiments/coherent"
    # The built-in judge cannot tell for every sentence.
    assert ended(client, "coherent").status in ("done", "incomplete")
    details = adapter_of(ExperimentDetails).validate_python(client.get("/api/experiments/coherent").json())
    scores = next(table for table in details.tables if table.name == "scores")
    assert {row["system"] for row in scores.records} == {"annotations.json", "extractive"}
    assert [run.kind for run in details.runs] == ["evaluate", "evaluate"]
    form = client.get("/experiments/new?from=coherent").text
    assert "Your files are kept" in form
    assert client.post("/api/experiments/coherent/resume").status_code == 200
    assert ended(client, "coherent").calls == 0, "nothing is asked again"


def test_orders_with_unknown_fields_are_ignored(tmp_path: Path) -> None:
    body = ExperimentBody(kind="grid").model_dump(mode="json")
    for fields, is_read in (({}, True), ({"from_batch": "shelf"}, True), ({"gone": True}, False)):
        (tmp_path / ORDER).write_text(json.dumps({"asked": body | fields, "documents": ["d"], "created": "now"}))
        assert (order_in(tmp_path) is not None) == is_read


def test_local_models_name_their_server_if_needed() -> None:
    names = {"ollama/q:latest", "ollama/both", "lm-studio/both", "strong"}
    assert names_for_people(names) == {
        "ollama/q:latest": "q:latest",
        "ollama/both": "both (on this machine, port 11434)",
        "lm-studio/both": "both (on this machine, port 1234)",
    }
