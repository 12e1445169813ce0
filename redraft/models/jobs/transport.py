"""The way of a chat request into a job: to the client above it a job is a server that takes its time."""

from __future__ import annotations

import json

import httpx2

from redraft.models.jobs.office import Office
from redraft.models.jobs.wanted import ATTEMPT


class JobTransport(httpx2.AsyncBaseTransport):
    """Answers requests from jobs."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer that the job has for it."""
        body = json.loads(await request.aread())
        answer = await self._office.ask(ATTEMPT.get(), body)
        return httpx2.Response(answer.status, headers={"content-type": "application/json"}, content=answer.body)
