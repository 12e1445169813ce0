"""The first steps in the studio: an empty list, the sample book, the first judgment; and models that can be named."""

from __future__ import annotations

import re
import socket
import tomllib
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest

from redraft.llm import addresses
from redraft.llm.addresses import LocalServer
from redraft.settings import ModelSettings
from redraft.store.store import Store
from redraft.studio.models import LocalServers, ModelList
from tests.chatserver import ChatRequest, ChatServer, Fault, Reply
from tests.cli.test_models import LIGHT
from tests.studio.served import Served, at_rest, begin, kept_from, served

KEY = "sk-of-the-lighthouse"


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own settings file, which does not exist yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    return tmp_path / "settings" / "redraft" / "redraft.toml"


@pytest.fixture
def model_server() -> Iterator[ChatServer]:
    """A model server that works, with a key."""

    def reply(request: ChatRequest) -> Reply:
        return LIGHT if "response_format" in request.body else "Mara"

    with ChatServer(reply) as server:
        yield server


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))


def test_an_empty_studio_offers_first_steps(tmp_path: Path, client: httpx.Client) -> None:
    with served(tmp_path) as at, at.client() as fresh:
        empty = fresh.get("/runs").text
        assert 'type="file"' in empty
        assert 'href="/models"' in empty
        plan = fresh.post("/runs/new", data={"sample": "yes", "kind": "evaluate"})
        assert plan.status_code == 200
        assert "Plan for The Salt Ledger" in text_of(plan.text)
        assert "Coverage judge" in text_of(plan.text)
        begin(fresh)
        assert "Your document" not in fresh.get("/runs").text
    form = client.get("/runs/new").text
    assert re.findall(r'name="metrics" value="(\w+)" checked', form) == ["coverage", "consistency"]
    for title in ("BooookScore (clarity) How many sentences", "Even spread How evenly", "Key fact recall How many"):
        assert title in text_of(form)
    files = [("file", ("report.md", b"# Report\n\nThe lamp burned all night. " * 40, "text/markdown"))]
    body = {"metrics": ["coverage", "consistency"], "kind": "summarize", "words": "40"}
    assert client.post("/runs/new", data=body, files=files).status_code == 200, "sent without scripts"
    chosen = client.post("/runs/new", data={**body, "kind": "evaluate", "metrics": ["booookscore"]}, files=files).text
    assert (
        client.get(f"/runs/new?kept={kept_from(chosen)}").text.count('name="metrics" value="booookscore" checked') == 1
    )


@pytest.mark.slow
def test_unscored_run_is_judged_and_revised(client: httpx.Client) -> None:
    run = begin(client, words=60)
    summary = at_rest(client, run)["preview"]
    assert f'href="/runs/new?judge={run}"' in client.get(f"/runs/{run}").text
    form = client.get(f"/runs/new?judge={run}").text
    assert 'value="evaluate" data-kind checked' in form
    assert summary[:40] in unescape(form)
    document = client.get(f"/api/runs/{run}").json()["document"]
    body = {"kind": "evaluate", "documents": document, "parent": run, "summary": summary}
    reply = client.post("/runs/start", data={"kept": kept_from(client.post("/runs/new", data=body).text)})
    judgment = reply.headers["location"].rpartition("/")[2]
    assert set(at_rest(client, judgment)["scores"]) == {"coverage", "consistency"}
    assert f"?judge={judgment}" not in client.get(f"/runs/{judgment}").text

    form = client.get(f"/runs/{judgment}/refine").text
    usual = dict(re.findall(r'name="([\w.]+)"[^>]* value="([^"]*)"', form))
    usual = {name: value for name, value in usual.items() if name != "review"} | {"act": "start"}
    revised = client.post(f"/runs/{judgment}/refine", data=usual)
    assert revised.status_code == 303, text_of(revised.text)
    assert at_rest(client, revised.headers["location"].rpartition("/")[2])["status"] == "done"


def test_a_model_is_tested_and_added(
    tmp_path: Path, configuration: Path, model_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTHOUSE_KEY", KEY)
    model = {"name": "lamp", "model": "openai:lamp-1", "base_url": model_server.base_url, "key_env": "LIGHTHOUSE_KEY"}
    with served(tmp_path) as at, at.client() as client:
        tested = client.post("/models", data={**model, "act": "test"})
        assert "lamp answers, and gives structured replies" in text_of(tested.text)
        assert {request.authorization for request in model_server.seen} == {f"Bearer {KEY}"}
        assert not configuration.exists()
        added = client.post("/models", data={**model, "act": "add"})
        assert "lamp can be used now" in text_of(added.text)
        assert KEY not in tested.text + added.text + configuration.read_text()
        run = begin(client, model="lamp", words=40)
        at_rest(client, run)
        assert client.get(f"/api/runs/{run}").json()["model"] == "openai:lamp-1"
        assert client.post("/models", data={**model, "act": "add"}).status_code == 422, "there is one of this name"
        other = {"name": "plain", "model": "openai:p", "base_url": "http://127.0.0.1:9/v1", "act": "add"}
        assert client.post("/models", data=other).status_code == 200
    tables = tomllib.loads(configuration.read_text())["models"]
    assert tables["lamp"] == {name: value for name, value in model.items() if name != "name"}
    assert tables["plain"] == {"model": "openai:p", "base_url": "http://127.0.0.1:9/v1", "key_env": ""}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"key_env": "PATH"}, "must be the name of a variable such as OPENAI_API_KEY"),
        ({"key_env": KEY}, "must be the name of a variable such as OPENAI_API_KEY"),
        ({"name": "extractive"}, "a model cannot be named 'extractive'"),
        ({"model": ""}, "model: is missing"),
        ({"name": 'x"]\n[models.y'}, "a model cannot be named"),
    ],
)
def test_a_wrong_model_is_not_added(
    client: httpx.Client, configuration: Path, change: dict[str, str], reason: str
) -> None:
    model = {"name": "lamp", "model": "openai:lamp-1", "base_url": "http://127.0.0.1:9/v1", "act": "add"}
    reply = client.post("/models", data={**model, **change})
    assert reply.status_code == 422
    assert reason.casefold() in text_of(reply.text).casefold()
    assert not configuration.exists()


def test_a_model_that_fails_says_why(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChatServer(lambda _: Fault("status", status=401, message="no such key")) as server:
        model = {"name": "lamp", "model": "openai:lamp-1", "base_url": server.base_url, "act": "test"}
        reply = client.post("/models", data=model)
    assert "lamp does not work" in text_of(reply.text)
    assert "refused the API key (HTTP 401)" in text_of(reply.text)
    assert f"Bearer {KEY}" not in {request.authorization for request in server.seen}, (
        "another server does not get OpenAI's key"
    )


def test_models_are_added_by_nobody_from_elsewhere(tmp_path: Path, configuration: Path) -> None:
    with served(tmp_path, "0.0.0.0") as at, at.client() as client:
        assert 'name="key_env"' not in client.get("/models").text
        model = {"name": "lamp", "model": "openai:lamp-1", "act": "add"}
        assert "adds no models" in text_of(client.post("/models", data=model).text)
        with at.stranger() as stranger:
            assert stranger.post("/models", data=model).status_code == 401
    assert not configuration.exists()


EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A model server at a port where servers are looked for, beside a port where nothing answers."""
    pages = {"/v1/models": {"data": [{"id": "qwen3:latest"}, {"id": EVIL}, {"no": "id"}]}}
    with socket.socket() as one, ChatServer(lambda request: "Hester Vane came to Sarn.", pages=pages) as server:
        one.bind(("127.0.0.1", 0))
        monkeypatch.setattr(
            addresses, "USUAL", (LocalServer("LM Studio", server.port), LocalServer("vLLM", int(one.getsockname()[1])))
        )
        yield server


@pytest.fixture
def keyed(tmp_path: Path, near: ChatServer) -> Iterator[Served]:
    strong = ModelSettings(model="openai:gpt-5", key_env="STUDIO_TEST_KEY")
    with served(tmp_path, models={"strong": strong}) as studio:
        yield studio


@pytest.mark.slow
def test_local_servers_are_used_without_a_key(keyed: Served, near: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    with keyed.client() as client:
        before = client.post("/api/runs", json={"text": "One two three.", "model": "lm-studio/qwen3:latest"})
        assert before.status_code == 422, "nobody has looked for it yet"
        assert not near.seen, "nothing is asked before somebody looks"
        found = LocalServers.model_validate(client.get("/api/models/local").json()).servers
        assert [(one.kind, one.answers) for one in found] == [("LM Studio", True), ("vLLM", False)]
        assert [model.name for model in found[0].models] == ["lm-studio/qwen3:latest", f"lm-studio/{EVIL}"]
        assert 'value="lm-studio/qwen3:latest" selected' in client.get("/runs/new?model=lm-studio/qwen3:latest").text
        assert EVIL not in client.get("/runs/new").text
        done = at_rest(client, begin(client, model="lm-studio/qwen3:latest", words=40))
        assert (done["status"], done["model"], done["cost_usd"]) == ("done", "openai:qwen3:latest", 0)
    assert all("sk-secret" not in request.authorization for request in near.seen)
    with Store(keyed.told.database) as store:
        assert store.runs.get(done["run"]).settings.base_url == near.base_url


def test_a_key_is_named_and_never_shown(keyed: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with keyed.client() as client:
        for key, has in (("", False), ("sk-secret-of-the-test", True)):
            monkeypatch.setenv("STUDIO_TEST_KEY", key)
            builtin, strong = ModelList.model_validate(client.get("/api/models").json()).models
            assert (builtin.name, builtin.has_key, builtin.key_variable) == ("extractive", True, "")
            assert (strong.key_variable, strong.has_key, strong.address) == ("STUDIO_TEST_KEY", has, "")
            page = client.get("/models").text
            assert ("is not set" in page) is not has
            assert "sk-secret" not in page
            assert "password" not in page, "there is nowhere to type one"


def test_read_only_studio_searches_for_nothing(tmp_path: Path, near: ChatServer) -> None:
    Store(tmp_path / "redraft.db").close()
    with served(tmp_path, read_only=True) as at, at.client() as client:
        assert client.get("/api/models/local").status_code == 404
        assert client.get("/models").status_code == 404
        assert "/models" not in client.get("/runs").text
