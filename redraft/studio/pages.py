"""The pages: templates filled with the results of the API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import TypeAdapter
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from redraft.builtin.facade import NOT_UNDERSTOOD
from redraft.domain import DEFERRED, Finding
from redraft.errors import RedraftError, UsageError
from redraft.evaluators.metric_info import METRICS
from redraft.fields import validated
from redraft.report.dossier.comparison import read_comparison
from redraft.report.history.judges import offline_checked, shown_names
from redraft.report.history.results import document_read, request_outcomes, with_place
from redraft.report.pages import comparison
from redraft.settings import EXTRACTIVE
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio import api as studio_api
from redraft.studio import batch_api, batches, models, packs
from redraft.studio.batches import SHOWN_AT_ONCE
from redraft.studio.context import StudioContext, context_of, found_run, read, run_of, work_of
from redraft.studio.contracts import BatchOrder, ItemFilter, ReviewBody, StrikeBody
from redraft.studio.doors import PAGE, with_names
from redraft.studio.endpoints import NotFound, problem_of, query_of, template
from redraft.studio.run_views import RunFilter, RunList
from redraft.studio.start import sample_book
from redraft.text.places import part_read

_MAX_COMPARED = 6
_FINDINGS: TypeAdapter[list[Finding]] = TypeAdapter(list[Finding], config=DEFERRED)
_ROWS = 100


def page(request: Request, name: str, here: str, status: int = 200, **values: Any) -> Response:
    """Return a page of the studio."""
    context = context_of(request)
    meanings = {name: info.meaning for name, info in METRICS.items()}
    variables = {"here": here, "read_only": context.config.read_only, "menu": context.menu, "meanings": meanings}
    packages = (extension.package for extension in context.extensions)
    return HTMLResponse(template(f"studio/{name}.html", *packages).render(**variables, **values), status)


class ListPage(Sequence[Any]):
    """The rows of a long list that are on one page, and the links to the others."""

    def __init__(self, request: Request, rows: Sequence[Any]) -> None:
        self.total, self.pages = len(rows), max(1, ceil(len(rows) / _ROWS))
        text = request.query_params.get("page", "")
        self.number = min(max(1, int(text) if text.isdecimal() else 1), self.pages)
        self._rows = rows[(self.number - 1) * _ROWS : self.number * _ROWS]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        return self._rows[at]

    def page(self, number: int) -> str:
        """Return the link to another page."""
        return f"?page={number}"


async def home(request: Request) -> Response:
    """Redirect to the list of runs."""
    del request
    return RedirectResponse("/runs", 303)


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
        "to": _RunListLinks(run_filter, run_list),
        "said": notice,
    }
    has_sample = await off_loop(sample_book) is not None
    return page(request, "runs", "runs", has_runs=has_runs, has_sample=has_sample, **filters)


class _RunListLinks:
    """Links to the list in another order, or to another of its pages."""

    def __init__(self, run_filter: RunFilter, listed: RunList) -> None:
        self._said = run_filter.model_dump(exclude_defaults=True)
        self._wanted = run_filter
        self.metrics = listed.metrics

    def sorted_by(self, column: str) -> str:
        """Return the link to the list sorted by a column, reversed if it is already sorted by it."""
        first = "asc" if column in ("title", "kind", "status", "model") else "desc"
        direction = "asc" if self._wanted.dir == "desc" else "desc"
        return self._with(sort=column, dir=direction if column == self._wanted.sort else first, page=1)

    def order(self, column: str) -> str:
        """Return the order of a column, for `aria-sort`."""
        if column != self._wanted.sort:
            return "none"
        return "ascending" if self._wanted.dir == "asc" else "descending"

    def page(self, number: int) -> str:
        """Return the link to another page of the list."""
        return self._with(page=number)

    def _with(self, **changes: object) -> str:
        return f"/runs?{urlencode({**self._said, **changes})}"


async def order(request: Request, order: Callable[[Request], Awaitable[object]]) -> Response:
    """Stop or resume a run, and show it."""
    await order(request)
    return RedirectResponse(f"/runs/{(await run_of(request)).id}", 303)


async def review(request: Request) -> Response:
    """Show the draft that waits for a review, with its findings."""
    return await _review(request)


async def _review(request: Request, body: ReviewBody | None = None, problem: str = "") -> Response:
    run = await run_of(request)
    question = await work_of(request).session.question(run.id)
    if question is None:
        return RedirectResponse(f"/runs/{run.id}", 303)
    document, earlier = await read(request, document_read, run), await read(request, _earlier, run.id)
    values: dict[str, Any] = {"run": run.id, "question": question, "title": document.title, "earlier": earlier}
    values |= {"given": body or ReviewBody(), "part": part_read(document.notes), "characters": len(document.text)}
    values["findings"] = [with_place(finding, document) for finding in _FINDINGS.validate_python(question["findings"])]
    values["offline_check"] = bool(offline_checked(run))
    values["not_understood"] = NOT_UNDERSTOOD if run.settings.model == EXTRACTIVE else ""
    return page(request, "review", "runs", 422 if problem else 200, problem=problem or question["problem"], **values)


def _earlier(store: Store, run: str) -> list[str]:
    """Return what became of the requests of earlier rounds, and of the last revision if it was rejected."""
    rounds = store.judgments.rounds(run)
    last = rounds[-1] if rounds else None
    rejected = [f"revision {last.number} was rejected: {last.reason}"] if last and last.accepted is False else []
    return [*rejected, *(outcome.said for outcome in request_outcomes(store, rounds))]


def _title(store: Store, document: str) -> str:
    return store.documents.title(document)


async def answer(request: Request) -> Response:
    """Accept an answer, or show the form again with what is wrong."""
    run = await run_of(request)
    async with request.form() as form:
        body = _answer_of(form)
    try:
        problem = await work_of(request).answer(run.id, body.model_dump(mode="json"))
    except RedraftError as error:
        # What was written must not be lost while the run still waits for it.
        if await work_of(request).session.question(run.id) is None:
            raise
        problem = ": ".join(filter(None, (PAGE.message(error), PAGE.render(error.fix))))
    if problem:
        return await _review(request, body, problem)
    return RedirectResponse(f"/runs/{run.id}", 303)


def _answer_of(form: FormData) -> ReviewBody:
    """Parse the answer in a form. Findings that were shown but not ticked are dropped."""
    listed, checked = form.getlist("shown"), form.getlist("fix")
    drop = [str(finding) for finding in listed if finding not in checked]
    act = form.get("act", "")
    add = tuple(line.strip() for line in str(form.get("add", "")).splitlines() if line.strip())
    edited = str(form.get("edited", "")).replace("\r\n", "\n") if act == "edited" else None
    answer = {"drop": drop, "add": add, "edited": edited, "stop": act == "stop"}
    answered: ReviewBody = validated(ReviewBody, answer)
    return answered


async def compare(request: Request) -> Response:
    """Show runs side by side."""
    keys = list(dict.fromkeys(request.query_params.getlist("run")))[:_MAX_COMPARED]
    if len(keys) < 2:
        raise UsageError("nothing to compare", hint="select two or more runs in the list")
    return HTMLResponse(await read(request, _comparison_page, keys, context_of(request)))


def _comparison_page(store: Store, keys: list[str], context: StudioContext) -> str:
    runs = [found_run(store, key) for key in keys]
    names = {name: shown_name for run in runs for name, shown_name in shown_names(run.settings, run.judging).items()}
    view = comparison.view(read_comparison(store, [run.id for run in runs]), partial(with_names, names=names), names)
    variables = {"here": "runs", "read_only": context.config.read_only, "menu": context.menu}
    return template("studio/comparison.html").render(**view, **variables, assets=None)


async def pack_list(request: Request) -> Response:
    """Show the questions and key facts."""
    return page(request, "packs", "packs", packs=ListPage(request, (await studio_api.pack_list(request)).packs))


async def pack(request: Request) -> Response:
    """Show the questions of a pack."""
    return await _pack(request)


async def _pack(request: Request, problem: str = "") -> Response:
    pack = await read(request, packs.pack_named, request.path_params["pack"])
    title, is_used = await read(request, _title, pack.document), await read(request, packs.is_used, pack)
    return page(
        request, "pack", "packs", 422 if problem else 200, pack=pack, title=title, used=is_used, problem=problem
    )


async def strike(request: Request) -> Response:
    """Create a new pack without some questions."""
    async with request.form() as form:
        ranks = [int(rank) for rank in form.getlist("strike") if isinstance(rank, str) and rank.isdecimal()]
    if not ranks:
        return await _pack(request, "no question is selected")
    body = validated(StrikeBody, {"questions": ranks})
    try:
        changed = await off_loop(
            packs.strike, work_of(request).session.store, request.path_params["pack"], body.questions
        )
    except NotFound:
        raise
    except RedraftError as error:
        return await _pack(request, str(error))
    return RedirectResponse(f"/packs/{changed}", 303)


async def keyfacts(request: Request) -> Response:
    """Show key facts as trees."""
    keyfacts_found = await read(request, packs.keyfacts_contents, request.path_params["keyfacts"])
    return page(request, "keyfacts", "packs", keyfacts=keyfacts_found)


async def model_list(request: Request) -> Response:
    """Show the models; a script searches for those on this machine."""
    return await _models(request)


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
            return await _models(request, sent, trouble=trouble, works=not trouble)
        path = await off_loop(models.add_model, context, settings, new)
    except RedraftError as error:
        status, problem = problem_of(error)
        return await _models(request, sent, status, problem=problem)
    return await _models(request, said=f"{new.name} can be used now. It is kept in {path}.")


async def _models(
    request: Request, sent: Mapping[str, str] | None = None, status: int = 200, **values: object
) -> Response:
    context = context_of(request)
    defaults: dict[str, object] = {"problem": None, "trouble": "", "works": False, "said": ""}
    return page(
        request,
        "models",
        "models",
        status,
        sent=dict.fromkeys(models.NewModel.model_fields, "") | dict(sent or {}),
        models=models.known(context).models,
        can_add=not (context.config.exposed or context.config.read_only),
        **{**defaults, **values},
    )


async def api(request: Request) -> Response:
    """Show the endpoints of the API."""
    return page(request, "api", "api", endpoints=studio_api.endpoints(context_of(request)))


class _BatchLinks:
    """Links to a batch, and to other pages of its documents."""

    def __init__(self, name: str, item_filter: ItemFilter) -> None:
        self.batch = f"/batches/{quote(name, safe='')}"
        self._said = item_filter.model_dump(exclude_defaults=True)

    def page(self, number: int) -> str:
        """Return the link to another page of the documents."""
        return f"{self.batch}?{urlencode({**self._said, 'page': number})}#documents"


async def batch_list(request: Request) -> Response:
    """Show the list of batches."""
    status = (await batch_api.listed(request)).batches
    return page(request, "batches", "batches", batches=ListPage(request, status))


async def batch(request: Request) -> Response:
    """Show a batch: its progress, its documents, and its tables once it has stopped."""
    status, item_filter = await batch_api.status(request), query_of(request, ItemFilter)
    moves = status.status in ("working", "idle") or bool(status.items.leased)
    ended = status.items.done + status.items.failed + status.items.aside
    at_once = ended and not moves and status.items.all <= SHOWN_AT_ONCE
    lines = await _batch_lines(request, status.batch) if at_once else ()
    values: dict[str, Any] = {
        "wanted": item_filter,
        "items": await batch_api.items(request),
        "to": _BatchLinks(status.batch, item_filter),
        "failures": await read(request, batches.failures, status.batch),
    }
    return page(request, "batch", "batches", batch=status, ended=ended, lines=lines, moves=moves, **values)


async def batch_tables(request: Request) -> Response:
    """Show the tables of a batch of any size."""
    status = await batch_api.status(request)
    lines, to = await _batch_lines(request, status.batch), _BatchLinks(status.batch, ItemFilter())
    return page(request, "batch_tables", "batches", batch=status, lines=lines, to=to)


async def _batch_lines(request: Request, name: str) -> object:
    return await off_loop(context_of(request).tables.drawn, name)


async def batch_order(request: Request, order: BatchOrder) -> Response:
    """Carry out an order, and show the batch."""
    await batch_api.ordered(request, order)
    return RedirectResponse(f"/batches/{quote(batch_api.named(request), safe='')}", 303)


BATCH_READING = (
    Route("/batches", batch_list),
    Route("/batches/{batch:path}/tables", batch_tables),
    Route("/batches/{batch:path}", batch),
)
BATCH_WORKING = tuple(
    Route(f"/batches/{{batch:path}}/{name}", partial(batch_order, order=name), methods=["POST"])
    for name in batch_api.ORDERS
)
