"""The cache, the ledger, the budget, and what happens when calls are stopped."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Usage
from redraft.errors import (
    BudgetError,
    ModelError,
    ProviderError,
    RedraftError,
    RefusedReply,
    TransientError,
    TruncatedReply,
    UnreadableReply,
)
from redraft.events import CallAnswered, CallFailed, CallStarted
from redraft.llm.base import Complaint, Line, Request, ScriptedModel, ScriptError
from redraft.llm.budget import FREE, Budget, Limiter
from redraft.llm.recorded import RecordedModel
from redraft.order import Summarize
from redraft.readers.documents import parse
from redraft.settings import Price
from redraft.store.calls import OK, SENT, Call, Reservation
from redraft.store.runs import Run
from redraft.store.store import Store
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault
from tests.chatserver import Reply as ServerReply
from tests.llm.support import RED, Desk, ThingGiven, colour, make_book, story
from tests.store.support import call

GOOD = '{"name": "red", "share": 0.5}'
PRICE = Price(prompt=100, completion=1000, cached_prompt=10)


def begin_run(store: Store, name: str = "run1") -> str:
    document = parse(b"A book.", name="book.txt")
    store.documents.add(document)
    run = Run(name, Summarize(), {}, "0", identity="same", document=document.id, tokenizer="estimate")
    store.runs.add(run)
    return name


def usage(prompt: int, completion: int, cached: int = 0) -> dict[str, object]:
    details = {"prompt_tokens_details": {"cached_tokens": cached}}
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **details}


async def test_equal_requests_are_sent_once(desk: Desk) -> None:
    async with desk.serving(lambda request: Answer(GOOD, latency=0.05)) as (server, model):
        replies = await asyncio.gather(*(model.ask(colour()) for _ in range(10)))
        later = await model.ask(colour())
    assert len(server.seen) == 1
    assert [reply.value for reply in replies] == [RED] * 10
    assert sum(reply.cached for reply in replies) == 9
    assert (later.value, later.cached, later.usage) == (RED, True, replies[0].usage)


async def test_key_has_all_that_decides(desk: Desk) -> None:
    complained = replace(colour(), complaint=Complaint("old", "too old"))
    requests: list[Request[ThingGiven, Any]] = [
        colour(),
        colour("a lily"),
        colour(temperature=0.1),
        colour(sample=1),
        complained,
        story(),
    ]
    with ChatServer(lambda request: GOOD) as server:
        async with desk.at(server) as model:
            for _ in range(2):
                for request in requests:
                    await model.ask(request)
            assert (await model.ask(replace(story(), label="elsewhere"))).cached
        async with desk.at(server, name="other") as model:
            await model.ask(colour())
        desk.book = make_book(desk.folder / "prompts", desk.monkeypatch, "Name the colour of {{ thing }}.")
        async with desk.at(server) as model:
            await model.ask(colour())
    assert len(server.seen) == len(requests) + 2


async def test_failures_are_not_served_from_the_cache(desk: Desk) -> None:
    failures = [
        ModelError("no"),
        RefusedReply("no", text="no", usage=Usage(1, 1), finish_reason="stop"),
        *[UnreadableReply("no", text="no", usage=Usage(1, 1))] * 2,
    ]
    model = desk.recorded(ScriptedModel([*failures, "Once."]))
    for kind in (ModelError, RefusedReply, UnreadableReply):
        with pytest.raises(kind):
            await model.ask(story())
    reply = await model.ask(story())
    assert (reply.value, reply.cached) == ("Once.", False)
    assert desk.outcomes() == ["model", "refused", "unreadable", "unreadable", "ok"]


TEXTS = ["Once.", "Twice."]


async def test_simultaneous_runs_ask_once(desk: Desk) -> None:
    runs = [begin_run(desk.store, name) for name in ("run1", "run2")]
    with ChatServer(lambda request: Answer(TEXTS[request.index], latency=0.2)) as server:
        async with desk.at(server, run=runs[0]) as one, desk.at(server, run=runs[1]) as two:
            replies = await asyncio.gather(one.ask(story()), two.ask(story()))
    assert [reply.text for reply in replies] == ["Once.", "Once."]
    totals = [desk.store.calls.totals(run) for run in runs]
    assert sorted((total.calls, total.cached) for total in totals) == [(0, 1), (1, 0)]


async def test_the_ledger_adds_up(desk: Desk) -> None:
    run = begin_run(desk.store)
    answers: list[ServerReply] = [
        Answer("Once.", usage=usage(100, 10, 50)),
        Fault("status", status=429, retry_after=0),
        Fault("status", status=500),
        Answer(GOOD, usage=usage(200, 20)),
        Answer("no idea", usage=usage(300, 30)),
        Answer("no idea", finish_reason="length", usage=usage(400, 40)),
    ]
    async with desk.serving(answers, run=run, price=PRICE) as (_, model):
        await model.ask(story())
        await model.ask(story())
        await model.ask(colour())
        with pytest.raises(TruncatedReply):
            await model.ask(colour("a lily"))
    totals = desk.store.calls.totals(run)
    assert (totals.calls, totals.cached) == (5, 0)
    assert (totals.prompt_tokens, totals.cached_prompt_tokens, totals.completion_tokens) == (1000, 50, 100)
    assert totals.cost_usd == pytest.approx((950 * 100 + 50 * 10 + 100 * 1000) / 1e6)
    assert totals.cost_usd == pytest.approx(sum(row["cost_usd"] or 0 for row in desk.ledger()))
    assert {row["run"] for row in desk.ledger()} == {run}


@pytest.mark.parametrize(("price", "cost"), [(FREE, 0.0), (PRICE, None), (None, None)])
async def test_lost_call_of_free_model_is_free(desk: Desk, price: Price | None, cost: float | None) -> None:
    run = begin_run(desk.store)
    with pytest.raises(ModelError):
        await desk.recorded(ScriptedModel([ModelError("lost")]), run=run, price=price).ask(story())
    assert [one.cost_usd for one in desk.store.calls.of(run)] == [cost]
    await desk.recorded(ScriptedModel(["once"]), run=run, price=price).ask(story("a lily"))
    assert (desk.store.calls.totals(run).cost_usd is None) == (price is None)


async def test_events_tell_of_every_attempt(desk: Desk) -> None:
    script: list[Line] = [ModelError("no"), UnreadableReply("what", text="", usage=Usage()), RED]
    model = desk.recorded(ScriptedModel(script))
    with pytest.raises(ModelError):
        await model.ask(story())
    await model.ask(colour())
    await model.ask(colour())
    kinds = [type(event) for event in desk.events]
    assert kinds == [CallStarted, CallFailed, CallStarted, CallFailed, CallStarted, CallAnswered, CallAnswered]
    failed = [event for event in desk.events if isinstance(event, CallFailed)]
    assert [(event.reason, event.again_in) for event in failed] == [("no", None), ("what", 0.0)]


async def ask_all(model: RecordedModel, count: int) -> list[object]:
    return await asyncio.gather(*(model.ask(story(str(n))) for n in range(count)), return_exceptions=True)


async def test_max_calls_is_exact(desk: Desk) -> None:
    def script(request: ChatRequest) -> Answer | Fault:
        return Fault("status", status=500) if request.index % 5 == 3 else Answer("Once.", latency=0.01)

    run, limit = begin_run(desk.store), 7
    async with desk.serving(script, run=run, budget=Budget(max_calls=limit, max_cost=None)) as (server, model):
        results = await ask_all(model, 30)
    assert len(server.seen) == limit
    errors = [result for result in results if isinstance(result, BaseException)]
    assert errors
    assert all(isinstance(error, BudgetError) and error.hint for error in errors)
    # Those that were under way were heard to the end, and are on record.
    assert desk.outcomes().count("ok") == len(server.answered) == 30 - len(errors)
    assert desk.store.calls.totals(run).calls == limit


def booked(run: str, cost: float = 0.0) -> Call:
    return replace(
        call(secrets.token_hex(8), SENT, reply=None), run=run, booked_usd=cost, lost_tokens=10, cost_usd=None
    )


async def spend(desk: Desk, budget: Budget, run: str, most: float, cost: float | None = None) -> None:
    """Book a call, and make it for `cost`; without one it is turned away."""
    attempt = booked(run, most)
    async with budget.reserved(desk.store.calls, attempt) as reservation:
        if cost is not None:
            reservation.sent = True
            settled = replace(attempt, outcome=OK, cost_usd=cost, booked_usd=cost, lost_tokens=0)
            await asyncio.to_thread(desk.store.calls.settle, reservation, settled)


async def test_budget_to_the_cent_is_enough(desk: Desk) -> None:
    run, budget = begin_run(desk.store), Budget(max_calls=None, max_cost=0.3)
    for _ in range(3):
        await spend(desk, budget, run, 0.1, 0.1)
    with pytest.raises(BudgetError):
        await spend(desk, budget, run, 0.1)
    assert desk.store.calls.totals(run).calls == 3


async def test_refused_call_returns_its_room(desk: Desk) -> None:
    run, budget = begin_run(desk.store), Budget(max_calls=1, max_cost=1.0)
    await spend(desk, budget, run, 1.0)
    attempt = booked(run, 1.0)
    async with budget.reserved(desk.store.calls, attempt) as reservation:
        waiting = asyncio.create_task(spend(desk, budget, run, 0.1))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        reservation.sent = True
        desk.store.calls.settle(reservation, replace(attempt, outcome=OK, booked_usd=0.1))
    with pytest.raises(BudgetError, match="the limit of 1 call is used up"):
        await waiting


async def test_unbilled_calls_cost_no_budget(desk: Desk) -> None:
    answers, refused = [Fault("status", status=429, retry_after=0), GOOD], ["json_schema", "tools"]
    run, budget = begin_run(desk.store), Budget(max_calls=1, max_cost=None)
    async with desk.serving(answers, refuses=refused, run=run, budget=budget) as (_, model):
        assert (await model.ask(colour())).value == RED
        with pytest.raises(BudgetError):
            await model.ask(story())
    assert desk.outcomes() == ["unsupported", "unsupported", "rate_limited", "ok"]


async def test_cancelled_call_is_recorded(desk: Desk) -> None:
    budget, limiter = Budget(max_calls=4, max_cost=None), Limiter(2)
    async with desk.serving(
        [Fault("hang"), Fault("hang"), "Once.", "Twice."], run=begin_run(desk.store), budget=budget, limiter=limiter
    ) as (server, model):
        tasks = [asyncio.create_task(model.ask(story(str(n)))) for n in range(3)]
        while len(server.seen) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel(object())
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
        assert [row["error"] for row in desk.ledger()] == ["", ""], "no object's address is a reason"
        assert (limiter.in_flight, budget.in_flight) == (0, set())
        assert desk.outcomes() == ["cancelled", "cancelled"]
        assert (await model.ask(story("a"))).value == "Once."
        assert (await model.ask(story("0"))).value == "Twice."
    started = sum(isinstance(event, CallStarted) for event in desk.events)
    ended = sum(isinstance(event, CallAnswered | CallFailed) for event in desk.events)
    assert started == ended == 4


async def test_reply_is_stored_despite_cancellation(desk: Desk) -> None:
    settle, writing = desk.store.calls.settle, asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(reservation: Reservation, call: Call) -> None:
        loop.call_soon_threadsafe(writing.set)
        time.sleep(0.2)
        settle(reservation, call)

    desk.monkeypatch.setattr(desk.store.calls, "settle", slow)
    budget = Budget(max_calls=None, max_cost=None)
    task = asyncio.create_task(desk.recorded(ScriptedModel(["Once."]), budget=budget).ask(story()))
    await writing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # The write is over when the task is: the store may be closed now.
    desk.store.close()
    assert desk.outcomes() == ["ok"]
    assert not budget.in_flight


async def test_hopeless_provider_is_not_asked_again(desk: Desk) -> None:
    fault = Fault("status", status=401, latency=0.05)
    with ChatServer(lambda request: fault) as server:
        async with desk.at(server, limiter=Limiter(16)) as model:
            results = await ask_all(model, 76)
            sent = len(server.seen)
            assert 0 < sent <= 16
            assert all(isinstance(result, ProviderError) and result.hint for result in results)
            assert desk.outcomes() == ["key"] * sent
            with pytest.raises(ProviderError):
                await model.ask(story("later"))
        assert len(server.seen) == sent
    started = sum(isinstance(event, CallStarted) for event in desk.events)
    assert started == sum(isinstance(event, CallFailed) for event in desk.events) == sent


async def test_reply_limit_is_not_in_the_key(desk: Desk) -> None:
    model = desk.recorded(ScriptedModel(["one"]))
    replies = [await model.ask(story(max_tokens=limit)) for limit in (1_488, 1_320, 2_000, None)]
    assert [(reply.value, reply.cached) for reply in replies] == [("one", at > 0) for at in range(4)]


async def test_longer_reply_replaces_a_cut_one(desk: Desk) -> None:
    def script(request: ChatRequest) -> Answer:
        room = request.body["max_completion_tokens"]
        return Answer("Once there", finish_reason="length") if room < 90 else Answer("Once there was a rose.")

    limits = (50, 40, 60, 90, 50, None)
    async with desk.serving(script) as (server, model):
        texts = [(await model.ask(story(max_tokens=limit))).text for limit in limits]
    assert texts == ["Once there"] * 3 + ["Once there was a rose."] * 3
    assert [request.body["max_completion_tokens"] for request in server.seen] == [50, 60, 90]
    assert desk.outcomes() == ["duplicate", "duplicate", "ok"]


async def test_script_is_followed_in_order() -> None:
    text = '```json\n{"name": "red", "share": 0.5}\n```'
    model = ScriptedModel(["one", text, RED, TransientError("later")])
    assert (await model.ask(story())).value == "one"
    read = await model.ask(colour())
    assert (read.value, read.text) == (RED, text), "a text is read as a model's reply is"
    reply = await model.ask(colour())
    assert (reply.value, reply.text) == (RED, RED.model_dump_json())
    with pytest.raises(TransientError, match="later"):
        await model.ask(story())


async def test_exhausted_script_fails_the_test(desk: Desk) -> None:
    model = desk.recorded(ScriptedModel(["one"]))
    await model.ask(story())
    with pytest.raises(ScriptError, match=r"exhausted.*test_story.*a lily") as caught:
        await model.ask(story("a lily"))
    assert not isinstance(caught.value, RedraftError)


@pytest.mark.parametrize("line", [RED, Path("x")])
async def test_reply_of_wrong_type_fails(line: object) -> None:
    with pytest.raises(ScriptError, match="is answered with a "):
        await ScriptedModel([line]).ask(story())  # type: ignore[list-item]
    for other in ("text", colour().given):
        with pytest.raises(ScriptError, match="is answered with a "):
            await ScriptedModel([other]).ask(colour())
