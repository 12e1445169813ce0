"""Wraps a model so that nothing is paid for twice and nothing is lost: cache, ledger, budget, limiter, retries."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel

from redraft.domain import Usage
from redraft.errors import (
    CapabilityError,
    ModelError,
    RateLimited,
    ReplyError,
    TransientError,
    UnreadableReply,
)
from redraft.events import CallAnswered, CallFailed, CallStarted, Observer, unobserved
from redraft.models.base import Complaint, Model, Reply, Request, Sampling
from redraft.models.budget import Budget
from redraft.models.limiter import Limiter
from redraft.models.prices import FREE, Price
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Given_, Value_
from redraft.store.calls import OK, Call
from redraft.store.documents import now
from redraft.store.store import Store

_TRANSIENT_TRIES = 6
_RATE_LIMIT_TRIES = 30
_CAPABILITY_TRIES = 6
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
# A token is seldom shorter than this many bytes of prose; the cost of a call is foreseen with it, on the high side.
_BYTES_A_TOKEN = 3


class RecordedModel:
    """Any model, remembered. One request is made once, however often and from however many tasks it is asked."""

    def __init__(
        self,
        inner: Model,
        *,
        book: PromptBook,
        store: Store,
        limiter: Limiter,
        run: str | None = None,
        budget: Budget | None = None,
        price: Price | None = FREE,
        observer: Observer = unobserved,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.identity = inner.identity
        self._inner = inner
        self._book = book
        self._store = store
        self._limiter = limiter
        self._run = run
        self._budget = budget or Budget(max_calls=None, max_cost=None)
        self._price = price
        self._observer = observer
        self._pause = pause
        self._flights: dict[str, asyncio.Lock] = {}

    def most_tokens(self, sampling: Sampling) -> int:
        """As the model beneath has it."""
        return self._inner.most_tokens(sampling)

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        """The cached reply, or one from the model that is stored before it is returned."""
        messages = self._book.render(request.prompt, request.given)
        key = self._key(request, messages)
        async with self._alone(key):
            cached = await self._cached(request, key)
            return cached or await self._asked(request, key, len(messages.encode("utf-8", "replace")))

    def _key(self, request: Request[Any, Any], messages: str) -> str:
        sampling = request.sampling
        shape = request.prompt.returns
        schema = shape.model_json_schema() if issubclass(shape, BaseModel) else "text"
        material = [
            self.identity,
            request.prompt.name,
            messages,
            schema,
            sampling.temperature,
            sampling.max_tokens,
            sampling.sample,
        ]
        return hashlib.sha256(json.dumps(material, sort_keys=True).encode()).hexdigest()

    @asynccontextmanager
    async def _alone(self, key: str) -> AsyncIterator[None]:
        """Let one task at a time ask the same; those behind it find the answer in the cache."""
        lock = self._flights.setdefault(key, asyncio.Lock())
        async with lock:
            yield
        if not lock.locked():
            self._flights.pop(key, None)

    async def _cached(self, request: Request[Given_, Value_], key: str) -> Reply[Value_] | None:
        answer = await asyncio.to_thread(self._store.calls.find, key, self._run)
        if answer is None:
            return None
        shape = request.prompt.returns
        value = shape.model_validate_json(answer.text) if issubclass(shape, BaseModel) else answer.text
        self._observer(CallAnswered(request.label, answer.usage, 0.0, cached=True))
        return Reply(cast(Value_, value), answer.text, answer.usage, answer.finish_reason, cached=True)

    async def _asked(self, request: Request[Given_, Value_], key: str, size: int) -> Reply[Value_]:
        """Ask until there is an answer or no hope of one. A reply that cannot be read is repaired once."""
        tries: dict[type[ModelError], int] = {}
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._attempt(request, key, size, attempt)
            except UnreadableReply as error:
                if request.complaint is not None:
                    raise
                request = replace(request, complaint=Complaint(error.text, error.message))
                self._observer(CallFailed(request.label, error.message, 0.0))
            except (RateLimited, TransientError, CapabilityError) as error:
                tries[type(error)] = tries.get(type(error), 0) + 1
                wait = _wait(error, tries[type(error)])
                self._observer(CallFailed(request.label, error.message, wait))
                if wait is None:
                    raise
                await self._pause(wait)

    async def _attempt(self, request: Request[Given_, Value_], key: str, size: int, attempt: int) -> Reply[Value_]:
        tokens = size // (_BYTES_A_TOKEN + 1) + (request.sampling.max_tokens or 0)
        async with self._limiter.slot(tokens, request.urgency) as began:
            with self._budget.reserve(self._worst_cost(request, size)):
                self._observer(CallStarted(request.label))
                call = self._blank(request, key, attempt)
                try:
                    reply = await self._inner.ask(request)
                except (ModelError, asyncio.CancelledError) as error:
                    await self._failed(error, call, began)
                    raise
                call = self._charged(call, reply.usage, began, size, reply.text)
                canonical = reply.value.model_dump_json() if isinstance(reply.value, BaseModel) else reply.text
                call = replace(call, outcome=OK, reply=canonical, finish_reason=reply.finish_reason)
                # A reply that has been paid for is stored even when the run is being stopped.
                await asyncio.shield(asyncio.to_thread(self._store.calls.add, call))
            self._budget.spent(call.cost_usd or 0.0)
            self._limiter.answered()
        self._observer(CallAnswered(request.label, call.usage, call.cost_usd, cached=False))
        return reply

    async def _failed(self, error: BaseException, call: Call, began: float) -> None:
        """Record an attempt that brought no value; what it cost, if anything, is spent all the same."""
        if isinstance(error, RateLimited):
            self._limiter.turned_away(began, error.retry_after)
        code = error.code if isinstance(error, ModelError) else "cancelled"
        call = replace(call, outcome=code, error=str(error)[:500], seconds=time.monotonic() - began)
        if isinstance(error, ReplyError):
            call = self._charged(call, error.usage, began, 0, error.text)
            call = replace(call, reply=error.text, finish_reason=error.finish_reason)
        if not isinstance(error, (RateLimited, CapabilityError)):
            self._budget.spent(call.cost_usd or 0.0)
        await asyncio.shield(asyncio.to_thread(self._store.calls.add, call))

    def _blank(self, request: Request[Any, Any], key: str, attempt: int) -> Call:
        sampling = request.sampling
        return Call(
            run=self._run,
            key=key,
            model=self.identity,
            prompt=request.prompt.name,
            prompt_hash=self._book.hash(request.prompt),
            label=request.label,
            sample=sampling.sample,
            temperature=sampling.temperature,
            max_tokens=sampling.max_tokens,
            attempt=attempt,
            outcome="",
            started=now(),
            seconds=0.0,
        )

    def _charged(self, call: Call, usage: Usage, began: float, size: int, text: str) -> Call:
        """Fill in what the attempt used; where the provider does not say, from the sizes of what went to and fro."""
        if not usage.reported:
            per_token = _BYTES_A_TOKEN + 1
            usage = Usage(size // per_token, len(text.encode("utf-8", "replace")) // per_token, reported=False)
        cost = None if self._price is None else self._price.of(usage)
        return replace(call, usage=usage, cost_usd=cost, seconds=time.monotonic() - began)

    def _worst_cost(self, request: Request[Any, Any], size: int) -> float:
        if self._price is None:
            return 0.0
        return self._price.of(Usage(size // _BYTES_A_TOKEN, self._inner.most_tokens(request.sampling)))


def _wait(error: ModelError, tries: int) -> float | None:
    """Seconds before the next try; None when there shall be none."""
    if isinstance(error, CapabilityError):
        return 0.0 if tries <= _CAPABILITY_TRIES else None
    limit = _RATE_LIMIT_TRIES if isinstance(error, RateLimited) else _TRANSIENT_TRIES
    if tries >= limit:
        return None
    if isinstance(error, RateLimited) and error.retry_after is not None:
        # The limiter holds everyone back until then.
        return 0.0
    # Jitter keeps the tasks that failed together from coming back together.
    pause: float = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (tries - 1))
    return pause * random.uniform(0.6, 1.4)
