"""What research adds to the studio: the pages of experiments (the list, the form, the plan, one, and several side by
side), opinions as a sheet for `redraft agree read`, and documents from public data sets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from pydantic import Field, create_model
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from redraft.errors import RedraftError, UsageError
from redraft.lab.agreement.sheets import KINDS as SHEETS
from redraft.lab.agreement.sheets import questions, sheet_csv, stored_answers
from redraft.lab.doctor.controls import DOCTOR
from redraft.lab.studio import work
from redraft.lab.studio.orders import KINDS, ExperimentBody, ExperimentPlan, documents_in_file, plan_table, unpriced
from redraft.lab.studio.work import EXPERIMENTS, PACKAGE, lab_of, open_lab
from redraft.presets import preset, presets
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio.context import Extension, MenuLink, context_of, read, run_of
from redraft.studio.doors import NotFound
from redraft.studio.endpoints import Endpoint, with_names
from redraft.studio.orders import names_of
from redraft.studio.pages import acted, page, paged
from redraft.studio.run_pages import form_page
from redraft.studio.start import KEPT, SentRequest, sent_with


async def opinions(request: Request) -> Response:
    """Return the opinions on a run as a spreadsheet for `redraft agree read`."""
    run = await run_of(request)
    kind, text = await read(request, opinions_sheet, run.id, request.query_params.get("what"))
    headers = {"content-disposition": f'attachment; filename="{run.id}-{kind}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def opinions_sheet(store: Store, run: str, what: str | None) -> tuple[str, str]:
    """Return the opinions on a run as a sheet for `redraft agree read`: of the given kind, or of the kind with the
    most."""
    kinds = [name for name, kind in SHEETS.items() if kind.metric]
    if what is not None and what not in kinds:
        raise UsageError(f"there is no sheet {what!r}", hint=f"choose from: {', '.join(kinds)}")
    answers: dict[str, str] = {}
    for name in kinds if what is None else [what]:
        with suppress(UsageError):
            rows_of_kind = questions(store, [run], name)
            answers_of_kind = stored_answers(store, [run], name, rows_of_kind)
            if len(answers_of_kind) > len(answers):
                kind, rows, answers = name, rows_of_kind, answers_of_kind
    if not answers:
        hint = "agree or disagree with a finding of consistency, faithfulness or key-fact recall"
        raise NotFound("there are no opinions for this sheet yet", hint=hint)
    return kind, sheet_csv([row for row in rows if row.id in answers], 1, answers)


_WHAT = "claims, verification or alignment. Default: the kind with the most opinions."
OPINIONS = Endpoint(
    "GET",
    "/runs/{run}/opinions.csv",
    opinions,
    says="The opinions as a spreadsheet.",
    query=create_model("OpinionsQuery", what=(str, Field("", description=_WHAT))),
    kind="text/csv",
)


_SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_MAX_COMPARED = 4
_SHOWN = frozenset({"words", "chunk_tokens", "until", "by_chapter"})
"""Settings that have their own place in the form, or that would make systems differ in more ways than requested."""


async def listed(request: Request) -> Response:
    """Show the list of experiments."""
    experiments = paged(request, (await work.listed(request)).experiments)
    return page(request, "experiments", "experiments", experiments=experiments, kinds=KINDS)


async def new(request: Request) -> Response:
    """Show the form for a new experiment, optionally as it was filled in for a plan, or with earlier settings."""
    values: dict[str, Any] = {}
    if key := request.query_params.get(KEPT):
        try:
            values = {**lab_of(request).planned.look(key).asked.model_dump(exclude_none=True), KEPT: key}
        except UsageError as error:
            return await _form(request, {}, error)
    elif name := request.query_params.get("from"):
        order = await off_loop(lab_of(request).order, name)
        values = {**order.asked.model_dump(exclude_none=True), "documents": order.documents, "name": ""}
        if order.asked.summaries or order.asked.references:
            values |= {KEPT: lab_of(request).planned.keep(ExperimentPlan(order.asked, ()))}
    elif name := request.query_params.get("preset"):
        paper = preset(name)
        values = {**paper.set_fields, **paper.experiment, "kind": name}
        # The form has lists where a paper has one value.
        lists = {"strategy": "strategies", "words": "word_limits", "chunk_tokens": "chunk_sizes"}
        values |= {several: (values[single],) for single, several in lists.items() if single in values}
    return await _form(request, values)


async def _form(request: Request, filled: Mapping[str, Any], error: Exception | None = None) -> Response:
    values: dict[str, Any] = {**dict.fromkeys((*ExperimentBody.model_fields, KEPT), ""), "kind": "grid", **filled}
    offered = {"kinds": KINDS, "presets": presets()}
    return await form_page(request, "experiment_new", "experiments", values, error, _SHOWN, **offered)


async def plan(request: Request) -> Response:
    """Show the plan of an experiment, to be confirmed."""
    context, sent, key = context_of(request), SentRequest({}), ""
    try:
        sent = await sent_with(request)
        experiment_plan = await work.planned(request, sent)
        key = lab_of(request).planned.keep(experiment_plan)
        table = await off_loop(plan_table, experiment_plan, context)
    except RedraftError as error:
        return await _form(request, {**sent.fields, KEPT: key or sent.kept}, error)
    names = names_of(context.models)
    values: dict[str, Any] = {"asked": experiment_plan.asked, "documents": experiment_plan.documents, "key": key}
    values |= {"table": replace(table, rows=with_names(table.rows, names)), "names": names, "kinds": KINDS}
    values |= {"total": table.records[-1], "unpriced": unpriced(table), "limits": context.config.limits}
    return page(request, "experiment_plan", "experiments", **values)


async def start(request: Request) -> Response:
    """Start the planned experiment."""
    lab = lab_of(request)
    async with request.form() as form:
        experiment_plan = lab.planned.take(str(form.get(KEPT, "")))
    name = await off_loop(lab.start, experiment_plan)
    return RedirectResponse(f"/experiments/{name}", 303)


async def one(request: Request) -> Response:
    """Show an experiment: its progress while it is running, its tables and pictures afterwards."""
    details = await work.details(request)
    sections = await off_loop(lab_of(request).sections, [details.name])
    progress = await work.progress(request) if details.status else None
    values: dict[str, Any] = {"experiment": details, "sections": sections, "progress": progress}
    values |= {"kinds": KINDS, "downloads": work.DOWNLOADS}
    if details.kind and sections and progress and progress.status != "running":
        lines = (await off_loop(lab_of(request).all)).experiments
        values["others"] = [line.name for line in lines if (line.kind, line.tables > 0) == (details.kind, True)]
    return page(request, "experiment", "experiments", **values)


async def compare(request: Request) -> Response:
    """Show experiments side by side."""
    names = list(dict.fromkeys(request.query_params.getlist("name")))[:_MAX_COMPARED]
    sections = await off_loop(lab_of(request).sections, names)
    names = [results.place for section in sections for results in section.sets]
    if len(names) < 2:
        raise UsageError("nothing to compare", hint="select two or more experiments that have tables")
    return page(request, "experiment_compare", "experiments", sections=sections, names=names)


async def items(request: Request) -> Response:
    """Show the items behind a score, each with the way to its prompt and reply."""
    name = request.path_params["name"]
    behind = await off_loop(lab_of(request).score_items, name, dict(request.query_params))
    return page(request, "experiment_items", "experiments", experiment=name, behind=behind)


async def file(request: Request) -> Response:
    """Return a picture of an experiment, with a policy that forbids scripts, or a file of its results."""
    names = request.path_params
    content = await off_loop(lab_of(request).file, names["name"], names["file"])
    if names["file"] not in work.DOWNLOADS:
        return Response(content, media_type="image/svg+xml", headers={"content-security-policy": _SVG_POLICY})
    download = f"attachment; filename*=UTF-8''{quote(names['name'], safe='')}-{names['file']}"
    return Response(content, media_type="application/octet-stream", headers={"content-disposition": download})


READING = (
    Route("/experiments", listed),
    Route("/experiments/compare", compare),
    Route("/experiments/{name}", one),
    Route("/experiments/{name}/items", items),
    Route("/experiments/{name}/{file}", file),
)
WORKING = (
    Route("/experiments/new", new),
    Route("/experiments/new", plan, methods=["POST"]),
    Route("/experiments/start", start, methods=["POST"]),
    Route("/experiments/{name}/stop", partial(acted, action=work.stop), methods=["POST"]),
    Route("/experiments/{name}/resume", partial(acted, action=work.resume), methods=["POST"]),
)


EXTENSION = Extension(
    PACKAGE,
    open_lab,
    menu=(MenuLink("/experiments", "experiments", "Experiments"),),
    reading=READING,
    working=WORKING,
    endpoints=(OPINIONS, *EXPERIMENTS),
    uploads=frozenset({"/api/experiments", "/experiments/new"}),
    read_documents=lambda content, name: documents_in_file(content, name).documents,
    own_documents=DOCTOR,
)
