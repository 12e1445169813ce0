"""The HTTP API: start runs, follow them, ask about their documents, and read their results and evidence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from redraft.errors import RunCommand, UsageError
from redraft.fields import validated
from redraft.graphs.review import ReviewAnswer
from redraft.readers.parts import chapters as chapters_of
from redraft.report.dossier.build import read_dossier
from redraft.report.dossier.contents import Dossier
from redraft.report.history.citations import read_answer
from redraft.report.history.results import RunResult, document_read
from redraft.runs.dry_run import RunPlan
from redraft.runs.order import exchanges_until, order_of_question, settings_to_ask
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio import models, packs, run_views
from redraft.studio.batch_api import BATCHES
from redraft.studio.context import Extension, context_of, read, run_of, streamed, work_of
from redraft.studio.contracts import (
    AnswerList,
    AskedQuestion,
    ChapterLine,
    ChapterList,
    ExportedPack,
    NewId,
    OpinionInput,
    OpinionList,
    PackList,
    PendingReview,
    PieceList,
    QuestionBody,
    ResumeBody,
    RunChoices,
    RunStatus,
    SentenceEvidence,
    StartedRun,
    StrikeBody,
)
from redraft.studio.endpoints import Endpoint, is_by_page, openapi, query_of, typed
from redraft.studio.feeds import EVENT_STREAM, other_process_events
from redraft.studio.orders import BatchBody, RunBody
from redraft.studio.run_actions import ENDPOINTS as RUN_ACTIONS
from redraft.studio.run_views import RunFilter, RunList
from redraft.studio.start import json_of, limit_asked, offer_of, plan_of, start_run, wanted_of
from redraft.text.sanitizer import scrubbed
from redraft.text.words import count_words, score

T = TypeVar("T")


def handling(
    work: Callable[..., T], parameter: str = "run", body: type[BaseModel] | None = None
) -> Callable[[Request], Awaitable[T]]:
    """Return a handler that calls `work` with the store and the run in the address, or what another parameter names.
    With a model it is also given the body of the request, and may write."""

    async def handler(request: Request) -> T:
        values = [validated(body, await json_of(request))] if body else []
        key = (await run_of(request)).id if parameter == "run" else request.path_params[parameter]
        store = work_of(request).session.store if body else context_of(request).reading
        return await off_loop(work, store, key, *values)

    return handler


async def runs(request: Request) -> RunList:
    """Return the list of runs."""
    return await off_loop(context_of(request).rows.listed, query_of(request, RunFilter))


async def start(request: Request) -> BaseModel | Response:
    """Start a run, or return its plan."""
    startable_runs, context = await wanted_of(request, RunBody), context_of(request)
    if startable_runs.asked.dry_run:
        return typed(await off_loop(plan_of, context, startable_runs))
    run = await start_run(context, startable_runs)
    return StartedRun(run=run, events=f"/api/runs/{run}/events")


async def chapters(request: Request) -> BaseModel:
    """Return the chapters of the only document, which is not stored; none of several."""
    (document, *more) = (await wanted_of(request, BatchBody)).documents
    sections = [] if more else (await off_loop(chapters_of, document))[:_MAX_CHAPTERS]
    counts = await off_loop(lambda: [count_words(document.text[slice(*section.span)]) for _, section in sections])
    lines = (
        ChapterLine(number=number, title=section.title, words=words)
        for (number, section), words in zip(sections, counts, strict=True)
    )
    return ChapterList(chapters=tuple(lines))


async def status(request: Request) -> RunStatus:
    """Return the status of a run."""
    run, work = await run_of(request), context_of(request).work
    at_work = work is not None and work.is_at_work(run.id)
    address = "" if is_by_page(request) else f"/api/runs/{run.id}"
    return await off_loop(run_views.status_of, context_of(request).reading, run, at_work=at_work, address=address)


async def evidence(request: Request) -> BaseModel:
    """Return the evidence for a sentence or a finding."""
    number = request.query_params.get("sentence")
    if number is not None and not number.isdecimal():
        raise UsageError(f"sentence must be a number, not {number!r:.40}")
    dossier = await read(request, read_dossier, (await run_of(request)).id)
    sentence = int(number) if number is not None else None
    return run_views.evidence_of(dossier, sentence, request.query_params.get("finding"))


async def events(request: Request) -> Response:
    """Stream the events of a run as server-sent events until it stops."""
    run = await run_of(request)
    context = context_of(request)
    feed = context.work.feeds.get(run.id) if context.work else None
    return streamed(request, feed.watch() if feed else other_process_events(context.reading, run.id))


async def carry_out(request: Request, order: Literal["resume", "stop"]) -> RunStatus:
    """Resume or stop a run, and return its status."""
    run, work = await run_of(request), work_of(request)
    if order == "resume":
        await work.resume(run.id, await limit_asked(request))
    else:
        await work.stop(run.id)
    return await status(request)


async def ask(request: Request) -> BaseModel:
    """Start the run that answers a question about a run's document, with the same model and judges."""
    body = validated(QuestionBody, await json_of(request))
    asked_about = await run_of(request)
    exchanges = await read(request, exchanges_until, body.follow)
    order = order_of_question(*settings_to_ask(asked_about), body.question, exchanges)
    document = await read(request, document_read, asked_about)
    work_of(request).runner.places.check(asked_about.id, order.settings, order.judging)
    run = await work_of(request).start(document, order)
    return StartedRun(run=run, events=f"/api/runs/{run}/events")


async def question(request: Request) -> BaseModel:
    """Return the question of a waiting run."""
    return PendingReview(question=await work_of(request).session.question((await run_of(request)).id))


async def review(request: Request) -> RunStatus:
    """Answer a waiting run."""
    body = validated(ReviewAnswer, await json_of(request))
    run = await run_of(request)
    if problem := await work_of(request).answer(run.id, body.model_dump(mode="json")):
        raise UsageError(problem, fix=(RunCommand("review", run.id), " shows the question again"))
    return await status(request)


async def listed_packs(request: Request) -> BaseModel:
    """List packs of questions and key facts."""
    return await read(request, packs.listed)


async def description(request: Request) -> dict[str, Any]:
    """Return the OpenAPI description of the API."""
    context = context_of(request)
    return openapi(endpoints(context.extensions, read_only=context.config.read_only))


_MAX_ANSWERS, _MAX_CHAPTERS = 20, 500


def answers_of(store: Store, key: str) -> BaseModel:
    """Return the latest questions about the document of a run."""
    documents, questions = [store.runs.get(key).document], []
    for run in store.runs.latest(_MAX_ANSWERS, documents=documents, wanted=lambda run: run.kind == "ask"):
        answer = read_answer(store, run.id) if run.draft else None
        evaluation = answer.consistency if answer else None
        judges = ", ".join(run.judging.judges or (run.settings.model,)) if run.judging else ""
        is_scored = evaluation is not None and evaluation.score is not None
        asked_question = AskedQuestion(
            run=run.id,
            question=run.settings.query or "",
            follows=bool(run.settings.earlier),
            status=store.status(run),
            trouble=scrubbed((run.error or {}).get("message", "")),
            answered=answer.answered if answer else None,
            answer=answer.answer if answer else "",
            sentences=answer.sentences if answer else (),
            citations=answer.citations if answer else (),
            judged=f"consistency {score(evaluation.score)}, judged by {judges}" if evaluation and is_scored else "",
            findings=evaluation.findings if evaluation else (),
            notes=tuple(answer.notes) if answer else (),
        )
        questions.append(asked_question)
    return AnswerList(answers=tuple(questions))


_RUN = "/api/runs/{run}"
_ABOUT_EVIDENCE = {"sentence": "The number of a sentence of the summary.", "finding": "The number or id of a finding."}
ENDPOINTS = (
    Endpoint("GET", "/api/runs", "List runs.", runs, RunList, query=RunFilter),
    Endpoint(
        "POST", "/api/runs", "Start a run, or plan it.", start, StartedRun, RunBody, 201, plans=RunPlan, forms=True
    ),
    Endpoint(
        "GET", "/api/offer", "The documents, models, strategies and metrics that a run can use.", offer_of, RunChoices
    ),
    Endpoint("POST", "/api/chapters", "List the chapters of a document.", chapters, ChapterList, BatchBody, forms=True),
    Endpoint("GET", _RUN, "The status of a run.", status, RunStatus),
    Endpoint("GET", f"{_RUN}/result", "The result of a run.", handling(run_views.result_of), RunResult),
    Endpoint(
        "GET",
        f"{_RUN}/dossier",
        "Everything about a run: summary, findings, evidence, calls.",
        handling(read_dossier),
        Dossier,
    ),
    Endpoint(
        "GET",
        f"{_RUN}/evidence",
        "The evidence for a sentence or a finding.",
        evidence,
        SentenceEvidence,
        query=_ABOUT_EVIDENCE,
    ),
    Endpoint("GET", f"{_RUN}/pieces", "The parts of a summary so far.", handling(run_views.pieces_of), PieceList),
    Endpoint("GET", f"{_RUN}/events", "The events of a run, until it stops.", events, kind=EVENT_STREAM),
    Endpoint("POST", f"{_RUN}/stop", "Stop a run. Finished work is kept.", partial(carry_out, order="stop"), RunStatus),
    Endpoint("POST", f"{_RUN}/resume", "Resume a run.", partial(carry_out, order="resume"), RunStatus, ResumeBody),
    Endpoint("POST", f"{_RUN}/ask", "Ask a question about the document of a run.", ask, StartedRun, QuestionBody, 201),
    Endpoint("GET", f"{_RUN}/answers", "Questions and answers.", handling(answers_of), AnswerList),
    Endpoint(
        "GET", f"{_RUN}/review", "The question of a run that waits for a review.", question, PendingReview, works=True
    ),
    Endpoint("POST", f"{_RUN}/review", "Answer a run that waits for a review.", review, RunStatus, ReviewAnswer, 202),
    Endpoint("GET", f"{_RUN}/opinions", "The opinions on its findings.", handling(run_views.opinions_of), OpinionList),
    Endpoint(
        "POST",
        f"{_RUN}/opinions",
        "Agree or disagree with a finding.",
        handling(run_views.say, body=OpinionInput),
        OpinionList,
        OpinionInput,
    ),
    *models.ENDPOINTS,
    Endpoint("GET", "/api/packs", "List packs of questions and key facts.", listed_packs, PackList),
    Endpoint("GET", "/api/packs/{pack}", "A pack of questions.", handling(packs.contents, "pack"), ExportedPack),
    Endpoint(
        "POST",
        "/api/packs/{pack}/strike",
        "Make a new pack without some questions.",
        handling(packs.strike, "pack", StrikeBody),
        NewId,
        StrikeBody,
        201,
    ),
    Endpoint(
        "GET", "/api/keyfacts/{keyfacts}", "Key facts.", handling(packs.keyfacts_contents, "keyfacts"), ExportedPack
    ),
    *RUN_ACTIONS,
    *BATCHES,
    Endpoint("GET", "/api/openapi.json", "This description of the API.", description),
)
"""All endpoints of the studio's own."""


def endpoints(extensions: Sequence[Extension], *, read_only: bool) -> list[Endpoint]:
    """Return the endpoints of a studio, with those of its extensions; a read-only one has none that write or need a
    session."""
    added = [endpoint for extension in extensions for endpoint in extension.endpoints]
    return [
        endpoint
        for endpoint in (*ENDPOINTS, *added)
        if not read_only or (endpoint.method == "GET" and not endpoint.works)
    ]
