"""The graphs of the example's `langgraph.json`, loaded and called as LangGraph's server loads and calls them."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import Pregel
from langgraph.types import Command

from redraft import Store, read_result
from redraft.errors import UsageError
from redraft.graphs.assembly import BUILDERS
from tests.support import SAMPLE

CONFIG = json.loads((SAMPLE.parent / "langgraph" / "langgraph.json").read_text("utf-8"))


@asynccontextmanager
async def served(name: str, config: RunnableConfig) -> AsyncIterator[Pregel[Any, Any, Any, Any]]:
    """A graph in the hands of the server: its factory is called for every request, and the saver is the server's."""
    module, _, variable = CONFIG["graphs"][name].partition(":")
    factory = importlib.import_module(module).__dict__[variable]
    # It tells by the signature what a factory wants; one parameter is the configuration.
    (parameter,) = inspect.signature(factory).parameters
    graph_context = factory(**{parameter: config})
    assert hasattr(graph_context, "__aenter__")
    async with graph_context as graph:
        assert isinstance(graph, Pregel)
        assert graph.checkpointer is None
        assert graph.name == name
        yield graph.copy(update={"checkpointer": SAVERS[name], "store": None})


TEXT = SAMPLE.read_text("utf-8").split("## Chapter 3")[0]
SAVERS = {name: InMemorySaver() for name in BUILDERS}


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database that the environment names, and a document and a summary on disk."""
    monkeypatch.setenv("REDRAFT_DB", str(tmp_path / "served.db"))
    monkeypatch.setenv("REDRAFT_MODEL", "")  # as in a file of a container's settings, where nothing is set
    monkeypatch.chdir(tmp_path)
    Path("book.md").write_text(TEXT, "utf-8")
    Path("summary.txt").write_text(
        "Hester Vane came to the island of Sarn on Monday, 3 March 1924. The bank had sent Hester a civil letter.",
        "utf-8",
    )
    return tmp_path / "served.db"


def at(thread: str, **configurable: Any) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, **configurable}}


def test_all_public_graphs_are_served() -> None:
    assert set(CONFIG["graphs"]) == set(BUILDERS)
    assert CONFIG["dependencies"] == ["redraft"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("summarizer", {"words": 40, "goals": {"coverage": 0.1}}),
        ("draft", {"words": 40}),
        ("refine", {"summary": "summary.txt", "goals": {"coverage": 0.1}}),
        ("judge", {"summary": "summary.txt", "metrics": ["coverage"]}),
    ],
)
async def test_served_graph_runs_to_its_end(name: str, given: dict[str, Any], database: Path) -> None:
    config = at(f"end of {name}")
    # As the server has it, which refuses whatever blocks its event loop.
    with blockbuster_ctx():
        async with served(name, config) as graph:
            done = (await graph.ainvoke({"order": {"text": TEXT, **given}}, config))["result"]
    async with served(name, config) as graph:
        state = await graph.aget_state(config)

    assert state.next == ()
    with Store(database) as store:
        result = read_result(store, done["run"])
    assert result.run.status == "done"
    assert result.run.stop_reason == done["stop"] == state.values["result"]["stop"]
    assert result.draft is not None
    assert state.values["result"]["summary"] == done["summary"] == result.summary
    metrics = {"draft": set(), "judge": {"coverage"}}
    assert set(result.scores) == metrics.get(name, {"coverage", "consistency"})


@pytest.mark.slow
async def test_review_is_answered_in_another_request(database: Path) -> None:
    config = at("review")
    body = {"source": "book.md", "words": 40, "goals": {"coverage": 1.0}, "review": True, "rounds": 1}
    async with served("summarizer", config) as graph:
        paused = await graph.ainvoke({"order": body}, config)
    (waiting,) = paused["__interrupt__"]
    assert waiting.value["findings"]
    with Store(database) as store:
        assert store.runs.get(waiting.value["run"]).status == "waiting"

    async with served("summarizer", config) as graph:
        repeated = await graph.ainvoke(Command(resume={"drop": [99]}), config)
        assert repeated["__interrupt__"][0].value["problem"].startswith("drop: there is no finding '99'")
        done = (await graph.ainvoke(Command(resume={"stop": True}), config))["result"]
    assert done["stop"] == "cancelled"


async def test_configuration_names_the_strategy(database: Path) -> None:
    config = at("strategy", strategy="incremental")
    async with served("draft", config) as graph:
        assert "tidy" in {node.partition(":")[2] for node in graph.get_graph(xray=True).nodes}
        done = (await graph.ainvoke({"order": {"source": "book.md", "words": 40}}, config))["result"]
    with Store(database) as store:
        assert store.runs.get(done["run"]).settings.strategy == "incremental"

    with pytest.raises(UsageError, match="there is no strategy 'random'"):
        async with served("draft", at("strategy", strategy="random")):
            pass


async def test_shown_errors_have_no_secret(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = at("failing")
    async with served("draft", config) as graph:
        # It masks the message of every exception that is not of a type like this.
        with pytest.raises(RuntimeError, match=r"^nowhere\.md: no such file"):
            await graph.ainvoke({"order": {"source": "nowhere.md"}}, config)
    monkeypatch.setenv("REDRAFT_DB", "postgresql://someone:hunter2@127.0.0.1:1/books")
    with pytest.raises(RuntimeError, match="someone") as raised:
        async with served("draft", config):
            pass
    assert "hunter2" not in str(raised.value)
