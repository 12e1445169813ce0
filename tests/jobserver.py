"""The batch API of the local server: `/v1/files` and `/v1/batches`, answered by the same script as single requests."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]
_AT_WORK = ("validating", "in_progress")
Answering = Callable[[str, Json, str], Awaitable[tuple[int, Json] | None]]
"""From a path, a body and a key to the status and the body of a response; None for a line that comes to nothing."""


@dataclass(eq=False)
class JobDesk:
    """The jobs of a server."""

    seconds: float = 0.1
    """How long a job takes."""
    most: int | None = None
    """More lines than this in all jobs at once are too much."""
    ends: str = "completed"
    leaves_out: int = 0
    """So many lines of the next jobs are without an answer, as where a job has expired."""
    refuses: tuple[int, str] | None = None
    """What every new job is refused with."""
    loses: int = 0
    """So many answers to new jobs get lost, though the jobs are there."""
    silent: int = 0
    """So often it breaks down when somebody asks after a job."""
    jobs: dict[str, Json] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """What was asked of it: method and path."""

    def attach(self, app: web.Application, answering: Answering) -> None:
        """Take part in a server."""
        self._answering = answering
        self._numbers = itertools.count(1)
        self._working: set[asyncio.Task[None]] = set()
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{file}/content", self._content)
        app.router.add_delete("/v1/files/{file}", self._delete)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{job}", self._job)

    def lines(self, job: str) -> list[Json]:
        """What a job consists of."""
        return [json.loads(line) for line in self.files[self.jobs[job]["input_file_id"]].splitlines()]

    async def _upload(self, request: web.Request) -> web.Response:
        self._note(request)
        form = await request.post()
        assert form["purpose"] == "batch"
        sent = form["file"]
        assert isinstance(sent, web.FileField)
        return web.json_response(self._file(sent.file.read()))

    def _file(self, content: bytes) -> Json:
        name = f"file-{next(self._numbers)}"
        self.files[name] = content
        said = {"id": name, "object": "file", "bytes": len(content), "created_at": int(time.time())}
        return said | {"filename": "requests.jsonl", "purpose": "batch", "status": "processed"}

    async def _content(self, request: web.Request) -> web.Response:
        self._note(request)
        return web.Response(body=self.files[request.match_info["file"]])

    async def _delete(self, request: web.Request) -> web.Response:
        self._note(request)
        name = request.match_info["file"]
        self.deleted.append(name)
        return web.json_response({"id": name, "object": "file", "deleted": True})

    async def _create(self, request: web.Request) -> web.Response:
        self._note(request)
        if self.refuses:
            status, message = self.refuses
            error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
            return web.json_response({"error": error}, status=status)
        body = await request.json()
        name = f"batch_{next(self._numbers)}"
        job = {"id": name, "object": "batch", "created_at": int(time.time()), "status": "validating"}
        said = ("endpoint", "input_file_id", "completion_window", "metadata")
        self.jobs[name] = job | {one: body[one] for one in said}
        key = request.headers.get("Authorization", "")
        task = asyncio.create_task(self._work(name, key))
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        if self.loses:
            self.loses -= 1
            return web.json_response({"error": {"message": "Bad gateway."}}, status=502)
        return web.json_response(self.jobs[name])

    async def _list(self, request: web.Request) -> web.Response:
        self._note(request)
        newest = list(self.jobs.values())[::-1]
        return web.json_response({"object": "list", "data": newest, "has_more": False})

    async def _job(self, request: web.Request) -> web.Response:
        self._note(request)
        if self.silent:
            self.silent -= 1
            return web.json_response({"error": {"message": "Bad gateway."}}, status=502)
        return web.json_response(self.jobs[request.match_info["job"]])

    def _note(self, request: web.Request) -> None:
        self.asked.append(f"{request.method} {request.path}")

    async def _work(self, name: str, key: str) -> None:
        job, lines = self.jobs[name], self.lines(name)
        at_work = sum(len(self.lines(one)) for one, it in self.jobs.items() if it["status"] in _AT_WORK)
        if self.most is not None and at_work > self.most:
            error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}
            job |= {"status": "failed", "errors": {"object": "list", "data": [error]}}
            return
        job["status"] = "in_progress"
        began = time.monotonic()
        while time.monotonic() < began + self.seconds:  # noqa: ASYNC110  (a test may shorten it meanwhile)
            await asyncio.sleep(0.01)
        left, self.leaves_out = lines[self.leaves_out :], 0
        answers = await asyncio.gather(*(self._answering(one["url"], one["body"], key) for one in left))
        good: list[Json] = []
        bad: list[Json] = []
        for line, answer in zip(left, answers, strict=True):
            said: Json = {"id": f"batch_req_{next(self._numbers)}", "custom_id": line["custom_id"]}
            if answer is None:
                bad.append(said | {"response": None, "error": {"code": "server_error", "message": "It broke down."}})
                continue
            status, body = answer
            said |= {"response": {"status_code": status, "request_id": "r", "body": body}, "error": None}
            (good if status == 200 else bad).append(said)
        for which, found in (("output_file_id", good), ("error_file_id", bad)):
            if found:
                job[which] = self._file("".join(json.dumps(one) + "\n" for one in found).encode())["id"]
        job["status"] = self.ends
