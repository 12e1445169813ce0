"""What a run would take, asked from Python; nothing is asked or stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft import Limits, ModelSettings, Price, RunPlan, Session, UsageError
from tests.judges import Harness, island, summary_of

PRICED = ModelSettings(model="openai:nobody", price=Price(prompt=1.0, completion=2.0), context_tokens=4000)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = Harness(tmp_path)
    yield harness
    harness.store.close()


async def test_plan_has_calls_tokens_cost_asks_nobody(tmp_path: Path) -> None:
    async with Session(tmp_path / "x.db", model=PRICED) as session:
        plan = await session.plan(island(), words=60)
        assert isinstance(plan, RunPlan)
        assert plan.calls == sum(stage.calls for stage in (plan.drafting, *plan.stages)) > 0
        assert plan.cost_usd is not None
        assert plan.cost_usd == (plan.prompt_tokens + 2 * plan.completion_tokens) / 1_000_000
        assert plan.seconds is None, "the model has never answered"
        assert repr(plan).startswith(f"RunPlan(calls={plan.calls}, prompt_tokens={plan.prompt_tokens}")
        assert not session.store.runs.stamps()


async def test_run_with_the_maximum_as_limit_ends(harness: Harness) -> None:
    with harness.served() as server:
        model = PRICED.model_copy(update={"base_url": server.base_url})
        async with Session(":memory:", model=model) as session:
            plan = await session.plan(harness.document, summary_of(1), metrics=["consistency"])
        limits = Limits(max_cost=plan.max_cost_usd)
        async with Session(":memory:", model=model, limits=limits) as session:
            result = await session.evaluate(harness.document, summary_of(1), metrics=["consistency"])
    assert result.status == "done"
    assert result.usage.cost_usd is not None
    assert plan.max_cost_usd is not None
    assert result.usage.cost_usd <= plan.max_cost_usd


async def test_plan_with_a_summary_evaluates_or_refines(harness: Harness) -> None:
    async with harness.session(limits=Limits(max_calls=900)) as session:
        evaluated = await session.plan(harness.document, summary_of(1), metrics=["consistency"])
        refined = await session.plan(harness.document, summary_of(1), goals={"consistency": 0.9}, rounds=1)
        with pytest.raises(UsageError, match="until makes no difference to `evaluate`"):
            await session.plan(harness.document, summary_of(1), until=200)
        with pytest.raises(UsageError, match="there is no metric 'beauty'"):
            await session.plan(harness.document, metrics=["beauty"])
    assert [stage.name for stage in evaluated.stages] == ["consistency"]
    assert "revising" in [stage.name for stage in refined.stages]
    assert refined.calls > evaluated.calls
    assert not harness.sheets, "a model that is an object was not asked"
