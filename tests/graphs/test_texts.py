"""Texts go into a graph and come out of it, and graphs follow each other in one graph."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import TypedDict

from redraft import Document, Session, UsageError, graphs
from redraft.graphs import GraphResult, Task
from redraft.graphs.state import State

TEXT = "# Minutes\n\nThe board met at seven. Edith Marlow was in the chair. It was cold, and nothing was agreed on."
OTHER = "# Notes\n\nThe board met at nine. Nobody was in the chair. It was warm, and a bridge was agreed on."
WRONG = "The board met at eight."
GOAL = {"goals": {"consistency": 0.9}, "rounds": 1}


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    async with Session(":memory:") as opened:
        yield opened


async def test_text_goes_in_and_summary_out(session: Session) -> None:
    order: Task = {"text": TEXT, "words": 12}
    output = (await graphs.draft("direct").compile().ainvoke({"order": order}, context=session))["result"]

    result = await session.result(output["run"])
    assert output["summary"] == result.summary
    assert (output["findings"], output["scores"]) == ([], {})
    document = await session.add(Document.from_text(TEXT))
    assert result.run.document == document
    order = {"source": document, "words": 12}
    again = (await graphs.draft("direct").compile().ainvoke({"order": order}, context=session))["result"]
    assert again["summary"] == output["summary"]


@pytest.mark.parametrize("kind", ["text", "path", "name", "id"])
async def test_summary_is_text_path_or_id(
    kind: str, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "summary.txt").write_text(WRONG, "utf-8")
    monkeypatch.chdir(tmp_path)
    given = {"text": WRONG, "path": Path("summary.txt"), "name": "summary.txt", "id": await session.add(WRONG)}[kind]
    task: Task = {"text": TEXT, "summary": given, "metrics": ["statistics"]}
    output = await graphs.judge().compile().ainvoke({"order": task}, context=session)
    assert output["result"]["summary"] == WRONG


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        ({}, "the graph was given no document"),
        ({"text": 7}, "text is a int"),
        ({"text": " "}, "the document is empty"),
        ({"source": OTHER}, "a text of .* was given where a path was expected"),
        ({"text": TEXT, "source": OTHER}, "names its document twice"),
        ({"text": TEXT, "summary": " "}, "summary has no words"),
        ({"text": TEXT, "summary": {}}, "summary is a dict"),
        ({"text": TEXT, "summary": "nowhere.md"}, "no such file"),
    ],
)
async def test_what_is_no_text_is_refused(task: Any, problem: str, session: Session) -> None:
    with pytest.raises(RuntimeError, match=problem):
        await graphs.judge().compile().ainvoke({"order": {"summary": WRONG, **task}}, context=session)


class Letter(TypedDict, total=False):
    """The state of an application's graph, which names things as it likes."""

    order: Task
    result: GraphResult
    draft: str
    summary: str
    scores: str


async def test_draft_is_refined_by_the_next_node(session: Session) -> None:
    async def ask_to_refine(state: Letter) -> Letter:
        return {"order": {**state["order"], "summary": state["result"]["summary"], "goals": {"consistency": 0.9}}}

    mine = StateGraph(Letter, context_schema=Session)
    mine.add_sequence(
        [
            ("draft", graphs.draft("direct").compile()),
            ("ask_to_refine", ask_to_refine),
            ("refine", graphs.refine().compile()),
        ]
    )
    mine.add_edge(START, "draft")
    order: Task = {"text": TEXT, "words": 12}
    result = (await mine.compile().ainvoke({"order": order}, context=session))["result"]

    drafted, refined = reversed(session.store.runs.latest(2))
    assert (drafted.kind, refined.kind) == ("summarize", "refine")
    assert (result["run"], result["status"]) == (refined.id, "done")
    assert result["scores"] == {"consistency": 1.0, "coverage": 0.5}
    assert result["summary"] == (await session.result(drafted.id)).summary
    with pytest.raises(UsageError, match="goals has no effect"):
        await graphs.draft("direct").compile().ainvoke({"order": {**order, **GOAL}}, context=session)


NAMES = sorted({*Task.__annotations__, *State.__annotations__, "asked", "document", "summary", "findings"})
"""All names that are or were in the state of our graphs."""
THEIRS = {name: f"their {name}" for name in NAMES if name not in ("order", "result")}
Parent: Any = TypedDict("Parent", {**dict.fromkeys(THEIRS, str), "order": Task, "result": GraphResult, "made": dict})


@pytest.mark.parametrize("kind", ["subgraph", "function"])
async def test_a_parent_keeps_all_its_values(kind: str, session: Session) -> None:
    summarizer = graphs.summarizer("direct").compile()

    async def summarize(state: Any, runtime: Runtime[Session]) -> Any:
        output = await summarizer.ainvoke({"order": {"text": TEXT, "words": 12, **GOAL}}, context=runtime.context)
        return {"made": output["result"]}

    mine = StateGraph(Parent, context_schema=Session)
    mine.add_node("summarize", summarizer if kind == "subgraph" else summarize)
    mine.add_edge(START, "summarize")
    graph, thread = mine.compile(checkpointer=InMemorySaver()), {"configurable": {"thread_id": "1"}}
    order = {"text": TEXT, "words": 12, "review": True, **GOAL, "goals": {"coverage": 1.0}}
    values = {**THEIRS, **({"order": order} if kind == "subgraph" else {})}
    output = await graph.ainvoke(values, thread, context=session)
    if kind == "subgraph":
        # It waits for a person, and continues, without a trace of that in the state around it.
        assert "__interrupt__" in output
        assert {name: output[name] for name in THEIRS} == THEIRS
        output = await graph.ainvoke(Command(resume={"stop": True}), thread, context=session)

    assert len(THEIRS) >= 70
    summarized = output.pop("result" if kind == "subgraph" else "made")
    assert summarized.keys() == GraphResult.__annotations__.keys()
    assert summarized["summary"] == (await session.result(summarized["run"])).summary
    assert output == values


def test_the_graphs_have_schemas() -> None:
    graph = graphs.summarizer().compile()
    taken, returned = graph.get_input_jsonschema(), graph.get_output_jsonschema()
    assert (taken["properties"].keys(), returned["properties"].keys()) == ({"order"}, {"result"})
    assert {"text", "source", "summary", "words", "goals"} < taken["$defs"]["Task"]["properties"].keys()
    assert returned["$defs"]["GraphResult"]["properties"].keys() == GraphResult.__annotations__.keys()
    context = graph.get_context_jsonschema()
    assert context is not None
    assert context["properties"].keys() == {"session"}
