"""Every kind of error that an application handles, raised by the session over HTTP."""

from __future__ import annotations

import pickle
import socket
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

import redraft
from redraft.errors import RedraftError, TruncatedReasoning, Usage
from redraft.events import CallFailed, Event, Notice
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault

KEY = "sk-test-SECRETSECRETSECRET1234"
TEXT = "The council met in March. It voted on the budget for the harbour. The repairs begin in May. " * 20


@contextmanager
def closed_port() -> Iterator[str]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{holder.getsockname()[1]}/v1"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.txt"
    path.write_text(TEXT, "utf-8")
    return path


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text(TEXT * 30, "utf-8")
    return path


def session_at(address: str, **options: Any) -> redraft.Session:
    return redraft.Session(":memory:", model=redraft.ModelSettings(model="openai:m", base_url=address), **options)


async def failure_of(work: Any) -> RedraftError:
    with pytest.raises(RedraftError) as caught:
        await work
    return caught.value


def status(number: int, **more: Any) -> Fault:
    return Fault("status", status=number, **more)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (status(401, message=f"Incorrect API key provided: {KEY}."), redraft.errors.KeyRejected),
        (status(403), redraft.errors.KeyRejected),
        (status(404, message="The model `m` does not exist"), redraft.errors.UnknownModel),
        (status(404, message="Not Found", code="none"), redraft.errors.ProviderError),
        (status(429, code="insufficient_quota"), redraft.errors.QuotaExhausted),
        (status(402), redraft.errors.QuotaExhausted),
        (status(429, retry_after=7200), redraft.errors.RateLimited),
        (status(500), redraft.errors.TransientError),
        (status(400, message="no such parameter: frobnicate"), redraft.errors.RejectedRequest),
    ],
)
async def test_errors_carry_run_status_and_cause(
    fault: Fault, kind: type[redraft.errors.ModelError], report: Path
) -> None:
    with ChatServer(lambda request: fault) as server:
        async with session_at(server.base_url, limits=redraft.Limits(tries=1)) as session:
            error = await failure_of(session.summarize(report, words=30))
            run = await session.result(error.run)
    assert type(error) is kind
    assert isinstance(error, redraft.errors.ModelError)
    assert (error.status, run.run.status) == (fault.status, "failed")
    assert isinstance(error.__cause__, openai.APIStatusError)
    assert error.hint
    assert len(traceback.format_tb(error.__traceback__)) <= 15
    printed = traceback.format_exception(error)
    assert KEY not in "".join(printed) + repr(vars(error.__cause__))


async def test_server_that_is_down_is_unreachable(report: Path) -> None:
    with closed_port() as address:
        async with session_at(address, limits=redraft.Limits(longest_wait=0)) as session:
            error = await failure_of(session.summarize(report, words=30))
    assert type(error) is redraft.errors.ServerUnreachable
    assert error.run
    assert error.status is None
    assert error.__cause__ is not None
    assert error.hint == "start the server; `redraft.llm.addresses.local_servers()` shows what answers, and where"


async def test_refused_key_names_its_variable_and_role(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-judge-WRONGWRONG1234")
    with ChatServer(lambda request: status(401)) as server:
        address = server.base_url
        strong = redraft.ModelSettings(model="openai:strong", base_url=address, key_env="JUDGE_KEY")
        async with session_at(address, judges=[strong], limits=redraft.Limits(tries=1)) as session:
            refused = await failure_of(session.evaluate(report, "The council votes.", metrics=["consistency"]))
            writing = await failure_of(session.summarize(report, words=30))
    assert refused.hint == "put a valid key into JUDGE_KEY, which has the key of openai:strong (judge)"
    assert writing.hint == "put a valid key into OPENAI_API_KEY, which has the key of openai:m (writer)"


async def test_permanent_rate_limit_ends_soon(book: Path) -> None:
    events: list[Event] = []
    with ChatServer(lambda request: status(429)) as server:
        limits = redraft.Limits(longest_wait=0.01)
        async with session_at(server.base_url, limits=limits, observer=events.append) as session:
            error = await failure_of(session.summarize(book, words=100, chunk_tokens=512, context_tokens=4096))
    assert type(error) is redraft.errors.RateLimited
    assert "Limits(concurrency=1)" in error.hint
    assert len(server.seen) <= 30
    assert [event.again_in for event in events if isinstance(event, CallFailed)][-1] is None


async def test_deadline_keeps_what_is_there(book: Path) -> None:
    def script(request: ChatRequest) -> Answer:
        return Answer("The council votes on the budget of the harbour.", latency=0.1 if request.index < 3 else 30.0)

    with ChatServer(script) as server:
        limits = redraft.Limits(deadline=2.0)
        async with session_at(server.base_url, limits=limits) as session:
            began = time.monotonic()
            result = await session.summarize(book, words=100, chunk_tokens=512, context_tokens=4096)
    assert time.monotonic() - began < 10
    assert (result.run.status, result.run.stop_reason) == ("stopped", "deadline")
    assert "harbour" in (result.summary or "")


def test_error_survives_another_process() -> None:
    error = TruncatedReasoning("too long", text="x", usage=Usage(1, 2), place="part 1")
    error.run, error.status, error.retryable = "abc", 429, True
    unpickled = pickle.loads(pickle.dumps(error))
    assert (type(unpickled), str(unpickled), unpickled.run, unpickled.status, unpickled.usage, unpickled.retryable) == (
        *(TruncatedReasoning, "part 1: too long", "abc", 429, Usage(1, 2), True),
    )


async def test_assumptions_reach_log_notes_and_observer(report: Path, caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []
    with ChatServer(lambda request: Answer("The council votes on the budget for the harbour.")) as server:
        async with session_at(server.base_url, observer=events.append) as session:
            result = await session.summarize(report, words=30, metrics=["coverage"])
            assert (await session.result(result.run.id)).notes == result.notes
    notices = [event.message for event in events if isinstance(event, Notice)]
    for phrase in ("the window of openai:m is unknown: 8,192 tokens are assumed", "judges what it has written itself"):
        assert sum(phrase in note for note in result.notes) == 1
        assert any(phrase in notice for notice in notices)
        assert phrase in caplog.text
