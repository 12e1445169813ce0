"""The HTTP API for experiments: plan, start, follow, stop and resume them, and read their tables."""

from __future__ import annotations

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from redraft.fields import checked
from redraft.store.connection import off_loop
from redraft.studio import experiments
from redraft.studio.context import context_of, work_of
from redraft.studio.contracts import ExperimentDetails, ExperimentList, TableEntry
from redraft.studio.designs import plan_asked, plan_table
from redraft.studio.endpoints import Endpoint, typed
from redraft.studio.experiment_orders import ExperimentPlan, ExperimentStart
from redraft.studio.experiment_work import ExperimentProgress, progress_of
from redraft.studio.start import Sent, is_form, json_of, sent_with


class ExperimentStarted(BaseModel):
    """An experiment that has started."""

    name: str
    progress: str
    """The address of its progress."""


class ExperimentPlanned(BaseModel):
    """The estimated cost of an experiment, step by step; the last row is the total."""

    plan: TableEntry


async def listed(request: Request) -> ExperimentList:
    """Return all experiments."""
    context = context_of(request)
    work = context.work.experiments if context.work else None
    return await off_loop(experiments.listed, context.rows, context.config.results, work)


async def details(request: Request) -> ExperimentDetails:
    """Return an experiment with its tables."""
    context, name = context_of(request), request.path_params["name"]
    work = context.work.experiments if context.work else None
    return await off_loop(experiments.shown, context.rows, context.config.results, work, name)


async def planned(request: Request, sent: Sent) -> ExperimentPlan:
    """Return the experiment that a request asks for, with its documents."""
    context, asked = context_of(request), checked(ExperimentStart, sent.fields)
    before = context.planned.look(sent.kept) if sent.kept else None
    return await off_loop(plan_asked, context.reading, context.models, asked, sent.files, before)


async def start(request: Request) -> ExperimentStarted | Response:
    """Start an experiment, or return its plan."""
    context = context_of(request)
    plan = await planned(request, await sent_with(request) if is_form(request) else Sent(await json_of(request)))
    if isinstance(plan.asked, ExperimentStart) and plan.asked.dry_run:
        table = await off_loop(plan_table, plan, context.models, context.config.prices, context.config.limits)
        return typed(ExperimentPlanned(plan=TableEntry.of(table, rows=table.records)))
    name = await begun(request, plan)
    return ExperimentStarted(name=name, progress=f"/api/experiments/{name}/progress")


async def begun(request: Request, plan: ExperimentPlan) -> str:
    """Start an experiment, and return its name."""
    return await off_loop(work_of(request).experiments.start, plan, context_of(request).models)


async def progress(request: Request) -> ExperimentProgress:
    """Return the progress of an experiment that was started in a studio."""
    context, name = context_of(request), request.path_params["name"]
    order = await off_loop(experiments.ordered, context.config.results, name)
    return progress_of(name, order, context.work.experiments.job(name) if context.work else None)


async def stop(request: Request) -> ExperimentProgress:
    """Stop an experiment."""
    await off_loop(work_of(request).experiments.stop, request.path_params["name"])
    return await progress(request)


async def resume(request: Request) -> ExperimentProgress:
    """Resume an experiment."""
    context, name = context_of(request), request.path_params["name"]
    await off_loop(experiments.ordered, context.config.results, name)
    await off_loop(work_of(request).experiments.resume, name, context.models)
    return await progress(request)


_ONE = "/api/experiments/{name}"
EXPERIMENTS = (
    Endpoint("GET", "/api/experiments", "List experiments.", listed, ExperimentList),
    Endpoint(
        "POST",
        "/api/experiments",
        "Start an experiment, or plan it.",
        start,
        ExperimentStarted,
        ExperimentStart,
        201,
        plans=ExperimentPlanned,
        forms=True,
    ),
    Endpoint("GET", _ONE, "An experiment with its tables.", details, ExperimentDetails),
    Endpoint("GET", f"{_ONE}/progress", "The progress of an experiment.", progress, ExperimentProgress),
    Endpoint("POST", f"{_ONE}/stop", "Stop an experiment. Finished work is kept.", stop, ExperimentProgress),
    Endpoint("POST", f"{_ONE}/resume", "Resume an experiment.", resume, ExperimentProgress),
)
"""The endpoints for experiments."""
