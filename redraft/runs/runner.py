"""What stands behind the methods of a session: it makes orders, records runs and carries them out. A session is for
applications; graphs, tools, batches and pages work with its runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from redraft.errors import RedraftError, RunCommand, RunError, UsageError
from redraft.evaluators.base import Metric
from redraft.events import Notice, Observer
from redraft.graphs.state import GraphSession, Scope, Task
from redraft.llm.budget import Budget
from redraft.llm.langsmith import Tracing, configured, tracing
from redraft.order import AnyOrder, Compare, ExperimentPart, Kind, Order, OrderParts, refuse_idle
from redraft.report.history.results import Result, read_result
from redraft.runs.driver import AnswerLike, Reviewer, carry_out, may_gain
from redraft.runs.model_settings import judge_settings_of
from redraft.runs.models import check_keys, resolve, server_window
from redraft.runs.open_runs import OpenRuns
from redraft.runs.order import SessionOrder, Sources, document_of, document_of_task, summary_of, summary_text
from redraft.runs.prepare import check_judging, prepare_run, record
from redraft.settings import GIVEN_STRATEGY, DraftConfig, Limits, RefineConfig, reads_prompts
from redraft.store.connection import off_loop
from redraft.store.runs import Run


@dataclass(slots=True)
class Runner(OpenRuns, GraphSession):
    """Makes orders of calls and inputs, and carries out runs with the models of one session."""

    defaults: SessionOrder = field(default_factory=SessionOrder)
    """What calls override."""
    reviewer: Reviewer | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    """Callbacks, tags and metadata for LangChain."""

    def beside(self, observer: Observer, limits: Limits, budget: Budget) -> Runner:
        """Return another runner with the same models and store, for one of many runs that share a budget."""
        return replace(self, observer=observer, limits=limits, budget=budget, reviewer=None)

    def edited(
        self, metrics: Sequence[Metric], options: Mapping[str, Any], parts: OrderParts | None = None
    ) -> SessionOrder:
        """Return the defaults, or other `parts` of an order, with what a call overrides."""
        values = dict(options)
        of_call = {name: values.pop(name, None) for name in ("settings", "judging", "refinement")}
        parts = (parts or self.defaults.parts).with_parts(**of_call)
        session_order = replace(self.defaults, parts=parts).with_options(values).with_metrics(metrics)
        self.own.update(session_order.own)
        return session_order

    def order(self, kind: Kind, metrics: Sequence[Metric], options: Mapping[str, Any], **inputs: Any) -> Order:
        """Return the order of a run of this kind with these arguments. `inputs` are its summaries and findings."""
        refuse_idle(kind, options)
        return self.edited(metrics, options).order(kind, self.model_roles, **inputs)

    def order_of_draft(self, metrics: Sequence[Metric], options: Mapping[str, Any]) -> Order:
        """Return the order of a run of `summarize` with these arguments."""
        session_order = self.edited(metrics, options)
        if session_order.parts.refinement is not None or any(name in RefineConfig.model_fields for name in options):
            return session_order.order("refine", self.model_roles)
        is_judged = bool(metrics) or options.get("judging") is not None
        refuse_idle("summarize", options, is_judged=is_judged)
        return session_order.order("summarize", self.model_roles, is_judged=is_judged)

    async def summary(self, summary: str | Path, name: str = "summary") -> str:
        """Return the text of a summary, with notes on what was left out of it."""
        text, notes = await off_loop(summary_text, summary, name)
        self._report(notes)
        return text

    def _report(self, notes: Sequence[str], *, everywhere: bool = False) -> None:
        for note in notes:
            self.observe(Notice(note, everywhere=everywhere))

    async def begin(self, task: Task | AnyOrder, scope: Scope) -> str:
        """Record a run for the input of a graph, or for an order with its `source`; return its id."""
        if isinstance(task, AnyOrder):
            order = cast("Order", task)
            if ("evaluate" if order.kind == "summarize" and order.judging else order.kind) != scope:
                raise UsageError(f"the order is to {order.kind}, and the graph is to {scope}", hint="use another graph")
            if order.source is None:
                hint = 'name one: order.model_copy(update={"source": PATH})'
                raise UsageError("the order names no document", hint=hint)
            return (await self.record(order.source, order)).id
        session_order, place = self.defaults.of_task(task, scope)
        summary: str | None = None
        if place is not None:
            summary, notes = await off_loop(summary_of, self.store, place)
            self._report(notes)
        order = session_order.order(scope, self.model_roles, given=summary)
        return (await self.record(await off_loop(document_of_task, self.store, task), order)).id

    async def record(self, source: Sources, order: Order, limits: Limits | None = None) -> Run:
        """Record a new run; an order that cannot be carried out raises first. Its own limits replace the session's."""
        store, objects, own = self.store, self.model_roles.objects, tuple(self.own.values())
        document = await off_loop(document_of, store, source)
        order = order.model_copy(update={"limits": limits or self.limits or Limits()})
        prepared, order, notes = await off_loop(prepare_run, document, order, server_window, objects)
        self.places.add(order.settings, order.judging, order.refinement, objects)
        notes += judged_by_writer(order)
        self._report(notes, everywhere=True)
        # Errors in the judging settings are raised before the first draft is paid for.
        await off_loop(check_judging, order, prepared, store, own)
        roles = await off_loop(self.roles, order.model_copy(update={"settings": prepared.settings}))
        if not (isinstance(order, Compare) and order.given == order.other):
            check_keys(roles)
        run = await off_loop(record, prepared, order, store, own, notes)
        self.prepared[run.id], self.begun[run.id] = prepared, None
        if limits is not None:
            self.limited[run.id] = limits
        return run

    async def begin_order(
        self, source: Sources, order: Order, limits: Limits | None = None, config: Mapping[str, Any] | None = None
    ) -> Result:
        """Begin a run of an order, and work on it to its end. Its own limits replace the session's; of `config`,
        callbacks, tags and metadata go to LangChain."""
        try:
            run = await self.record(source, order, limits)
        except RedraftError as error:
            raise error.trimmed() from error.__cause__
        names = Tracing.__annotations__
        return await self._work_on(run, config={name: part for name, part in (config or {}).items() if name in names})

    async def resume(
        self,
        key: str,
        limits: Limits | None = None,
        answer: AnswerLike | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Result:
        """Continue a run where it stopped; see `Session.resume`."""
        run = await off_loop(self.store.runs.get, key)
        if isinstance(run.order, ExperimentPart):
            experiment = RunCommand("experiment", more=(run.kind,))
            raise RunError(f"run {run.id} is part of an experiment", fix=("repeat ", experiment))
        await off_loop(self.check_stored, run)
        model = self.model_roles.model
        if model is None:
            resolve(run.settings)
        elif model != run.settings.model:
            raise RunError(f"run {run.id} was begun with the model {run.settings.model}, not {model}")
        if answer is not None and run.status != "waiting":
            message = f"run {run.id} is not waiting for an answer: it is {run.status}"
            raise RunError(message, fix=("see ", RunCommand("show", run.id)))
        self.limited[run.id] = limits or self.limits
        if run.status == "done" and not await may_gain(self, run):
            return await off_loop(read_result, self.store, run.id)
        return await self._work_on(run, answer, config)

    async def _work_on(
        self, run: Run, answer: AnswerLike | None = None, config: Mapping[str, Any] | None = None
    ) -> Result:
        """Work on a run until it ends or stops; `answer` is for one that waits for a person."""
        try:
            with tracing(self.traced), configured(self.config, config or {}):
                await carry_out(self, run, answer, self.reviewer)
        except BaseException as error:
            # Also that of a cancellation: whoever catches it can resume the run.
            vars(error)["run"] = run.id
            if isinstance(error, RedraftError):
                raise error.trimmed() from error.__cause__
            raise
        return await off_loop(read_result, self.store, run.id)


def judged_by_writer(order: Order) -> list[str]:
    """Return a note if a language model judges what it writes itself."""
    settings = order.settings
    is_written = settings.strategy != GIVEN_STRATEGY or order.refinement is not None
    if order.judging is None or not is_written or not reads_prompts(settings.model):
        return []

    def place(model: DraftConfig) -> tuple[str, str | None]:
        return model.model, model.base_url

    if any(place(judge) != place(settings) for judge in judge_settings_of(settings, order.judging)):
        return []
    return [f"{settings.model} judges what it has written itself: scores by another judge mean more"]
