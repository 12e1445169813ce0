"""The pages that start runs and batches: the form, and the plan to be confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from redraft.errors import RedraftError, UsageError
from redraft.fields import checked
from redraft.settings import DEFAULT_GOALS
from redraft.studio.context import context_of, read
from redraft.studio.contracts import BatchStart
from redraft.studio.endpoints import problem_of
from redraft.studio.form import groups, on_page
from redraft.studio.orders import BatchBody, WantedRuns, limits_of, other_settings, rubric_lines
from redraft.studio.pages import page
from redraft.studio.run_actions import settings_given
from redraft.studio.start import (
    KEPT,
    Sent,
    begun,
    begun_batch,
    offer_of,
    plan_of,
    plan_of_batch,
    sent_with,
    wanted_from,
    with_summary,
)
from redraft.text.places import part_read
from redraft.text.words import count_words

_USUAL = {"strategy": "hierarchical", "kind": "summarize", "rounds": "4"}


async def new(request: Request) -> Response:
    """Show the form for a new run."""
    given: Mapping[str, Any] = {"documents": request.query_params.getlist("document")}
    if key := request.query_params.get("from"):
        given = await read(request, settings_given, key, context_of(request).config.models)
    return await _form(request, given)


async def _form(request: Request, given: Mapping[str, Any], problem: Exception | None = None) -> Response:
    """Show the form as it was filled in, with an error if any."""
    status, shown = problem_of(problem, on_page) if problem else (200, None)
    empty = dict.fromkeys((*BatchBody.model_fields, KEPT, "own"), "")
    values: dict[str, Any] = {**empty, **_USUAL, "model": request.query_params.get("model", ""), **given}
    values["rubrics"] = rubric_lines(values["rubrics"])
    values["documents"] = tuple(filter(None, (*values["documents"], values["document"])))
    try:
        kept = context_of(request).pending.look(values[KEPT]).documents if values[KEPT] else ()
    except UsageError:
        # Too much time has passed.
        values[KEPT], kept = "", ()
    parts = {part_read(one.notes) for one in kept}
    goals = dict(given.get("goals") or {name: f"{least:g}" for name, least in DEFAULT_GOALS.items()})
    offered = await offer_of(request)
    shared: dict[str, Any] = {"offer": offered, "goals": goals, "groups": groups(tuple(offered.models)), "kept": kept}
    shared["kept_part"] = parts.pop() if len(parts) == 1 else ""
    return page(request, "new", "new", status, given=values, problem=shown, **shared)


async def plan(request: Request) -> Response:
    """Show the plan of a run or of a batch, to be confirmed."""
    sent, context = Sent({}), context_of(request)
    wanted: WantedRuns | None = None
    try:
        sent = await sent_with(request)
        wanted = await wanted_from(request, sent)
        sent = await with_summary(sent)
        wanted = wanted._replace(asked=checked(BatchStart, sent.fields))
        several = len(wanted.documents) > 1
        made = await (plan_of_batch(context, wanted) if several else plan_of(context, wanted))
    except RedraftError as error:
        # Files that were sent are kept, so that only what is wrong has to be corrected.
        kept = context.pending.keep(wanted) if wanted and sent.files else sent.kept
        return await _form(request, {**sent.fields, KEPT: kept, "own": bool(sent.summary)}, error)
    key, asked = context.pending.keep(wanted), wanted.asked
    limits = limits_of(context.config.limits, asked.max_cost)
    shared: dict[str, Any] = {"limits": limits, "goals": DEFAULT_GOALS, "others": other_settings(asked)}
    values: dict[str, Any] = {"plan": made, "wanted": wanted, "asked": asked, "several": several}
    values["summary_words"] = count_words(asked.summary or "")
    return page(request, "plan", "new", key=key, **values, **shared)


async def change(request: Request) -> Response:
    """Show the form again as it was filled in; the documents are kept."""
    async with request.form() as form:
        key = str(form.get(KEPT, ""))
    asked = context_of(request).pending.look(key).asked
    fields = asked.model_dump(exclude_none=True, exclude={"text", "document", "documents"})
    return await _form(request, {**fields, KEPT: key})


async def start(request: Request) -> Response:
    """Start what was planned."""
    context = context_of(request)
    async with request.form() as form:
        wanted = context.pending.take(str(form.get(KEPT, "")))
    if len(wanted.documents) > 1:
        return RedirectResponse(f"/batches/{quote(await begun_batch(context, wanted), safe='')}", 303)
    return RedirectResponse(f"/runs/{await begun(context, wanted)}", 303)


WORKING = (
    Route("/runs/new", new),
    Route("/runs/new", plan, methods=["POST"]),
    Route("/runs/change", change, methods=["POST"]),
    Route("/runs/start", start, methods=["POST"]),
)
"""The routes that a read-only studio does not have."""
