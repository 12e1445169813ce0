"""Texts go into a graph and come out of it, graphs follow each other in one graph, and events keep their kind."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from redraft import Document, Session, UsageError, event_json, graphs
from redraft.graphs import GraphOutput, Task

TEXT = "# Minutes\n\nThe board met at seven. Edith Marlow was in the chair. It was cold, and nothing was agreed on."
OTHER = "# Notes\n\nThe board met at nine. Nobody was in the chair. It was warm, and a bridge was agreed on."
WRONG = "The board met at eight."
GOAL = {"goals": {"consistency": 0.9}, "rounds": 1}


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    async with Session(":memory:") as opened:
        yield opened


async def test_text_goes_in_and_summary_out(session: Session) -> None:
    left = await graphs.draft("direct").compile().ainvoke({"text": TEXT, "words": 12}, context=session)

    result = await session.result(left["run"])
    assert left["summary"] == result.summary
    assert (left["findings"], left["scores"]) == ([], {})
    assert left["document"] == result.run.document == await session.add(Document.from_text(TEXT))
    again = await graphs.draft("direct").compile().ainvoke({"source": left["document"], "words": 12}, context=session)
    assert again["summary"] == left["summary"]


@pytest.mark.slow
async def test_scores_and_findings_come_out(session: Session) -> None:
    task: Task = {"text": TEXT, "summary": WRONG, "metrics": ["consistency"]}
    left = await graphs.judge().compile().ainvoke(task, context=session)

    result = await session.result(left["run"])
    assert (left["summary"], left["scores"]) == (WRONG, {"consistency": 0.0})
    (finding,) = left["findings"]
    assert finding["sentence"] == WRONG
    assert finding["id"] == result.evaluations["consistency"].findings[0].id
    json.dumps(left["findings"])


@pytest.mark.parametrize("kind", ["text", "path", "name", "id"])
async def test_summary_is_text_path_or_id(
    kind: str, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "summary.txt").write_text(WRONG, "utf-8")
    monkeypatch.chdir(tmp_path)
    given = {"text": WRONG, "path": Path("summary.txt"), "name": "summary.txt", "id": await session.add(WRONG)}[kind]
    task: Task = {"text": TEXT, "summary": given, "metrics": ["statistics"]}
    assert (await graphs.judge().compile().ainvoke(task, context=session))["summary"] == WRONG


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        ({}, "the graph was given no document"),
        ({"text": 7}, "text is a int"),
        ({"text": " "}, "the document is empty"),
        ({"text": TEXT, "source": OTHER}, "a text of .* was given where a path was expected"),
        ({"text": TEXT, "summary": " "}, "summary has no words"),
        ({"text": TEXT, "summary": {}}, "summary is a dict"),
        ({"text": TEXT, "summary": "nowhere.md"}, "no such file"),
    ],
)
async def test_what_is_no_text_is_refused(task: Any, problem: str, session: Session) -> None:
    with pytest.raises(RuntimeError, match=problem):
        await graphs.judge().compile().ainvoke({"summary": WRONG, **task}, context=session)


async def test_text_and_source_are_the_same_document(session: Session) -> None:
    graph, known = graphs.draft("direct").compile(), await session.add(Document.from_text(OTHER, "Titled"))
    left = await graph.ainvoke({"text": OTHER, "source": known}, context=session)
    assert (await session.result(left["run"])).title == "Titled"
    with pytest.raises(UsageError, match="two different documents"):
        await graph.ainvoke({"text": TEXT, "source": known}, context=session)


class Letter(TypedDict, total=False):
    """The state of somebody's graph."""

    text: str
    words: int
    goals: dict[str, float]
    free_length: bool
    summary: str
    scores: dict[str, float | None]
    run: str


@pytest.mark.slow
async def test_draft_is_refined_by_the_next_node(session: Session) -> None:
    mine = StateGraph(Letter, context_schema=Session)
    mine.add_node("draft", graphs.draft("direct").compile())
    mine.add_node("refine", graphs.refine().compile())
    mine.add_edge(START, "draft")
    mine.add_edge("draft", "refine")
    graph = mine.compile()
    task: Letter = {"text": TEXT, "words": 12, "goals": {"consistency": 0.9}}
    left = await graph.ainvoke(task, context=session)

    drafted, refined = reversed(session.store.runs.latest(2))
    assert (drafted.kind, refined.kind) == ("summarize", "refine")
    assert left["run"] == refined.id
    assert left["scores"] == {"consistency": 1.0, "coverage": 0.5}
    assert left["summary"] == (await session.result(drafted.id)).summary
    assert graph.get_context_jsonschema() is not None
    with pytest.raises(UsageError, match="goals has no effect"):
        await graphs.draft("direct").compile().ainvoke({**task}, context=session)


_EVERY: dict[str, tuple[Any, dict[str, Any]]] = {
    "direct": (graphs.draft("direct"), {}),
    "hierarchical": (graphs.draft("hierarchical"), {}),
    "incremental": (graphs.draft("incremental"), {}),
    "judge": (graphs.judge(), {"summary": WRONG}),
    "refine": (graphs.refine(), {"summary": WRONG, **GOAL}),
    "summarizer": (graphs.summarizer(), GOAL),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _EVERY)
async def test_updates_and_events_are_never_empty(name: str, session: Session) -> None:
    graph, task = _EVERY[name]
    kinds = set()
    modes = ["updates", "custom", "debug"]
    stream = graph.compile().astream({"text": TEXT, **task}, context=session, stream_mode=modes, subgraphs=True)
    async for _, mode, part in stream:
        if mode == "updates":
            assert all(part.values()), part
        elif mode == "custom":
            kinds.add(part.kind)
            sent = orjson.dumps(part, default=lambda value: value._asdict())  # as LangGraph's server does
            assert orjson.loads(sent)["kind"] == part.kind == event_json(part)["kind"]
    assert {"started", "done"} < kinds


def test_the_input_and_output_have_schemas() -> None:
    graph = graphs.summarizer().compile()
    assert {"text", "source", "summary"} < graph.get_input_jsonschema()["properties"].keys()
    assert {"run", "summary", "scores", "findings"} < graph.get_output_jsonschema()["properties"].keys()
    assert {*GraphOutput.__annotations__} <= graph.get_output_jsonschema()["properties"].keys()
