"""The example for LangGraph's server, on that server. It needs `langgraph-cli[inmem]`, and is skipped without."""

from __future__ import annotations

import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from tests.command import Command
from tests.support import SAMPLE

FOLDER = SAMPLE.parent / "langgraph"
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not importlib.util.find_spec("langgraph_api"), reason="langgraph-cli[inmem] is not installed"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    tmp_path = tmp_path_factory.mktemp("served")
    shutil.copy(FOLDER / "langgraph.json", tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    database = str(tmp_path / "served.db")
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            program,
            cwd=tmp_path,
            env={**Command(tmp_path).environment, "REDRAFT_DB": database},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    address, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 120
    try:
        while not _is_up(address):
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()
            time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def _is_up(address: str) -> bool:
    try:
        return httpx.get(f"{address}/ok").is_success
    except httpx.TransportError:
        return False


def test_client_drafts_evaluates_and_refines(server: str, tmp_path: Path) -> None:
    book = tmp_path / "book.md"
    book.write_text(SAMPLE.read_text("utf-8")[:4000], "utf-8")
    done = subprocess.run(
        [sys.executable, str(FOLDER / "client.py"), str(book), server],
        env=Command(tmp_path).environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    parts = _sections(done.stdout)
    assert [line for line in parts["Draft"] if line.startswith("event: ")][::5] == ["event: started", "event: done"]
    assert "Tobias Wren" in parts["Draft"][-1]
    assert "'consistency': 1.0" in parts["Evaluate"][0]
    assert parts["Refine"][0].startswith("finding 1: ")
    assert "'coverage': 0." in parts["Refine"][-1]
    assert parts["A mistake"] == ["nowhere.txt: no such file"]


def _sections(printed: str) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    for line in printed.splitlines():
        if line.startswith("  "):
            sections[[*sections][-1]].append(line.strip())
        else:
            sections[line] = []
    return sections


@pytest.mark.parametrize("mode", ["values", "updates", "messages-tuple", "events", "tasks", "debug"])
def test_events_stand_beside_every_stream(server: str, tmp_path: Path, mode: str) -> None:
    book = tmp_path / "book.md"
    book.write_text(SAMPLE.read_text("utf-8")[:4000], "utf-8")
    task = {"source": str(book), "words": 40}
    body = {"assistant_id": "draft", "input": {"order": task}, "stream_mode": [mode, "custom"]}
    with httpx.Client(base_url=server, timeout=60) as client, client.stream("POST", "/runs/stream", json=body) as reply:
        lines = list(reply.iter_lines())
    custom = [json.loads(after.removeprefix("data: ")) for line, after in pairwise(lines) if line == "event: custom"]
    kinds = [event["kind"] for event in custom]
    assert (kinds[0], kinds[-1]) == ("started", "done")
    assert {"stage", "call", "piece"} < {*kinds}
    assert mode == "messages-tuple" or f"event: {mode}" in lines
