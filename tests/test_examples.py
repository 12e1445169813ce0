"""What the documentation shows runs as it stands, and uses nothing that an application may not."""

from __future__ import annotations

import ast
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import redraft
import redraft.graphs
from tests.command import Command
from tests.support import SAMPLE

ROOT = SAMPLE.parent.parent
EMBED = ROOT / "examples" / "embed"
TEXT = SAMPLE.read_text("utf-8").split("## Chapter 3")[0]


def foreign(source: str) -> list[str]:
    """What a program takes from redraft that is not among its public names."""
    public = {"redraft": {*redraft.__all__}, "redraft.graphs": {*redraft.graphs.__all__}}
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names if one.name.startswith("redraft.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "redraft":
            found += [
                f"{node.module}.{one.name}" for one in node.names if one.name not in public.get(node.module or "", ())
            ]
        elif isinstance(node, ast.Attribute):
            base = ast.unparse(node.value)
            if base in public and node.attr not in public[base]:
                found.append(f"{base}.{node.attr}")
            elif node.attr.startswith("_") and base != "self":
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("path", sorted(EMBED.glob("*.py")), ids=lambda path: path.name)
def test_an_example_uses_nothing_but_public_names(path: Path) -> None:
    assert foreign(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import redraft.runs.session", "redraft.runs.session"),
        ("from redraft.events import Noted", "redraft.events.Noted"),
        ("from redraft import runs", "redraft.runs"),
        ("import redraft\nredraft.runs", "redraft.runs"),
        ("import redraft\nredraft.graphs.hierarchical", "redraft.graphs.hierarchical"),
        ("session._manager", "session._manager"),
    ],
)
def test_a_name_that_is_not_public_is_found(source: str, name: str) -> None:
    assert foreign(source) == [name]


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program of one's own, as its user runs it."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=Command(folder).environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def excerpt(tmp_path: Path) -> Path:
    """Two chapters of the sample."""
    path = tmp_path / "excerpt.md"
    path.write_text(TEXT, "utf-8")
    return path


@pytest.mark.slow
def test_the_graph_in_a_graph_of_ones_own(tmp_path: Path, excerpt: Path) -> None:
    done = ran(tmp_path, str(EMBED / "subgraph.py"), str(excerpt))

    heading, _, summary = done.stdout.partition("\n\n")
    assert heading.startswith("The Salt Ledger in ")
    assert "(coverage 0." in heading
    assert "Hester" in summary
    assert "ended because of" in done.stderr


@pytest.mark.slow
def test_a_metric_and_a_model_of_ones_own(tmp_path: Path) -> None:
    done = ran(tmp_path, str(EMBED / "own.py"))

    assert done.stdout == "The harbour board met on Tuesday at the Customs House. Edith Marlow was in the chair.\n"
    assert done.stderr == "round 1, for names_the_chair: names_the_chair gained 1.000\n"


@pytest.mark.slow
def test_an_agent_with_the_tools(tmp_path: Path) -> None:
    done = ran(tmp_path, str(EMBED / "agent.py"))

    called = [line.partition(" ")[0] for line in done.stderr.splitlines()]
    assert called == ["list_findings", "find_passages", "revise", "finish", "Done:"]
    assert "consistency gained" in done.stderr
    assert done.stdout == (
        "Hester Vane came to the island of Sarn on Monday, 3 March 1924. She carried a letter from London.\n"
    )


class Server:
    """The example's server as a process, on a port that it has chosen."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "--app-dir", str(EMBED), "--port", "0", "app:app"],
            env=Command(folder, BOOKS=str(folder)).environment,
            cwd=folder,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            if "running on" in line:
                break
        assert said, "the server did not start"
        assert "running on" in said[-1], "".join(said)
        self.client = httpx.Client(base_url=said[-1].split("running on ")[1].split()[0], timeout=60)

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self.client.close()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def start(self, **asked: Any) -> str:
        """Begin a run."""
        reply = self.client.post("/runs", json=asked)
        assert reply.status_code == 201, reply.text
        return str(reply.json()["run"])

    def events(self, run: str) -> list[dict[str, Any]]:
        """What happens in a run until it stops."""
        with self.client.stream("GET", f"/runs/{run}/events") as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            lines = [line for line in reply.iter_lines() if line.startswith("data: ")]
        return [json.loads(line.removeprefix("data: ")) for line in lines]

    def answer(self, run: str, said: Any) -> httpx.Response:
        """Answer the run's question."""
        return self.client.post(f"/runs/{run}/answer", json=said)


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server, until it is killed."""
    server = Server(folder)
    try:
        yield server
    finally:
        server.kill()


def kinds(events: list[dict[str, Any]]) -> set[str]:
    """The kinds of some events."""
    return {event["kind"] for event in events}


@pytest.mark.slow
def test_a_web_application_that_outlives_its_server(tmp_path: Path, excerpt: Path) -> None:
    wanted = {
        "goals": {"coverage": 0.9, "consistency": 0.9},
        "words": 80,
        "rounds": 2,
        "review": True,
        "allow_self_check": True,
    }
    with serving(tmp_path) as server:
        run = server.start(path=excerpt.name, **wanted)
        # In the midst of its work.
    with serving(tmp_path) as server:
        seen = server.events(run)
        assert {"started", "stage", "call", "piece", "score", "finding", "round"} < kinds(seen)
        assert (seen[0], seen[-1]["kind"]) == ({"kind": "started", "run": run}, "waiting")
        asked = server.client.get(f"/runs/{run}/question").json()
        assert asked == seen[-1]["question"]
        assert asked["findings"][0]["number"] == 1
        wrong = server.answer(run, {"drop": [99]})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "answer")
        assert wrong.json()["message"].startswith("drop: there is no finding '99'")
        assert server.client.get(f"/runs/{run}").json()["status"] == "waiting"

    with serving(tmp_path) as server:
        assert [event["kind"] for event in server.events(run)] == ["waiting"]
        again = server.client.get(f"/runs/{run}/question").json()
        assert (again["text"], again["findings"]) == (asked["text"], asked["findings"])
        edited = "The bank had sent Hester a civil letter."
        assert server.answer(run, {"edited": edited}).status_code == 202
        assert {"score", "round", "waiting"} < kinds(server.events(run))
        assert server.client.get(f"/runs/{run}/question").json()["text"] == edited
        assert server.answer(run, {"stop": True}).status_code == 202
        assert server.events(run)[-1] == {"kind": "done", "run": run, "stop_reason": "cancelled"}
        done = server.client.get(f"/runs/{run}").json()
        assert (done["status"], done["summary"]) == ("done", edited)
        assert server.answer(run, {"stop": True}).status_code == 409


@pytest.mark.slow
def test_the_web_application_says_what_is_wrong(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        get, post = server.client.get, server.client.post
        run = server.start(text=TEXT, title="Two Chapters", words=50)
        assert server.events(run)[-1]["kind"] == "done"
        shown = get(f"/runs/{run}").json()
        assert shown["source"]["title"] == "Two Chapters"
        assert shown["words"] <= 50
        assert get(f"/runs/{run}/question").json() is None

        for path in ("/runs/nowhere", "/runs/nowhere/events", "/runs/nowhere/question"):
            assert (get(path).status_code, get(path).json()["code"]) == (404, "run")
        for asked in ({"path": "../secret.txt"}, {"text": TEXT, "goals": {"beauty": 1}}, {"text": ""}, [1], {}):
            reply = post("/runs", json=asked)
            assert reply.status_code == 422, reply.text
            assert reply.json()["message"]
        assert post("/runs", content=b"{").status_code == 422


@pytest.mark.slow
def test_the_python_of_the_readme(tmp_path: Path) -> None:
    program = (ROOT / "README.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "book.txt").write_text(SAMPLE.read_text("utf-8"), "utf-8")
    assert "Hester" in ran(tmp_path, "-c", program).stdout
