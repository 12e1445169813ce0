"""Actions on a run: download it, refine one of its drafts, delete it, and read its calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from redraft.domain import Document
from redraft.errors import RunError
from redraft.evaluators.catalog import check_goals, metrics, names, with_rubrics
from redraft.fields import validated
from redraft.graphs.review import requests
from redraft.order import Order, OrderParts
from redraft.report.dossier.build import call_of, read_dossier
from redraft.report.dossier.contents import CallDetails
from redraft.report.history.citations import citations_of, read_answer
from redraft.report.history.results import read_result
from redraft.report.markdown.lineage import run_markdown
from redraft.report.outputs.formats import WITH_NOTES, Format, written
from redraft.report.outputs.paper import paper_of
from redraft.report.pages.dossier import dossier_page
from redraft.runs.order import SessionOrder, draft_of_round
from redraft.settings import (
    DEFAULT_GOALS,
    EXTRACTIVE,
    GIVEN_STRATEGY,
    ModelSettings,
)
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.studio import run_views
from redraft.studio.context import WorkManager, context_of, read, run_of, work_of
from redraft.studio.contracts import RequestBody, StartedRun
from redraft.studio.endpoints import Endpoint, NotFound
from redraft.studio.orders import Models, RunBody, known_model, writer_settings
from redraft.studio.start import json_of


class DownloadFormat(NamedTuple):
    """A format in which a summary or a dossier can be saved."""

    form: Format | None
    """The format of the summary alone; None for the dossier."""
    suffix: str
    media: str


_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
KINDS = {
    "docx": DownloadFormat("docx", ".docx", _DOCX),
    "md": DownloadFormat("markdown", ".md", "text/markdown; charset=utf-8"),
    "html": DownloadFormat("html", ".html", "text/html; charset=utf-8"),
    "txt": DownloadFormat("text", ".txt", "text/plain; charset=utf-8"),
    "dossier": DownloadFormat(None, "-dossier.html", "text/html; charset=utf-8"),
    "dossier.md": DownloadFormat(None, "-dossier.md", "text/markdown; charset=utf-8"),
}
_NO_WORD = re.compile(r"[^A-Za-z0-9]+")


async def download(request: Request) -> Response:
    """Return the summary or the dossier of a run as a file."""
    form, run = request.path_params["form"], await run_of(request)
    kind = KINDS.get(form)
    if kind is None:
        raise NotFound(f"a run is not written as {form!r:.40}", hint=f"choose one of {', '.join(KINDS)}")
    title, content = await read(request, file_of, run, kind)
    return Response(content, media_type=kind.media, headers=saved_as(title, f"-{run.id}{kind.suffix}"))


def saved_as(title: str, suffix: str) -> dict[str, str]:
    """Return the header with which a browser saves a file under a name made from a title."""
    name = _NO_WORD.sub("-", title).strip("-").lower()[:60] or "summary"
    return {"content-disposition": f'attachment; filename="{name}{suffix}"'}


def file_of(store: Store, run: Run, kind: DownloadFormat) -> tuple[str, str | bytes]:
    """Return the title of a run's document, and its summary or dossier as a file."""
    if kind.form is None:
        is_page = kind.suffix.endswith("html")
        dossier = read_dossier(store, run.id, texts=is_page)
        return dossier.document.title, dossier_page(dossier) if is_page else run_markdown(store, run.id)
    if run.kind == "ask" and kind.form in ("text", "markdown"):
        answer = read_answer(store, run.id)
        return answer.result.title, f"{answer.question}\n\n{answer.text}\n"
    result = read_result(store, run.id)
    if result.draft is None and not any(chapter.result and chapter.result.draft for chapter in result.chapters):
        raise NotFound(f"run {run.id} has no summary yet", hint="resume the run first")
    cite = partial(citations_of, store) if kind.form in WITH_NOTES else None
    return result.title, written(paper_of(result, cite), kind.form)


class ForkBody(RequestBody):
    """A draft of this run, to be refined in a new run."""

    round: int | None = Field(default=None, ge=0)
    """The round of the draft to start from; by default the result's."""
    requests: tuple[str, ...] = Field(default=(), max_length=100)
    """What is to be changed, in your own words."""
    goals: dict[str, float] | None = None
    """By default the goals of the run, or else coverage and consistency; with requests, {} means no goals."""
    rounds: int | None = None
    """The maximum number of revisions; by default as many as the run was allowed."""
    review: bool = False
    judge: str | None = Field(default=None, max_length=200)
    """The model that judges; by default the judges of the run, or else the model of the run."""
    words: int | None = Field(default=None, ge=10, le=1_000_000)
    """The length of the summary; by default that of the run."""
    model: str | None = Field(default=None, max_length=200)
    """The model that revises; by default that of the run."""
    prompts: Literal["standard", "simple"] | None = None
    """The set of prompts; by default that of the run."""
    max_cost: float | None = Field(default=None, gt=0)
    """Stop before it costs more US dollars."""


class PlannedStart(NamedTuple):
    """A run to start: its document, and what it is to do."""

    document: Document
    order: Order


def check_refinable(run: Run) -> None:
    """Raise RunError if a run has no draft that could be refined."""
    if run.draft is None or run.kind not in run_views.DRAFTED:
        raise RunError(f"run {run.id} has no summary to refine", hint="resume it, or choose another run")


def plan_fork(store: Store, run: Run, body: ForkBody, work: WorkManager, models: Models) -> PlannedStart:
    """Return the run that a fork asks for. Raise RedraftError if it is not possible."""
    check_refinable(run)
    number = result_round(store, run) if body.round is None else body.round
    summary = draft_of_round(store, run, number)
    parts = OrderParts.of(run.order)
    usual = parts.refinement.goals if parts.refinement else DEFAULT_GOALS
    goals = usual if body.goals is None or not (body.goals or body.requests) else body.goals
    evaluators = with_rubrics(run.judging, ())
    check_goals(goals, metrics(names(evaluators), evaluators))
    changes: dict[str, Any] = {"goals": goals, "review": body.review}
    changes |= {"rounds": body.rounds} if body.rounds is not None else {}
    judging = parts.judging
    if body.judge:
        tables = {} if body.judge == EXTRACTIVE else {body.judge: known_model(body.judge, models)}
        judging = judging.model_copy(update={"judges": (body.judge,), "models": {**judging.models, **tables}})
    writer = writer_settings(body.model, models) if body.model else {}
    prompts = {"prompts": body.prompts} if body.prompts else {}
    drafting = run.settings.model_copy(update={"words": body.words or run.settings.words, **writer, **prompts})
    roles = work.runner.model_roles
    parts = parts.with_parts(drafting, judging).edited(changes)
    fork = SessionOrder(parts).judged_as_before(run.settings, roles)
    findings = requests([text for text in body.requests if text.strip()])
    order = fork.order("refine", roles, given=summary, parent=run.id, findings=findings)
    work.runner.places.check(run.id, order.settings, order.judging, order.refinement, roles.objects)
    return PlannedStart(store.documents.get(run.document), order)


async def fork(request: Request) -> BaseModel:
    """Refine a draft of a run in a new run."""
    body, run, work = validated(ForkBody, await json_of(request)), await run_of(request), work_of(request)
    planned = await read(request, plan_fork, run, body, work, context_of(request).models)
    started = await work.start(*planned, body.max_cost)
    return StartedRun(run=started, events=f"/api/runs/{started}/events")


def result_round(store: Store, run: Run) -> int:
    """Return the round of the result; 0 for a run without rounds."""
    return next((round_.number for round_ in store.judgments.rounds(run.id) if round_.draft == run.draft), 0)


def settings_given(store: Store, key: str, models: Mapping[str, ModelSettings]) -> dict[str, Any]:
    """Return the settings of an earlier run as fields of the form for a new one."""
    run = store.runs.get(key)
    parts = [part for part in (run.settings, run.judging, run.refinement, run.limits) if part is not None]
    values = {
        name: getattr(part, name)
        for part in parts
        for name, field in type(part).model_fields.items()
        if name in RunBody.model_fields and getattr(part, name) != field.default
    }
    names = {settings.model: name for name, settings in models.items()}
    is_summary_given = run.settings.strategy == GIVEN_STRATEGY
    # The form drafts and judges by the kind evaluate.
    kind = "evaluate" if run.kind == "summarize" and run.judging else run.kind
    values |= {"document": run.document, "kind": kind if kind in run_views.DRAFTED else "summarize"}
    values |= {
        "model": names.get(run.settings.model, run.settings.model),
        "strategy": "" if is_summary_given else run.settings.strategy,
    }
    if run.judging and run.judging.judges:
        judge, *further_judges = (names.get(judge_name, judge_name) for judge_name in run.judging.judges)
        values |= {"judge": judge, "judges": tuple(further_judges)}
    if is_summary_given and run.kind == "evaluate":
        values = {"judge": values["model"]} | values
    values["parent"] = run.parent if is_summary_given else run.id
    if is_summary_given:
        first = min(store.judgments.rounds(run.id), key=lambda round_: round_.number, default=None)
        draft = first.draft if first else run.draft
        values["summary"] = store.runs.draft(draft).text if draft else ""
    return {name: value for name, value in values.items() if value not in (None, "", ())}


def judging_given(store: Store, key: str) -> dict[str, Any]:
    """Return the fields of the form for a new run that judges the summary of an earlier one."""
    run = store.runs.get(key)
    check_refinable(run)
    summary = store.runs.draft(run.drafted()).text
    return {"document": run.document, "kind": "evaluate", "summary": summary, "parent": run.id}


async def delete(request: Request) -> dict[str, object]:
    """Delete a run, its drafts, and the replies that no other run uses."""
    work, run = work_of(request), await run_of(request)
    if work.is_at_work(run.id):
        raise RunError(f"run {run.id} is running", hint="stop it first")
    return asdict(await off_loop(work.session.store.forget, [run.id]))


async def call(request: Request) -> CallDetails:
    """Return a call with its prompt and its reply."""
    run, number = await run_of(request), request.path_params["number"]
    details = await read(request, call_of, run.id, number)
    if details is None:
        raise NotFound(f"run {run.id} has no call {number}")
    return details


_RUN = "/api/runs/{run}"
ENDPOINTS = (
    Endpoint("DELETE", _RUN, "Delete a run for good.", delete),
    Endpoint("POST", f"{_RUN}/fork", "Refine a draft of a run in a new run.", fork, StartedRun, ForkBody, 201),
    Endpoint("GET", f"{_RUN}/calls/{{number:int}}", "A call with its prompt and its reply.", call, CallDetails),
    Endpoint(
        "GET", "/runs/{run}/download/{form}", "The summary or the dossier as a file.", download, kind="text/plain"
    ),
)
"""The endpoints for actions."""
