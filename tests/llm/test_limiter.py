"""The limiter: never too many, never too often, nobody forgotten."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.llm import rate_limiter as module
from redraft.llm.rate_limiter import Limiter, shared_limiter
from redraft.settings import Limits


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
