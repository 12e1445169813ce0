"""Review over HTTP: a run asks before it revises, and a person answers by another request, whenever they like.

    pip install "redraft[examples]"
    python review.py                     # shows both sides in one process
    uvicorn review:app                   # serves, for these requests:

    curl localhost:8000/runs -d '{"text": "...", "words": 60}'
    curl localhost:8000/runs/RUN
    curl localhost:8000/runs/RUN -d '{"drop": [2], "add": ["Name the harbour master."]}'

The question is in the database, and not in the server, which may be restarted in between.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import redraft

TEXT = """\
The harbour board met on Tuesday at the Customs House. Edith Marlow was in the chair. The dredging of the north channel
will begin on 4 May and cost 12,000 pounds. The fishermen asked for a week's delay, because the herring run ends on
10 May. The board refused by five votes to four. Samuel Orr, the harbour master, resigned in protest."""


class Order(BaseModel):
    """What a client sends to start a run."""

    text: str
    words: int = 300


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
    """Open one session for all requests."""
    async with redraft.Session(os.environ.get("REDRAFT_DB", "review.db")) as session:
        yield {"session": session}


async def start(request: Request) -> Response:
    """Draft and judge a summary of the text, up to the first question."""
    session: redraft.Session = request.state.session
    order = Order.model_validate_json(await request.body())
    # No model is named, so the built-in one judges: its figures are offline checks, which compare words.
    result = await session.summarize(
        redraft.Document.from_text(order.text),
        words=order.words,
        goals={"coverage": 0.9},
        rounds=2,
        review=True,
    )
    return await shown(session, result)


async def show(request: Request) -> Response:
    """The summary so far, and the question, if the run waits for an answer."""
    session: redraft.Session = request.state.session
    return await shown(session, await session.result(request.path_params["run"]))


async def answer(request: Request) -> Response:
    """Answer the question; the run goes on to the next one, or to its end."""
    session: redraft.Session = request.state.session
    given = redraft.ReviewAnswer.model_validate_json(await request.body())
    return await shown(session, await session.resume(request.path_params["run"], answer=given))


async def shown(session: redraft.Session, result: redraft.Result) -> Response:
    question = await session.question(result.run.id)
    return JSONResponse(
        {
            "run": result.run.id,
            "status": result.run.status,
            "summary": result.summary,
            "scores": dict(result.scores),
            "question": question,
        }
    )


async def refuse(request: Request, error: Exception) -> Response:
    """Say in a sentence what is wrong with a request."""
    return JSONResponse({"error": str(error), "hint": getattr(error, "hint", "")}, 422)


app = Starlette(
    routes=[
        Route("/runs", start, methods=["POST"]),
        Route("/runs/{run}", show, methods=["GET"]),
        Route("/runs/{run}", answer, methods=["POST"]),
    ],
    exception_handlers={redraft.RedraftError: refuse, ValidationError: refuse},
    lifespan=lifespan,
)


async def main() -> None:
    """Show both sides without a server: requests go to the application directly."""
    async with redraft.Session(":memory:") as session:

        async def serve(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "state": {"session": session}}, receive, send)

        async with httpx.AsyncClient(transport=httpx.ASGITransport(serve), base_url="http://review") as client:
            state = (await client.post("/runs", json={"text": TEXT, "words": 40})).json()
            while question := state["question"]:
                print("The draft:", question["text"])
                for number, finding in enumerate(question["findings"], 1):
                    print(f"{number}.", finding["question"], finding["expected"])
                # A person reads this, and does not want the last one.
                reply = {"drop": [question["findings"][-1]["id"]]}
                state = (await client.post(f"/runs/{state['run']}", json=reply)).json()
            print("The result:", state["summary"], state["scores"], state["status"])


if __name__ == "__main__":
    asyncio.run(main())
