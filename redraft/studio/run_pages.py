"""The pages of runs: the form and the plan that start runs and batches, the page of a run, and the page to refine one
of its drafts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from redraft.builtin.facade import NOT_UNDERSTOOD
from redraft.domain import record_json
from redraft.errors import RedraftError, RunError, UsageError
from redraft.evaluators.catalog import scoring, with_rubrics
from redraft.fields import validated
from redraft.prompts.book import SETS
from redraft.report.dossier.contents import calls, read_dossier
from redraft.report.history.judges import shown_names
from redraft.report.history.summaries import RunSummary, compared
from redraft.report.history.trace import read_trace
from redraft.report.markdown.records import comparison_markdown
from redraft.report.pages.html import call_rows, packed, page_data, view
from redraft.runs.dry_run import RunPlan, plan_run
from redraft.runs.order import SessionOrder
from redraft.runs.prepare import DRAFTED
from redraft.settings import AUTO, DEFAULT_GOALS, EXTRACTIVE, USUAL_METRICS, RefineConfig
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio import orders, run_views
from redraft.studio.context import context_of, read, run_of, work_of
from redraft.studio.endpoints import problem_of, with_names
from redraft.studio.models import look
from redraft.studio.pages import page
from redraft.studio.start import (
    KEPT,
    ForkBody,
    SentRequest,
    check_refinable,
    delete,
    fields_of,
    judging_given,
    offer_of,
    plan_fork,
    plan_of,
    plan_of_batch,
    result_round,
    sent_with,
    settings_given,
    start_batch,
    start_run,
    wanted_from,
    with_summary,
)
from redraft.text.places import part_read
from redraft.text.words import count_words

_USUAL: Mapping[str, Any] = {"strategy": AUTO, "kind": "summarize", "rounds": "4", "metrics": USUAL_METRICS}
_FILLED_IN: Mapping[str, str] = {"goals": "refine", "rounds": "refine", "metrics": "evaluate"}
"""The fields that are filled in for one kind of run, and that kind."""


async def new(request: Request) -> Response:
    """Show the form for a new run, optionally as it was filled in for a plan, or with the settings of a run."""
    values: Mapping[str, Any] = {"documents": request.query_params.getlist("document")}
    if key := request.query_params.get(KEPT):
        try:
            body = context_of(request).pending.look(key).asked
        except UsageError as error:
            return await _form(request, values, error)
        values = {**body.model_dump(exclude_none=True, exclude={"text", "document", "documents"}), KEPT: key}
    elif key := request.query_params.get("from"):
        values = await read(request, settings_given, key, context_of(request).named_models)
    elif key := request.query_params.get("judge"):
        values = await read(request, judging_given, key)
    return await _form(request, values)


async def _form(request: Request, given: Mapping[str, Any], problem: Exception | None = None) -> Response:
    """Show the form as it was filled in, with an error if any."""
    empty: dict[str, Any] = dict.fromkeys((*orders.BatchBody.model_fields, KEPT, "own"), "")
    values: dict[str, Any] = {**empty, **_USUAL, "model": request.query_params.get("model", ""), **given}
    values["documents"] = tuple(filter(None, (*values["documents"], values["document"])))
    try:
        documents = context_of(request).pending.look(values[KEPT]).documents if values[KEPT] else ()
    except UsageError:
        # Too much time has passed.
        values[KEPT], documents = "", ()
    parts = {part_read(document.notes) for document in documents}
    usual = {} if given.get("kind") == "refine" else {name: f"{goal:g}" for name, goal in DEFAULT_GOALS.items()}
    goals = dict(given.get("goals") or usual)
    kept_part = parts.pop() if len(parts) == 1 else ""
    return await form_page(request, "new", "new", values, problem, goals=goals, kept=documents, kept_part=kept_part)


async def form_page(
    request: Request,
    name: str,
    here: str,
    values: dict[str, Any],
    error: Exception | None,
    apart: frozenset[str] = frozenset(),
    **more: object,
) -> Response:
    """Show a form with some values and an error if any, and what can be chosen; some settings have a place `apart`."""
    status, problem = problem_of(error) if error else (200, None)
    values["rubrics"] = orders.rubric_lines(values["rubrics"])
    await look(request)
    offered = await offer_of(request)
    more |= {"given": values, "offer": offered, "groups": orders.groups(tuple(offered.models), apart)}
    return page(request, name, here, status, problem=problem, **more)


async def plan(request: Request) -> Response:
    """Show the plan of a run or of a batch, to be confirmed."""
    sent, context = SentRequest({}), context_of(request)
    runs: orders.StartableRuns | None = None
    try:
        sent = await sent_with(request)
        # Without scripts the fields of other kinds are sent, too, as they were filled in for the start.
        kind = sent.fields.get("kind")
        fields = {name: value for name, value in sent.fields.items() if _FILLED_IN.get(name, kind) == kind}
        sent = sent._replace(fields=fields)
        runs = await wanted_from(request, sent)
        if (runs.asked.kind, sent.fields.get("goals")) == ("refine", {}) and not runs.asked.rubrics:
            raise UsageError("no goal was given", hint="give a metric a number under “Goals”, or a requirement")
        sent = await with_summary(sent)
        runs = runs._replace(asked=validated(orders.BatchBody, sent.fields))
        several = len(runs.documents) > 1
        plan = await (plan_of_batch(context, runs) if several else off_loop(plan_of, context, runs))
    except RedraftError as error:
        # Files that were sent are kept, so that only what is wrong has to be corrected.
        stored_files = context.pending.keep(runs) if runs and sent.files else sent.kept
        return await _form(request, {**sent.fields, KEPT: stored_files, "own": bool(sent.summary)}, error)
    key, body = context.pending.keep(runs), runs.asked
    limits = orders.limits_of(context.config.limits, body.max_cost)
    shared: dict[str, Any] = {"limits": limits, "goals": DEFAULT_GOALS, "others": body.said(orders.PLANNED_APART)}
    values: dict[str, Any] = {"plan": plan, "wanted": runs, "asked": body, "several": several}
    values["summary_words"] = count_words(body.summary or "")
    values["names"] = (
        shown_names(plan.settings, plan.order.judging) if isinstance(plan, RunPlan) else orders.names_of(context.models)
    )
    return page(request, "plan", "new", key=key, **values, **shared)


async def start(request: Request) -> Response:
    """Start what was planned."""
    async with request.form() as form:
        runs = context_of(request).pending.take(str(form.get(KEPT, "")))
    if len(runs.documents) > 1:
        return RedirectResponse(f"/batches/{quote(await start_batch(request, runs), safe='')}", 303)
    return RedirectResponse(f"/runs/{await start_run(request, runs)}", 303)


_MAX_OFFERED = 50


async def run(request: Request) -> Response:
    """Show a run: its progress while it is running, its dossier afterwards."""
    stored_run, context = await run_of(request), context_of(request)
    at_work = context.work is not None and stored_run.id in context.work.feeds.at_work
    status = await off_loop(run_views.status_of, context.reading, stored_run, at_work=at_work)
    if status.status == "running":
        return page(request, "live", "runs", run=status)
    if status.kind not in DRAFTED:
        word = partial(with_names, names=status.shown_names)
        record = record_json(await read(request, run_views.result_of, status.run))
        content = json.dumps(record, ensure_ascii=False, indent=2)
        built = "/packs" if status.kind in ("pack", "keyfacts") else ""
        judgment = await read(request, _judgment, status.run, status.shown_names) if status.kind == "compare" else ""
        listed = await read(request, lambda store: call_rows(calls(store, status.run), word))
        values: dict[str, Any] = {
            "calls": packed({"run": status.run, "calls": listed}) if listed else "",
            "judgment": judgment,
        }
        return page(request, "plain", "runs", run=status, result=content, yardstick=built, **values)
    comparable: list[RunSummary] = []
    if status.kind != "ask":
        # The run that it was started from comes first, then the newest.
        rows = [row for row in await off_loop(context.rows.all) if row.document == status.document]
        comparable = [row for row in rows if row.words is not None and row.kind in DRAFTED - {"ask"}]
        comparable = [row for row in comparable if row.run != status.run]
        comparable = sorted(comparable, key=lambda row: row.run != status.parent)[:_MAX_OFFERED]
    dossier, word = await read(request, read_dossier, status.run), partial(with_names, names=status.shown_names)
    opinions = (await read(request, run_views.opinions_of, status.run)).model_dump(mode="json")
    variables = {
        **await off_loop(view, dossier, word, status.shown_names),
        "assets": None,
        "data": await off_loop(lambda: packed(page_data(dossier, word) | {"run": status.run})),
        "conversation": "studio/ask.html",
        "run": status,
        "said": bool(opinions["opinions"]),
        "others": comparable,
        "opinions": packed({"run": status.run, "read_only": context.config.read_only, **opinions}),
    }
    return await off_loop(partial(page, request, "run", "runs", **variables))


def _judgment(store: Store, run: str, names: Mapping[str, str]) -> str:
    """Return what judges, by their names for people, say of two summaries; empty before they were asked."""
    try:
        return comparison_markdown(compared(store, run), names)
    except RunError:
        return ""


async def refine_answered(request: Request) -> Response:
    """Show the plan of a refinement, or start it."""
    run, work, context = await run_of(request), work_of(request), context_of(request)
    async with request.form() as form:
        values = {"requests": [], **fields_of(form)}
    action, number = values.pop("act", ""), values.pop("round", "")
    values |= {"round": int(number)} if number.isdecimal() else {}
    body = ForkBody.model_construct(**values)
    try:
        body = validated(ForkBody, values)
        if body.goals == {} and not body.requests:
            raise UsageError("nothing to change was given", hint="give a request or a goal")
        planned = await read(request, plan_fork, run, body, work, context.models)
        if action == "start":
            return RedirectResponse(f"/runs/{await work.start(*planned, body.max_cost)}", 303)
        plan = await off_loop(plan_run, *planned, SessionOrder(prices=context.config.prices), context.reading)
        orders.refuse_unpriced(plan.unpriced, orders.limits_of(context.config.limits, body.max_cost))
    except RedraftError as error:
        return await refine(request, body, problem=error)
    return await refine(request, body, plan)


async def refine(
    request: Request, body: ForkBody | None = None, plan: RunPlan | None = None, problem: RedraftError | None = None
) -> Response:
    """Show the form to refine a draft, with the plan or with what is wrong with what was sent."""
    if body is None:
        number = request.query_params.get("round", "")
        body = ForkBody(round=int(number) if number.isdecimal() else None)
    run, context = await run_of(request), context_of(request)
    check_refinable(run)
    status, message = problem_of(problem) if problem else (200, None)
    await look(request)
    refinement, evaluators = run.refinement, with_rubrics(run.judging, ())
    usual_rounds = RefineConfig.model_fields["rounds"].default
    values: dict[str, Any] = {
        "run": await read(request, partial(run_views.status_of, run=run, at_work=False)),
        "result": run.draft,
        "chosen": await read(request, result_round, run) if body.round is None else body.round,
        "drafts": (await read(request, read_trace, run.id)).rounds,
        "goals": (refinement.goals if refinement else DEFAULT_GOALS) if body.goals is None else body.goals,
        "most": body.rounds or (refinement.rounds if refinement else usual_rounds),
        "sets": SETS,
        "prompts": run.settings.prompts,
        "words": body.words or run.settings.words or "",
        "was_judged": run.judging is not None,
        "judges": run.judging.judges if run.judging and run.judging.judges else (run.settings.model,),
        "offered": scoring(evaluators),
        "not_understood": NOT_UNDERSTOOD,
        "built_in": EXTRACTIVE,
        "models": (await offer_of(request)).models,
        "limits": orders.limits_of(context.config.limits, body.max_cost if plan else None),
    }
    if plan:
        values |= {"names": shown_names(plan.settings, plan.order.judging), "notes": plan.warnings}
    return page(request, "refine", "runs", status, asked=body, plan=plan, problem=message, **values)


async def deleted(request: Request) -> Response:
    """Delete a run, and show the list, which says what was deleted."""
    stored_run = await run_of(request)
    title = await read(request, lambda store: store.documents.title(stored_run.document))
    await delete(request)
    is_kept = await read(request, lambda store: store.documents.has(stored_run.document))
    with_it = "" if is_kept else ", and its document with it"
    notice = f"Run {stored_run.id} of “{title or 'Untitled'}” was deleted{with_it}."
    return RedirectResponse(f"/runs?said={context_of(request).notices.keep(notice)}", 303)


WORKING = (
    Route("/runs/new", new),
    Route("/runs/new", plan, methods=["POST"]),
    Route("/runs/start", start, methods=["POST"]),
    Route("/runs/{run}/refine", refine),
    Route("/runs/{run}/refine", refine_answered, methods=["POST"]),
    Route("/runs/{run}/delete", deleted, methods=["POST"]),
)
"""The routes that a read-only studio does not have."""
