"""What stands behind the methods of a session: it makes orders, records runs and carries them out. A session is for
applications; graphs, tools, batches and pages work with its runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from redraft.errors import RedraftError
from redraft.evaluators.base import Metric
from redraft.events import Observer
from redraft.graphs.job import Job
from redraft.graphs.state import GraphSession, Scope, Task
from redraft.llm.langsmith import Tracing, configured, tracing
from redraft.order import Kind, Order, OrderParts, kind_of_draft, refuse_idle
from redraft.report.history.results import Result, read_result
from redraft.runs.driver import AnswerLike, Driver, Reviewer
from redraft.runs.execute import carry_out
from redraft.runs.inputs import Sources, document_of_task, summary_of, summary_text
from redraft.runs.job import JobFactory
from redraft.runs.manager import RunManager, record_new_run
from redraft.runs.order import SessionOrder
from redraft.settings import Limits
from redraft.store.connection import off_loop
from redraft.store.runs import Run


class Runner(GraphSession):
    """Makes orders of calls and inputs, and carries out runs with the models of one session."""

    def __init__(
        self,
        manager: RunManager,
        defaults: SessionOrder,
        observer: Observer,
        reviewer: Reviewer | None,
        config: Mapping[str, Any],
    ) -> None:
        """`defaults` are what calls override. `config` goes to LangChain."""
        self.manager, self.store, self.defaults = manager, manager.store, defaults
        self.observer, self.config = observer, config
        self.driver = Driver(manager.store, self, reviewer, manager)

    def edited(
        self, metrics: Sequence[Metric], options: Mapping[str, Any], parts: OrderParts | None = None
    ) -> SessionOrder:
        """Return the defaults, or other `parts` of an order, with what a call overrides."""
        values = dict(options)
        of_call = {name: values.pop(name, None) for name in ("settings", "judging", "refinement")}
        parts = (parts or self.defaults.parts).with_parts(**of_call)
        session_order = replace(self.defaults, parts=parts).with_options(values).with_metrics(metrics)
        self.manager.own.update(session_order.own)
        return session_order

    def order(self, kind: Kind, metrics: Sequence[Metric], options: Mapping[str, Any], **inputs: Any) -> Order:
        """Return the order of a run of this kind with these arguments. `inputs` are its summaries and findings."""
        refuse_idle(kind, options)
        return self.edited(metrics, options).order(kind, self.manager.model_roles, **inputs)

    def order_of_draft(self, metrics: Sequence[Metric], options: Mapping[str, Any]) -> Order:
        """Return the order of a run of `summarize` with these arguments."""
        session_order = self.edited(metrics, options)
        is_judged = bool(metrics) or any(options.get(name) is not None for name in ("judging", "refinement"))
        kind = kind_of_draft(session_order.parts, options, is_judged=is_judged)
        if kind == "summarize":
            refuse_idle(kind, options)
        return session_order.order(kind, self.manager.model_roles)

    async def summary(self, summary: str | Path, name: str = "summary") -> str:
        """Return the text of a summary, with notes on what was left out of it."""
        text, notes = await off_loop(summary_text, summary, name)
        self.manager.note(*notes)
        return text

    async def begin(self, task: Task, scope: Scope) -> str:
        """Record a run for the input of a graph; return its id."""
        session_order, place = self.defaults.of_task(task, scope)
        summary: str | None = None
        if place is not None:
            summary, notes = await off_loop(summary_of, self.store, place)
            self.manager.note(*notes)
        order = session_order.order(scope, self.manager.model_roles, given=summary)
        document = await off_loop(document_of_task, self.store, task)
        return (await record_new_run(self.manager, document, order)).id

    async def begin_order(
        self, source: Sources, order: Order, limits: Limits | None = None, config: Mapping[str, Any] | None = None
    ) -> Result:
        """Begin a run of an order, and work on it to its end. Its own limits replace the session's; of `config`,
        callbacks, tags and metadata go to LangChain."""
        try:
            run = await record_new_run(self.manager, source, order, limits)
        except RedraftError as error:
            raise error.trimmed() from error.__cause__
        names = Tracing.__annotations__
        return await self.work_on(run, config={name: part for name, part in (config or {}).items() if name in names})

    async def work_on(
        self, run: Run, answer: AnswerLike | None = None, config: Mapping[str, Any] | None = None
    ) -> Result:
        """Work on a run until it ends or stops; `answer` is for one that waits for a person."""
        try:
            with tracing(self.manager.traced), configured(self.config, config or {}):
                await carry_out(self.manager, self.driver, run, answer)
        except RedraftError as error:
            error.run = run.id
            raise error.trimmed() from error.__cause__
        return await off_loop(read_result, self.store, run.id)

    def at_work(self, run: str) -> AbstractAsyncContextManager[Job]:
        """Work on a run for the duration of the context; see `redraft.graphs.node`."""
        return self.manager.at_work(run)

    def visiting(self, run: str) -> AbstractAsyncContextManager[JobFactory]:
        """Work on a run for one tool call; see `redraft.tools`."""
        return self.manager.visiting(run)

    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        """End a run for a `reason`, explained in `why`; return the reason."""
        return await self.manager.finish(run, draft, reason, why)
