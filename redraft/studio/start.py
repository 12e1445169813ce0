"""From a request to a run: what the form or the JSON says, the document that comes along, and the plan."""

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
from redraft.readers.documents import finished, load_bytes
from redraft.runs.dry_run import Spending, spending_of
from redraft.settings import EXTRACTIVE
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio.context import StudioContext, context_of, read
from redraft.studio.contracts import DocumentLine, Offer, PlanTotals, Start
from redraft.studio.endpoints import NoSuchThing
from redraft.studio.guard import MOST_BYTES
from redraft.studio.orders import RunBody, aims, order_of, strategies
from redraft.text.sanitizer import one_line

KEPT = "kept"
"""The field that names a document which was handed over with an earlier plan."""
_GOAL = "goal."
_LONGEST_NAME = 200
_MOST_FIELDS, _MOST_DOCUMENTS = 100, 200
_LISTS = frozenset({"metrics"})
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


class Sent(NamedTuple):
    """What came with a request: its fields, a file with its name, and the document of an earlier plan."""

    fields: Any
    file: tuple[bytes, str] | None = None
    kept: str = ""


async def asked_of(request: Request) -> tuple[Start, Document]:
    """What a request asks for, and the document that it is about."""
    is_form = request.headers.get("content-type", "").partition(";")[0].strip().lower() in _FORMS
    return await asked_from(request, await sent_with(request) if is_form else Sent(await json_of(request)))


async def sent_with(request: Request) -> Sent:
    """The fields and the file of a form."""
    async with request.form(max_files=1, max_fields=_MOST_FIELDS, max_part_size=MOST_BYTES) as form:
        file = form.get("file")
        given = (await file.read(), file.filename) if isinstance(file, UploadFile) and file.filename else None
        return Sent(fields_of(form), given, str(form.get(KEPT, "")))


async def json_of(request: Request) -> Any:
    """The JSON that was sent."""
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        hint = "send an object, with Content-Type: application/json"
        raise UsageError("the request is no JSON", hint=hint) from error


def fields_of(form: FormData) -> dict[str, Any]:
    """The fields of a form under the names that JSON has for them. What was left empty was not said."""
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
    """What was asked for, and the document that it is about."""
    asked = checked(Start, sent.fields)
    given = [one for one in (asked.document, asked.text, sent.file) if one is not None]
    if not given and sent.kept:
        return asked, context_of(request).pending.look(sent.kept)[1]
    if len(given) != 1:
        what = "more than one document was given" if given else "no document was given"
        raise UsageError(what, hint="give a file, a text, or the id of a document in the database")
    if sent.file is not None:
        return asked, await off_loop(load_bytes, sent.file[0], plain_name(sent.file[1]))
    if asked.text is not None:
        return asked, await off_loop(finished, Document.from_text(asked.text, asked.title))
    return asked, await read(request, _document, asked.document or "")


def plain_name(name: str) -> str:
    """The name of a file without the folders that it says it was in."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return one_line(last)[-_LONGEST_NAME:] or "file"


def _document(store: Store, key: str) -> Document:
    known = [one for one, _, _ in store.documents.titles() if key and one.startswith(key)]
    if len(known) != 1:
        raise NoSuchThing(f"{'more than one' if known else 'no'} document in the database begins with {key!r}")
    return store.documents.get(known[0])


async def planned(context: StudioContext, asked: RunBody, document: Document) -> Spending:
    """What the run would come to. Nobody is asked, and nothing stored."""
    return await off_loop(_planned, context, asked, document)


def _planned(context: StudioContext, asked: RunBody, document: Document) -> Spending:
    settings, order = order_of(asked, context.config.models)
    return spending_of(document, settings, order, context.config.prices)


def plan_of(spending: Spending) -> PlanTotals:
    """A plan as programs read it."""
    return PlanTotals.model_validate(spending.to_json() | {"warnings": list(spending.notes)})


async def begun(context: StudioContext, asked: RunBody, document: Document) -> str:
    """Begin the run; returns its id."""
    settings, order = await off_loop(order_of, asked, context.config.models)
    assert context.work is not None, "a studio that is only for reading has no route that leads here"
    return await context.work.start(document, settings, order)


async def offer_of(request: Request) -> Offer:
    """What a run can be begun with."""
    return await read(request, _offer, {name: one.model for name, one in context_of(request).config.models.items()})


def _offer(store: Store, models: Mapping[str, str]) -> Offer:
    documents = store.documents.titles()[:_MOST_DOCUMENTS]
    return Offer(
        documents=tuple(DocumentLine(id=key, title=title, characters=n) for key, title, n in documents),
        strategies=strategies(),
        models={EXTRACTIVE: EXTRACTIVE, **models},
        metrics=names(),
        goals=aims(),
        most_bytes=MOST_BYTES,
    )
