"""Budgets under loss: what was never answered stays booked; and the limiter: never too many, never too often."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.domain import Usage
from redraft.errors import BudgetError, ModelError, TransientError
from redraft.llm import budget as module
from redraft.llm.base import Complaint, FunctionModel
from redraft.llm.budget import Budget, Limiter, shared_limiter
from redraft.llm.chat import Mode
from redraft.llm.recorded import most_tokens_in
from redraft.llm.structured_output import most_tokens_of
from redraft.settings import Limits, Price
from redraft.store.store import Store
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault, text_of
from tests.llm.support import Desk, colour, story
from tests.llm.test_recorded import GOOD, begin_run, booked, usage
from tests.store.support import started
from tests.vocabularies import true_vocabulary

PRICE = Price(prompt=1, completion=4)


def billed(server: ChatServer) -> float:
    """What a provider would bill that counts bytes as tokens, and bills whatever it has sent or has tried to send."""
    return sum(PRICE.of(Usage(len(text_of(request.messages[0]).encode()), 50)) for request in server.seen)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["drop", "malformed", "status"])
async def test_lost_replies_stay_within_the_budget(desk: Desk, kind: Any) -> None:
    rng, run, limit = random.Random(kind), begin_run(desk.store), 0.02

    def script(request: ChatRequest) -> Answer | Fault:
        tokens = usage(len(text_of(request.messages[0]).encode()), 50)
        return Fault(kind) if rng.random() < 0.9 else Answer("Once.", usage=tokens)

    with ChatServer(script) as server:
        budget = Budget(max_calls=None, max_cost=limit, budget_key=run)
        async with desk.at(server, run=run, price=PRICE, budget=budget) as model:
            requests = (model.ask(story(f"{n} {'x' * 400}")) for n in range(60))
            results = await asyncio.gather(*requests, return_exceptions=True)
    assert any(isinstance(result, BudgetError) for result in results)
    assert limit / 3 < billed(server) <= limit
    totals = desk.store.calls.totals(run)
    assert totals.calls == len(server.seen)
    assert totals.lost == len(server.seen) - len(server.answered)
    assert totals.lost_usd is not None
    assert totals.cost_usd is not None
    assert totals.cost_usd <= totals.cost_usd + totals.lost_usd <= limit


async def test_time_out_stays_booked(desk: Desk) -> None:
    run = begin_run(desk.store)
    script = [Fault("hang"), Fault("status", status=400, message="no"), Fault("status", status=429), "Once."]
    async with desk.serving(script, run=run, price=PRICE, seconds=0.3) as (_, model):
        results = await asyncio.gather(model.ask(story()), return_exceptions=True)
        assert isinstance(results[0], ModelError)
        await model.ask(story())
    totals = desk.store.calls.totals(run)
    assert desk.outcomes() == ["timed_out", "rejected", "rate_limited", "ok"]
    assert (totals.calls, totals.lost) == (3, 1)
    # Its own prompt and the reply that it had room for, and not the most that a provider could make of them.
    assert totals.lost_tokens == 50 + len("Tell a story about a rose.") // 4
    assert [row["booked_usd"] > 0 for row in desk.ledger()] == [True, False, False, True]


async def test_unreachable_server_costs_nothing(desk: Desk) -> None:
    run, server = begin_run(desk.store), ChatServer()
    server.base_url = "http://127.0.0.1:9/v1"
    async with desk.at(server, run=run, price=PRICE) as model:
        with pytest.raises(TransientError, match=r"(?i)connect"):
            await model.ask(story())
    assert set(desk.outcomes()) == {"unreached"}
    assert desk.store.calls.totals(run).lost == 0


async def test_unreported_usage_counts_as_maximum(desk: Desk) -> None:
    run = begin_run(desk.store)
    async with desk.serving([Answer("Once.", usage=None)], run=run, price=PRICE) as (_, model):
        await model.ask(story())
    totals = desk.store.calls.totals(run)
    assert totals.lost == 0
    assert totals.cost_usd is not None
    assert totals.cost_usd >= PRICE.of(Usage(len("Tell a story about a rose."), 50))


TEXTS = {
    "base64": base64.b64encode(random.Random(1).randbytes(3000)).decode(),
    "bytes": random.Random(2).randbytes(3000).decode("latin-1"),
    "chinese": "".join(chr(random.Random(n).randint(0x4E00, 0x9FFF)) for n in range(1000)),
    "emoji": "👩‍👩‍👧‍👦🏴‍☠️🧑🏿‍🚀" * 100,
    "ligatures": "\ufdfa㍿ﬃ" * 300,
    "marks": "|=~^`" * 500,
    "blanks": " \t\n\r" * 500,
    "private": "\ue000\U0010fffd" * 300,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_token_counts_are_upper_bounds(text: str, name: str) -> None:
    tokenizer = true_vocabulary(name)
    if tokenizer is None:
        pytest.skip("the vocabulary is not on this machine")
    assert tokenizer.count(text) <= most_tokens_of(text)


@pytest.mark.parametrize("refuses", [[], ["json_schema"], ["json_schema", "tools"]], ids=["schema", "tools", "plain"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_request_is_within_its_booking(desk: Desk, text: str, refuses: list[Mode]) -> None:
    run = begin_run(desk.store)
    async with desk.serving(["no idea", GOOD], refuses=refuses, run=run, price=PRICE) as (server, model):
        await model.ask(colour(text))
    booked_tokens = [row["booked_usd"] for row in desk.ledger()]
    assert len(booked_tokens) == len(server.seen)
    with sqlite3.connect(desk.store.path) as database:
        assert database.execute("SELECT count(*) FROM calls WHERE lost_tokens > 0").fetchone() == (0,)
    database.close()
    for complaint, seen in zip(
        [None, Complaint("no idea", "the reply holds no JSON object")], server.answered, strict=True
    ):
        form = {name: seen.body[name] for name in ("tools", "response_format") if name in seen.body}
        sent = sum(len(text_of(message).encode()) for message in seen.messages) + len(json.dumps(form))
        request = colour(text)
        request = type(request)(
            request.prompt, request.given, request.sampling, "", complaint, text_of(seen.messages[0])
        )
        # Twenty tokens or so of the template come on top of what redraft sends.
        assert sent + 100 <= most_tokens_in(request)


async def ask_many(
    desk: Desk, server: ChatServer, run: str, *, first: int = 0, calls: int, limit: int, budget_key: str
) -> int:
    """Ask for so many stories within a run and a budget; how many of them were answered."""
    budget = Budget(max_calls=limit, max_cost=None, budget_key=budget_key)
    with desk.store.claim(run):
        async with desk.at(server, run=run, budget=budget, limiter=Limiter(8), seconds=60) as model:
            print("ready", flush=True)
            requests = (model.ask(story(str(n))) for n in range(first, first + calls))
            done = await asyncio.gather(*requests, return_exceptions=True)
    return sum(not isinstance(outcome, BaseException) for outcome in done)


# The same in another process.
_ASKING = """
import asyncio, sys
from pathlib import Path
import pytest
from tests.chatserver import ChatServer
from tests.llm.support import Desk, make_book
from tests.llm.test_bookings import ask_many

folder, url, run, first, calls, limit, budget_key = sys.argv[1:]
patch = pytest.MonkeyPatch()
desk = Desk(Path(folder), make_book(Path(folder) / "prompts", patch), patch)
server = ChatServer()
server.base_url = url
asking = ask_many(desk, server, run, first=int(first), calls=int(calls), limit=int(limit), budget_key=budget_key)
print(asyncio.run(asking), flush=True)
"""


@pytest.mark.slow
async def test_killed_run_keeps_its_call_limit(desk: Desk) -> None:
    run = begin_run(desk.store)
    with ChatServer(lambda request: Answer("Once.", latency=0.3)) as server:
        for _ in range(2):
            with started(_ASKING, desk.folder, server.base_url, run, 0, 40, 12, run):
                before = len(server.seen)
                while len(server.seen) < before + 3:  # noqa: ASYNC110  (the server has its own loop)
                    await asyncio.sleep(0.01)
        await ask_many(desk, server, run, calls=40, limit=12, budget_key=run)
    totals = desk.store.calls.totals(run)
    assert len(server.seen) <= 12
    assert (totals.calls, totals.lost) == (12, 12 - desk.outcomes().count("ok"))
    assert totals.lost >= 6
    assert "sent" not in desk.outcomes()


@pytest.mark.nightly
async def test_waiting_run_survives_a_killed_process(desk: Desk) -> None:
    runs = [begin_run(desk.store, name) for name in ("run1", "run2")]
    with (
        ChatServer([Fault("hang"), "Once."]) as server,
        started(_ASKING, desk.folder, server.base_url, runs[0], 0, 1, 100, runs[0]) as process,
        desk.store.claim(runs[1]),
    ):
        while not server.seen:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        async with desk.at(server, run=runs[1]) as model:
            asking = asyncio.create_task(model.ask(story("0")))
            await asyncio.sleep(0.2)
            assert len(server.seen) == 1
            process.kill()
            assert (await asking).text == "Once."
    assert len(server.seen) == 2


async def test_unsent_call_is_taken_back(desk: Desk) -> None:
    run = begin_run(desk.store)
    budget = Budget(max_calls=1, max_cost=None, budget_key=run)
    holder = sqlite3.connect(desk.store.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    model = desk.recorded(FunctionModel(lambda request: "Once."), run=run, budget=budget, limiter=Limiter(1))
    task = asyncio.create_task(model.ask(story()))
    await asyncio.sleep(0.2)
    task.cancel()
    await asyncio.sleep(0.1)
    holder.execute("ROLLBACK")
    holder.close()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.outcomes() == []
    assert (await model.ask(story())).text == "Once."


async def test_calls_of_a_dead_process_are_lost(desk: Desk) -> None:
    run = begin_run(desk.store)
    async with Budget(max_calls=9, max_cost=None).reserved(desk.store.calls, booked(run, 0.5)) as reservation:
        reservation.sent = True
    assert desk.outcomes() == ["sent"]
    with Store(desk.store.path) as store, store.claim(run):
        assert desk.outcomes() == ["lost"]
        assert (store.calls.totals(run).lost, store.calls.totals(run).lost_usd) == (1, 0.5)


class Clockwork(asyncio.SelectorEventLoop):
    """A loop in which nothing takes time but waiting, and that is over at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        select = self._selector.select  # type: ignore[attr-defined]

        def pass_time(seconds: float | None) -> Any:
            self.now += seconds or 0.0
            return select(0)

        self._selector.select = pass_time  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now


def by_clockwork(monkeypatch: pytest.MonkeyPatch, work: Callable[[], Coroutine[Any, Any, list[float]]]) -> list[float]:
    with asyncio.Runner(loop_factory=Clockwork) as runner:
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=runner.get_loop().time))
        return runner.run(work())


async def hold(limiter: Limiter, seconds: float, tokens: int = 1) -> float:
    async with limiter.slot(tokens) as began:
        await asyncio.sleep(seconds)
    return began


class Crowd:
    """Jobs that hold a slot for a moment and end in different ways, some of them by force."""

    def __init__(self, ceiling: int, jobs: list[str], seed: int) -> None:
        self.ceiling = ceiling
        self.jobs = jobs
        self.rng = random.Random(seed)
        self.in_process = self.most = 0
        self.done = Counter[str]()

    async def job(self, limiter: Limiter, end: str) -> None:
        async with limiter.slot(1) as began:
            self.in_process += 1
            self.most = max(self.most, self.in_process)
            try:
                await self.work(limiter, began, end)
            finally:
                self.in_process -= 1
        self.done[end] += 1

    async def work(self, limiter: Limiter, began: float, end: str) -> None:
        for _ in range(self.rng.randint(0, 3)):
            await asyncio.sleep(0)
        if end == "answered":
            limiter.record_answer()
        elif end == "turned away":
            limiter.record_rate_limit(began, self.rng.choice([None, 0.0, 0.001]), Limits(longest_wait=0.002))
        elif end == "failed":
            raise ValueError
        elif end == "cancelled":
            await asyncio.sleep(10)

    async def run(self) -> Limiter:
        limiter = Limiter(self.ceiling)
        tasks = [asyncio.create_task(self.job(limiter, end)) for end in self.jobs]
        for round_ in range(3000):
            if all(task.done() for task in tasks):
                break
            await asyncio.sleep(0 if round_ < 50 else 0.001)
            for task, end in zip(tasks, self.jobs, strict=True):
                if self.is_time(end, round_):
                    task.cancel()
        assert all(task.done() for task in tasks), "somebody is forgotten"
        await asyncio.gather(*tasks, return_exceptions=True)
        return limiter

    def is_time(self, end: str, round_: int) -> bool:
        """Whether to cancel a job now: at any moment, or just when its turn may have come."""
        return self.rng.random() < 0.2 if end == "cancelled" else end == "early" and round_ == self.rng.randint(0, 4)


@settings(max_examples=60, deadline=None)
@given(
    ceiling=st.integers(1, 6),
    jobs=st.lists(st.sampled_from(["answered", "turned away", "failed", "cancelled", "early"]), max_size=30),
    seed=st.integers(0, 1000),
)
def test_ceiling_holds_and_every_job_ends(ceiling: int, jobs: list[str], seed: int) -> None:
    crowd = Crowd(ceiling, jobs, seed)
    limiter = asyncio.run(crowd.run())
    assert crowd.most <= ceiling
    assert limiter.in_flight == crowd.in_process == 0
    assert 1 <= limiter.allowed <= ceiling
    assert crowd.done["answered"] == jobs.count("answered")


async def test_burst_of_429s_counts_once() -> None:
    limiter = Limiter(10)
    async with asyncio.TaskGroup() as group:

        async def refused() -> None:
            async with limiter.slot(1) as began:
                await asyncio.sleep(0.01)
                limiter.record_throttling(began, None)

        for _ in range(10):
            group.create_task(refused())
    assert limiter.allowed == pytest.approx(7)
    async with limiter.slot(1) as began:
        limiter.record_throttling(began, None)
    assert limiter.allowed < 2
    for _ in range(100):
        limiter.record_answer()
    assert limiter.allowed == 10


async def test_last_rate_limit_holds_nobody_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.01)
    limiter, limits, holds = Limiter(8), Limits(tries=3), list[float]()
    for _ in range(3):
        async with limiter.slot(1) as began:
            limiter.record_rate_limit(began, None, limits)
        holds.append(limiter.hold)
    assert 0 < holds[0] < holds[1]
    assert holds[2] == 0
    assert limiter.allowed == 1
    limiter.record_answer()
    assert limiter.throttled == 0


def test_retry_after_pauses_everyone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> list[float]:
        limiter = Limiter(5)
        async with limiter.slot(1) as began:
            limiter.record_throttling(began, 20)
        return list(await asyncio.gather(*(hold(limiter, 0) for _ in range(3))))

    assert by_clockwork(monkeypatch, work) == pytest.approx([20] * 3)


async def test_runs_share_a_providers_limiter() -> None:
    def of(provider: str, concurrency: int = 4) -> Limiter:
        return shared_limiter(provider, concurrency)

    first = of("http://one/v1")
    assert of("http://one/v1") is first
    assert of("http://two/v1") is not first
    assert of("http://one/v1", 5) is not first
