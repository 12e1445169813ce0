"""What the documentation shows runs as it stands, and uses nothing that an application may not."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

import redraft
import redraft.evaluators
import redraft.graphs
from tests import warm
from tests.chatserver import ChatRequest, ChatServer, Reply
from tests.command import Command, Completed
from tests.support import SAMPLE, public_names

ROOT = SAMPLE.parent.parent
EMBED = ROOT / "examples" / "embed"
TESTING = ROOT / "examples" / "testing"
TEXT = SAMPLE.read_text("utf-8").split("## Chapter 3")[0]


def foreign(source: str) -> list[str]:
    """What a program takes from redraft that is not among its public names."""
    public = public_names()
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names if alias.name.startswith("redraft.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "redraft":
            names += [
                f"{node.module}.{alias.name}"
                for alias in node.names
                if alias.name not in public.get(node.module or "", ())
            ]
        elif isinstance(node, ast.Attribute):
            base = ast.unparse(node.value)
            if base in public and node.attr not in public[base]:
                names.append(f"{base}.{node.attr}")
            elif node.attr.startswith("_") and base != "self":
                names.append(ast.unparse(node))
    return names


@pytest.mark.parametrize(
    "path", sorted([*EMBED.parent.glob("*.py"), *EMBED.glob("*.py"), *TESTING.glob("*.py")]), ids=lambda path: path.name
)
def test_an_example_uses_nothing_but_public_names(path: Path) -> None:
    assert foreign(path.read_text("utf-8")) == []


def _in_process(arguments: list[str], folder: str, environment: dict[str, str], out: str, err: str) -> None:
    """In a process that began with the libraries loaded: run a program or a module as its user does."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in ((1, out), (2, err)):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    program, *sys.argv[1:] = arguments
    if program == "-m":
        runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
    else:
        sys.argv[0] = program
        runpy.run_path(program, run_name="__main__")


def begun(folder: Path, *arguments: str, **environment: str) -> tuple[BaseProcess, Path, Path]:
    """A program at work, and the files for its output."""
    out, err = (folder / f"{uuid4().hex}.{name}" for name in ("out", "err"))
    out.touch(), err.touch()
    start = (list(arguments), str(folder), Command(folder, **environment).environment, str(out), str(err))
    process = warm._FORKING.Process(target=_in_process, args=start)
    process.start()
    return process, out, err


def ran(folder: Path, *arguments: str) -> Completed:
    """A program of one's own, as its user runs it."""
    process, out, err = begun(folder, *arguments)
    process.join(120)
    assert process.exitcode == 0, err.read_text("utf-8")
    return Completed(0, out.read_text("utf-8"), err.read_text("utf-8"))


@pytest.fixture
def excerpt(tmp_path: Path) -> Path:
    """Two chapters of the sample."""
    path = tmp_path / "excerpt.md"
    path.write_text(TEXT, "utf-8")
    return path


@pytest.mark.slow
def test_graph_within_an_own_graph(tmp_path: Path, excerpt: Path) -> None:
    done = ran(tmp_path, str(EMBED / "subgraph.py"), str(excerpt))

    heading, _, summary = done.out.partition("\n\n")
    assert heading.startswith("The Salt Ledger in ")
    assert "(coverage 0." in heading
    assert "Hester" in summary
    assert "ended because of" in done.err


@pytest.mark.slow
def test_a_review_over_http(tmp_path: Path) -> None:
    done = ran(tmp_path, str(EMBED / "review.py"))

    draft, *findings, result = done.out.splitlines()
    assert draft.startswith("The draft: The harbour board met")
    assert findings[0].startswith("1. ")
    assert result.startswith("The result: The harbour board met")
    assert result.endswith("done")


@pytest.mark.slow
def test_own_metric_and_own_model(tmp_path: Path) -> None:
    done = ran(tmp_path, str(EMBED / "own.py"))

    assert done.out == "The harbour board met on Tuesday at the Customs House. Edith Marlow was in the chair.\n"
    assert done.err == "round 1, for names_the_chair: the policy accepts every revision\n"


def density_step(seen: ChatRequest) -> Reply:
    """The first summary; and denser ones, the second of them cut off."""
    if "lacks and a reader would miss" not in json.dumps(seen.messages):
        return "Hester came to the island."
    step = json.dumps(seen.messages).count("Denser")
    return {"missing": ["the bank"], "summary": f"Hester came to the island. {'Denser still. ' * (step + 1)}".strip()}


async def test_chain_of_density_is_cached_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = runpy.run_path(str(EMBED.parent / "chain_of_density.py"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setattr("redraft.graphs.strategies._objects", {})
    strategy, document = program["CHAIN_OF_DENSITY"], redraft.Document.from_text(TEXT)
    with ChatServer(density_step) as server:
        settings = redraft.DraftConfig(model="openai:m", base_url=server.base_url, context_tokens=30_000)
        database, options = tmp_path / "redraft.db", {"settings": settings, "strategies": [strategy]}
        async with redraft.Session(database, limits=redraft.Limits(max_calls=3), **options) as session:
            with pytest.raises(redraft.errors.BudgetError):
                await session.summarize(document, strategy=strategy, words=80)
            (run,) = session.store.runs.latest(1)
        assert len(server.seen) == 3
        async with redraft.Session(database, **options) as session:
            resumed = await session.resume(run.id, limits=redraft.Limits())
            calls = session.store.calls.of(run.id)
            again = await session.summarize(document, strategy=strategy, words=80)
            assert (await session.plan(document, strategy=strategy, words=70)).calls == 1 + program["STEPS"]
        assert len(server.seen) == 1 + program["STEPS"]
    assert resumed.summary == f"Hester came to the island. {'Denser still. ' * program['STEPS']}".strip()
    assert {call.prompt for call in calls} == {"summarize_whole", "denser"}
    assert (again.summary, again.usage.calls) == (resumed.summary, 0)


@pytest.mark.slow
def test_synchronous_calls(tmp_path: Path, excerpt: Path) -> None:
    done = ran(tmp_path, str(EMBED / "sync.py"), str(excerpt))

    assert "Tobias Wren" in done.out
    assert re.search(r"^1\.0 Who rebuilt the Long Bank\?", done.out, re.MULTILINE)
    assert done.err == "consistency 1.00\n"


@pytest.mark.slow
def test_functions_as_metrics(tmp_path: Path) -> None:
    assert ran(tmp_path, str(EMBED / "function_metric.py")).out.splitlines() == [
        "short 0.0 Change the summary so that this is true: The summary has at most 15 words.",
        "true_dates 0.5 Change the summary so that this is true: Every date of the summary is in the document.",
    ]


@pytest.mark.slow
def test_a_rubric(tmp_path: Path) -> None:
    assert ran(tmp_path, str(EMBED / "rubric.py")).out.splitlines() == [
        "plain_tone 0.5 - stand-in; prompts standard",
        "- The lessee shall remit the rent monthly. A lawyer's phrase.",
        "- In the event of default, the lease may be terminated forthwith. A lawyer's phrase.",
    ]


@pytest.mark.slow
def test_a_test_suite_with_recorded_replies(tmp_path: Path) -> None:
    for path in TESTING.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    scope = ("-o", "asyncio_default_fixture_loop_scope=function", "-p", "no:langsmith_plugin")
    # By name, since what is installed may be an earlier version.
    plugin = ("-p", "no:redraft", "-p", "redraft.pytest_plugin")
    done = ran(tmp_path, "-m", "pytest", *scope, *plugin, "-q", str(tmp_path))

    assert "4 passed" in done.out
    assert re.search(r"^redraft: 4 tests, \d+ calls .* 2 from recordings$", done.out, re.MULTILINE)


@pytest.mark.slow
def test_an_agent_with_the_tools(tmp_path: Path) -> None:
    done = ran(tmp_path, str(EMBED / "agent.py"))

    called = [line.partition(" ")[0] for line in done.err.splitlines()]
    assert called == ["list_findings", "find_passages", "revise", "finish", "Done:"]
    assert done.err.endswith("Done: 1 error fewer.\n")
    assert done.out == (
        "Hester Vane came to the island of Sarn on Monday, 3 March 1924. She carried a letter from London.\n"
    )


class Server:
    """The example's server as a process, on a port that it has chosen."""

    def __init__(self, folder: Path) -> None:
        served = ("-m", "uvicorn", "--app-dir", str(EMBED), "--port", "0", "app:app")
        self._process, _, err = begun(folder, *served, BOOKS=str(folder))
        while not (match := re.search(r"running on (\S+)", log := err.read_text("utf-8"))):
            assert self._process.exitcode is None, log
            time.sleep(0.02)
        self.client = httpx.Client(base_url=match[1], timeout=60)

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        self._process.kill()
        self._process.join()
        self.client.close()

    def start(self, **body: Any) -> str:
        """Begin a run."""
        reply = self.client.post("/runs", json=body)
        assert reply.status_code == 201, reply.text
        return str(reply.json()["run"])

    def events(self, run: str) -> list[dict[str, Any]]:
        """What happens in a run until it stops."""
        with self.client.stream("GET", f"/runs/{run}/events") as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            lines = [line for line in reply.iter_lines() if line.startswith("data: ")]
        return [json.loads(line.removeprefix("data: ")) for line in lines]

    def answer(self, run: str, choice: Any) -> httpx.Response:
        """Answer the run's question."""
        return self.client.post(f"/runs/{run}/answer", json=choice)


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
    expected = {"goals": {"coverage": 0.9, "consistency": 0.9}, "words": 80, "rounds": 2, "review": True}
    with serving(tmp_path) as server:
        run = server.start(path=excerpt.name, **expected)
        # In the midst of its work.
    with serving(tmp_path) as server:
        request = server.events(run)
        assert {"started", "stage", "call", "piece", "score", "finding", "round"} < kinds(request)
        assert (request[0], request[-1]["kind"]) == ({"kind": "started", "run": run}, "waiting")
        question = server.client.get(f"/runs/{run}/question").json()
        assert question == request[-1]["question"]
        assert question["findings"][0]["id"]
        wrong = server.answer(run, {"drop": [99]})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "answer")
        assert wrong.json()["message"].startswith("drop: there is no finding '99'")
        assert server.client.get(f"/runs/{run}").json()["status"] == "waiting"

    with serving(tmp_path) as server:
        assert [event["kind"] for event in server.events(run)] == ["waiting"]
        repeated = server.client.get(f"/runs/{run}/question").json()
        assert (repeated["text"], repeated["findings"]) == (question["text"], question["findings"])
        edited = "The bank had sent Hester a civil letter."
        assert server.answer(run, {"edited": edited}).status_code == 202
        assert {"score", "round", "waiting"} < kinds(server.events(run))
        assert server.client.get(f"/runs/{run}/question").json()["text"] == edited
        assert server.answer(run, {"stop": True}).status_code == 202
        assert server.events(run)[-1] == {"kind": "done", "run": run, "stop_reason": "cancelled"}
        done = server.client.get(f"/runs/{run}").json()
        assert (done["status"], done["summary"]) == ("done", edited)
        assert server.answer(run, {"stop": True}).status_code == 409
