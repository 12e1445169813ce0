"""The pages: templates filled with the results of the API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from redraft.builtin.facade import NOT_UNDERSTOOD
from redraft.domain import DEFERRED, Finding
from redraft.errors import RedraftError, UsageError
from redraft.evaluators.catalog import built_in
from redraft.evaluators.metric_info import METRICS
from redraft.fields import validated
from redraft.graphs.policy import ReviewAnswer
from redraft.report.history.judges import offline_checked, shown_names
from redraft.report.history.results import document_read, request_outcomes, with_place
from redraft.report.pages.html import ShownTable
from redraft.report.tables import Table
from redraft.settings import EXTRACTIVE
from redraft.store.connection import off_loop
from redraft.studio import api as studio_api
from redraft.studio import batches, models
from redraft.studio.comparison import read_comparison
from redraft.studio.comparison_views import comparison_view
from redraft.studio.context import context_of, found_run, read, run_of, work_of
from redraft.studio.contracts import ItemFilter
from redraft.studio.doors import PAGE
from redraft.studio.endpoints import problem_of, query_of, template, with_names
from redraft.studio.run_views import RunFilter, page_at
from redraft.studio.start import sample_book
from redraft.text.places import part_read

_MAX_COMPARED = 6
_FINDINGS: TypeAdapter[list[Finding]] = TypeAdapter(list[Finding], config=DEFERRED)
_ROWS = 100


def page(request: Request, name: str, here: str, status: int = 200, **values: Any) -> Response:
    """Return a page of the studio."""
    context = context_of(request)
    meanings = {name: built_in(name).meaning for name in METRICS}
    variables = {"here": here, "read_only": context.config.read_only, "menu": context.menu, "meanings": meanings}
    packages = (extension.package for extension in context.extensions)
    return HTMLResponse(template(f"studio/{name}.html", *packages).render(**variables, **values), status)


class ListLinks:
    """Links to other pages of a list, or to it in another order; `query` is its filter and order."""

    def __init__(self, path: str, query: Mapping[str, Any], anchor: str = "") -> None:
        self.path, self._query, self._anchor = path, query, anchor

    def page(self, number: int) -> str:
        """Return the link to another page of the list."""
        return f"{self.path}?{urlencode({**self._query, 'page': number})}{self._anchor}"

    def sorted_by(self, column: str) -> str:
        """Return the link to the list of runs sorted by a column, reversed if it is already sorted by it."""
        direction = "asc" if column in ("title", "kind", "status", "model") else "desc"
        if self.order(column) != "none":
            direction = "desc" if self.order(column) == "ascending" else "asc"
        return f"{self.path}?{urlencode({**self._query, 'sort': column, 'dir': direction, 'page': 1})}"

    def order(self, column: str) -> str:
        """Return the order of a column of the list of runs, for `aria-sort`."""
        run_filter = RunFilter(**self._query)
        if column != run_filter.sort:
            return "none"
        return "ascending" if run_filter.dir == "asc" else "descending"


def paged(request: Request, rows: Sequence[Any]) -> dict[str, Any]:
    """Return the rows of a long list that are on one page, and the links to the others."""
    text = request.query_params.get("page", "")
    pages, number = page_at(len(rows), int(text) if text.isdecimal() else 1, _ROWS)
    of_page = rows[(number - 1) * _ROWS : number * _ROWS]
    return {"rows": of_page, "total": len(rows), "pages": pages, "number": number, "to": ListLinks("", {})}


async def runs(request: Request) -> Response:
    """Show the list of runs."""
    run_filter, run_list = query_of(request, RunFilter), await studio_api.runs(request)
    try:
        notice = context_of(request).notices.look(request.query_params.get("said", ""))
    except UsageError:
        notice = ""
    # Runs of experiments and batches are listed only on request.
    has_runs = bool(run_list.kinds or await off_loop(context_of(request).rows.all))
    filters: dict[str, Any] = {
        "listed": run_list,
        "wanted": run_filter,
        "to": ListLinks("/runs", run_filter.model_dump(exclude_defaults=True)),
        "said": notice,
    }
    has_sample = await off_loop(sample_book) is not None
    return page(request, "runs", "runs", has_runs=has_runs, has_sample=has_sample, **filters)


async def acted(request: Request, action: Callable[[Request], Awaitable[object]]) -> Response:
    """Carry out an action on what the address names, and show that."""
    await action(request)
    return RedirectResponse(quote(request.scope["path"].rpartition("/")[0]), 303)


async def review(request: Request, body: ReviewAnswer | None = None, problem: str = "") -> Response:
    """Show the draft that waits for a review with its findings, and an answer with what is wrong with it."""
    run = await run_of(request)
    question = await work_of(request).session.question(run.id)
    if question is None:
        return RedirectResponse(f"/runs/{run.id}", 303)
    document = await read(request, document_read, run)
    rounds = await read(request, lambda store: store.rounds.of(run.id))
    last = rounds[-1] if rounds else None
    earlier = [f"revision {last.number} was rejected: {last.reason}"] if last and last.accepted is False else []
    earlier += [outcome.said for outcome in await read(request, request_outcomes, rounds)]
    values: dict[str, Any] = {"run": run.id, "question": question, "title": document.title, "earlier": earlier}
    values |= {"given": body or ReviewAnswer(), "part": part_read(document.notes), "characters": len(document.text)}
    values["findings"] = [with_place(finding, document) for finding in _FINDINGS.validate_python(question["findings"])]
    values["offline_check"] = bool(offline_checked(run))
    values["not_understood"] = NOT_UNDERSTOOD if run.settings.model == EXTRACTIVE else ""
    return page(request, "review", "runs", 422 if problem else 200, problem=problem or question["problem"], **values)


async def answer(request: Request) -> Response:
    """Accept an answer, or show the form again with what is wrong. Findings that were shown but not ticked are
    dropped."""
    run = await run_of(request)
    async with request.form() as form:
        drop = [str(finding) for finding in form.getlist("shown") if finding not in form.getlist("fix")]
        add = [line.strip() for line in str(form.get("add", "")).splitlines() if line.strip()]
        act, text = form.get("act", ""), str(form.get("edited", "")).replace("\r\n", "\n")
    fields = {"drop": drop, "add": add, "edited": text if act == "edited" else None, "stop": act == "stop"}
    body: ReviewAnswer = validated(ReviewAnswer, fields)
    try:
        problem = await work_of(request).answer(run.id, body.model_dump(mode="json"))
    except RedraftError as error:
        # What was written must not be lost while the run still waits for it.
        if await work_of(request).session.question(run.id) is None:
            raise
        problem = ": ".join(filter(None, (PAGE.message(error), PAGE.render(error.fix))))
    if problem:
        return await review(request, body, problem)
    return RedirectResponse(f"/runs/{run.id}", 303)


async def compare(request: Request) -> Response:
    """Show runs side by side."""
    keys = list(dict.fromkeys(request.query_params.getlist("run")))[:_MAX_COMPARED]
    if len(keys) < 2:
        raise UsageError("nothing to compare", hint="select two or more runs in the list")
    runs = [await read(request, found_run, key) for key in keys]
    names = {name: shown_name for run in runs for name, shown_name in shown_names(run.settings, run.judging).items()}
    compared = await read(request, read_comparison, [run.id for run in runs])
    view = await off_loop(comparison_view, compared, partial(with_names, names=names), names)
    return await off_loop(partial(page, request, "comparison", "runs", assets=None, **view))


async def batch_list(request: Request) -> Response:
    """Show the list of batches."""
    return page(request, "batches", "batches", batches=paged(request, (await batches.listed(request)).batches))


async def pack_list(request: Request) -> Response:
    """Show the list of packs."""
    return page(request, "packs", "packs", packs=paged(request, (await read(request, studio_api.all_packs)).packs))


async def pack(request: Request) -> Response:
    """Show the questions of a pack."""
    pack = await read(request, studio_api.pack_named, request.path_params["pack"])
    title = await read(request, lambda store: store.documents.title(pack.document))
    latest = await read(request, lambda store: store.packs.latest(pack.document))
    # Unless a run names another, its document is judged by the latest pack.
    values: dict[str, Any] = {"pack": pack, "title": title, "used": latest is not None and latest.id == pack.id}
    return page(request, "pack", "packs", **values)


async def keyfacts(request: Request) -> Response:
    """Show key facts as trees."""
    keyfacts_found = await read(request, studio_api.keyfacts_contents, request.path_params["keyfacts"])
    return page(request, "keyfacts", "packs", keyfacts=keyfacts_found)


async def model_added(request: Request) -> Response:
    """Test the model of the form, or add it, and show what came of it."""
    async with request.form() as form:
        sent = {name: str(value).strip() for name, value in form.items() if str(value).strip()}
    is_added = sent.pop("act", "") == "add"
    context = context_of(request)
    try:
        new = validated(models.NewModel, sent)
        settings = await off_loop(models.settings_of, context, new)
        if not is_added:
            trouble = await models.test_model(context, settings, new.name)
            return await model_list(request, sent, trouble=trouble, works=not trouble)
        path = await off_loop(models.add_model, context, settings, new)
    except RedraftError as error:
        status, problem = problem_of(error)
        return await model_list(request, sent, status, problem=problem)
    return await model_list(request, said=f"{new.name} can be used now. It is kept in {path}.")


async def model_list(
    request: Request, sent: Mapping[str, str] | None = None, status: int = 200, **values: object
) -> Response:
    """Show the models, and what came of a form; a script searches for those on this machine."""
    context = context_of(request)
    defaults: dict[str, object] = {"problem": None, "trouble": "", "works": False, "said": ""}
    return page(
        request,
        "models",
        "models",
        status,
        sent=dict.fromkeys(models.NewModel.model_fields, "") | dict(sent or {}),
        models=(await models.listed(request)).models,
        can_add=not (context.config.exposed or context.config.read_only),
        **{**defaults, **values},
    )


async def api(request: Request) -> Response:
    """Show the endpoints of the API."""
    context = context_of(request)
    endpoints = studio_api.endpoints(context.extensions, read_only=context.config.read_only)
    return page(request, "api", "api", endpoints=endpoints)


def _rows_of(tables: Sequence[Table]) -> list[tuple[ShownTable, ...]]:
    """Return the tables of a batch but the first, each on a row of its own."""
    return [(ShownTable(table, experiment="batch", row=f"t{at}"),) for at, table in enumerate(tables[1:], 1)]


async def batch(request: Request) -> Response:
    """Show a batch: its progress, its documents, and its tables once it has stopped."""
    status, item_filter = await batches.status(request), query_of(request, ItemFilter)
    counts, ended = status.counts, status.counts.ended
    moves = status.status in ("working", "idle") or bool(counts.leased)
    lines: Sequence[tuple[ShownTable, ...]] = ()
    if ended and not moves and counts.all <= batches.SHOWN_AT_ONCE:
        lines = _rows_of((await read(request, batches.tables_of, status.name)).tables)
    path, query = f"/batches/{quote(status.name, safe='')}", item_filter.model_dump(exclude_defaults=True)
    values: dict[str, Any] = {
        "wanted": item_filter,
        "items": await read(request, batches.items_of, status.name, item_filter),
        "to": ListLinks(path, query, "#documents"),
        "failures": await read(request, batches.failures, status.name),
    }
    return page(request, "batch", "batches", batch=status, ended=ended, lines=lines, moves=moves, **values)


async def batch_tables(request: Request) -> Response:
    """Show the tables of a batch of any size, without the first, which the head of the page repeats."""
    status = await batches.status(request)
    tables = (await read(request, batches.tables_of, status.name)).tables
    lines, to = _rows_of(tables), ListLinks(f"/batches/{quote(status.name, safe='')}", {})
    return page(request, "batch_tables", "batches", batch=status, lines=lines, to=to)


BATCH_READING = (
    Route("/batches", batch_list),
    Route("/batches/{batch:path}/tables", batch_tables),
    Route("/batches/{batch:path}", batch),
)
BATCH_WORKING = tuple(
    Route(
        f"/batches/{{batch:path}}/{name}",
        partial(acted, action=partial(batches.carry_out, order=name)),
        methods=["POST"],
    )
    for name in batches.ORDERS
)
