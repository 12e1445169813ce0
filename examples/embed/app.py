"""A web application: it starts runs, streams what happens in them, and takes a person's answers to their questions.

    pip install "redraft[examples]"
    REDRAFT_DB=runs.db BOOKS=examples uvicorn --app-dir examples/embed app:app

    curl localhost:8000/runs \
        -d '{"path": "the-salt-ledger.md", "goals": {"coverage": 0.5}, "review": true: true}'
    curl -N localhost:8000/runs/RUN/events
    curl localhost:8000/runs/RUN/question
    curl localhost:8000/runs/RUN/answer -d '{"drop": [2], "add": ["Name the auditor."]}'

All that a run knows is in the database: whoever starts the server anew goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import redraft

BOOKS = Path(os.environ.get("BOOKS", ".")).resolve()
OPTIONS = {"words", "strategy", "goals", "rounds", "review"}


class Feed:
    """What happens in a run from here to its next stop, for any number of watchers, each from the first event on."""

    def __init__(self, events: AsyncIterator[redraft.Event]) -> None:
        self.over = False
        self._seen: list[dict[str, object]] = []
        self._more = asyncio.Event()
        self.task = asyncio.create_task(self._follow(events))

    async def _follow(self, events: AsyncIterator[redraft.Event]) -> None:
        try:
            async for event in events:
                self._show(redraft.events.event_json(event))
        except redraft.RedraftError as error:
            self._show({"kind": "error", **problem_of(error)})
        finally:
            self.over = True
            self._more.set()

    def _show(self, event: dict[str, object]) -> None:
        self._seen.append(event)
        self._more.set()
        self._more = asyncio.Event()

    async def watch(self) -> AsyncIterator[dict[str, Any]]:
        """The events so far, and then each as it happens."""
        at = 0
        while True:
            while at < len(self._seen):
                yield self._seen[at]
                at += 1
            if self.over:
                return
            await self._more.wait()


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
    """Open the session, and go on with whatever an earlier server has left lying."""
    feeds: dict[str, Feed] = {}
    async with redraft.Session(os.environ.get("REDRAFT_DB")) as session:
        for run in session.store.runs.latest(100):
            if session.store.status(run) in ("killed", "interrupted"):
                feeds[run.id] = Feed(session.stream_resume(run.id))
        yield {"session": session, "feeds": feeds}
        for feed in feeds.values():
            feed.task.cancel()
        await asyncio.gather(*(feed.task for feed in feeds.values()), return_exceptions=True)


async def start(request: Request) -> Response:
    """Begin a run of a document: `{"path": ...}` or `{"text": ..., "title": ...}`, and options beside it."""
    asked = await body(request)
    source = (
        redraft.Document.from_text(str(asked["text"]), str(asked.get("title", ""))) if "text" in asked else book(asked)
    )
    options = {name: value for name, value in asked.items() if name in OPTIONS}
    feed = Feed(request.state.session.stream(source, **options))
    async for event in feed.watch():
        if event["kind"] == "error":
            return JSONResponse(event, 422)
        if event["kind"] == "started":
            request.state.feeds[event["run"]] = feed
            return JSONResponse({"run": event["run"]}, 201)
    return JSONResponse({"code": "bug", "message": "the run never began"}, 500)


async def result(request: Request) -> Response:
    """What there is of a run: its summary, its scores, what it took."""
    found: redraft.Result = await request.state.session.result(request.path_params["run"])
    return JSONResponse(found.model_dump(mode="json"))


async def events(request: Request) -> Response:
    """What happens in a run, as server-sent events up to where it stops: done, waiting, or failed."""
    run, feed = request.path_params["run"], request.state.feeds.get(request.path_params["run"])
    shown = feed.watch() if feed else standing(request.state.session, (await request.state.session.result(run)).run.id)
    return StreamingResponse(
        (f"event: {event['kind']}\ndata: {json.dumps(event)}\n\n" async for event in shown),
        media_type="text/event-stream",
    )


async def standing(session: redraft.Session, run: str) -> AsyncIterator[dict[str, Any]]:
    """How a run stands that this server has not worked on."""
    question = await session.question(run)
    reason = (await session.result(run)).run.stop_reason or ""
    yield redraft.events.event_json(
        redraft.events.Waiting(run, question) if question else redraft.events.RunDone(run, reason)
    )


async def question(request: Request) -> Response:
    """What a run that waits wants to know, for a person to read; null where it does not wait."""
    return JSONResponse(await request.state.session.question(request.path_params["run"]))


async def answer(request: Request) -> Response:
    """Answer a run that waits: `{"drop": [1, 3], "add": [...], "edited": ..., "stop": true}`, or some of it."""
    session, feeds, run = request.state.session, request.state.feeds, request.path_params["run"]
    if await session.question(run) is None or (run in feeds and not feeds[run].over):
        return JSONResponse({"code": "run", "message": f"run {run} is not waiting for an answer"}, 409)
    feeds[run] = Feed(session.stream_resume(run, await body(request)))
    async for event in feeds[run].watch():
        if event["kind"] == "waiting" and event["question"]["problem"]:
            return JSONResponse({"code": "answer", "message": event["question"]["problem"]}, 422)
        if event["kind"] not in ("started", "note"):
            break
    return JSONResponse({"run": run}, 202)


async def body(request: Request) -> dict[str, Any]:
    """The object that was posted."""
    try:
        posted = await request.json()
    except json.JSONDecodeError as error:
        raise redraft.UsageError(f"the request is no JSON: {error}") from error
    if not isinstance(posted, dict):
        raise redraft.UsageError("the request is no JSON object")
    return posted


def book(asked: dict[str, Any]) -> Path:
    """One of the documents that the server offers: a path must not lead out of their folder."""
    path = (BOOKS / str(asked.get("path", ""))).resolve()
    if not path.is_relative_to(BOOKS) or not path.is_file():
        raise redraft.UsageError("there is no such document", hint='give its "path", or its "text"')
    return path


def problem_of(error: redraft.RedraftError) -> dict[str, object]:
    """An error as clients read it."""
    return {"code": error.code, "message": str(error), "hint": error.hint}


async def refused(request: Request, error: Exception) -> Response:
    """What redraft cannot do is told in its own words."""
    assert isinstance(error, redraft.RedraftError)
    return JSONResponse(problem_of(error), 404 if isinstance(error, redraft.errors.RunError) else 422)


app = Starlette(
    routes=[
        Route("/runs", start, methods=["POST"]),
        Route("/runs/{run}", result),
        Route("/runs/{run}/events", events),
        Route("/runs/{run}/question", question),
        Route("/runs/{run}/answer", answer, methods=["POST"]),
    ],
    exception_handlers={redraft.RedraftError: refused},
    lifespan=lifespan,
)
