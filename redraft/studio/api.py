"""The HTTP API: start runs, follow them, ask about their documents, and read results, evidence, questions and facts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from redraft.domain import KeyFacts, Pack, widened
from redraft.errors import RunCommand, RunError, StoreError, UsageError
from redraft.evaluators.reference.exchange import keyfacts_json, pack_json
from redraft.fields import validated
from redraft.graphs.policy import ReviewAnswer
from redraft.readers.parts import chapters as chapters_of
from redraft.report.dossier.contents import read_dossier
from redraft.report.history.citations import read_answer
from redraft.report.history.results import document_read
from redraft.runs.dry_run import RunPlan
from redraft.runs.order import exchanges_until, order_of_question, settings_to_ask
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio import contracts, models, run_views
from redraft.studio.batches import BATCHES
from redraft.studio.context import Extension, context_of, read, reading, run_of, streamed, work_of
from redraft.studio.doors import NotFound
from redraft.studio.endpoints import Endpoint, openapi, query_of, typed
from redraft.studio.feeds import EVENT_STREAM, other_process_events
from redraft.studio.orders import BatchBody, RunBody
from redraft.studio.run_views import RunFilter, RunList
from redraft.studio.start import ENDPOINTS as RUN_ACTIONS
from redraft.studio.start import json_of, limit_asked, offer_of, plan_of, start_run, wanted_of
from redraft.text.sanitizer import one_line, scrubbed
from redraft.text.words import count_words, score


def all_packs(store: Store) -> Any:
    """List packs of questions and key facts."""
    kinds: dict[contracts.PackKind, Sequence[tuple[Pack | KeyFacts, str]]]
    kinds = {"questions": store.packs.all(), "keyfacts": store.keyfacts.all()}
    titles = store.documents.titles_of({part.document for parts in kinds.values() for part, _ in parts})
    lines = [
        widened(contracts.PackLine, part, kind=kind, created=created, title=title, missing=len(part.missing))
        for kind, parts in kinds.items()
        for part, created in parts
        for title in (one_line(titles[part.document]),)
    ]
    return contracts.PackList(packs=tuple(sorted(lines, key=lambda line: line.created, reverse=True)))


def pack_named(store: Store, key: str) -> Pack:
    """Return a pack of questions by its id or the start of its id."""
    try:
        return store.packs.get(key)
    except StoreError as error:
        raise NotFound(error.message, fix=(RunCommand("pack list"), " lists them")) from error


def pack_contents(store: Store, key: str) -> dict[str, Any]:
    """Return a pack of questions. It is what an export contains."""
    pack = pack_named(store, key)
    return pack_json(store.documents.get(pack.document), pack, None)


def keyfacts_contents(store: Store, key: str) -> dict[str, Any]:
    """Return key facts. They are named by their id or the start of it."""
    try:
        facts = store.keyfacts.get(key)
    except (StoreError, RunError) as error:
        raise NotFound(error.message, fix=(RunCommand("pack list"), " lists them")) from error
    return keyfacts_json(store.documents.get(facts.document), facts)


async def runs(request: Request) -> RunList:
    """List runs."""
    return await off_loop(context_of(request).rows.listed, query_of(request, RunFilter))


async def start(request: Request) -> BaseModel | Response:
    """Start a run, or plan it."""
    startable_runs, context = await wanted_of(request, RunBody), context_of(request)
    if startable_runs.asked.dry_run:
        return typed(await off_loop(plan_of, context, startable_runs))
    run = await start_run(request, startable_runs)
    return contracts.StartedRun(run=run, events=f"/api/runs/{run}/events")


async def chapters(request: Request) -> BaseModel:
    """List the chapters of a document. The document is not stored; of several there are none."""
    (document, *more) = (await wanted_of(request, BatchBody)).documents
    sections = [] if more else (await off_loop(chapters_of, document))[:_MAX_CHAPTERS]
    counts = await off_loop(lambda: [count_words(document.text[slice(*section.span)]) for _, section in sections])
    lines = (
        contracts.ChapterLine(number=number, title=section.title, words=words)
        for (number, section), words in zip(sections, counts, strict=True)
    )
    return contracts.ChapterList(chapters=tuple(lines))


async def status(request: Request) -> contracts.RunStatus:
    """Return the status of a run."""
    run, work = await run_of(request), context_of(request).work
    at_work = work is not None and run.id in work.feeds.at_work
    return await read(request, partial(run_views.status_of, run=run, at_work=at_work))


async def events(request: Request) -> Response:
    """Return the events of a run, until it stops. They are sent by the server."""
    run = await run_of(request)
    context = context_of(request)
    feed = context.work.feeds.get(run.id) if context.work else None
    return streamed(request, feed.watch() if feed else other_process_events(context.reading, run.id))


async def resume(request: Request) -> contracts.RunStatus:
    """Resume a run. The request can give another limit of cost."""
    await work_of(request).resume((await run_of(request)).id, await limit_asked(request))
    return await status(request)


async def stop(request: Request) -> contracts.RunStatus:
    """Stop a run, and return its status."""
    await work_of(request).stop((await run_of(request)).id)
    return await status(request)


async def ask(request: Request) -> BaseModel:
    """Ask a question about the document of a run. The same model and judges answer it, in a run of their own."""
    body = validated(contracts.QuestionBody, await json_of(request))
    asked_about = await run_of(request)
    exchanges = await read(request, exchanges_until, body.follow)
    order = order_of_question(*settings_to_ask(asked_about), body.question, exchanges)
    document = await read(request, document_read, asked_about)
    work_of(request).runner.places.check(asked_about.id, order)
    run = await work_of(request).start(document, order)
    return contracts.StartedRun(run=run, events=f"/api/runs/{run}/events")


async def question(request: Request) -> BaseModel:
    """Return the question of a run that waits for a review."""
    return contracts.PendingReview(question=await work_of(request).session.question((await run_of(request)).id))


async def review(request: Request) -> contracts.RunStatus:
    """Answer a run that waits for a review."""
    body = validated(ReviewAnswer, await json_of(request))
    run = await run_of(request)
    if problem := await work_of(request).answer(run.id, body.model_dump(mode="json")):
        raise UsageError(problem, fix=(RunCommand("review", run.id), " shows the question again"))
    return await status(request)


async def opine(request: Request) -> BaseModel:
    """Agree or disagree with a finding. An opinion that does neither withdraws another. Return all of them."""
    opinion, store = validated(contracts.OpinionInput, await json_of(request)), work_of(request).session.store
    return await off_loop(run_views.say, store, (await run_of(request)).id, opinion)


async def description(request: Request) -> dict[str, Any]:
    """Return the OpenAPI description of the API."""
    context = context_of(request)
    return openapi(endpoints(context.extensions, read_only=context.config.read_only))


_MAX_ANSWERS, _MAX_CHAPTERS = 20, 500


def answers_of(store: Store, key: str) -> BaseModel:
    """Return questions and answers. They are the latest about the document of a run."""
    documents, questions = [store.runs.get(key).document], []
    asking = (run for run in store.runs.newest(documents=documents) if run.kind == "ask")
    for run in islice(asking, _MAX_ANSWERS):
        answer = read_answer(store, run.id) if run.draft else None
        evaluation = answer.consistency if answer else None
        judges = ", ".join(run.judging.judges or (run.settings.model,)) if run.judging else ""
        is_scored = evaluation is not None and evaluation.score is not None
        asked_question = widened(
            contracts.AskedQuestion,
            answer,
            run=run.id,
            question=run.settings.query or "",
            follows=bool(run.settings.earlier),
            status=store.status(run),
            trouble=scrubbed((run.error or {}).get("message", "")),
            judged=f"consistency {score(evaluation.score)}, judged by {judges}" if evaluation and is_scored else "",
            findings=evaluation.findings if evaluation else (),
        )
        questions.append(asked_question)
    return contracts.AnswerList(answers=tuple(questions))


_RUN = "/api/runs/{run}"
_ABOUT_DOSSIER = "Everything about a run: summary, findings, evidence, calls."
ENDPOINTS = (
    Endpoint("GET", "/api/runs", runs, query=RunFilter),
    Endpoint("POST", "/api/runs", start, RunBody, 201, gives=contracts.StartedRun, plans=RunPlan, forms=True),
    Endpoint("GET", "/api/offer", offer_of),
    Endpoint("POST", "/api/chapters", chapters, BatchBody, gives=contracts.ChapterList, forms=True),
    Endpoint("GET", _RUN, status),
    reading(f"{_RUN}/result", run_views.result_of, says="The result of a run."),
    reading(f"{_RUN}/dossier", read_dossier, says=_ABOUT_DOSSIER),
    reading(f"{_RUN}/evidence", run_views.evidence_of, contracts.SentenceEvidence, query=contracts.EvidenceFilter),
    reading(f"{_RUN}/pieces", run_views.pieces_of, contracts.PieceList),
    Endpoint("GET", f"{_RUN}/events", events, kind=EVENT_STREAM),
    Endpoint("POST", f"{_RUN}/stop", stop, says="Stop a run. Finished work is kept."),
    Endpoint("POST", f"{_RUN}/resume", resume, contracts.ResumeBody),
    Endpoint("POST", f"{_RUN}/ask", ask, contracts.QuestionBody, 201, gives=contracts.StartedRun),
    reading(f"{_RUN}/answers", answers_of, contracts.AnswerList),
    Endpoint("GET", f"{_RUN}/review", question, gives=contracts.PendingReview, works=True),
    Endpoint("POST", f"{_RUN}/review", review, ReviewAnswer, 202),
    reading(f"{_RUN}/opinions", run_views.opinions_of, contracts.OpinionList),
    Endpoint("POST", f"{_RUN}/opinions", opine, contracts.OpinionInput, gives=contracts.OpinionList),
    *models.ENDPOINTS,
    reading("/api/packs", all_packs, contracts.PackList),
    reading("/api/packs/{pack}", pack_contents, contracts.ExportedPack),
    reading("/api/keyfacts/{keyfacts}", keyfacts_contents, contracts.ExportedPack),
    *RUN_ACTIONS,
    *BATCHES,
    Endpoint("GET", "/api/openapi.json", description, says="This description of the API."),
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
