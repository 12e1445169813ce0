"""The models of an experiment, and its estimated cost before any model is called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import KW_ONLY, dataclass, field, replace
from math import ceil
from typing import Annotated, Any, TypeVar

from pydantic import PlainSerializer

from redraft.domain import Document, Usage
from redraft.lab.declared import make_table
from redraft.llm.budget import PriceTable
from redraft.order import Order
from redraft.prompts.factual import ALIGN_FACTS, SPLIT_FACTS, VERIFY_SENTENCES
from redraft.report.history.results import Result, read_result
from redraft.report.tables import Cell, Table
from redraft.runs.dry_run import DryRuns, without_person
from redraft.runs.experiment_runner import ExperimentRunner, RunWatch
from redraft.runs.models import ModelPool, ModelRole, assign_models, known_window, price_of, reasoning_reserve, resolve
from redraft.runs.prepare import PreparedDocument, prepare
from redraft.runs.sync import run_to_end
from redraft.settings import DraftConfig, JudgeConfig, Limits, ModelSettings
from redraft.store.connection import off_loop
from redraft.store.runs import Run

DRAFTING, JUDGING, FACTS = "drafting", "judging", "facts"
_STEPS_OF_PROMPTS = {
    SPLIT_FACTS.name: "splitting summaries",
    VERIFY_SENTENCES.name: "verifying facts",
    ALIGN_FACTS.name: "aligning facts",
}
"""The steps of judging facts, by prompt."""


_OF_JUDGES = {"judges", "models", "base_url"}
PublicJudging = Annotated[
    JudgeConfig, PlainSerializer(lambda judging: judging.model_dump(mode="json", exclude=_OF_JUDGES))
]
"""How summaries are judged. Its JSON is without the judges, which designs name themselves."""


def with_judge(judging: JudgeConfig, name: str, settings: DraftConfig) -> JudgeConfig:
    """Return the judging with this model as its judge, including the model's own sampling settings. It needs an entry
    by name: without one, a run gives the judge the prompts' sampling settings instead of the writer's."""
    if settings.temperature is None and settings.top_p is None:
        return judging
    of_it = {field_name: getattr(settings, field_name) for field_name in ModelSettings.model_fields}
    models = {**judging.models, name: ModelSettings.model_validate(of_it)}
    return judging.model_copy(update={"judges": (name,), "models": models})


def check_models(runner: ExperimentRunner, *choices: tuple[DraftConfig, JudgeConfig | None]) -> None:
    """Raise if a name or a price is unknown, before anything is paid for."""
    for settings, judging in choices:
        assign_models(resolve(settings), judging, runner.limits, runner.prices)


_MAX_SKIPPED = 5
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One kind of work by one model on one document, with its number of runs."""

    document: str
    name: str
    model: DraftConfig
    runs: int
    calls: int
    usage: Usage

    def cost(self, prices: PriceTable) -> float | None:
        """Return the cost if the whole thinking budget is used; None if the price is unknown."""
        price, thinking = price_of(self.model, prices), self.calls * reasoning_reserve(self.model)
        usage = Usage(self.usage.prompt_tokens, self.usage.completion_tokens + ceil(thinking))
        return None if price is None else price.of(usage)


def cost_table(steps: Sequence[PlanStep], about: str, prices: PriceTable, skipped: Sequence[str] = ()) -> Table:
    """Return the steps and their total as a table. `about` says how they were counted, `skipped` what is left out."""
    rows: list[tuple[Cell, ...]] = []
    for step in steps:
        usage = (step.usage.prompt_tokens, step.usage.completion_tokens)
        rows.append((step.document, step.name, step.model.model, step.runs, step.calls, *usage, step.cost(prices)))
    sums: list[Cell] = []
    for column in zip(*(row[4:] for row in rows), strict=True):
        numbers = [cell for cell in column if isinstance(cell, int | float)]
        sums.append(sum(numbers) if len(numbers) == len(column) else None)
    if any(reasoning_reserve(step.model) for step in steps):
        about += " Costs include the whole reasoning budget."
    left_out = "; ".join((*skipped[:_MAX_SKIPPED], *(["and more"] if len(skipped) > _MAX_SKIPPED else [])))
    basis = "No model was called and nothing was stored; cached answers cost nothing."
    basis += f" Not possible, and left out: {left_out}." if skipped else ""
    rows.append(("total", "", "", None, *(sums or (0, 0, 0, 0.0))))
    return make_table("every", "plan", basis, rows, about=about)


PlannedRun = tuple[str, str, bool]
"""A run, its name in the plan, and whether it is a part of another one."""


@dataclass(slots=True)
class DryExperimentRunner(ExperimentRunner):
    """Makes an experiment's runs in memory with counting models, in which refining goes through all its rounds."""

    _: KW_ONLY
    runs: DryRuns
    planned: list[PlannedRun] = field(default_factory=list)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def find_or_run(self, document: Document, order: Order, watch: RunWatch) -> Result:
        """Return the finished run, which is counted with its parts."""
        result = await super(DryExperimentRunner, self).find_or_run(document, order, watch)
        run, store = result.run.id, self.store
        parts = [chapter.run for chapter in store.chapters.of(run)]
        self.planned.append((run, watch.step, False))
        self.planned += [(part, watch.step, True) for part in parts if part]
        return result

    async def open_run(self, prepared: PreparedDocument, order: Order) -> Run:
        """Return the run of an experiment's own work. Concurrent calls keep their order."""
        async with self._opening:
            run = await super(DryExperimentRunner, self).open_run(prepared, order)
            self.planned.append((run.id, "", False))
        return run

    def open_models(
        self, assigned: Sequence[ModelRole], run: Run, prepared: PreparedDocument, step: str
    ) -> AbstractAsyncContextManager[ModelPool]:
        """Open counting models."""
        self.planned[self.planned.index((run.id, "", False))] = (run.id, step, False)
        return self.runs.models(assigned, run, prepared, self.observer)

    async def _settled(self, order: Order) -> Order:
        return await super(DryExperimentRunner, self)._settled(without_person(order))

    def _window(self, role: ModelRole) -> int | None:
        return known_window(role)

    async def do_run(
        self,
        run: Run | None,  # noqa: ARG002
        document: Document,
        order: Order,
        watch: RunWatch,  # noqa: ARG002
    ) -> Result:
        """Count a run in memory."""
        run_id = await self.runs.run_prepared(prepare(document, order.settings, given=order.given), order)
        return await off_loop(read_result, self.store, run_id)

    def steps(self) -> list[PlanStep]:
        """Return the steps in the order in which they began."""
        steps_by_key: dict[tuple[object, ...], PlanStep] = {}
        for run, step, is_part in self.planned:
            if (tally := self.runs.tallies.get(run)) is None:
                continue
            counted = set[object]()
            document = tally.prepared.document
            for key, work in tally.work.items():
                name = _STEPS_OF_PROMPTS.get(work.name, step) if step == FACTS else step
                if tally.run.refinement is not None:
                    name = f"{name}: {work.by}"
                elif work.by == "validator":
                    name = f"{name}: validation"
                model = work.settings
                at = (document.id, name, model.temperature, *key[2:])
                plan_step = steps_by_key.get(at) or PlanStep(document.title, name, model, 0, 0, Usage(0, 0))
                prompt, completion = plan_step.usage.prompt_tokens, plan_step.usage.completion_tokens
                usage = Usage(prompt + work.prompt_tokens, completion + work.completion_tokens)
                runs = plan_step.runs + (not is_part and at not in counted)
                counted.add(at)
                steps_by_key[at] = replace(plan_step, runs=runs, calls=plan_step.calls + work.calls, usage=usage)
        return list(steps_by_key.values())


def plan_steps(
    work: Callable[[ExperimentRunner], Coroutine[Any, Any, T]], documents: Sequence[Document], prices: PriceTable
) -> tuple[T, list[PlanStep]]:
    """Return the outcome of an experiment with counting models on an in-memory store, and its steps by document."""

    async def count_steps() -> tuple[T, list[PlanStep]]:
        async with DryRuns(prices) as runs:
            # Run one at a time, so that the steps always have the same order.
            runner = DryExperimentRunner(runs.store, Limits(concurrency=1), prices, runs=runs)
            return await work(runner), runner.steps()

    outcome, steps = run_to_end(count_steps)
    order = [document.title for document in documents]
    return outcome, sorted(steps, key=lambda step: order.index(step.document) if step.document in order else len(order))
