"""Start each example that is a server on a free port, drive one flow of requests through it, and stop it.

python serve_examples.py EXAMPLES    # a copy of the folder; the package comes from the environment
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

EXAMPLES = Path(sys.argv[1]).resolve()


@contextmanager
def served(folder: Path, *program: str, up: str, **environment: str) -> Iterator[str]:
    """A server at work, until it has been used; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log, address, deadline = folder / f"{port}.txt", f"http://127.0.0.1:{port}", time.monotonic() + 120
    line = [sys.executable, "-m", *program, "--port", str(port)]
    with log.open("w") as output:
        process = subprocess.Popen(line, cwd=folder, env=os.environ | environment, stdout=output, stderr=output)
    try:
        while not is_up(f"{address}{up}"):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def is_up(address: str) -> bool:
    """Whether a server answers, be it with an error."""
    try:
        httpx.get(address)
    except httpx.TransportError:
        return False
    return True


def events(client: httpx.Client, run: str) -> list[dict[str, Any]]:
    """What happens in a run until it stops."""
    with client.stream("GET", f"/runs/{run}/events") as reply:
        return [json.loads(line.removeprefix("data: ")) for line in reply.iter_lines() if line.startswith("data: ")]


def drive_app() -> None:
    """A run of a file stops with a question, which is answered; its events are streamed."""
    database = {"REDRAFT_DB": "app.db", "BOOKS": str(EXAMPLES)}
    wanted = {"words": 60, "goals": {"coverage": 0.9}, "rounds": 1, "review": True}
    with (
        served(EXAMPLES / "embed", "uvicorn", "app:app", up="/", **database) as address,
        httpx.Client(base_url=address, timeout=120) as client,
    ):
        run = client.post("/runs", json={"path": "the-salt-ledger.md", **wanted}).json()["run"]
        seen = [event["kind"] for event in events(client, run)]
        assert (seen[0], seen[-1]) == ("started", "waiting"), seen
        assert client.post(f"/runs/{run}/answer", json={"stop": True}).status_code == 202
        assert events(client, run)[-1]["kind"] == "done"
        shown = client.get(f"/runs/{run}").json()
    assert (shown["status"], bool(shown["summary"])) == ("done", True), shown


def drive_review() -> None:
    """A run asks what a person answers by another request."""
    text = (EXAMPLES / "the-salt-ledger.md").read_text("utf-8")[:3000]
    with (
        served(EXAMPLES / "embed", "uvicorn", "review:app", up="/", REDRAFT_DB="review.db") as address,
        httpx.Client(base_url=address, timeout=120) as client,
    ):
        asked = client.post("/runs", json={"text": text, "words": 40}).json()
        assert asked["question"]["findings"], asked
        shown = client.post(f"/runs/{asked['run']}", json={"stop": True}).json()
    assert (shown["status"], bool(shown["summary"])) == ("done", True), shown


def drive_langgraph() -> None:
    """The client drafts, evaluates and refines on LangGraph's server, and is told of a mistake."""
    folder = EXAMPLES / "langgraph"
    book = folder / "book.md"
    book.write_text((EXAMPLES / "the-salt-ledger.md").read_text("utf-8")[:3000], "utf-8")
    program = ("langgraph_cli", "dev", "--no-browser", "--no-reload")
    with served(folder, *program, up="/ok", REDRAFT_DB=str(folder / "served.db")) as address:
        line = [sys.executable, "client.py", str(book), address]
        said = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True).stdout
    for expected in ("event: started", "event: done", "'consistency': ", "finding 1: ", "nowhere.txt: no such file"):
        assert expected in said, said


with ThreadPoolExecutor() as threads:
    for driven in [threads.submit(drive) for drive in (drive_app, drive_review, drive_langgraph)]:
        driven.result()
