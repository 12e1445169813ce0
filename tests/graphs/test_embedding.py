"""The graphs in other people's hands: their own checkpointer, streams and stops; and how texts go in and come out."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import TypedDict

from redraft import Document, DraftConfig, Limits, Session, UsageError, graphs
from redraft.errors import BudgetError
from redraft.events import Event, FindingFound, MetricScored, PieceDone, RoundSettled, RunDone, RunStarted, StageStarted
from redraft.graphs import GraphResult, Task
from redraft.graphs.state import State
from redraft.text.words import count_words
from tests.judges import Harness, PerfectModel, ScriptedReply, Sheet, keepers_in, summary_of
from tests.support import Desk, prose, story

POOR = summary_of(1, wrong={2: "Bob"})
GOALS = {"coverage": 0.9, "consistency": 1.0}
LENGTH = {"words": count_words(summary_of(1, 2, 3, 4, 5, 6))}
STRATEGIES = pytest.mark.parametrize("strategy", ["direct", "hierarchical", "incremental"])


def thread(name: str = "theirs") -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


class Author(PerfectModel):
    """Drafts, too."""

    def summarize_whole(self, sheet: Sheet) -> ScriptedReply:
        return POOR


class Bench(Harness):
    """A harness whose writer drafts, and whose document is in a file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder, Author())
        self.path = folder / "keepers.md"
        self.path.write_text(self.document.text, "utf-8")
        self.task = {"source": str(self.path), "goals": GOALS, **LENGTH}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def compiled(**options: Any) -> Any:
    return graphs.summarizer("direct", **options).compile(checkpointer=InMemorySaver())


@pytest.mark.slow
async def test_externally_driven_graph_has_a_ledger(bench: Bench) -> None:
    async with bench.session() as session:
        output = (await compiled().ainvoke({"order": bench.task}, thread(), context=session))["result"]
        result = await session.result(output["run"])
        summarized = await session.summarize(
            bench.document, settings=bench.settings({"strategy": "direct", **LENGTH}), goals=GOALS
        )

    assert (result.run.status, result.run.stop_reason) == ("done", "goals_met")
    assert (output["stop"], output["scores"]) == ("goals_met", {"coverage": 1.0, "consistency": 1.0})
    assert output["summary"] == result.summary
    assert result.usage.calls == bench.store.calls.totals(output["run"]).calls == len(bench.sheets)
    assert result.run.seconds > 0
    assert keepers_in(result.summary or "").keys() == {1, 2, 3, 4, 5, 6}
    # It is the same run as the workshop's own verb makes.
    assert (summarized.run.identity, summarized.summary, summarized.usage.calls) == (
        result.run.identity,
        result.summary,
        0,
    )
    assert not bench.store.is_claimed(output["run"])


@pytest.mark.slow
async def test_larger_budget_continues_a_stopped_graph(bench: Bench) -> None:
    graph = compiled()
    async with bench.session(limits=Limits(max_calls=4)) as session:
        with pytest.raises(BudgetError, match="the limit of 4 calls is used up"):
            await graph.ainvoke({"order": bench.task}, thread(), context=session)
        (run,) = bench.store.runs.latest(9)
        assert (run.status, run.stop_reason) == ("stopped", "budget")
        assert len(bench.sheets) == 4
        with pytest.raises(BudgetError, match="the limit of 4 calls is used up"):
            await graph.ainvoke(None, thread(), context=session)
    async with bench.session(limits=Limits(max_calls=1000)) as other:
        output = (await graph.ainvoke(None, thread(), context=other))["result"]
        result = await other.result(output["run"])

    assert output["run"] == run.id
    assert (result.run.status, result.run.stop_reason) == ("done", "goals_met")
    assert result.run.limits == Limits(max_calls=1000)
    assert result.usage.calls == len(bench.sheets) > 4
    assert len({(sheet.prompt, sheet.text) for sheet in bench.sheets}) == len(bench.sheets)


@pytest.mark.slow
async def test_abandoned_run_is_interrupted_on_close(bench: Bench) -> None:
    graph = compiled()
    async with bench.session() as session:
        async for update in graph.astream({"order": bench.task}, thread(), context=session):
            if "judge" in update:
                break
        assert bench.store.runs.latest(1)[0].status == "running"
    run = bench.store.runs.latest(1)[0]
    assert (run.status, run.stop_reason) == ("interrupted", "cancelled")

    async with bench.session() as session:
        result = (await graph.ainvoke(None, thread(), context=session))["result"]
    assert bench.store.runs.get(run.id).status == "done"
    assert result["run"] == run.id


@dataclass
class Holder:
    """A context of somebody else's."""

    session: Session | None = None


class Several(NamedTuple):
    """Another one."""

    session: Session
    user: str = "ann"


async def test_missing_session_is_explained(bench: Bench) -> None:
    graph = graphs.summarizer("direct").compile()
    with pytest.raises(UsageError, match="run without a session") as caught:
        await graph.ainvoke({"order": bench.task})
    assert "pass context=session" in caught.value.hint
    # Whoever reads a traceback sees that, too.
    assert caught.value.hint in caught.value.__notes__
    for foreign in (Holder(), object(), 7):
        with pytest.raises(UsageError, match=f"context of the type {type(foreign).__name__}") as caught:
            await graph.ainvoke({"order": bench.task}, context=foreign)
        assert "attribute `session`" in caught.value.hint


@pytest.mark.slow
async def test_session_comes_from_context_or_builder(bench: Bench) -> None:
    async with bench.session() as session:
        graph = graphs.summarizer("direct").compile()
        order = {"order": bench.task}
        contexts = (Holder(session), Several(session), {"session": session})
        outputs = [await graph.ainvoke(order, context=context) for context in contexts]
        own = graphs.summarizer("direct", session=session).compile()
        outputs += [await own.ainvoke(order), await own.ainvoke(order, context={"user": "ann"})]
    assert [output["result"]["stop"] for output in outputs] == ["goals_met"] * 5


async def test_graph_without_document_says_its_input(bench: Bench) -> None:
    async with bench.session() as session:
        with pytest.raises(UsageError, match="no document") as caught:
            await compiled().ainvoke({"order": {"words": 100}}, thread(), context=session)
        assert '{"source": PATH}' in caught.value.hint
        with pytest.raises(UsageError, match="no summary"):
            await graphs.refine().compile().ainvoke({"order": {"source": str(bench.path)}}, context=session)


@pytest.mark.parametrize("way", ["invoke", "stream"])
@pytest.mark.parametrize("build", ["summarizer", "draft", "refine", "judge"])
async def test_synchronous_call_names_the_asynchronous_one(bench: Bench, way: str, build: str) -> None:
    graph = getattr(graphs, build)().compile()
    async with bench.session() as session:
        with pytest.raises(UsageError, match="are asynchronous") as caught:
            list(getattr(graph, way)(bench.task, context=session))
    assert "ainvoke" in caught.value.hint
    assert bench.store.runs.latest(9) == []


async def seen(graph: Any, task: Any, session: Session, **options: Any) -> list[Any]:
    return [part async for part in graph.astream({"order": task}, thread(), context=session, **options)]


async def test_updates_of_a_refinement_tell_progress(bench: Bench) -> None:
    async with bench.session() as session:
        streamed = await seen(compiled(), bench.task, session, stream_mode=["updates", "custom"], subgraphs=True)
    updates = [change for _, mode, change in streamed if mode == "updates"]
    events = [event for _, mode, event in streamed if mode == "custom"]

    assert all(changed for update in updates for changed in update.values())
    settled = [update["settle"] for update in updates if "settle" in update]
    assert [(update["accepted"], update["reason"]) for update in settled] == [
        (True, "the first draft"),
        (True, "the revision is preferred in both orders"),
    ]
    assert settled[0]["scores"] == {"coverage": 1 / 6, "consistency": 0.5}
    assert [update["decide"]["aims"] for update in updates if "aims" in update.get("decide", {})] == [
        ["consistency", "coverage"]
    ]
    kinds = {type(event) for event in events}
    assert {RunStarted, StageStarted, PieceDone, MetricScored, FindingFound, RoundSettled, RunDone} <= kinds
    assert all(isinstance(event, Event) for event in events)
    assert [(event.metric, event.round) for event in events if isinstance(event, MetricScored)].count(
        ("coverage", 1)
    ) == 1


@STRATEGIES
async def test_state_holds_no_text_before_the_end(tmp_path: Path, strategy: str) -> None:
    desk = Desk(
        tmp_path, lambda request: prose(20, "zebra") if request.prompt.name != "tidy" else request.given.summary
    )
    settings = DraftConfig(chunk_tokens=128, context_tokens=4096 if strategy == "direct" else 1024, words=60)
    async with desk.session(settings=settings) as session:
        graph = graphs.draft(strategy).compile(checkpointer=await session.checkpointer())
        order = {"source": await session.add(story(60))}
        result = (await graph.ainvoke({"order": order}, thread(), context=session))["result"]
        values = (await graph.aget_state(thread())).values
    path = desk.store.checkpoints.path
    desk.store.close()
    text = values.pop("result")["summary"]
    with sqlite3.connect(path) as raw:
        *before, last = raw.execute("SELECT checkpoint FROM checkpoints ORDER BY checkpoint_id").fetchall()
        written = raw.execute("SELECT value FROM writes WHERE channel != 'result'").fetchall()
    raw.close()

    assert "Zebra" in text
    assert text == result["summary"]
    assert result["run"].encode() in b"".join(value for (value,) in before)
    for word in (b"ebra", b"keeper", b"lamp"):
        assert not any(word in value for (value,) in (*before, *written))
    assert b"ebra" in last[0]
    assert all(len(str(value)) < 400 for value in values.values())


@pytest.mark.slow
async def test_an_observer_that_always_fails_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def faulty(event: Event) -> None:
        raise ZeroDivisionError(event.kind)

    quiet, loud = Bench(tmp_path / "quiet"), Bench(tmp_path / "loud")
    outcomes = []
    for bench, observer in ((quiet, lambda event: None), (loud, faulty)):
        async with bench.session(observer=observer) as session:
            output = (await compiled().ainvoke({"order": bench.task}, thread(), context=session))["result"]
            result = await session.result(output["run"])
        outcomes.append((result.run.status, result.run.stop_reason, result.summary, result.scores, len(bench.sheets)))
        bench.store.close()
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == "done"
    assert "an observer failed at done" in caplog.text


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
