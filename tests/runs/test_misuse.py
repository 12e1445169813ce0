"""Mistakes of an application developer: each ends at once, in a sentence that says what to write instead."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft import Session, SyncSession, UsageError

TEXT = "The board met at seven. " * 3 + "It was cold, and nothing was agreed on."
MINUTES = redraft.Document.from_text(TEXT, "Minutes")
FERRY = redraft.Document.from_text(
    "The ferry sank in March off the island of Sarn. The mill burned down in May. Nobody saw it. " * 6, "The Ferry"
)
WRONG = "The board met at eight."


def in_session(call: Callable[[Any], object]) -> object:
    """Call with a synchronous session."""
    with SyncSession(":memory:") as session:
        return call(session)


@pytest.mark.parametrize(
    ("wrong", "said", "hint"),
    [
        (lambda s: s.summarize(b"book.md"), "a document cannot be of the type bytes", "pass a path"),
        (lambda s: s.summarize("a\ud800.md"), "a text of 5 characters was given", "from_text"),
        (lambda s: s.evaluate(MINUTES, WRONG, metrics=5), "metrics is of the type int", "metrics=[...]"),
        (lambda s: s.refine(MINUTES, WRONG, findings=5), "findings is of the type int", "findings=[...]"),
        (lambda s: s.result(None), "a run is named by its id, not by a NoneType", "result.run.id"),
        (lambda s: s.resume(5), "a run is named by its id, not by a int", "result.run.id"),
        (lambda s: s.resume("ffffffff", max_cost=5), "there is no argument 'max_cost' here", "help()"),
        (lambda s: s.ask(MINUTES, ""), "the question is empty", "write it in words"),
        (lambda s: redraft.batch(s, 5), "sources is of the type int", "sources=[...]"),
        (lambda s: redraft.batch(s, [5]), "a document cannot be of the type int", "pass a path"),
        (lambda s: redraft.batch(SyncSession(s), ["book.md"]), "session is of the type SyncSession", "session.session"),
        (lambda s: redraft.batch(s, [MINUTES], name=5), "the name of a batch is of the type int", "pass a str"),
        (lambda s: s.summarize(MINUTES, callbacks=["x"]), "callbacks has 'x', of the type str", "[handler]"),
        (lambda s: s.summarize(MINUTES, tags=["a", None]), "tags has None, of the type NoneType", "a list of texts"),
        (lambda s: s.summarize(MINUTES, metadata={1: 2}), "metadata has 1, of the type int", "a dict with names"),
        (lambda s: redraft.resume_batch(None, "x"), "session is of the type NoneType", "session.session"),
    ],
)
async def test_a_wrong_argument_is_named_with_what_to_pass(wrong: Callable[[Any], Any], said: str, hint: str) -> None:
    async with Session(":memory:") as session:
        with pytest.raises(UsageError) as raised:
            await wrong(session)
    assert said in str(raised.value)
    assert hint in raised.value.hint


class Echo:
    """A model that returns a text in place of a reply, without being async."""

    identity = "echo"

    def most_tokens(self, sampling: redraft.Sampling) -> int:
        return sampling.max_tokens or 0

    def ask(self, request: redraft.Request[Any, Any]) -> str:
        return request.text


class AtOnce(redraft.Evaluator):
    """A metric that returns a number in place of an evaluation, without being async."""

    name = "at_once"

    def evaluate(self, case: redraft.Case) -> float:  # type: ignore[override]
        return 0.5


async def test_a_model_and_a_metric_that_return_something_else_are_told_what_is_expected() -> None:
    async with Session(":memory:", model=Echo()) as session:
        with pytest.raises(UsageError, match="the model echo answered the prompt summarize_whole with '") as raised:
            await session.summarize(MINUTES, strategy="direct", words=12)
        assert "a redraft.Reply whose value is of the type str" in raised.value.hint
    async with Session(":memory:", metrics=[AtOnce()]) as session:
        judged = await session.evaluate(MINUTES, WRONG)
    assert "the metric at_once returned 0.5 instead of an Evaluation" in judged.unscored["at_once"]


async def watch(event: redraft.Event) -> None: ...


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Session(":memory:", judge="extractive"), "there is no argument 'judge' here"),
        (lambda: Session(":memory:", judges=5), "judges is of the type int"),
        (lambda: Session(":memory:", observer=watch), "observer is an async function, which would never be awaited"),
        (lambda: Session("sqlite:///book.db"), "sqlite:// is not an address of a database"),
        (lambda: redraft.Store(5), "store is of the type int"),
        (lambda: redraft.load(b"book.md"), "a document cannot be of the type bytes"),
        (lambda: redraft.Document.from_text(b"The board met."), "the text of a document is of the type bytes"),
        (lambda: redraft.ChatModel("openai:gpt-5-mini"), "an object of the type str is neither"),
        (lambda: redraft.ReviewAnswer(drop="1"), "drop: must be a list"),
        (lambda: redraft.Rubric("plain", "Plain words", levels=1), "levels: must be at least 2"),
        (lambda: in_session(redraft.tools), "session is of the type SyncSession"),
        (lambda: redraft.read_comparison(None, "3fa2c1d0"), "runs is the text '3fa2c1d0'"),
        (lambda: Session(":memory:", budget=5), "budget is of the type int"),
        (lambda: Session(":memory:", model=Echo), "the class Echo is neither a LangChain chat model nor"),
        *(
            (lambda read=read: read("redraft.db", "3fa2c1d0"), "store is of the type str")
            for read in (
                *(redraft.read_result, redraft.read_trace, redraft.read_lineage, redraft.compared),
                *(redraft.read_dossier, redraft.read_batch, redraft.read_answer, redraft.built, redraft.citations_of),
            )
        ),
        (lambda: redraft.read_comparison("redraft.db", ["3fa2c1d0", "4fa2c1d0"]), "store is of the type str"),
        (lambda: redraft.assert_summary(MINUTES, WRONG, metrics="coverage"), "metrics is the text 'coverage'"),
        (lambda: redraft.assert_summary(MINUTES, WRONG, session=object()), "session is of the type object"),
        (lambda: in_session(lambda session: session.wait(5)), "a int cannot be waited for"),
    ],
)
def test_so_is_one_of_what_is_called_without_await(wrong: Callable[[], Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        wrong()
    assert said in str(raised.value)


@pytest.mark.slow
async def test_none_is_an_empty_list_of_judges_metrics_and_findings() -> None:
    async with Session(":memory:", judges=None, metrics=None, strategies=None) as session:
        made = await session.evaluate(MINUTES, WRONG, metrics=None)
        await session.refine(MINUTES, WRONG, findings=None, goals={"consistency": 0.0})
    assert sorted(made.scores) == ["consistency", "coverage"]


async def test_what_a_closed_session_is_asked_says_that_it_is_closed(tmp_path: Path) -> None:
    session = Session(tmp_path / "redraft.db")
    events = session.stream(MINUTES, words=12)
    await anext(events)
    await session.aclose()
    with pytest.raises(redraft.StoreError) as of_result:
        await session.result("3fa2c1d0")
    with pytest.raises(redraft.StoreError) as of_events:
        async for _ in events:
            pass
    for raised in (of_result, of_events):
        assert "the session was closed" in raised.value.hint


@pytest.mark.filterwarnings("error")
async def test_a_stream_that_nobody_reads_leaves_nothing_behind() -> None:
    async with Session(":memory:") as session:
        async with aclosing(session.stream(MINUTES)):
            pass
        gc.collect()
        assert session.store.runs.latest(1) == []


async def test_a_reviewer_may_be_a_plain_function_and_is_not_asked_forever() -> None:
    asked: list[str] = []

    def nonsense(question: redraft.ReviewQuestion) -> dict[str, Any]:
        asked.append(question["problem"])
        return {"drop": [99]}

    options: dict[str, Any] = {"goals": {"consistency": 0.95}, "review": True}
    async with Session(":memory:", reviewer=nonsense) as session:  # type: ignore[arg-type]
        made = await asyncio.wait_for(session.refine(MINUTES, f"{WRONG} It was cold.", **options), 20)
        waiting = await session.question(made.run.id)
    assert made.run.status == "waiting"
    assert waiting is not None
    assert "there is no finding '99'" in waiting["problem"]
    assert len(asked) == 3


async def test_a_model_may_be_an_async_function() -> None:
    async def write(request: redraft.Request[Any, Any]) -> str:
        await asyncio.sleep(0)
        return "The board met at seven."

    async with Session(":memory:", model=redraft.FunctionModel(write)) as session:
        made = await session.summarize(MINUTES, strategy="direct", words=12)
    assert made.summary == "The board met at seven."


@pytest.mark.slow
async def test_what_a_run_has_made_is_read_by_its_id_or_its_result() -> None:
    async with Session(":memory:") as session:
        packed, facts = await session.build(FERRY), await session.build(FERRY, "keyfacts")
        for read, made in ((redraft.built, packed), (redraft.built_keyfacts, facts)):
            assert read(session.store, made.run.id) == read(session.store, made)
        with pytest.raises(redraft.RunError, match="has no key facts"):
            redraft.built_keyfacts(session.store, packed.run.id)
        with pytest.raises(redraft.RunError, match="made no summary: it builds questions") as raised:
            await session.fork(packed.run.id, 0)
        assert "session.store.runs.latest" in raised.value.hint
        with pytest.raises(redraft.RunError, match="does not compare summaries") as raised:
            redraft.compared(session.store, packed.run.id)
    assert "session.compare(source, first, second)" in raised.value.hint


async def test_the_log_of_an_application_has_no_debugging_messages_of_others(caplog: pytest.LogCaptureFixture) -> None:
    async with Session(":memory:") as session:
        await session.evaluate(MINUTES, WRONG, metrics=["consistency"])
    assert [record.message for record in caplog.records if record.name == "bm25s"] == []


def test_traces_without_a_key_are_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", "LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("langsmith.run_trees._CLIENT", None)
    with pytest.raises(UsageError, match="tracing to LangSmith needs a key"):
        Session(":memory:", trace_to_langsmith=True)
