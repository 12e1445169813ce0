"""Synchronous calls: the same runs and errors, from scripts and threads; sessions and loops."""

from __future__ import annotations

import _thread
import asyncio
import inspect
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft import Session, Store
from redraft.runs.session import SyncSession

TEXT = "The board met at seven. " * 3 + "It was cold, and nothing was agreed on."
MINUTES = redraft.Document.from_text(TEXT, "Minutes")
SAID = "The board met, and agreed on nothing."


def writer() -> redraft.testing.FunctionModel:
    return redraft.testing.FunctionModel(lambda request: SAID, "writer")


class Hanging:
    """A model that never answers, unless it is let go; it says when it was asked."""

    identity = "hanging"

    def __init__(self) -> None:
        self.held = True
        self.ended = threading.Event()

    def most_tokens(self, sampling: redraft.prompts.Sampling) -> int:
        return 0

    async def ask(self, request: redraft.Request[Any, Any]) -> redraft.Reply[Any]:
        if self.held:
            _thread.interrupt_main()
            try:
                await asyncio.sleep(60)
            finally:
                self.ended.set()
        return redraft.Reply(SAID, SAID, redraft.Usage(1, 1))


def test_single_call_makes_a_run(tmp_path: Path) -> None:
    events: list[redraft.Event] = []
    store = tmp_path / "redraft.db"
    result = redraft.summarize(
        MINUTES, store=store, model=writer(), observer=events.append, strategy="direct", words=12
    )

    assert result.summary == SAID
    assert [event.run for event in events if isinstance(event, redraft.events.RunStarted)] == [result.run.id]
    with redraft.Store(store) as stored:
        assert redraft.read_result(stored, result.run.id) == result


def test_closed_stream_stops_the_run() -> None:
    seconds = [0]

    async def write(request: redraft.Request[Any, Any]) -> str:
        await asyncio.sleep(seconds[0])
        return SAID

    with redraft.Session(":memory:", model=redraft.testing.FunctionModel(write)) as session:
        kinds = [event.kind for event in session.stream(MINUTES, strategy="direct", words=12)]
        assert (kinds[0], kinds[-1]) == ("started", "done")
        seconds[0] = 60
        events = session.stream(MINUTES, strategy="direct", words=13)
        with closing(events):  # type: ignore[type-var]
            started = next(events)
        assert isinstance(started, redraft.events.RunStarted)
        assert session.result(started.run).status == "interrupted"
        seconds[0] = 0
        assert session.resume(started.run).summary == SAID


def test_synchronous_session_raises_the_same_errors() -> None:
    with redraft.Session(":memory:") as session:
        with pytest.raises(redraft.RedraftError, match="no such file"):
            session.summarize("nowhere.md")
        with pytest.raises(redraft.errors.RunError):
            session.result("nowhere")
        refined = session.refine(MINUTES, SAID, goals={"consistency": 0.5})
        with pytest.raises(redraft.errors.RunError, match="is not waiting for an answer") as raised:
            session.resume(refined.run.id, answer={})
        assert raised.value.hint == f"see `session.result({refined.run.id!r})`"
        assert [run.run for run in session.runs(kind="refine")] == [refined.run.id]
        assert "consistency" in session.metrics()
        with pytest.raises(TypeError, match="unexpected"):
            session.result("nowhere", of=1)  # type: ignore[call-arg]


def test_closed_session_names_a_blocking_one(tmp_path: Path) -> None:
    with redraft.Session(tmp_path / "redraft.db") as session:
        pass
    with pytest.raises(redraft.UsageError, match="is closed") as raised:
        session.summarize(MINUTES)
    assert raised.value.hint.startswith("open another one: `with redraft.Session(")
    with pytest.raises(redraft.UsageError, match="is closed"):
        next(session.stream(MINUTES))


async def slow_reply(request: redraft.Request[Any, Any]) -> str:
    await asyncio.sleep(60)
    return SAID


def test_single_call_has_a_timeout(tmp_path: Path) -> None:
    model = redraft.testing.FunctionModel(slow_reply)
    with pytest.raises(redraft.errors.DeadlineError, match="took longer than") as raised:
        redraft.summarize(MINUTES, store=tmp_path / "redraft.db", model=model, strategy="direct", words=12, timeout=0.2)
    assert raised.value.hint == f"go on with `session.resume({raised.value.run!r})`"
    assert raised.value.run


@pytest.mark.slow
def test_interrupted_run_can_be_resumed() -> None:
    model, started = Hanging(), list[str]()

    def note(event: redraft.Event) -> None:
        if isinstance(event, redraft.events.RunStarted):
            started.append(event.run)

    with redraft.Session(":memory:", model=model, observer=note) as session:
        with pytest.raises(KeyboardInterrupt) as interrupt:
            session.summarize(MINUTES, strategy="direct", words=12)
        assert vars(interrupt.value)["run"] == started[0]
        assert model.ended.is_set()
        assert session.result(started[0]).status == "interrupted"
        model.held = False
        assert session.resume(started[0]).summary == SAID


def test_observer_cannot_make_blocking_calls() -> None:
    messages: list[str] = []

    def note(event: redraft.Event) -> None:
        try:
            session.result("x")
        except redraft.UsageError as error:
            messages.append(error.message)

    def nested(case: redraft.Case) -> bool:
        return redraft.evaluate(MINUTES, case.text, store=":memory:", metrics=["consistency"]).scores != {}

    with redraft.Session(":memory:", observer=note) as session:
        result = session.evaluate(MINUTES, SAID, metrics=[nested])

    assert result.scores["nested"] == 1.0
    assert set(messages) == {"a synchronous call was made from within a run, which would wait for itself"}


@pytest.mark.slow
@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt()])
def test_exit_of_an_observer_reaches_the_caller(end: BaseException) -> None:
    def leave(event: redraft.Event) -> None:
        if isinstance(event, redraft.events.PieceDone):
            raise end

    with pytest.raises(type(end)):
        redraft.summarize(MINUTES, store=":memory:", words=12, observer=leave)
    assert redraft.summarize(MINUTES, store=":memory:", words=12).run.status == "done"


def test_threads_share_a_session() -> None:
    with redraft.Session(":memory:", model=writer()) as session:
        summaries: list[str | None] = []

        def work(words: int) -> None:
            summaries.append(session.summarize(MINUTES, strategy="direct", words=words).summary)

        threads = [threading.Thread(target=work, args=(12 + at,)) for at in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert summaries == [SAID] * 3


def test_synchronous_session_has_all_methods() -> None:
    """None of them is missing, and none has arguments of its own."""
    inner = {"aclose", "checkpointer"}
    methods = {name: method for name, method in vars(Session).items() if not name.startswith("_") and callable(method)}
    signatures = {name: inspect.signature(method) for name, method in methods.items() if name not in inner}
    waited = {
        name: signature
        for name, signature in signatures.items()
        if inspect.iscoroutinefunction(methods[name]) or "AsyncGenerator" in str(signature)
    }
    assert {"summarize", "stream"} < waited.keys() <= vars(SyncSession).keys()
    assert all(inspect.signature(vars(SyncSession)[name]) == signature for name, signature in waited.items())


def test_second_loop_is_refused(tmp_path: Path) -> None:
    session = redraft.Session(tmp_path / "book.db")
    asyncio.run(session.checkpointer())
    try:
        with pytest.raises(redraft.UsageError, match="another event loop") as caught:
            asyncio.run(session.checkpointer())
        assert "async with" in caught.value.hint
    finally:
        asyncio.run(session.aclose())


async def test_locked_new_file_is_waited_for(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        async with Session(store) as session:
            store.checkpoints.address()
            with closing(sqlite3.connect(store.checkpoints.path, isolation_level=None)) as database:
                database.execute("BEGIN IMMEDIATE")
                opening = asyncio.create_task(session.checkpointer())
                await asyncio.sleep(0.3)
                assert not opening.done()
                database.execute("COMMIT")
            await opening
            assert store.checkpoints.path.stat().st_size
