"""Starting runs from requests, and actions on stored ones: download, refine and delete them, and read their calls."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, create_model
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from redraft.batches.request import BatchEstimate, estimate
from redraft.domain import Document
from redraft.errors import DocumentError, RedraftError, RunCommand, RunError, UsageError
from redraft.evaluators.catalog import check_goals, metrics, names, with_rubrics
from redraft.fields import validated
from redraft.graphs.policy import requests
from redraft.llm.addresses import shown_name
from redraft.order import Order, OrderParts
from redraft.readers.documents import load_bytes, prepared, text_in
from redraft.report.dossier.contents import CallDetails, calls, read_dossier
from redraft.report.history.citations import citations_of, read_answer
from redraft.report.history.results import read_result
from redraft.report.outputs.formats import WITH_NOTES, WRITERS, Format, paper_of
from redraft.report.pages.html import dossier_page
from redraft.runs.dry_run import RunPlan, plan_run
from redraft.runs.order import SessionOrder, draft_of_round
from redraft.runs.prepare import DRAFTED
from redraft.settings import DEFAULT_GOALS, EXTRACTIVE, GIVEN_STRATEGY, ModelSettings, RefineConfig
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.studio import orders
from redraft.studio.context import StudioContext, WorkManager, context_of, found_run, read, reading, run_of, work_of
from redraft.studio.contracts import DocumentLine, ResumeBody, RunChoices, StartedRun
from redraft.studio.doors import NotFound
from redraft.studio.endpoints import Endpoint
from redraft.studio.guard import MAX_BYTES
from redraft.text.places import part_read
from redraft.text.sanitizer import one_line
from redraft.text.words import has_words

KEPT = "kept"
"""The form field with the key of an earlier plan, whose document is used."""
GOAL = "goal."
_LONGEST_NAME = 200
_SAMPLE = "the-salt-ledger.md"
_MAX_FIELDS, _MAX_DOCUMENTS = 400, 200
# Latest first, without those that only the experiment of this name has read.
_DOCUMENTS = """
    SELECT id, title, characters, notes FROM documents d WHERE :without = ''
    OR NOT EXISTS (SELECT 1 FROM runs WHERE document = d.id AND experiment = :without)
    OR EXISTS (SELECT 1 FROM runs WHERE document = d.id AND coalesce(experiment, '') <> :without)
    ORDER BY added DESC, rowid DESC LIMIT :most
"""
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


async def wanted_of(request: Request, model: type[orders.RunBody]) -> orders.StartableRuns:
    """Return the run or the batch that a form or a JSON body asks for."""
    return await wanted_from(request, await with_summary(await sent_with(request)), model)


async def sent_with(request: Request) -> SentRequest:
    """Return the fields and files of a form, or the fields of a JSON body."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in _FORMS:
        return SentRequest(await json_of(request))
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
    fields = (await sent_with(request)).fields if await request.body() else {}
    return validated(ResumeBody, fields).max_cost


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
        elif name == "requests":
            fields[name] = [line.strip() for line in value.splitlines() if line.strip()]
        else:
            fields[name] = value
    # Goals that were all emptied are none; without their fields they are the usual ones.
    return fields | ({"goals": goals} if goals or any(name.startswith(GOAL) for name in form) else {})


async def wanted_from(
    request: Request, sent: SentRequest, model: type[orders.RunBody] = orders.BatchBody
) -> orders.StartableRuns:
    """Return the run or the batch that a parsed request asks for."""
    body = validated(model, sent.fields)
    keys = [*([body.document] if body.document is not None else []), *getattr(body, "documents", ())]
    named, is_batch = len(keys) + len(sent.files) + (body.text is not None), isinstance(body, orders.BatchBody)
    several = UsageError("more than one document was given", hint="give one, or start a batch of them")
    if named > 1 and not is_batch:
        raise several
    if sent.kept and not named:
        runs = context_of(request).pending.look(sent.kept)._replace(asked=body)
    else:
        runs = orders.Startable(body, *await _documents_of(request, sent.files, keys, body))
    count = len(runs.documents)
    if count > 1 and not is_batch:
        raise several
    if not count:
        raise UsageError("no document was given", hint="give a file, or choose a document")
    if count > _MAX_DOCUMENTS:
        fix = (RunCommand("batch"), " takes larger sets")
        raise UsageError(f"{count:,} documents are too many here: at most {_MAX_DOCUMENTS}", fix=fix)
    return runs


async def _documents_of(
    request: Request, files: Sequence[tuple[bytes, str]], keys: Sequence[str], body: orders.RunBody
) -> tuple[tuple[Document, ...], tuple[str, ...]]:
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
    given_documents += [await read(request, orders.document_named, key) for key in keys]
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
    return tuple(first.values()), tuple(left_out)


def plain_name(name: str) -> str:
    """Return a file name without folders."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return one_line(last)[-_LONGEST_NAME:] or "file"


def plan_of(context: StudioContext, startable: orders.StartableRuns) -> RunPlan:
    """Return the plan of a run. No model is called, and nothing is stored."""
    order = orders.order_of(startable.asked, context.models)
    config = context.config
    document, defaults = orders.texts_of(startable)[0], SessionOrder(prices=config.prices)
    plan = plan_run(document, order, defaults, context.reading, config.limits.concurrency)
    orders.refuse_unpriced(plan.unpriced, orders.limits_of(config.limits, startable.asked.max_cost))
    return plan


async def plan_of_batch(context: StudioContext, startable: orders.StartableRuns) -> BatchEstimate:
    """Return the plan of a batch. No model is called, and nothing is stored."""
    settings = await off_loop(orders.batch_of, startable.asked, context.models)
    documents = await off_loop(orders.texts_of, startable)
    batch_estimate = await off_loop(estimate, documents, settings, context.config.prices)
    orders.refuse_unpriced(batch_estimate.unpriced, orders.limits_of(context.config.limits, startable.asked.max_cost))
    return batch_estimate.model_copy(update={"left_out": (*startable.left_out, *batch_estimate.troubles)})


async def start_run(request: Request, startable: orders.StartableRuns) -> str:
    """Start the run, and return its id. It repeats its parent with changes only if it has the same document, and a
    summary of the parent if it is given one."""
    body = startable.asked
    order = await off_loop(orders.order_of, body, context_of(request).models)
    document = (await off_loop(orders.texts_of, startable))[0]
    parent: str | None = None
    if body.parent:
        run = await read(request, found_run, body.parent)
        drafts = await read(request, lambda store: list(store.runs.drafts(run.id)))
        is_of_run = body.summary is None or body.summary in (draft.text for draft in drafts)
        parent = run.id if is_of_run and run.document == document.id else None
    return await work_of(request).start(document, order.model_copy(update={"parent": parent}), body.max_cost)


async def start_batch(request: Request, startable: orders.StartableRuns) -> str:
    """Start the batch, and return its name."""
    settings = await off_loop(orders.batch_of, startable.asked, context_of(request).models)
    startable = startable._replace(documents=await off_loop(orders.texts_of, startable))
    name = one_line(getattr(startable.asked, "name", "")).replace("/", "-")
    return await work_of(request).start_batch(startable, settings, name)


async def offer_of(request: Request) -> RunChoices:
    """Return the documents, models, strategies and metrics that a run can use."""
    context = context_of(request)
    left_out = next((extension.own_documents for extension in context.extensions if extension.own_documents), "")
    values = {"without": left_out, "most": _MAX_DOCUMENTS}
    rows = await read(request, lambda store: store.connection.rows(_DOCUMENTS, values))
    return RunChoices(
        documents=tuple(
            DocumentLine.model_validate({**row, "part": part_read(json.loads(row["notes"]))}) for row in rows
        ),
        strategies=orders.strategies(),
        models={EXTRACTIVE: EXTRACTIVE}
        | {name: shown_name(settings.model, settings.base_url) for name, settings in context.models.items()},
        metrics=names(),
        goals=tuple(evaluator.name for evaluator in metrics(names()) if evaluator.aim),
        most_bytes=MAX_BYTES,
    )


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
    "json": DownloadFormat(None, ".json", "application/json"),
}
_NO_WORD = re.compile(r"[^A-Za-z0-9]+")


def format_named(name: str, what: str) -> DownloadFormat:
    """Return the format in which a run or a batch is to be saved."""
    if name not in KINDS:
        raise NotFound(f"a {what} is not written as {name!r:.40}", hint=f"choose one of {', '.join(KINDS)}")
    return KINDS[name]


async def download(request: Request) -> Response:
    """Return the summary or the dossier as a file."""
    run, kind = await run_of(request), format_named(request.path_params["form"], "run")
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
        return dossier.document.title, dossier_page(dossier) if is_page else dossier.model_dump_json()
    if run.kind == "ask" and kind.form in ("text", "markdown"):
        answer = read_answer(store, run.id)
        return answer.result.title, f"{answer.question}\n\n{answer.text}\n"
    result = read_result(store, run.id)
    if result.draft is None and not any(chapter.result and chapter.result.draft for chapter in result.chapters):
        raise NotFound(f"run {run.id} has no summary yet", hint="resume the run first")
    cite = partial(citations_of, store) if kind.form in WITH_NOTES else None
    return result.title, WRITERS[kind.form](paper_of(result, cite))


if TYPE_CHECKING:
    Refining = orders.RunSettings
else:
    _refining = orders.optional_fields([RefineConfig])
    Refining = create_model("Refining", **{name: _refining[name] for name in ("rounds", "review")})


class ForkBody(ResumeBody, Refining):
    """A draft of this run, to be refined in a new run."""

    round: int | None = Field(default=None, ge=0)
    """The round of the draft to start from; by default the result's."""
    requests: tuple[str, ...] = Field(default=(), max_length=100)
    """What is to be changed, in your own words."""
    goals: dict[str, float] | None = None
    """By default the goals of the run, or else coverage and consistency; with requests, {} means no goals."""
    judge: str | None = Field(default=None, max_length=200)
    """The model that judges; by default the judges of the run, or else the model of the run."""
    words: int | None = Field(default=None, ge=10, le=1_000_000)
    """The length of the summary; by default that of the run."""
    model: str | None = Field(default=None, max_length=200)
    """The model that revises; by default that of the run."""
    prompts: Literal["standard", "simple"] | None = None
    """The set of prompts; by default that of the run."""


def check_refinable(run: Run) -> None:
    """Raise RunError if a run has no draft that could be refined."""
    if run.draft is None or run.kind not in DRAFTED:
        raise RunError(f"run {run.id} has no summary to refine", hint="resume it, or choose another run")


def plan_fork(
    store: Store, run: Run, body: ForkBody, work: WorkManager, models: orders.Models
) -> tuple[Document, Order]:
    """Return the document and the order of the run that a fork asks for. Raise RedraftError if it is not possible."""
    check_refinable(run)
    number = result_round(store, run) if body.round is None else body.round
    summary = draft_of_round(store, run, number)
    parts = OrderParts.of(run.order)
    usual = parts.refinement.goals if parts.refinement else DEFAULT_GOALS
    goals = usual if body.goals is None or not (body.goals or body.requests) else body.goals
    evaluators = with_rubrics(run.judging, ())
    check_goals(goals, metrics(names(evaluators), evaluators))
    changes: dict[str, Any] = {"goals": goals, "review": bool(body.review)}
    changes |= {"rounds": body.rounds} if body.rounds is not None else {}
    judging = parts.judging
    if body.judge:
        tables = {} if body.judge == EXTRACTIVE else {body.judge: orders.known_model(body.judge, models)}
        judging = judging.model_copy(update={"judges": (body.judge,), "models": {**judging.models, **tables}})
    writer = orders.writer_settings(body.model, models) if body.model else {}
    prompts = {"prompts": body.prompts} if body.prompts else {}
    drafting = run.settings.model_copy(update={"words": body.words or run.settings.words, **writer, **prompts})
    changes |= {"settings": drafting, "judging": judging}
    fork = SessionOrder(parts.edited(changes), work.runner.defaults.roles)
    findings = requests([text for text in body.requests if text.strip()])
    inputs: dict[str, Any] = {"given": summary, "parent": run.id, "findings": findings}
    order = fork.judged_as_before(run.settings).order("refine", **inputs)
    work.runner.places.check(run.id, order, fork.roles.objects)
    return store.documents.get(run.document), order


async def fork(request: Request) -> BaseModel:
    """Refine a draft of a run in a new run."""
    body, run, work = validated(ForkBody, await json_of(request)), await run_of(request), work_of(request)
    planned = await read(request, plan_fork, run, body, work, context_of(request).models)
    started = await work.start(*planned, body.max_cost)
    return StartedRun(run=started, events=f"/api/runs/{started}/events")


def result_round(store: Store, run: Run) -> int:
    """Return the round of the result; 0 for a run without rounds."""
    return next((round_.number for round_ in store.rounds.of(run.id) if round_.draft == run.draft), 0)


def settings_given(store: Store, key: str, models: Mapping[str, ModelSettings]) -> dict[str, Any]:
    """Return the settings of an earlier run as fields of the form for a new one."""
    run = store.runs.get(key)
    parts = [part for part in (run.settings, run.judging, run.refinement, run.limits) if part is not None]
    values = {
        name: getattr(part, name)
        for part in parts
        for name, field in type(part).model_fields.items()
        if name in orders.RunBody.model_fields and getattr(part, name) != field.default
    }
    names = {settings.model: name for name, settings in models.items()}
    is_summary_given = run.settings.strategy == GIVEN_STRATEGY
    # The form drafts and judges by the kind evaluate.
    kind = "evaluate" if run.kind == "summarize" and run.judging else run.kind
    values |= {"document": run.document, "kind": kind if kind in DRAFTED else "summarize"}
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
        first = min(store.rounds.of(run.id), key=lambda round_: round_.number, default=None)
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
    if run.id in work.feeds.at_work:
        raise RunError(f"run {run.id} is running", hint="stop it first")
    return asdict(await off_loop(work.session.store.forget, [run.id]))


def call(store: Store, run: str, number: int) -> CallDetails:
    """Return a call with its prompt and its reply."""
    details = next((entry for entry in calls(store, run, [number]) if isinstance(entry, CallDetails)), None)
    if details is None:
        raise NotFound(f"run {run} has no call {number}")
    return details


_RUN = "/api/runs/{run}"
ENDPOINTS = (
    Endpoint("DELETE", _RUN, delete, says="Delete a run for good."),
    Endpoint("POST", f"{_RUN}/fork", fork, ForkBody, 201, gives=StartedRun),
    reading(f"{_RUN}/calls/{{number:int}}", call),
    Endpoint("GET", "/runs/{run}/download/{form}", download, kind="text/plain"),
)
"""The endpoints for actions."""
