"""The tools of a workshop, called as an agent's tool node calls them: typed in and out, and no harm to a run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from pydantic import BaseModel

from redraft import (
    Case,
    Evaluation,
    Evaluator,
    Finding,
    Limits,
    RefineConfig,
    Session,
    UsageError,
    graphs,
    read_trace,
    tools,
)
from redraft.report.history.results import Result
from tests.judges import FixedRevision, Harness, PerfectModel, ScriptedReply, Sheet, summary_of

SUMMARY = summary_of(1, wrong={2: "Bob"})
COMMON = ["find_passages", "read_span", "list_findings", "current_draft", "revise", "finish"]
METRICS = ["coverage", "consistency", "keyfact_recall", "faithfulness", "booookscore", "spread"]


class NamesTheThird(Evaluator):
    """Wants the third keeper's name."""

    name = "third"
    aim = "content"

    async def evaluate(self, case: Case) -> Evaluation:
        if "called Tom3" in case.text:
            return self.scored(1.0)
        missing = Finding(self.name, "missing", "add", "Name him.", expected="The keeper number 3 is called Tom3.")
        return self.scored(0.0, findings=[missing])


class DraftOutput(PerfectModel):
    """Drafts a summary, too."""

    def summarize_whole(self, sheet: Sheet) -> ScriptedReply:
        return SUMMARY


class Hands:
    """An agent's tools: a harness, a session on it, and its tools."""

    def __init__(self, harness: Harness, session: Session, runs: Sequence[str] = ()) -> None:
        self.harness = harness
        self.session = session
        self.tools = {tool.name: tool for tool in tools(session, runs)}

    async def call(self, name: str, run: str, **arguments: Any) -> ToolMessage:
        call = {"type": "tool_call", "id": "1", "name": name, "args": {"run": run, **arguments}}
        message = await self.tools[name].ainvoke(call)
        assert isinstance(message, ToolMessage)
        return message

    async def use(self, name: str, run: str, **arguments: Any) -> Any:
        message = await self.call(name, run, **arguments)
        assert message.status == "success", message.content
        assert isinstance(message.artifact, BaseModel)
        assert json.loads(str(message.content)) == message.artifact.model_dump(mode="json")
        return message.artifact

    async def refused(self, name: str, run: str, **arguments: Any) -> str:
        message = await self.call(name, run, **arguments)
        assert message.status == "error"
        return str(message.content)

    async def missing(self, run: str) -> list[str]:
        """The ids of the findings on what the draft does not tell."""
        found = await self.use("list_findings", run, metric="coverage")
        return [finding.id for finding in found.findings if finding.task == "add"]

    async def judged(self, summary: str = SUMMARY, **options: Any) -> Result:
        return await self.session.evaluate(
            self.harness.document, summary, metrics=["coverage", "consistency"], **options
        )


@pytest.fixture
async def hands(tmp_path: Path) -> AsyncIterator[Hands]:
    harness = Harness(tmp_path)
    async with harness.session(metrics=[NamesTheThird()]) as session:
        yield Hands(harness, session)
    harness.store.close()


async def test_one_for_all_and_one_per_metric(hands: Hands) -> None:
    assert list(hands.tools) == [*COMMON, *(f"judge_{name}" for name in [*METRICS, "third"])]
    for tool in hands.tools.values():
        assert tool.description
        shape = tool.get_input_jsonschema()
        assert "run" in shape["required"]
        assert all(field["description"] for field in shape["properties"].values())
    with pytest.raises(NotImplementedError):
        hands.tools["finish"].invoke({"run": "x"})


async def test_an_agent_reads_judges_and_revises(hands: Hands) -> None:
    run = (await hands.judged()).run.id

    found = await hands.use("list_findings", run)
    assert {finding.metric for finding in found.findings} == {"coverage", "consistency"}
    wrong = next(finding for finding in found.findings if finding.metric == "consistency")
    assert wrong.sentence == "The keeper number 2 is called Bob."

    near = await hands.use("find_passages", run, query="keeper number 2", count=1)
    assert "keeper number 2 is called Tom2" in near.passages[0].text
    first = near.passages[0]
    read = await hands.use("read_span", run, start=first.start, end=first.end)
    assert read == first
    assert read.place.endswith("of the document")
    all_of_it = await hands.use("read_span", run, start=0, end=4000)
    assert (all_of_it.start, all_of_it.end) == (0, 546), "a document is never handed out whole"

    revised = await hands.use("revise", run, findings=[wrong.id])
    assert (revised.round, revised.accepted) == (1, True)
    assert revised.scores["consistency"] == 1.0

    best = await hands.use("current_draft", run)
    assert "called Tom2" in best.text
    assert (best.round, best.scores) == (1, revised.scores)
    assert (await hands.use("list_findings", run, metric="consistency")).findings == []


@pytest.mark.slow
async def test_a_revision_is_a_round_on_record(hands: Hands) -> None:
    run = (await hands.judged()).run.id
    missing = await hands.missing(run)
    first = await hands.use("revise", run, findings=missing[:1], instruction="Call it an island.")
    hands.harness.script = FixedRevision(lambda sheet: sheet.within("summary"))
    second = await hands.use("revise", run, findings=(await hands.missing(run))[:1])

    assert (first.accepted, second.accepted, second.round) == (True, False, 2)
    trace = read_trace(hands.harness.store, run)
    assert [(turn.round.number, turn.round.accepted) for turn in trace.rounds] == [(0, True), (1, True), (2, False)]
    assert trace.rounds[1].round.findings == tuple(missing[:1])
    assert trace.rounds[1].round.aims == ("coverage",)
    assert trace.rounds[2].round.reason == second.reason
    assert (await hands.session.result(run)).summary == trace.rounds[1].draft.text
    assert "Call it an island." in hands.harness.asked("revise")[0].text


@pytest.mark.slow
async def test_new_metric_can_be_asked_and_fixed(hands: Hands) -> None:
    run = (await hands.judged()).run.id
    assert "has not been judged by 'third'" in await hands.refused("list_findings", run, metric="third")

    said = await hands.use("judge_third", run)
    assert (said.metric, said.score, said.findings) == ("third", 0.0, {"missing": 1})
    found = (await hands.use("list_findings", run, metric="third")).findings
    revised = await hands.use("revise", run, findings=[found[0].id])

    assert revised.accepted
    assert "third rose from 0.00 to 1.00" in revised.reason
    assert revised.scores["third"] == 1.0


async def test_finish_ends_a_run_that_waits(hands: Hands) -> None:
    refinement = RefineConfig(goals={"consistency": 1.0}, review=True)
    waiting = await hands.session.refine(hands.harness.document, SUMMARY, refinement=refinement)
    assert waiting.run.status == "waiting"
    found = (await hands.use("list_findings", waiting.run.id, metric="consistency")).findings

    refused = await hands.refused("revise", waiting.run.id, findings=[found[0].id])
    assert "is waiting, and can only be revised when it is done" in refused
    assert hands.harness.store.runs.get(waiting.run.id).status == "waiting"

    await hands.use("finish", waiting.run.id)
    assert (await hands.session.resume(waiting.run.id)).run.stop_reason == "finished"


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("find_passages", {"query": "sea", "count": 11}, "count: must be at most 10"),
        ("find_passages", {"query": ""}, "query: must not be empty"),
        ("find_passages", {"query": "sea", "where": "here"}, "where: is not known here"),
        ("read_span", {"start": -1, "end": 5}, "start: must be at least 0"),
        ("read_span", {"start": 9, "end": 9}, "nothing from character 9 to 9 (the document has 1,092 characters)"),
        ("read_span", {"start": 90_000, "end": 90_100}, "there is nothing from character 90,000 to 90,100"),
        ("list_findings", {"metric": "beauty"}, "judged by 'beauty', but by consistency, coverage (each metric"),
        ("revise", {"findings": ["f1"]}, "there is no finding 'f1' on the best draft (list_findings has their ids)"),
        ("revise", {"findings": []}, "findings: must not be empty"),
    ],
)
async def test_failure_is_a_sentence_and_harms_nothing(
    hands: Hands, name: str, arguments: dict[str, Any], sentence: str
) -> None:
    run = (await hands.judged()).run

    assert sentence in await hands.refused(name, run.id, **arguments)
    stored = hands.harness.store.runs.get(run.id)
    assert (stored.status, stored.stop_reason, stored.error) == ("done", run.stop_reason, None)


@pytest.mark.parametrize("named", ["prefix", "full id", "unknown"])
async def test_tools_hide_runs_of_other_sessions(hands: Hands, named: str) -> None:
    async with hands.harness.session() as other:
        summary = "The keeper of another tenant is called Bob."
        run = (await other.evaluate(hands.harness.document, summary, metrics=["spread"])).run.id
    key = {"prefix": run[0], "full id": run, "unknown": "nowhere"}[named]
    needed: dict[str, dict[str, Any]] = {
        "find_passages": {"query": "sea"},
        "read_span": {"start": 0, "end": 9},
        "revise": {"findings": ["f"]},
    }
    for name in hands.tools:
        refused = await hands.refused(name, key, **needed.get(name, {}))
        assert refused == f"you have no run with the id '{key}' (no run has been started yet)"
    own = (await hands.judged()).run.id
    assert f"(your runs are: {own})" in await hands.refused("current_draft", key)
    assert "you have no run" in await hands.refused("current_draft", own[:7])


async def test_tools_see_graph_runs_and_passed_runs(hands: Hands) -> None:
    earlier = (await hands.judged()).run.id
    async with hands.harness.session() as session:
        with pytest.raises(UsageError, match="is not the full id of a run"):
            tools(session, [earlier[:4]])
        passed = Hands(hands.harness, session, [earlier])
        assert (await passed.use("current_draft", earlier)).text == SUMMARY
        order: graphs.Task = {"text": hands.harness.document.text, "summary": SUMMARY, "metrics": ["spread"]}
        output = await graphs.judge().compile().ainvoke({"order": order}, context=session)
        assert (await passed.use("current_draft", output["result"]["run"])).text == SUMMARY


async def test_unjudged_run_is_not_revised(hands: Hands) -> None:
    hands.harness.script = DraftOutput()
    drafted = await hands.session.summarize(hands.harness.document, words=50, strategy="direct", context_tokens=8000)
    found = await hands.use("judge_third", drafted.run.id)
    assert found.score == 0.0
    listed = (await hands.use("list_findings", drafted.run.id)).findings
    refused = await hands.refused("revise", drafted.run.id, findings=[listed[0].id])
    assert refused == f"run {drafted.run.id} has no judged draft (start it with metrics or goals)"


async def test_used_up_budget_leaves_the_run_done(hands: Hands) -> None:
    run = (await hands.judged()).run
    hands.harness.store.runs.change(run.id, {"order.limits": Limits(max_calls=1)})

    refused = await hands.refused("judge_faithfulness", run.id)
    assert refused.endswith("(only the user can raise `max_calls`: finish with what there is, and say so)")
    assert hands.harness.store.runs.get(run.id).status == "done"


@pytest.mark.slow
async def test_concurrent_calls_take_turns(hands: Hands) -> None:
    run = (await hands.judged()).run.id
    missing = await hands.missing(run)
    answers = await asyncio.gather(
        hands.use("judge_faithfulness", run),
        hands.use("revise", run, findings=missing[:1]),
        hands.use("judge_third", run),
        hands.use("find_passages", run, query="sea"),
        hands.call("revise", run, findings=missing[1:2]),
    )

    assert answers[1].round in (1, 2), "who comes first is not said"
    rounds = [turn.round.number for turn in read_trace(hands.harness.store, run).rounds]
    assert rounds == [*range(len(rounds))]
    assert not hands.harness.store.is_claimed(run)
    assert hands.harness.store.runs.get(run).status == "done"
