"""Provider batches: requests that are sent as one job and fetched later."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

import httpx2
import openai
from openai.types import Batch

from redraft.errors import ModelError, ProviderError, ServerUnreachable, StoreError
from redraft.llm.base import ATTEMPT
from redraft.store.batches import ProviderJobs, StoredProviderJob
from redraft.store.connection import off_loop
from redraft.text.words import count

_ENDPOINT: Final = "/v1/chat/completions"
# OpenAI's limits of a job.
_MAX_LINES, _MAX_BYTES = 50_000, 190_000_000
# A batch is complete when no request has been added for so long.
_QUIET = 5.0
_FIRST_LOOK, _LONGEST_PAUSE, _SLOWER = 1.0, 60.0, 1.5
_OVER = ("completed", "failed", "expired", "cancelled", "canceled")
_TRIES = 5
_FAULTS = 500
_TOO_MUCH = "token_limit_exceeded"
_MARK = "redraft"
# A job that was created a while ago is among the last of an account.
_LISTED = 500
_SECONDS_TO_TIDY = 10.0


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The response to one request of a job."""

    status: int
    body: bytes

    @classmethod
    def error(cls, status: int, message: str, code: str | None = None) -> BatchAnswer:
        """Return an error in OpenAI's format."""
        said = {"error": {"message": message, "type": "batch", "param": None, "code": code}}
        return cls(status, json.dumps(said).encode())


_NONE = BatchAnswer.error(503, "the provider's job ended without an answer to this request", "batch_without_answer")


@dataclass(slots=True)
class _PendingJob:
    """A job at the provider, and when to poll it next."""

    job: StoredProviderJob
    attempts: frozenset[str]
    pause: float = _FIRST_LOOK
    due: float = field(default_factory=lambda: time.monotonic() + _FIRST_LOOK)
    files: set[str] = field(default_factory=set)
    bodies: Mapping[str, Any] = field(default_factory=dict)
    """The requests, if this process sent them."""


class BatchClient:
    """The batch jobs of one model's server, in one event loop."""

    def __init__(self, client: openai.AsyncOpenAI, address: str, jobs: ProviderJobs) -> None:
        self._client = client
        self._address = address
        self._jobs = jobs
        self.notes: list[Callable[[str], None]] = []
        """Callbacks for progress; only the first is called."""
        self._gathered: dict[str, Any] = {}
        self._joined = 0.0
        self._pending: dict[str, _PendingJob] = {}
        self._sent: set[str] = set()
        """The attempts in jobs that are at the provider, or being sent."""
        self._ended: dict[str, _PendingJob] = {}
        self._answers: dict[str, BatchAnswer] = {}
        """The answers that no task is waiting for yet."""
        self._waiting: dict[str, asyncio.Future[BatchAnswer]] = {}
        self._most_lines = _MAX_LINES
        self._crowded = False
        """Whether the provider refused several jobs at once: then they are sent one after the other."""
        self._looking_up = asyncio.Lock()
        self._worker: asyncio.Task[None] | None = None

    async def ask(self, attempt: str, body: Any) -> BatchAnswer:
        """Return the answer to a request, from a job that already contains it, or from the next one."""
        async with self._looking_up:
            there = attempt in self._answers or await self._is_with_the_provider(attempt)
        if (answer := self._answers.pop(attempt, None)) is not None:
            return answer
        if not there:
            self._gathered[attempt] = body
            self._joined = time.monotonic()
        answered: asyncio.Future[BatchAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[attempt] = answered
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            return await answered
        except asyncio.CancelledError:
            if answered.done() and not answered.cancelled() and answered.exception() is None:
                self._answers[attempt] = answered.result()
            raise
        finally:
            self._waiting.pop(attempt, None)
            self._gathered.pop(attempt, None)

    async def aclose(self) -> None:
        """Stop polling; jobs at the provider stay there for the next process."""
        try:
            if self._worker is not None:
                self._worker.cancel()
                with suppress(asyncio.CancelledError):
                    await self._worker
            with suppress(TimeoutError):
                async with asyncio.timeout(_SECONDS_TO_TIDY):
                    await self._tidy()
        finally:
            await self._client.close()

    def _note(self, said: str) -> None:
        for note in self.notes[:1]:
            note(said)

    async def _is_with_the_provider(self, attempt: str) -> bool:
        if attempt in self._sent:
            return True
        job = await off_loop(self._jobs.holding, self._address, attempt)
        if job is None or job.id in self._ended or job.id in self._pending:
            return False
        name = job.name or await self._name_of(job)
        if name is None:
            await off_loop(self._jobs.forget, job.id)
            return False
        await off_loop(self._jobs.name, job.id, name)
        attempts = await off_loop(self._jobs.attempts, job.id)
        self._mark_sent(_PendingJob(StoredProviderJob(job.id, name), frozenset(attempts)))
        self._note(f"the provider has {count(len(attempts), 'request')} already, as the job {name}")
        return True

    def _mark_sent(self, pending: _PendingJob) -> None:
        self._pending[pending.job.id] = pending
        self._sent |= pending.attempts

    def _mark_ended(self, pending: _PendingJob) -> None:
        self._ended[pending.job.id] = self._pending.pop(pending.job.id)
        self._sent -= pending.attempts

    async def _name_of(self, job: StoredProviderJob) -> str | None:
        """Return the provider's id of a job whose creation was not confirmed; None if it was not created."""
        seen = 0
        with suppress(openai.NotFoundError):
            async for known in self._client.batches.list(limit=100):
                if (known.metadata or {}).get(_MARK) == job.id:
                    return known.id
                seen += 1
                if seen >= _LISTED:
                    break
        return None

    async def _work(self) -> None:
        """Send and poll jobs as long as any task waits."""
        try:
            while self._waiting:
                now = time.monotonic()
                if self._gathered and now >= self._joined + _QUIET and not (self._crowded and self._pending):
                    await self._post()
                for pending in [job for job in self._pending.values() if job.due <= now]:
                    await self._poll(pending)
                await self._tidy()
                await asyncio.sleep(self._pause())
        except Exception as error:  # noqa: BLE001  (whoever waits is to hear of it, of a full disk above all)
            self._fail(list(self._waiting), error)

    def _pause(self) -> float:
        due = [pending.due for pending in self._pending.values()]
        if self._gathered:
            due.append(self._joined + _QUIET)
        return max(0.05, min(due, default=0.0) - time.monotonic())

    async def _post(self) -> None:
        """Send the collected requests, as many as a job takes; a failure is passed to all waiting tasks."""
        lines: dict[str, bytes] = {}
        size = 0
        for attempt, body in self._gathered.items():
            line = json.dumps({"custom_id": attempt, "method": "POST", "url": _ENDPOINT, "body": body}).encode() + b"\n"
            if lines and (len(lines) >= self._most_lines or size + len(line) > _MAX_BYTES):
                break
            lines[attempt], size = line, size + len(line)
        bodies = {attempt: self._gathered.pop(attempt) for attempt in lines}
        self._sent |= lines.keys()
        try:
            pending = await self._submit(lines)
        except Exception as error:  # noqa: BLE001  (whoever waits is to hear of it)
            self._sent -= lines.keys()
            self._fail(lines, error)
            return
        pending.bodies = bodies
        self._mark_sent(pending)
        sent = f"{count(len(lines), 'request')} submitted as the job {pending.job.name}"
        self._note(f"{sent}, whose status is checked; Ctrl-C leaves it running")

    async def _submit(self, lines: Mapping[str, bytes]) -> _PendingJob:
        job = await off_loop(self._jobs.open, self._address, list(lines))
        uploaded = ""
        try:
            file = await self._client.files.create(file=("requests.jsonl", b"".join(lines.values())), purpose="batch")
            uploaded = file.id
            name = await self._created(job, uploaded)
        except openai.APIStatusError as error:
            if error.status_code < _FAULTS:
                # It was refused. After a lost response the record stays, since the job may exist.
                await off_loop(self._jobs.forget, job.id)
                await self._delete(uploaded)
            raise
        await off_loop(self._jobs.name, job.id, name)
        return _PendingJob(StoredProviderJob(job.id, name), frozenset(lines), files={uploaded})

    async def _created(self, job: StoredProviderJob, file: str) -> str:
        """Create a job once: if the response is lost, look the job up before creating it again."""
        once = self._client.with_options(max_retries=0)
        for tries in range(_TRIES):
            try:
                made = await once.batches.create(
                    input_file_id=file, endpoint=_ENDPOINT, completion_window="24h", metadata={_MARK: job.id}
                )
            except (openai.APIConnectionError, openai.InternalServerError):
                if tries == _TRIES - 1:
                    raise
                await asyncio.sleep(_FIRST_LOOK * 2**tries)
                if (name := await self._name_of(job)) is not None:
                    return name
            else:
                return made.id
        raise AssertionError("the last try returns or raises")

    def _fail(self, attempts: Iterable[str], error: Exception) -> None:
        """Pass an error to the tasks that wait for these attempts."""
        for attempt in attempts:
            waiting = self._waiting.get(attempt)
            if waiting is not None and not waiting.done():
                waiting.set_exception(_error_for(error))

    async def _poll(self, pending: _PendingJob) -> None:
        """Poll a job with growing intervals, and process a finished one."""
        assert pending.job.name is not None
        pending.pause = min(_LONGEST_PAUSE, pending.pause * _SLOWER)
        pending.due = time.monotonic() + pending.pause
        try:
            state = await self._client.batches.retrieve(pending.job.name)
            over = str(state.status).lower() in _OVER
            answers = await self._read(state, pending) if over else {}
        except openai.NotFoundError:
            self._note(f"the provider no longer has the job {pending.job.name}, or not its answers")
            self._mark_ended(pending)
            self._deliver(pending, {}, _NONE)
            return
        except openai.APIError as error:
            # The job remains at the provider, so it can be fetched later.
            self._note(f"the provider gave no status for the job {pending.job.name} ({type(error).__name__}); retrying")
            return
        except Exception as error:  # noqa: BLE001  (an unreadable answer fails only its own job)
            self._mark_ended(pending)
            self._fail(pending.attempts, error)
            return
        if over and not self._is_too_much(state, pending):
            self._mark_ended(pending)
            self._most_lines = min(_MAX_LINES, 2 * self._most_lines)
            self._deliver(pending, answers, _refusal(state) or _NONE)
            lacking = len(pending.attempts - answers.keys())
            without = f", {count(lacking, 'request')} without one" if lacking else ""
            self._note(f"the job {state.id} is {state.status}: {len(answers):,} answers{without}")

    def _is_too_much(self, state: Batch, pending: _PendingJob) -> bool:
        """Return whether the provider accepts fewer requests at once; if so, queue them again for smaller jobs."""
        codes = [one.code for one in (state.errors.data or [])] if state.errors else []
        if state.status != "failed" or _TOO_MUCH not in codes or len(pending.bodies) < 2:
            return False
        self._most_lines, self._crowded = len(pending.bodies) // 2, True
        self._gathered = {name: body for name, body in pending.bodies.items() if name in self._waiting} | self._gathered
        self._mark_ended(pending)
        most = count(self._most_lines, "request")
        self._note(f"that is more than the provider accepts at once: jobs of {most} from now on")
        return True

    def _deliver(self, pending: _PendingJob, answers: Mapping[str, BatchAnswer], otherwise: BatchAnswer) -> None:
        for attempt in pending.attempts:
            answer, waiting = answers.get(attempt) or otherwise, self._waiting.get(attempt)
            if waiting is None:
                self._answers[attempt] = answer
            elif not waiting.done():
                waiting.set_result(answer)

    async def _read(self, state: Batch, pending: _PendingJob) -> dict[str, BatchAnswer]:
        """Return the answers of a finished job, by attempt."""
        found: dict[str, BatchAnswer] = {}
        pending.files |= {one for one in (state.input_file_id, state.output_file_id, state.error_file_id) if one}
        for file in (state.output_file_id, state.error_file_id):
            if file:
                content = await self._client.files.content(file)
                found |= dict(filter(None, map(_answer_in, content.content.splitlines())))
        return found

    async def _tidy(self) -> None:
        """Delete finished jobs whose answers are stored, here and at the provider."""
        for job, ended in list(self._ended.items()):
            if self._gathered.keys() & ended.attempts or self._answers.keys() & ended.attempts:
                continue
            if await off_loop(self._jobs.is_settled, job):
                del self._ended[job]
                await off_loop(self._jobs.forget, job)
                for file in ended.files:
                    await self._delete(file)

    async def _delete(self, file: str) -> None:
        """Delete a file at the provider, if possible."""
        if file:
            with suppress(openai.OpenAIError):
                await self._client.files.delete(file)


def _error_for(error: Exception) -> Exception:
    """Return a separate error for each waiting task."""
    if isinstance(error, StoreError):
        return ProviderError(f"the job cannot be recorded: {error}", hint=error.hint)
    if isinstance(error, openai.APIStatusError) and error.status_code < _FAULTS:
        return ProviderError(
            f"the provider does not accept the job: {error.message}", hint="leave out --provider-batch"
        )
    if isinstance(error, openai.APIError):
        return ServerUnreachable(f"no job could be submitted: {error.message}")
    return ModelError(f"{type(error).__name__}: {error}")


def _answer_in(line: bytes) -> tuple[str, BatchAnswer] | None:
    """Return the answer on a line of a result file; None for an invalid line."""
    try:
        said = json.loads(line)
        response = said.get("response")
        if not isinstance(said["custom_id"], str):
            return None
        if response:
            return said["custom_id"], BatchAnswer(int(response["status_code"]), json.dumps(response["body"]).encode())
        error = said.get("error") or {}
        return said["custom_id"], BatchAnswer.error(503, str(error.get("message")), str(error.get("code")))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _refusal(state: Batch) -> BatchAnswer | None:
    """Return why a provider refuses all of a job's requests."""
    if state.status != "failed":
        return None
    said = [one.message or one.code or "" for one in (state.errors.data or [])] if state.errors else []
    return BatchAnswer.error(400, f"the provider rejected the job: {'; '.join(said) or 'it does not say why'}")


class JobTransport(httpx2.AsyncBaseTransport):
    """An HTTP transport that answers chat requests from batch jobs."""

    def __init__(self, batch_client: BatchClient) -> None:
        self._client = batch_client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer of the batch job."""
        body = json.loads(await request.aread())
        answer = await self._client.ask(ATTEMPT.get(), body)
        return httpx2.Response(answer.status, headers={"content-type": "application/json"}, content=answer.body)


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, BatchClient]] = WeakKeyDictionary()
"""One client for all runs of a process with the same model, so that their requests share jobs."""


def shared_client(
    which: Hashable, make: Callable[[], BatchClient], note: Callable[[str], None], closing: AsyncExitStack
) -> BatchClient:
    """Return the batch client of a model, created if needed and closed with its last user's `closing`; its first user
    gets the notes."""
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if which not in clients:
        clients[which] = make()
    batch_client = clients[which]
    batch_client.notes.append(note)

    async def leave() -> None:
        batch_client.notes.remove(note)
        if not batch_client.notes:
            del clients[which]
            await batch_client.aclose()

    closing.push_async_callback(leave)
    return batch_client
