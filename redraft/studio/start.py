"""Starting runs from requests: the form or JSON body, its document, and the plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from redraft.domain import Document
from redraft.errors import UsageError
from redraft.evaluators.catalog import names
from redraft.fields import checked
from redraft.lab.doctor.checkup import DOCTOR
from redraft.readers.documents import finished, load_bytes
from redraft.runs.dry_run import CostEstimate, spending_of
from redraft.runs.plans import seconds_of
from redraft.settings import EXTRACTIVE
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio.context import StudioContext, context_of, read
from redraft.studio.contracts import DocumentLine, Offer, PlanTotals, Start
from redraft.studio.guard import MOST_BYTES
from redraft.studio.orders import RunBody, aims, document_named, order_of, strategies
from redraft.text.sanitizer import one_line

KEPT = "kept"
"""The form field with the key of an earlier plan, whose document is used."""
_GOAL = "goal."
_LONGEST_NAME = 200
_MOST_FIELDS, _MOST_DOCUMENTS = 400, 200
MOST_FILES = 50
_LISTS = frozenset({"metrics", "judges", "models", "strategies", "documents"})
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


class Sent(NamedTuple):
    """The parts of a request: fields, files with their names, and the key of an earlier plan."""

    fields: Any
    files: tuple[tuple[bytes, str], ...] = ()
    kept: str = ""


async def asked_of(request: Request) -> tuple[Start, Document]:
    """Return the settings and the document of a request."""
    return await asked_from(request, await sent_with(request) if is_form(request) else Sent(await json_of(request)))


def is_form(request: Request) -> bool:
    """Return whether the body of a request is a form."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() in _FORMS


async def sent_with(request: Request) -> Sent:
    """Return the fields and files of a form."""
    async with request.form(max_files=MOST_FILES, max_fields=_MOST_FIELDS, max_part_size=MOST_BYTES) as form:
        files = [one for one in form.getlist("file") if isinstance(one, UploadFile) and one.filename]
        given = tuple([(await one.read(), plain_name(one.filename or "")) for one in files])
        return Sent(fields_of(form), given, str(form.get(KEPT, "")))


async def json_of(request: Request) -> Any:
    """Return the JSON body of a request; raise UsageError if it is not JSON."""
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        hint = "send a JSON object with Content-Type: application/json"
        raise UsageError("the request is not JSON", hint=hint) from error


def fields_of(form: FormData) -> dict[str, Any]:
    """Return the fields of a form under their JSON names. Empty fields are left out."""
    fields: dict[str, Any] = {}
    goals: dict[str, str] = {}
    for name, value in form.multi_items():
        if not isinstance(value, str) or not value.strip() or name == KEPT:
            continue
        if name.startswith(_GOAL):
            goals[name.removeprefix(_GOAL)] = value
        elif name == "goal":
            metric, _, least = value.partition("=")
            goals[metric.strip()] = least
        elif name in _LISTS:
            fields.setdefault(name, []).append(value)
        else:
            fields[name] = value
    return fields | ({"goals": goals} if goals else {})


async def asked_from(request: Request, sent: Sent) -> tuple[Start, Document]:
    """Return the settings and the document of a parsed request."""
    asked = checked(Start, sent.fields)
    given = [one for one in (asked.document, asked.text, *sent.files) if one is not None]
    if not given and sent.kept:
        return asked, context_of(request).pending.look(sent.kept)[1]
    if len(given) != 1:
        what = "more than one document was given" if given else "no document was given"
        raise UsageError(what, hint="give one file, one text, or the id of one document")
    if sent.files:
        return asked, await off_loop(load_bytes, *sent.files[0])
    if asked.text is not None:
        return asked, await off_loop(finished, Document.from_text(asked.text, asked.title))
    return asked, await read(request, document_named, asked.document or "")


def plain_name(name: str) -> str:
    """Return a file name without folders."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return one_line(last)[-_LONGEST_NAME:] or "file"


async def planned(context: StudioContext, asked: RunBody, document: Document) -> CostEstimate:
    """Return the plan of a run. No model is called, and nothing is stored."""
    return await off_loop(_planned, context, asked, document)


def _planned(context: StudioContext, asked: RunBody, document: Document) -> CostEstimate:
    settings, order = order_of(asked, context.models)
    return spending_of(document, settings, order, context.config.prices)


async def plan_of(context: StudioContext, spending: CostEstimate) -> PlanTotals:
    """Return a plan for the API."""
    seconds = await off_loop(seconds_of, context.reading, spending, context.config.limits.concurrency)
    return PlanTotals.model_validate(spending.to_json() | {"warnings": list(spending.notes), "seconds": seconds})


async def begun(context: StudioContext, asked: RunBody, document: Document) -> str:
    """Start the run, and return its id."""
    settings, order = await off_loop(order_of, asked, context.models)
    assert context.work is not None, "a read-only studio has no route that leads here"
    return await context.work.start(document, settings, order)


async def offer_of(request: Request) -> Offer:
    """Return the choices for a run."""
    return await read(request, _offer, {name: one.model for name, one in context_of(request).models.items()})


def _offer(store: Store, models: Mapping[str, str]) -> Offer:
    documents = store.documents.titles(without=DOCTOR)[:_MOST_DOCUMENTS]
    return Offer(
        documents=tuple(DocumentLine(id=key, title=title, characters=n) for key, title, n in documents),
        strategies=strategies(),
        models={EXTRACTIVE: EXTRACTIVE, **models},
        metrics=names(),
        goals=aims(),
        most_bytes=MOST_BYTES,
    )
