"""What can be done from a finished run, over HTTP: download, refine, fork, run again, delete, and read its calls."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from redraft.errors import RunError
from redraft.settings import Limits, ModelSettings
from redraft.studio.context import WorkManager
from tests.chatserver import ChatServer
from tests.studio.served import at_rest, begin, kept_from, served, until
from tests.support import chapter

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def refined(client: httpx.Client) -> str:
    """A run with a goal that is met and one that is missed."""
    run = begin(client, kind="refine", words=60, goals={"coverage": 1.0, "consistency": 0.5}, rounds=1)  # fmt: skip
    assert at_rest(client, run)["status"] == "done"
    return run


def dossier_of(client: httpx.Client, run: str) -> dict[str, Any]:
    dossier: dict[str, Any] = client.get(f"/api/runs/{run}/dossier").json()
    return dossier


def run_of(reply: httpx.Response) -> str:
    """The run that a reply leads to."""
    return reply.headers["location"].rpartition("/")[2]


def test_page_begins_with_the_verdict_and_calls(client: httpx.Client, refined: str) -> None:
    page = client.get(f"/runs/{refined}").text
    scores = client.get(f"/api/runs/{refined}").json()["scores"]
    coverage = int(scores["coverage"] * 100 + 1e-9) / 100
    verdict = page.index(f"overage {coverage:.2f} (goal 1 missed)")
    assert "onsistency 1.00 (goal 0.5 met)" in page
    assert page.index("<h1") < verdict < page.index('id="summary"') < page.index('id="scores"')
    dossier = dossier_of(client, refined)
    first = dossier["calls"][0]
    call = client.get(f"/api/runs/{refined}/calls/{first['number']}").json()
    assert {name: call[name] for name in first} == first
    assert call["prompt_text"]
    assert [message["role"] for message in call["messages"]] in (["user"], ["user", "schema"])
    assert dossier["document"]["text"].strip()[:500] in call["messages"][0]["text"]
    assert (call["attempt"], call["attempts"], call["made_by"]) == (1, 1, refined)
    assert call["reply"]
    assert client.get(f"/api/runs/{refined}/calls/99999").status_code == 404


@pytest.mark.parametrize("form", ["docx", "md", "html", "txt", "dossier", "json"])
def test_finished_run_is_downloaded(client: httpx.Client, refined: str, form: str) -> None:
    reply = client.get(f"/runs/{refined}/download/{form}")
    assert reply.status_code == 200
    assert reply.headers["content-disposition"].startswith('attachment; filename="the-salt-ledger-')
    assert f"/runs/{refined}/download/{form}" in client.get(f"/runs/{refined}").text
    summary = dossier_of(client, refined)["result"]["summary"]
    if form == "docx":
        assert "word/document.xml" in zipfile.ZipFile(BytesIO(reply.content)).namelist()
    elif form != "dossier":
        assert summary.split(". ")[0].split("'")[0][:30] in reply.text
    refused = client.get(f"/runs/{refined}/download/pdf")
    assert (refused.status_code, "choose one of docx" in refused.text.lower()) == (404, True)


def test_refinement_shows_its_cost_first(client: httpx.Client, refined: str) -> None:
    page = client.get(f"/runs/{refined}/refine").text
    for setting in ('value="60"', '<option value="">as before: standard</option>', "as before: extractive"):
        assert setting in page
    built_in = "The built-in model cannot follow requests in words"
    assert f'{built_in}. <a href="/models">Set up a language model</a> that does.' in page
    form = {"requests": "Name the auditor.\n\nSay how it ends.", "round": "0", "rounds": "1", "goal.coverage": "0.9"}
    form |= {"words": "80", "prompts": "simple", "judge": "extractive"}
    before = client.get("/api/runs").json()["total"]
    planned = client.post(f"/runs/{refined}/refine", data={**form, "act": "plan"})
    assert planned.status_code == 200
    for text in (
        "Estimated cost",
        f"{built_in}: your requests will stay open.",
        "Name the auditor.\nSay how it ends.</textarea>",
        'name="words" min="10" max="1000000" value="80"',
    ):
        assert text in planned.text
    assert client.get("/api/runs").json()["total"] == before, "nothing has started"
    run = run_of(client.post(f"/runs/{refined}/refine", data={**form, "act": "start"}))
    assert at_rest(client, run)["parent"] == refined
    dossier = dossier_of(client, run)
    assert dossier["settings"]["refining"]["goals"] == {"coverage": 0.9}
    drafting = dossier["settings"]["drafting"]
    assert (drafting["words"], drafting["prompts"]) == (80, "simple")
    explanations = {history["finding"]["explanation"] for history in dossier["findings"]}
    assert {"Name the auditor.", "Say how it ends."} <= explanations


def test_refine_form_says_what_is_wrong(client: httpx.Client, refined: str) -> None:
    for wrong, message in (
        ({"goal.coverage": "7", "requests": "Keep this."}, "Goals (coverage): must be at most 1"),
        ({"requests": "Keep this.\n" * 101}, "Requests: must have at most 100 entries"),
        ({"goal.coverage": "", "words": "77"}, "Nothing to change was given"),
    ):
        reply = client.post(f"/runs/{refined}/refine", data={**wrong, "act": "plan"})
        alert = reply.text.partition('role="alert"')[2].partition("</div>")[0]
        assert (reply.status_code, message in alert) == (422, True), alert
        assert reply.text.count("Keep this.") == str(wrong).count("Keep this.")
    stopped = client.post(f"/runs/{refined}/stop")
    assert (stopped.status_code, f'<a href="/runs/{refined}">Run' in stopped.text) == (409, True)
    assert ('value="77"' in reply.text, 'value="0.8"' in reply.text) == (True, False)


def test_program_forks_a_draft(client: httpx.Client, refined: str) -> None:
    reply = client.post(f"/api/runs/{refined}/fork", json={"round": 0, "rounds": 1})
    assert reply.status_code == 201
    run = reply.json()["run"]
    assert at_rest(client, run)["status"] == "done"
    drafts = [dossier_of(client, key)["rounds"][0]["draft"]["text"] for key in (run, refined)]
    assert drafts[0] == drafts[1]
    for wrong, status in (({"round": 99}, 409), ({"prompts": "/etc"}, 422), ({"judge": "nobody"}, 422)):
        assert client.post(f"/api/runs/{refined}/fork", json=wrong).status_code == status


def test_repeated_run_names_its_parent(client: httpx.Client, refined: str) -> None:
    page = client.get(f"/runs/new?from={refined}").text
    assert 'name="words" min="10" max="1000000" value="60"' in page
    assert 'name="goal.consistency" min="0" max="1" step="any" value="0.5"' in page
    assert f'<input type="hidden" name="parent" value="{refined}">' in page
    document = dossier_of(client, refined)["document"]["id"]
    plan = client.post("/runs/new", data={"parent": refined, "document": document, "words": "50"}).text
    run = run_of(client.post("/runs/start", data={"kept": kept_from(plan)}))
    assert at_rest(client, run)["parent"] == refined
    assert f"{run} · changed from {refined}" in client.get("/runs").text
    texts = ({"text": f"{chapter()} It rained."}, {"document": document, "summary": "It rained.", "kind": "evaluate"})
    for text in texts:
        changed = client.post("/api/runs", json=text | {"parent": refined}).json()["run"]
        assert at_rest(client, changed)["parent"] is None, "another document, or a summary that is not of that run"
    assert client.post("/api/runs", json={"document": document, "parent": "ffff"}).status_code == 404


def test_comparison_offers_summaries_of_the_document(client: httpx.Client, refined: str) -> None:
    forked = client.post(f"/api/runs/{refined}/fork", json={"rounds": 1}).json()["run"]
    other, alike = (begin(client, words=words, strategy="direct") for words in (30, 31))
    elsewhere = begin(client, words=30, text=f"{chapter()} Of another document.")
    for run in (forked, other, alike, elsewhere):
        at_rest(client, run)
    page = client.get(f"/runs/{refined}").text
    offered = dict(re.findall('<option value="([0-9a-f]{8})">([^<]+)', page))
    assert {forked, alike} <= offered.keys()
    assert elsewhere not in offered
    assert re.search(r"words of 31 · 20\d\d-\d\d-\d\d \d\d:\d\d UTC", offered[alike]), offered
    first = f'Another summary of this document <select name="run"><option value="{refined}'
    assert first in client.get(f"/runs/{forked}").text, "its origin is first"


def test_deleted_run_is_gone(client: httpx.Client) -> None:
    # The documents that are its chapters go with it, the document of the other run does not.
    text = f"{chapter()}\n\n## Chapter 2: Again\n\n{chapter().partition('## ')[2]} Deleted."
    first, second = (begin(client, words=100, text=text, by_chapter=whole) for whole in (True, False))
    for run in (first, second):
        at_rest(client, run)
    address = client.post(f"/runs/{first}/delete").headers["location"]
    notice = f'role="status" data-notice>Run {first} of “The Salt Ledger” was deleted.</p>'
    assert notice in client.get(address).text
    assert "data-notice" not in client.get("/runs?said=made-up").text
    assert client.delete(f"/api/runs/{second}").json()["runs"] == [second]
    assert [client.get(f"/api/runs/{run}").status_code for run in (first, second)] == [404, 404]


def test_own_summary_is_yours_and_refined(client: httpx.Client) -> None:
    texts = ("Hester Vane came to Sarn.", "The ledger was lost in the storm.")
    runs = [begin(client, kind="evaluate", summary=text) for text in texts]
    for run in runs:
        assert at_rest(client, run)["status"] == "done"
    page = client.get(f"/runs/{runs[0]}").text
    assert "· your summary" in page
    assert "· by <bdi>extractive" not in page.partition("</header>")[0]
    assert "kept in the database, not on this page" not in page
    assert 'data-head="Model">your summary' in client.get("/runs?kind=evaluate").text
    comparison = client.get(f"/compare?run={runs[0]}&run={runs[1]}").text
    for letter in "AB":
        assert f'<span class="letter">{letter}</span> <bdi>your summary</bdi>' in comparison
    downloaded = client.get(f"/runs/{runs[0]}/download/html").text
    assert "given to redraft" in downloaded
    assert "by redraft's built-in" not in downloaded
    # With a request there need be no goal; a request that was not met stays open.
    form = {"requests": "Say how it ends.", "goal.coverage": "", "goal.consistency": "", "rounds": "1", "act": "start"}
    refined = run_of(client.post(f"/runs/{runs[0]}/refine", data=form))
    assert at_rest(client, refined)["status"] == "done"
    dossier = dossier_of(client, refined)
    assert dossier["settings"]["refining"]["goals"] == {}
    [request] = [history for history in dossier["findings"] if history["finding"]["metric"] == "review"]
    assert (request["state"], request["finding"]["explanation"]) == ("open", "Say how it ends.")
    page = client.get(f"/runs/{refined}").text
    assert '<p dir="auto">Request not met: “Say how it ends.” in revision 1: ' in page
    assert "your request was not met</span>." in page.partition('class="verdict-line"')[2].partition("</p>")[0]


def test_review_shows_evidence_and_keeps_answers(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    cues = [sentence for sentence in chapter().replace("\n", " ").split(". ") if len(sentence) > 20][:20]
    text = "\n\n".join(f"{at}\n00:{at:02}:00,000 --> 00:{at:02}:05,000\n{cue}." for at, cue in enumerate(cues, 1))
    form = {"kind": "refine", "words": 20, "goal.coverage": 1.0, "review": True}
    reply = client.post("/api/runs", data=form, files={"file": ("talk.srt", text.encode())})
    run = str(reply.json()["run"])
    assert at_rest(client, run)["status"] == "waiting"
    page = client.get(f"/runs/{run}").text
    assert "Waiting for your review." in page
    assert f'href="/runs/{run}/review">Review</a>' in page
    assert f"/runs/{run}/refine" not in page
    page = client.get(f"/runs/{run}/review").text
    assert "Untick a finding to reject it. The reviser will not see it." in page
    assert re.search(rf'<a href="/runs/{run}#c\d+-\d+" target="_blank"><bdi>00:\d\d:00</bdi>, at \d+% of the doc', page)

    # What was written stays in the form if it cannot be taken now.
    async def refused(*_: object) -> str:
        raise RunError("the run is in use", hint="try again later")

    monkeypatch.setattr(WorkManager, "answer", refused)
    reply = client.post(f"/runs/{run}/review", data={"act": "edited", "edited": "My own words.", "add": "Name it."})
    assert (reply.status_code, "The run is in use: try again later" in reply.text) == (422, True)
    assert ">My own words.</textarea>" in reply.text
    assert ">Name it.</textarea>" in reply.text


@contextmanager
def dear_studio(folder: Path, **settings: Any) -> Iterator[httpx.Client]:
    """A studio with a model that costs much."""

    async def reply(request: object) -> str:
        return "Hester Vane came to the island of Sarn."

    with ChatServer(reply) as chat:
        price = {"prompt": 10, "completion": 10}
        dear = ModelSettings(model="openai:dear", base_url=chat.base_url, context_tokens=4000, price=price)
        with served(folder, models={"dear": dear}, **settings) as at, at.client(follow_redirects=True) as client:
            yield client


def test_limit_of_cost_can_be_raised(tmp_path: Path) -> None:
    with dear_studio(tmp_path, limits=Limits(max_cost=5.0, concurrency=1)) as client:
        body: dict[str, Any] = {"model": "dear", "strategy": "hierarchical", "chunk_tokens": 300, "words": 60}
        run = begin(client, kind="summarize", max_cost=0.05, **body)
        stopped = at_rest(client, run)
        assert (stopped["status"], stopped["error"]["code"]) == ("stopped", "budget")
        error = client.get(f"/api/runs/{run}/result").json()["error"]
        assert error == stopped["error"], "the API speaks neither Python nor of buttons"
        assert "that may exceed the limit of $0.05" in error["message"]
        assert error["hint"] == "resume the run with `max_cost` 0.1"
        assert 0 < stopped["cost_usd"] <= 0.05
        events = client.get(f"/api/runs/{run}/events").text.strip().splitlines()
        assert json.loads(events[-1].removeprefix("data: ")) == {"kind": "stopped", "status": "stopped"}
        page = client.get(f"/runs/{run}").text
        assert "that may exceed the limit of $0.05. Resume the run with a higher limit." in page
        assert 'name="max_cost" min="0" step="any" value="0.05"' in page
        more = client.post(f"/runs/{run}/resume", data={"max_cost": "9"})
        assert (more.status_code, "spends no more than $5.00" in more.text) == (422, True)
        assert client.post(f"/api/runs/{run}/resume", json={"max_cost": 0}).status_code == 422
        assert client.post(f"/runs/{run}/resume").status_code == 200
        assert at_rest(client, run)["status"] == "stopped", "under the limit that it had"
        client.post(f"/runs/{run}/resume", data={"max_cost": "4"})
        done = at_rest(client, run)
        assert (done["status"], done["max_cost"]) == ("done", 4)
        assert done["calls"] > stopped["calls"] > 0
        assert 'name="max_cost"' not in client.get(f"/runs/{run}").text


@pytest.mark.nightly
def test_limit_of_a_batch_can_be_raised(tmp_path: Path) -> None:
    with dear_studio(tmp_path) as client:
        body = {"model": "dear", "max_cost": "0.02", "chunk_tokens": "300"}
        upload = {"file": ("ledger.md", chapter().encode(), "text/markdown")}
        address = f"/batches/{client.post('/api/batches', data=body, files=upload).json()['batch']}"

        def status() -> str:
            return str(client.get(f"/api{address}").json()["status"])

        until(lambda: status() == "stopped")
        error = client.get(f"/api{address}").json()["error"]
        assert "that may exceed the limit of $0.02" in error["message"]
        assert "with `max_cost` " in error["hint"]
        assert 'name="max_cost" min="0" step="any" value="0.02"' in client.get(address).text
        client.post(f"{address}/resume", data={"max_cost": "4"})
        until(lambda: status() == "done")
        assert client.get(f"/api{address}").json()["max_cost"] == 4


def test_another_model_revises_and_judge_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with ChatServer(lambda _: "Hester Vane came to the island of Sarn.") as chat:
        model = ModelSettings(model="openai:other", base_url=chat.base_url, context_tokens=4000)
        with served(tmp_path, models={"other": model}) as at, at.client() as client:

            def judging_of_fork(run: str, name: str) -> tuple[Any, Any]:
                body = {"model": name, "goals": {"coverage": 1.0}, "rounds": 1}
                forked = client.post(f"/api/runs/{run}/fork", json=body).json()["run"]
                at_rest(client, forked)
                settings = dossier_of(client, forked)["settings"]
                return settings["drafting"]["model"], settings["judging"]

            runs = [begin(client, model=name, kind="evaluate", words=40) for name in ("extractive", "other")]
            for run in runs:
                at_rest(client, run)
            model_name, judging = judging_of_fork(runs[0], "other")
            assert (model_name, judging["judges"]) == ("openai:other", ["extractive"])
            model_name, judging = judging_of_fork(runs[1], "extractive")
            assert (model_name, judging["judges"]) == ("extractive", ["openai:other"])
            assert judging["models"]["openai:other"]["base_url"] == chat.base_url
            assert client.post(f"/api/runs/{runs[0]}/fork", json={"model": "nobody"}).status_code in (400, 422)
            for page in ("/runs", f"/runs/{runs[1]}", f"/runs/{runs[1]}/refine"):
                shown = client.get(page).text.partition('id="about"')[0]
                assert f"on this machine, port {urlsplit(chat.base_url).port}" in shown, page
                assert "openai:other" not in shown, page
