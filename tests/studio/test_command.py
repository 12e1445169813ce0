"""`redraft studio` as its users start and end it."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from redraft.cli.main import main
from redraft.store.store import Store
from tests.chatserver import ChatServer
from tests.command import Command
from tests.support import chapter

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


@contextmanager
def opened(command: Command, *words: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The command once it has said where it listens: the process, the address, and what it has said."""
    process = command.start("studio", "--port", "0", *words)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert _ADDRESS.search(said), said + process.stderr.read()
        yield process, _ADDRESS.findall(said)[0], said
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


@pytest.mark.slow
def test_ctrl_c_leaves_resumable_runs(tmp_path: Path) -> None:
    def silent(_: object) -> Any:
        return asyncio.sleep(600, "too late")

    with ChatServer(silent) as chat:
        (tmp_path / "redraft.toml").write_text(
            f'[models.silent]\nmodel = "openai:silent"\nbase_url = "{chat.base_url}"\ncontext_tokens = 4000\n', "utf-8"
        )
        environment = {"REDRAFT_TOKEN": "a-token-of-mine", "REDRAFT_CONFIG": "redraft.toml"}
        command = Command(tmp_path, OPENAI_API_KEY="sk-test", **environment)
        with opened(command, "--experiments", str(tmp_path)) as (process, address, said):
            assert said.rstrip().endswith("?token=a-token-of-mine")
            headers = {"Authorization": "Bearer a-token-of-mine"}
            with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
                assert list(client.get("/api/offer").json()["models"]) == ["extractive", "silent"]
                reply = client.post("/api/runs", json={"text": chapter(), "model": "silent", "words": 40})
                assert reply.status_code == 201, reply.text
                run = reply.json()["run"]
                # Somebody is watching, and does not keep it from ending.
                with client.stream("GET", f"/api/runs/{run}/events") as events:
                    next(events.iter_lines())
                    code, err = ended(process)
            assert (code, "Traceback" in err, "a-token" in err) == (0, False, False), err
            assert err.rstrip().endswith("finished work is kept")
    with Store(command.database) as store:
        assert store.status(store.runs.get(run)) == "interrupted"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--token", "short"), "needs at least 8 characters"),
        (("--experiments", "nowhere"), "no folder nowhere"),
        (("--db", ":memory:"), "needs a database that is a file"),
        (("--host", "no.such.host.invalid"), "cannot listen at"),
    ],
)
def test_what_cannot_be_meant_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    given = words if "--db" in words else (*words, "--db", str(tmp_path / "redraft.db"))
    with pytest.raises(SystemExit) as left:
        main(["studio", *given])
    assert left.value.code == 2
    assert message in capsys.readouterr().err


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("redraft.plugins.find_spec", lambda name: None if name == "uvicorn" else find(name))
    with pytest.raises(SystemExit) as left:
        main(["studio"])
    assert left.value.code == 2
    output = capsys.readouterr().err
    assert "the studio needs uvicorn, which is not installed" in output
    assert 'pip install "redraft[studio]"' in output
