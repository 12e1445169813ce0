"""The models that can be named in the studio: those of the settings file, and those that answer on this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.llm import servers
from redraft.llm.servers import LocalServer
from redraft.settings import ModelSettings
from redraft.store.store import Store
from redraft.studio.models import LocalServers, ModelList
from tests.chatserver import ChatServer
from tests.studio.served import Served, at_rest, begin, served

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A model server at a port where servers are looked for, beside a port where nothing answers."""
    pages = {"/v1/models": {"data": [{"id": "qwen3:latest"}, {"id": EVIL}, {"no": "id"}]}}
    with socket.socket() as one, ChatServer(lambda request: "Hester Vane came to Sarn.", pages=pages) as server:
        one.bind(("127.0.0.1", 0))
        monkeypatch.setattr(
            servers, "USUAL", (LocalServer("LM Studio", server.port), LocalServer("vLLM", int(one.getsockname()[1])))
        )
        yield server


@pytest.fixture
def at(tmp_path: Path, near: ChatServer) -> Iterator[Served]:
    strong = ModelSettings(model="openai:gpt-5", key_env="STUDIO_TEST_KEY")
    with served(tmp_path, models={"strong": strong}) as studio:
        yield studio


@pytest.mark.slow
def test_local_servers_are_used_without_a_key(at: Served, near: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    with at.client() as client:
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
    with Store(at.told.database) as store:
        assert store.runs.get(done["run"]).settings.base_url == near.base_url


def test_local_models_name_their_server_if_needed() -> None:
    names = {"ollama/q:latest", "ollama/both", "lm-studio/both", "strong"}
    assert servers.names_for_people(names) == {
        "ollama/q:latest": "q:latest",
        "ollama/both": "both (on this machine, port 11434)",
        "lm-studio/both": "both (on this machine, port 1234)",
    }


def test_a_key_is_named_and_never_shown(at: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with at.client() as client:
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
