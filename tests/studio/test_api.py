"""The HTTP API of the studio: start, status, result, evidence, and what the pages show besides."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

import redraft
from redraft import Document, Session
from redraft.domain import adapter_of
from redraft.fields import option_of
from redraft.lab.agreement.sheets import read_answers, sheet_kind
from redraft.report.history.results import RunResult
from redraft.runs.dry_run import RunPlan
from redraft.settings import DraftConfig, JudgeConfig, ModelSettings, RefineConfig
from redraft.store.store import Store
from redraft.studio.contracts import RunStatus
from tests.chatserver import ChatServer
from tests.studio.served import TOKEN, Served, at_rest, begin, events_of, served
from tests.support import SAMPLE, chapter


@pytest.fixture(scope="module")
def refined(client: httpx.Client) -> str:
    """A run that was judged and refined to its end."""
    run = begin(client, kind="refine", words=60, goals={"coverage": 0.9, "consistency": 0.9}, rounds=1)
    assert at_rest(client, run)["status"] == "done"
    return run


def problem(reply: httpx.Response) -> dict[str, str]:
    error: dict[str, str] = reply.json()["error"]
    assert set(error) == {"code", "message", "hint"}
    return error


@pytest.mark.slow
def test_run_is_started_status_and_dossier_read(client: httpx.Client, refined: str) -> None:
    status = adapter_of(RunStatus).validate_python(client.get(f"/api/runs/{refined[:5]}").json())
    assert (status.run, status.kind, status.at_work, status.resumable) == (refined, "refine", False, False)
    result = adapter_of(RunResult).validate_python(client.get(f"/api/runs/{refined}/result").json())
    assert client.get(f"/api/runs/{refined}/dossier").json()["result"]["summary"] == result.summary
    assert result.words is not None
    assert 0 < result.words <= 60
    assert set(result.scores) == {"coverage", "consistency"}


@pytest.mark.slow
def test_evidence_of_sentence_and_finding(client: httpx.Client, refined: str) -> None:
    dossier = client.get(f"/api/runs/{refined}/dossier").json()
    of_sentence = client.get(f"/api/runs/{refined}/evidence?sentence=1").json()
    assert of_sentence["sentence"] == dossier["sentences"][0]
    assert of_sentence["sentence"]["origins"]
    finding = dossier["findings"][-1]
    for name in (finding["finding"]["id"], str(finding["number"])):
        body = client.get(f"/api/runs/{refined}/evidence", params={"finding": name}).json()
        assert body["findings"] == [finding]
    for query, status in (("", 422), ("sentence=99", 404), ("finding=zz", 404), ("sentence=x", 422)):
        reply = client.get(f"/api/runs/{refined}/evidence?{query}")
        assert (reply.status_code, bool(problem(reply)["message"])) == (status, True)
        assert query or problem(reply)["hint"] == "add ?sentence= or ?finding= and its number"


def test_latecomers_and_another_process_get_all_events(client: httpx.Client, refined: str, at: Served) -> None:
    with served(Path(str(at.told.database)).parent) as studio, studio.client() as there:
        for events, kinds in (
            (events_of(client, refined), {"stage", "piece", "score", "finding", "round", "progress"}),
            (events_of(there, refined), {"started", "progress"}),
        ):
            kinds_seen = [event["kind"] for event in events]
            assert (kinds_seen[0], kinds_seen[-1]) == ("started", "done")
            assert kinds <= set(kinds_seen)
            assert [event for event in events if event["kind"] == "progress"][-1]["calls"] > 0


def test_the_plan_stores_nothing_and_asks_nobody(client: httpx.Client) -> None:
    before = client.get("/api/runs?all=true").json()["total"]
    documents = client.get("/api/offer").json()["documents"]
    body = {"text": f"{chapter()} It ends in another way.", "kind": "refine", "dry_run": True}
    reply = client.post("/api/runs", json=body)
    assert reply.status_code == 200, reply.text
    plan = RunPlan.model_validate(reply.json())
    assert plan.calls > 0
    assert plan.cost_usd == 0
    assert client.get("/api/runs?all=true").json()["total"] == before
    assert client.get("/api/offer").json()["documents"] == documents


@pytest.mark.parametrize(
    ("asked", "status", "code", "message"),
    [
        ({}, 422, "usage", "no document"),
        ({"text": "One. Two.", "document": "ab"}, 422, "usage", "more than one document"),
        ({"document": "ffff"}, 404, "no_thing", "no document"),
        ({"text": " "}, 422, "document", "empty"),
        ([], 422, "usage", "must be an object"),
        ({"words": 3}, 422, "usage", "words"),
        ({"words": 10**30}, 422, "usage", "words: must be at most 1000000"),
        ({"model": "openai:gpt-5"}, 422, "usage", "no model"),
        ({"strategy": "telepathy"}, 422, "usage", "no strategy"),
        ({"kind": "refine", "goals": {"beauty": 0.5}}, 422, "usage", "beauty"),
        ({"kind": "refine", "goals": {"coverage": 2}}, 422, "usage", "goals"),
        ({"base_url": "http://evil"}, 422, "usage", "base_url"),
        ({"key_env": "HOME"}, 422, "usage", "key_env"),
        ({"prompts": "/etc"}, 422, "usage", "no set of prompts '/etc'"),
        ({"judges": ["extractive"]}, 422, "usage", "judges does not apply to kind summarize"),
        ({"kind": "evaluate", "validator": "openai:gpt-5"}, 422, "usage", "no model 'openai:gpt-5'"),
        ({"kind": "evaluate", "similarity": "cosine"}, 422, "usage", "needs an embedding model"),
    ],
)
def test_what_cannot_be_meant_is_said(
    client: httpx.Client, asked: dict[str, Any], status: int, code: str, message: str
) -> None:
    body = {"text": "One two three.", **asked} if asked and "document" not in asked else asked
    reply = client.post("/api/runs", json=body)
    assert reply.status_code == status, reply.text
    assert problem(reply)["code"] == code
    assert message in problem(reply)["message"].lower()


@pytest.mark.parametrize(
    ("path", "asked", "status", "message", "hint"),
    [
        ("review", {}, 409, "is not waiting for an answer: it is done", "GET /api/runs/RUN"),
        ("stop", {}, 409, "run RUN is not running: it is done", "GET /api/runs/RUN"),
        ("ask", {"question": " "}, 422, "question: must not be empty", ""),
        ("ask", {"question": "x" * 2001}, 422, "question: must have at most 2000 characters", ""),
        (f"calls/{10**30}", None, 404, f"run RUN has no call {10**30}", ""),
    ],
)
def test_impossible_step_is_named_by_api_fields(
    client: httpx.Client, refined: str, path: str, asked: object, status: int, message: str, hint: str
) -> None:
    reply = client.request("GET" if asked is None else "POST", f"/api/runs/{refined}/{path}", json=asked)
    assert reply.status_code == status, reply.text
    told = problem(reply)
    assert message.replace("RUN", refined) in told["message"]
    assert hint.replace("RUN", refined) in told["hint"]
    assert "session." not in told["hint"]


def test_wrong_files_and_addresses_are_refused(client: httpx.Client) -> None:
    reply = client.post("/api/runs", files={"file": ("picture.png", b"\x89PNG\r\n", "image/png")})
    assert (reply.status_code, problem(reply)["code"]) == (422, "document")
    assert ".png files cannot be read" in problem(reply)["message"]
    reply = client.post("/api/runs", content=b"{", headers={"Content-Type": "application/json"})
    assert (reply.status_code, problem(reply)["code"]) == (422, "usage")
    for path in ("/api/runs/ffffffff", "/api/runs/ffffffff/dossier", "/api/packs/ffff", "/api/keyfacts/ffff"):
        reply = client.get(path)
        assert reply.status_code == 404, path
        assert problem(reply)["message"]
    assert problem(client.get("/api/nothing"))["code"] == "not_found"
    assert problem(client.put("/api/runs"))["code"] == "method"
    page = client.get("/runs/ffffffff")
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")


@pytest.mark.slow
def test_waiting_run_takes_only_valid_answers(client: httpx.Client) -> None:
    run = begin(client, kind="refine", words=60, goals={"coverage": 1.0}, review=True, rounds=1)
    assert at_rest(client, run)["status"] == "waiting"
    address = f"/api/runs/{run}/review"
    assert client.get(address).json()["question"]["findings"]
    assert "offline check" in client.get(f"/runs/{run}/review").text
    assert 'href="/runs?status=waiting">1 run</a> waits' in client.get("/runs").text
    wrong = client.post(address, json={"drop": [999]})
    assert (wrong.status_code, "there is no finding" in problem(wrong)["message"]) == (422, True)
    assert client.get(f"/api/runs/{run}").json()["status"] == "waiting"
    assert client.post(address, json={"drop": [1], "add": ["Name the auditor."]}).status_code == 202
    assert at_rest(client, run)["status"] in ("done", "waiting")
    assert "round" in [event["kind"] for event in events_of(client, run)], "the revision was made"
    assert client.post(address, json={"stop": True}).status_code in (202, 409)
    assert client.get(address).json() == {"question": None}


@pytest.mark.slow
def test_a_run_is_stopped_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    calls = iter(range(10_000))

    async def slow(request: object) -> str:
        import asyncio

        await asyncio.sleep(0 if next(calls) < 2 or opened else 600)
        return "Hester Vane came to the island of Sarn."

    opened: list[bool] = []
    with ChatServer(slow) as chat:
        model = ModelSettings(model="openai:slow", base_url=chat.base_url, context_tokens=4000)
        with served(tmp_path, models={"slow": model}) as at, at.client() as client:
            text = "\n\n".join(f"{chapter()} Part {n}." for n in range(4))
            run = begin(client, model="slow", words=40, text=text)
            assert client.get(f"/api/runs/{run}").json()["at_work"] is True
            assert client.post(f"/api/runs/{run}/resume").status_code == 409
            stopped = client.post(f"/api/runs/{run}/stop")
            assert stopped.status_code == 200, stopped.text
            status = adapter_of(RunStatus).validate_python(stopped.json())
            assert (status.status, status.at_work, status.resumable) == ("interrupted", False, True)
            assert client.post(f"/api/runs/{run}/stop").status_code == 409
            page = client.get(f"/runs/{run}").text
            assert ("calls without an answer (counted as " in page, "judges it" in page) == (True, False)
            assert "has no summary to refine" in client.get(f"/runs/{run}/refine").text
            opened.append(True)
            assert client.post(f"/api/runs/{run}/resume").status_code == 200
            assert at_rest(client, run)["status"] == "done"


@pytest.mark.slow
def test_opinion_is_kept_withdrawn_and_exported(client: httpx.Client, tmp_path: Path, at: Served) -> None:
    wrong = "Hester Vane came to the island of Sarn on Friday, 9 July 1931, sitting on a sack of coal."
    run = begin(client, kind="evaluate", summary=wrong, metrics=["consistency"])
    at_rest(client, run)
    finding = client.get(f"/api/runs/{run}/dossier").json()["findings"][0]["finding"]["id"]
    address = f"/api/runs/{run}/opinions"
    opinion = {"finding": finding, "agrees": True, "note": "=HYPERLINK(1)"}
    [kept] = client.post(address, json=opinion).json()["opinions"]
    assert {name: kept[name] for name in opinion} == opinion
    assert client.get(address).json()["opinions"] == [kept]
    sheet = client.get(f"/runs/{run}/opinions.csv")
    assert sheet.headers["content-disposition"] == f'attachment; filename="{run}-claims.csv"'
    file = tmp_path / "opinions.csv"
    file.write_bytes(sheet.content)
    what = sheet_kind([str(file)])
    answers, _ = read_answers([str(file)], what)
    assert (what, [row.partition("/")[0] for row in answers], [*answers.values()]) == ("claims", [run], [[False]])
    assert client.post(address, json={"finding": finding, "agrees": None}).json()["opinions"] == []
    assert client.get(f"/runs/{run}/opinions.csv").status_code == 404
    assert client.post(address, json={"finding": "zz", "agrees": True}).status_code == 404
    client.post(address, json=opinion)
    with Store(at.told.database) as store:
        assert store.opinions.of(run)
        store.forget([run])
        assert store.opinions.of(run) == []


def test_api_describes_itself_and_replies_fit(client: httpx.Client) -> None:
    body = client.get("/api/openapi.json").json()
    assert body["openapi"].startswith("3.1")
    assert {"/api/runs", "/api/runs/{run}", "/api/runs/{run}/evidence", "/api/runs/{run}/review"} <= set(body["paths"])
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(body)))
    assert named <= set(body["components"]["schemas"])
    assert {"Dossier", "RunBody", "RunStatus", "RunResult", "ProblemReply", "BatchTables"} <= named
    assert body["paths"]["/api/runs"]["post"]["security"] == [{"token": []}]
    assert body["paths"]["/api/models"]["get"]["summary"] == "List the models of redraft.toml."
    for path, operations in body["paths"].items():
        assert path in client.get("/api").text.replace("<wbr>", ""), path
        for operation in operations.values():
            parameters = [parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"]
            assert re.findall(r"{([^}]*)}", path) == parameters
            kind = "application/json" if path.startswith("/api/") else "text/html"
            assert list(operation["responses"]["default"]["content"]) == [kind], path


def test_form_has_every_setting_of_the_shell(client: httpx.Client) -> None:
    form = client.get("/runs/new").text
    never = {"base_url", "key_env", "source_language"}
    apart = {"goals"}
    for model in (DraftConfig, JudgeConfig, RefineConfig):
        for name in model.model_fields:
            if option_of(model, name) is not None and name not in never | apart and name != "judges":
                assert f'name="{name}"' in form, name
    assert not any(f'name="{name}"' in form for name in never)
    assert "<option selected>auto</option>" in form, "the default of the command line"
    assert "--" not in re.sub(r"<[^>]*>", "", form), "no option of the command line"


GUIDE = SAMPLE.parent.parent / "docs" / "studio.md"
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_REQUEST = re.compile(r"^curl .*?(?=^curl |\Z)", re.MULTILINE | re.DOTALL)


def requests() -> list[str]:
    return [match.strip() for block in _BLOCK.findall(GUIDE.read_text("utf-8")) for match in _REQUEST.findall(block)]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the requests are made by curl: install it")
@pytest.mark.nightly
def test_the_requests_of_the_page_are_answered(at: Served, tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(chapter(), "utf-8")
    with at.client() as client:
        review = begin(client, kind="refine", words=60, goals={"coverage": 1.0}, review=True, rounds=1)
        assert at_rest(client, review)["status"] == "waiting"
        asyncio.run(_batch(Path(str(at.told.database))))
        environment = {"STUDIO": at.url, "TOKEN": TOKEN, "WAITING": review, "RUN": "", "PATH": "/usr/bin:/bin"}
        environment["BATCH"] = "mine"
        printed: dict[str, Any] = {}
        for request in requests():
            done = subprocess.run(
                ["bash", "-c", request],
                env=environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert done.returncode == 0, done.stderr
            printed[request] = done.stdout
            if "file=@" in request:
                environment["RUN"] = json.loads(done.stdout)["run"]
                assert json.loads(done.stdout)["events"] == f"/api/runs/{environment['RUN']}/events"
    replies = {request: json.loads(text) for request, text in printed.items() if not text.startswith("data:")}
    failed = [request for request, reply in replies.items() if isinstance(reply, dict) and reply.keys() == {"error"}]
    assert ["ffffffff" in request for request in failed] == [True], "that one is to fail"
    assert f"    {json.dumps(replies[failed[0]])}\n" in GUIDE.read_text("utf-8")
    assert len(printed) == 16
    followed = [text for text in printed.values() if text.startswith("data:")]
    assert ['"kind": "done"' in text.splitlines()[-2] for text in followed] == [True, True]


async def _batch(database: Path) -> None:
    async with Session(database) as session:
        await redraft.batch(session, [Document.from_text(chapter(), "One")], name="mine", words=40)
