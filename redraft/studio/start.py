"""Starting runs from requests: the form or JSON body, its document, and the plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from redraft.batches.request import BatchEstimate, estimate
from redraft.domain import Document
from redraft.errors import DocumentError, RedraftError, RunCommand, UsageError
from redraft.evaluators.catalog import metrics, names
from redraft.fields import validated
from redraft.llm.addresses import shown_name
from redraft.readers.documents import load_bytes, prepared, text_in
from redraft.runs.dry_run import RunPlan, dry_run, seconds_of
from redraft.runs.models import known_window
from redraft.runs.prepare import check_judging, prepare_run
from redraft.settings import EXTRACTIVE
from redraft.store.connection import off_loop
from redraft.studio.context import StudioContext, context_of, found_run, read
from redraft.studio.contracts import (
    DocumentLine,
    ResumeBody,
    RunChoices,
)
from redraft.studio.guard import MAX_BYTES
from redraft.studio.orders import (
    BatchBody,
    RunBody,
    StartableRuns,
    batch_of,
    document_named,
    limits_of,
    order_of,
    refuse_unpriced,
    strategies,
)
from redraft.text.places import part_read
from redraft.text.sanitizer import one_line
from redraft.text.words import has_words

KEPT = "kept"
"""The form field with the key of an earlier plan, whose document is used."""
GOAL = "goal."
_LONGEST_NAME = 200
_SAMPLE = "the-salt-ledger.md"
_MAX_FIELDS, _MAX_DOCUMENTS = 400, 200
MAX_FILES = 50
_DOCUMENT_FIELDS = frozenset({"file", "summary_file"})
"""The fields with files that are read as documents; other files are the text of their field."""
_LISTS = frozenset({"metrics", "judges", "models", "strategies", "documents"})
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


class SentRequest(NamedTuple):
    """The parts of a request: fields, files with their names, and the key of an earlier plan."""

    fields: Any
    files: tuple[tuple[bytes, str], ...] = ()
    kept: str = ""
    summary: tuple[bytes, str] | None = None
    """The file of an own summary, with its name."""


def sample_book() -> Path | None:
    """Return the file of the sample book: that of the package, or of the repository; None if there is neither."""
    places = Path(__file__).with_name(_SAMPLE), Path(__file__).parents[2] / "examples" / _SAMPLE
    return next((place for place in places if place.is_file()), None)


async def wanted_of(request: Request, model: type[RunBody]) -> StartableRuns:
    """Return the run or the batch that a form or a JSON body asks for."""
    sent = await with_summary(await sent_with(request)) if is_form(request) else SentRequest(await json_of(request))
    return await wanted_from(request, sent, model)


def is_form(request: Request) -> bool:
    """Return whether the body of a request is a form."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() in _FORMS


async def sent_with(request: Request) -> SentRequest:
    """Return the fields and files of a form."""
    # A field for a file counts even if it is empty.
    async with request.form(max_files=MAX_FILES + 1, max_fields=_MAX_FIELDS, max_part_size=MAX_BYTES) as form:
        files = [upload for upload in form.getlist("file") if isinstance(upload, UploadFile) and upload.filename]
        contents = tuple([(await file.read(), plain_name(file.filename or "")) for file in files])
        texts = {
            name: text
            for name, text in form.multi_items()
            if isinstance(text, UploadFile) and text.filename and name not in _DOCUMENT_FIELDS
        }
        if form.get("sample") and (book := await off_loop(sample_book)):
            contents = ((await off_loop(book.read_bytes), book.name),)
        fields = {name: (await text.read()).decode("utf-8-sig", "replace") for name, text in texts.items()}
        summary_file = form.get("summary_file")
        summary = (
            (await summary_file.read(), plain_name(summary_file.filename))
            if isinstance(summary_file, UploadFile) and summary_file.filename
            else None
        )
        texts_of_fields = {name: value for name, value in fields_of(form).items() if name != "sample"}
        return SentRequest(texts_of_fields | fields, contents, str(form.get(KEPT, "")), summary)


async def with_summary(sent: SentRequest) -> SentRequest:
    """Return a form with the text of its own summary's file, which replaces a text in its field."""
    if sent.summary is None:
        return sent
    text = (await off_loop(text_in, *sent.summary)).text
    if not has_words(text):
        raise DocumentError("the summary is empty", place=sent.summary[1], hint="give a file that contains text")
    return sent._replace(fields=sent.fields | {"summary": text}, summary=None)


async def limit_asked(request: Request) -> float | None:
    """Return the limit of cost under which a form or a JSON body resumes something; None for the one that it has."""
    body: Any = {}
    if is_form(request):
        async with request.form() as form:
            body = {"max_cost": form.get("max_cost") or None}
    elif await request.body():
        body = await json_of(request)
    return validated(ResumeBody, body).max_cost


async def json_of(request: Request) -> Any:
    """Return the JSON object in the body of a request; raise UsageError if there is none."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        hint = "send a JSON object with Content-Type: application/json"
        raise UsageError("the request is not JSON", hint=hint) from error
    if not isinstance(body, dict):
        raise UsageError("the request must be an object of JSON", hint='send fields, such as {"words": 100}')
    return body


def fields_of(form: FormData) -> dict[str, Any]:
    """Return the fields of a form under their JSON names. Empty fields are left out."""
    fields: dict[str, Any] = {}
    goals: dict[str, str] = {}
    for name, value in form.multi_items():
        if not isinstance(value, str) or not value.strip() or name == KEPT:
            continue
        if name.startswith(GOAL):
            goals[name.removeprefix(GOAL)] = value
        elif name == "goal":
            metric, _, score = value.partition("=")
            goals[metric.strip()] = score
        elif name in _LISTS:
            fields.setdefault(name, []).append(value)
        else:
            fields[name] = value
    # Goals that were all emptied are none; without their fields they are the usual ones.
    return fields | ({"goals": goals} if goals or any(name.startswith(GOAL) for name in form) else {})


async def wanted_from(request: Request, sent: SentRequest, model: type[RunBody] = BatchBody) -> StartableRuns:
    """Return the run or the batch that a parsed request asks for."""
    body = validated(model, sent.fields)
    keys = [*([body.document] if body.document is not None else []), *getattr(body, "documents", ())]
    several = UsageError("more than one document was given", hint="give one, or start a batch of them")
    if sent.kept and not (keys or sent.files or body.text is not None):
        runs = context_of(request).pending.look(sent.kept)._replace(asked=body)
        if not isinstance(body, BatchBody) and len(runs.documents) > 1:
            raise several
        return runs
    if not isinstance(body, BatchBody) and len(keys) + len(sent.files) + (body.text is not None) > 1:
        raise several

    documents, left_out = await _documents_of(request, sent.files, keys, body)
    if not isinstance(body, BatchBody) and len(documents) > 1:
        raise several
    if not documents:
        raise UsageError("no document was given", hint="give a file, or choose a document")
    if len(documents) > _MAX_DOCUMENTS:
        fix = (RunCommand("batch"), " takes larger sets")
        raise UsageError(f"{len(documents):,} documents are too many here: at most {_MAX_DOCUMENTS}", fix=fix)
    return StartableRuns(body, documents, tuple(left_out))


async def _documents_of(
    request: Request, files: Sequence[tuple[bytes, str]], keys: Sequence[str], body: RunBody
) -> tuple[tuple[Document, ...], list[str]]:
    """Return the documents of a request, and sentences that name what is left out; raise if no file can be read."""
    readers = [extension.read_documents for extension in context_of(request).extensions if extension.read_documents]
    read_documents = readers[0] if readers else lambda content, name: [load_bytes(content, name)]
    given_documents: list[Document] = []
    troubles: list[RedraftError] = []
    for content, name in files:
        try:
            given_documents += await off_loop(read_documents, content, name)
        except RedraftError as error:
            troubles.append(error)
    if troubles and not given_documents:
        raise troubles[0]
    given_documents += [await read(request, document_named, key) for key in keys]
    if body.text is not None:
        given_documents.append(await off_loop(prepared, Document.from_text(body.text, body.title)))

    # Of documents with the same text the first one counts, and the others are named.
    first: dict[str, Document] = {}
    left_out = [*map(str, troubles)]
    for document in given_documents:
        if first.setdefault(document.id, document) is not document:
            name, other = (
                PurePath(same.source).name or one_line(same.title) for same in (document, first[document.id])
            )
            left_out.append(f"{name} has the same text as {other}")
    return tuple(first.values()), left_out


def plain_name(name: str) -> str:
    """Return a file name without folders."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return one_line(last)[-_LONGEST_NAME:] or "file"


def plan_of(context: StudioContext, startable: StartableRuns) -> RunPlan:
    """Return the plan of a run. No model is called, and nothing is stored."""
    order = order_of(startable.asked, context.models)
    prepared, order, notes = prepare_run(startable.read()[0], order, known_window)
    check_judging(order, prepared, context.reading)
    plan = dry_run(prepared, order, context.config.prices, notes, user_store=context.reading)
    refuse_unpriced(plan.unpriced, limits_of(context.config.limits, startable.asked.max_cost))
    seconds = seconds_of(context.reading, plan, context.config.limits.concurrency)
    return plan.model_copy(update={"seconds": seconds})


async def plan_of_batch(context: StudioContext, startable: StartableRuns) -> BatchEstimate:
    """Return the plan of a batch. No model is called, and nothing is stored."""
    request, documents = await off_loop(batch_of, startable.asked, context.models), await off_loop(startable.read)
    batch_estimate = await off_loop(estimate, documents, request, context.config.prices)
    refuse_unpriced(batch_estimate.unpriced, limits_of(context.config.limits, startable.asked.max_cost))
    return batch_estimate.model_copy(update={"left_out": (*startable.left_out, *batch_estimate.troubles)})


async def start_run(context: StudioContext, startable: StartableRuns) -> str:
    """Start the run, and return its id. It repeats its parent with changes only if it has the same document, and a
    summary of the parent if it is given one."""
    body = startable.asked
    order = await off_loop(order_of, body, context.models)
    document = (await off_loop(startable.read))[0]
    assert context.work is not None, "a read-only studio has no route that leads here"
    parent: str | None = None
    if body.parent:
        run = await off_loop(found_run, context.reading, body.parent)
        drafts = await off_loop(lambda: list(context.reading.runs.drafts(run.id)))
        is_of_run = body.summary is None or body.summary in (draft.text for draft in drafts)
        parent = run.id if is_of_run and run.document == document.id else None
    return await context.work.start(document, order.model_copy(update={"parent": parent}), body.max_cost)


async def start_batch(context: StudioContext, startable: StartableRuns) -> str:
    """Start the batch, and return its name."""
    request, documents = await off_loop(batch_of, startable.asked, context.models), await off_loop(startable.read)
    assert context.work is not None, "a read-only studio has no route that leads here"
    name = one_line(getattr(startable.asked, "name", "")).replace("/", "-")
    return await context.work.start_batch(startable._replace(documents=documents), request, name)


async def offer_of(request: Request) -> RunChoices:
    """Return the choices for a run."""
    context = context_of(request)
    left_out = next((extension.own_documents for extension in context.extensions if extension.own_documents), "")
    documents = (await read(request, lambda store: store.documents.titles(without=left_out)))[:_MAX_DOCUMENTS]
    return RunChoices(
        documents=tuple(
            DocumentLine(id=key, title=title, characters=n, part=part_read(notes)) for key, title, n, notes in documents
        ),
        strategies=strategies(),
        models={EXTRACTIVE: EXTRACTIVE}
        | {name: shown_name(settings.model, settings.base_url) for name, settings in context.models.items()},
        metrics=names(),
        goals=tuple(evaluator.name for evaluator in metrics(names()) if evaluator.aim),
        most_bytes=MAX_BYTES,
    )
