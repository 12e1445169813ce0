"""`redraft mcp`, tried with the client of the official SDK: in this process, and as the process that clients start."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

import redraft
from redraft.llm.base import FunctionModel, Reply, Request
from redraft.llm.budget import Budget
from redraft.studio.mcp import McpTools, server
from tests.judges import PerfectModel, function_model, island, summary_of
from tests.support import SAMPLE, obedient

BOOK = "The keeper lit the lamp at dusk. Storms came in March. A ship was saved by the light. " * 5
SUMMARY = "The keeper lit the lamp at dusk. Nobody was saved."


class Slow(FunctionModel):
    """A writer that answers only when it is let."""

    def __init__(self) -> None:
        super().__init__(obedient, "slow")
        self.may = asyncio.Event()

    async def ask(self, request: Request[Any, Any]) -> Reply[Any]:
        await self.may.wait()
        return await super().ask(request)


@asynccontextmanager
async def connected(folder: Path, **options: Any) -> AsyncIterator[Client]:
    """A client of a server on a folder with a book, in this process."""
    root = folder / "root"
    root.mkdir(exist_ok=True)
    (root / "book.txt").write_text(BOOK, "utf-8")
    runs = options.pop("runs", ())
    async with redraft.Session(folder / "redraft.db", **options) as session:
        desk = McpTools(session, root.resolve(), runs)
        async with Client(server(desk)) as client, aclosing(desk.feeds):
            yield client


async def call(client: Client, tool: str, **arguments: Any) -> Mapping[str, Any]:
    result = await client.call_tool(tool, arguments)
    content: Mapping[str, Any] = result.structured_content
    assert result.is_error == ("error" in content and tool != "status" and isinstance(content["error"], dict)), content
    return content


async def error(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return " | ".join((result.structured_content["error"]["message"], result.structured_content["error"]["hint"]))


@pytest.mark.slow
async def test_summary_is_started_polled_and_cited(tmp_path: Path) -> None:
    async with connected(tmp_path) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"start_summary", "start_refinement", "start_evaluation", "status", "result", "cite"} <= names

        started_run = await call(client, "start_summary", source="book.txt", words=20)
        done = await call(client, "status", run=started_run["run"], wait=30)
        assert (done["status"], done["next"]) == ("done", "call result")

        result = await call(client, "result", run=started_run["run"])
        assert "keeper" in result["summary"]
        cited = await call(client, "cite", run=started_run["run"])
        assert cited["sentences"][0]["cites"] == [1]
        assert cited["places"][0]["quote"] in BOOK

        matches = await call(client, "find_passages", source="book.txt", query="a ship saved", count=1)
        assert matches == await call(client, "find_passages", source=started_run["run"], query="a ship saved", count=1)
        passage = matches["passages"][0]
        assert passage["text"] == BOOK[passage["start"] : passage["end"]]


@pytest.mark.slow
async def test_findings_are_listed_for_all_metrics_or_one(tmp_path: Path) -> None:
    poor = summary_of(1, 3, wrong={2: "Bob"})
    async with connected(tmp_path, model=function_model(PerfectModel())) as client:
        (tmp_path / "root" / "book.md").write_text(island().text, "utf-8")
        started_run = await call(client, "start_evaluation", source="book.md", summary=poor)
        await call(client, "status", run=started_run["run"], wait=30)
        result = await call(client, "result", run=started_run["run"])
        assert {*result["scores"]} == {"coverage", "consistency"}
        listed = result["findings"]
        assert len(listed) == result["findings_in_all"] > 2
        for metric in ("coverage", "consistency"):
            part = await call(client, "list_findings", run=started_run["run"], metric=metric)
            ids = {finding["id"] for finding in listed if finding["metric"] == metric}
            assert {finding["id"] for finding in part["findings"]} == ids != set()
        assert {one["id"] for one in listed if "Bob" in one["sentence"]} != set()
        assert all(one["evidence"]["text"] in island().text for one in listed if one["evidence"])


async def test_run_is_stopped_and_resumed(tmp_path: Path) -> None:
    model = Slow()
    async with connected(tmp_path, model=model, settings=redraft.DraftConfig(strategy="direct")) as client:
        started_run = await call(client, "start_summary", source="book.txt", words=20)
        assert started_run["status"] == "running"
        assert started_run["next"] == "call status again, with wait"
        assert "is running" in await error(client, "resume", run=started_run["run"])
        assert (await call(client, "stop", run=started_run["run"]))["status"] == "interrupted"
        assert "not running" in await error(client, "stop", run=started_run["run"])
        model.may.set()
        await call(client, "resume", run=started_run["run"])
        assert (await call(client, "status", run=started_run["run"], wait=30))["status"] == "done"


async def test_runs_share_the_servers_limits(tmp_path: Path) -> None:
    options = {"model": FunctionModel(obedient), "settings": redraft.DraftConfig(strategy="direct")}
    async with connected(tmp_path, **options, budget=Budget(max_calls=1, max_cost=None)) as client:
        for words, status in ((20, "done"), (30, "failed")):
            started_run = await call(client, "start_summary", source="book.txt", words=words)
            state = await call(client, "status", run=started_run["run"], wait=30)
            assert state["status"] in (status, "stopped" if status == "failed" else status)
        assert "the limit of 1 call is used up" in state["error"]["message"]


OUTSIDE = "not a file in the folder"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        *((path, OUTSIDE) for path in ("../secret.txt", "../nowhere.txt", "/etc/passwd", "way-out/secret.txt")),
        *((path, OUTSIDE) for path in ("link.txt", "loop", ".env", ".git/config", ".", "pipe", "-", "~/secret.txt")),
        *((path, OUTSIDE) for path in ("a\0b", "x/" * 2000, "http://127.0.0.1:9/")),
        ("", "source: must not be empty"),
        (7, "source: must be text"),
        (None, "source: must be text"),
        (["book.txt"], "source: must be text"),
        ("0123abcd", "no run"),
    ],
)
async def test_only_files_in_the_folder_are_read(tmp_path: Path, source: object, message: str) -> None:
    (tmp_path / "secret.txt").write_text("The password is swordfish.")
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    for name in (".env", ".git/config"):
        (root / name).write_text("KEY=swordfish and more words.")
    (root / "way-out").symlink_to(tmp_path)
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe")
    async with connected(tmp_path) as client:
        for tool, more in (("find_passages", {"query": "password"}), ("start_summary", {})):
            message_text = await error(client, tool, source=source, **more)
            assert message in message_text
            assert "swordfish" not in message_text
            assert len(message_text) < 1000


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("start_summary", {"source": "book.txt", "model": "openai:gpt-5"}, "model: is not known here"),
        ("start_summary", {"source": "book.txt", "words": "many"}, "words: must be a whole number"),
        ("start_summary", {"source": "book.txt", "metrics": ["niceness"]}, "niceness"),
        ("start_summary", {"source": "book.txt", "goals": {"coverage": 5}}, "goals"),
        ("start_evaluation", {"source": "book.txt"}, "summary: is missing"),
        ("start_evaluation", {"source": "book.txt", "summary": "x" * 300_000}, "summary"),
        ("status", {"run": "01"}, "you have no run"),
        ("status", {"run": "01234567"}, "no run"),
        ("status", {"run": "01234567", "wait": 3600}, "wait: must be at most 45"),
        ("find_passages", {"source": "book.txt", "query": "", "count": 1}, "query: must not be empty"),
        ("rm", {"path": "/"}, "there is no tool 'rm'"),
    ],
)
async def test_impossible_arguments_are_refused_in_a_sentence(
    tmp_path: Path, tool: str, arguments: dict[str, Any], message: str
) -> None:
    async with connected(tmp_path) as client:
        assert message in await error(client, tool, **arguments)
        assert {path.name for path in (tmp_path / "root").iterdir()} == {"book.txt"}


async def test_server_shows_its_own_and_named_runs(tmp_path: Path) -> None:
    async with redraft.Session(tmp_path / "redraft.db") as session:
        run = (await session.evaluate(redraft.Document.from_text(BOOK), SUMMARY, metrics=["spread"])).run.id
    async with connected(tmp_path) as client:
        for tool in ("status", "result", "cite", "stop", "resume"):
            assert await error(client, tool, run=run) == (
                f"you have no run with the id '{run}' | no run has been started yet"
            )
        assert "you have no run" in await error(client, "find_passages", source=run, query="lamp")
        assert "you have no run" in await error(client, "start_summary", source=run)
    async with connected(tmp_path, runs=[run]) as client:
        assert (await call(client, "result", run=run))["summary"] == SUMMARY
        assert (await call(client, "find_passages", source=run, query="lamp"))["passages"]


def parameters(folder: Path, *arguments: str) -> StdioServerParameters:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("REDRAFT_", "OPENAI_"))}
    command = ["-m", "redraft", "mcp", "--db", str(folder / "redraft.db"), "--root", str(folder), *arguments]
    return StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=folder)


@pytest.mark.nightly
async def test_process_stops_with_its_client(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(SAMPLE.read_text("utf-8"), "utf-8")
    async with Client(stdio_client(parameters(tmp_path))) as client:
        started_run = await call(client, "start_summary", source="book.md", words=60)
        assert (await call(client, "status", run=started_run["run"], wait=45))["status"] == "done"
        assert "Hester" in (await call(client, "result", run=started_run["run"]))["summary"]
        unfinished = await call(client, "start_evaluation", source="book.md", summary=SUMMARY)
    async with redraft.Session(tmp_path / "redraft.db") as session:
        unfinished_result = await session.result(unfinished["run"])
        assert unfinished_result.status in ("interrupted", "done")
