"""Wraps a model so that nothing is paid for twice and nothing is lost: cache, ledger, budget, limiter, retries."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

from pydantic import BaseModel

from redraft.domain import Usage
from redraft.errors import (
    CapabilityError,
    DeadlineError,
    ModelError,
    ProviderError,
    Raise,
    RateLimited,
    RedraftError,
    RejectedRequest,
    ReplyError,
    ServerUnreachable,
    StoreError,
    TimedOut,
    TransientError,
    UnreadableReply,
    UsageError,
)
from redraft.events import CallAnswered, CallFailed, CallStarted, Notice, Observer, ignore_event
from redraft.llm.addresses import environment_keys, redacted
from redraft.llm.base import Complaint, Model, Reply, Request, Sampling
from redraft.llm.budget import FREE, Budget, Limiter, RetryPolicy
from redraft.llm.responses import plausible_usage
from redraft.llm.structured_output import (
    KEYWORDS,
    bytes_of,
    full_schema,
    messages_of,
    most_tokens_of,
    prompt_schema,
)
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import InputT, ValueT
from redraft.prompts.tags import TagContext, Tags
from redraft.settings import Limits, Price
from redraft.store.calls import OK, SENT, Call, DuplicateCallError, Message, ModelCapabilities, Reservation
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.store.table import now
from redraft.text.languages import is_foreign
from redraft.text.tokens import Tokenizer

_BYTES_A_TOKEN_AS_A_RULE = 4
# The most tokens that chat templates add to the messages, and that the form of the reply takes. Providers name up to
# 530 tokens for tools.
_FRAME_TOKENS = 256
_TOOL_TOKENS = 1_024
_LOOK_AGAIN = 0.2
_SHORT_BYTES = 16_384
# Finish reasons of replies that were not generated, or not sent.
_UNBILLED = (RateLimited, CapabilityError, RejectedRequest, ProviderError, ServerUnreachable)


# The running requests of all runs of an event loop.
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, asyncio.Lock]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class _PendingCall:
    """One reserved attempt: when it waited and began, about how many tokens its prompt has, its ledger entry, and the
    most completion tokens reserved."""

    began: float
    sent: float
    tokens: int
    reservation: Reservation
    call: Call
    most_out: int


def request_key(request: Request[Any, Any], identity: str, language: str = "", *, limited: bool = False) -> str:
    """Return a hash of what a request asks. The limit of the reply is part of it only if that is `limited`."""
    sampling = request.sampling
    material: list[object] = [
        identity,
        request.prompt.name,
        request.text,
        full_schema(request) or "text",
        sampling.temperature,
        *([sampling.max_tokens] if limited else []),
        sampling.sample,
        sampling.top_p,
        language,
    ]
    if request.complaint is not None:
        material += [request.complaint.reply, request.complaint.reason]
    return hashlib.sha256(json.dumps(material, sort_keys=True).encode()).hexdigest()


def text_of(request: Request[Any, Any], reply: Reply[Any]) -> str:
    """Return a reply as it is stored. It names items by their tags, since the same words about other item numbers are
    the same request."""
    if not isinstance(reply.value, BaseModel):
        return reply.text
    return reply.value.model_dump_json(by_alias=True, round_trip=True, context=TagContext(Tags(request.given)))


def value_in(request: Request[Any, ValueT], text: str) -> ValueT:
    """Return the value of a stored reply."""
    shape = request.prompt.returns
    wire = TagContext(Tags(request.given))
    return cast("ValueT", shape.model_validate_json(text, context=wire) if issubclass(shape, BaseModel) else text)


@dataclass(eq=False)
class RecordedModel:
    """Any model with a cache and a ledger; equal requests of several tasks are sent once."""

    inner: Model
    book: PromptBook = field(kw_only=True)
    store: Store = field(kw_only=True)
    limiter: Limiter = field(kw_only=True)
    run: str | None = None
    budget: Budget = field(default_factory=lambda: Budget(max_calls=None, max_cost=None))
    limits: Limits = field(default_factory=Limits)
    """The limits on the attempts at a request."""
    ends_at: float | None = None
    """The time after which no attempt is made, as of `time.monotonic`."""
    price: Price | None = FREE
    tokenizer: Tokenizer | None = None
    """Counts as the provider does; without one the maximum for a text is counted."""
    top_p: float | None = None
    max_tokens: int | None = None
    """These two apply to every request."""
    observer: Observer = ignore_event
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    language: str = ""
    """The language of the document, for a model that depends on it."""

    def __post_init__(self) -> None:
        self.identity = self.inner.identity
        self._language = self.language if any(map(is_foreign, self.language.split(", "))) else ""
        self._capabilities: ModelCapabilities | None = None
        self._patience = Counter[str]()
        self._noticed: set[str] = set()
        self._hopeless: RedraftError | None = None
        """The error that prevents all further requests: waiting ones are not sent."""

    def most_tokens(self, sampling: Sampling) -> int:
        return self.inner.most_tokens(sampling)

    async def withdraw(self, request: Request[Any, Any], reason: str) -> None:
        """Record the reply to a request as refused, and remove it from the cache."""
        key = request_key(self._filled(request), self.identity, self._language)
        await off_loop(self.store.calls.withdraw, key, reason)

    def _filled(self, request: Request[InputT, ValueT]) -> Request[InputT, ValueT]:
        """Return the request as it is sent and keyed, with the limits that apply to every request."""
        sampling = request.sampling
        limits = [limit for limit in (sampling.max_tokens, self.max_tokens) if limit is not None]
        sampling = replace(sampling, top_p=sampling.top_p or self.top_p, max_tokens=min(limits, default=None))
        return replace(request, text=self.book.render(request.prompt, request.given), sampling=sampling)

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Return the cached reply, or the model's, which is stored first."""
        request = self._filled(request)
        key = request_key(request, self.identity, self._language)
        # One task at a time asks the same; the others find the answer in the cache.
        locks = _locks.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        seconds_left = None if self.ends_at is None else self.ends_at - time.monotonic()
        try:
            async with asyncio.timeout(seconds_left) as deadline, locks.setdefault(key, asyncio.Lock()):
                if (reply := await self._cached(request, key)) is not None:
                    return reply
                if self._capabilities is None:
                    # What earlier runs learned about the model.
                    self._capabilities = await off_loop(self.store.capabilities.known, self.identity)
                    if (expect_reasoning := getattr(self.inner, "expect_reasoning", None)) is not None:
                        expect_reasoning(self._capabilities.reasoning_tokens or 0)
                request = replace(request, mode=self._capabilities.mode)
                return await self._asked(request, key)
        except TimeoutError:
            if not deadline.expired():
                raise
        seconds = self.limits.deadline or 0
        more = ("resume the run, with the same time again or ", Raise("deadline", 2 * seconds))
        raise DeadlineError(f"the run has taken the {seconds:g} s that it may take", fix=more)

    async def _cached(self, request: Request[InputT, ValueT], key: str, *, waits: bool = False) -> Reply[ValueT] | None:
        """Return the cached reply, if there is one; if this `waits`, after the process that has sent the request."""
        while waits and await off_loop(self.store.calls.is_sent_elsewhere, key, self.run):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_AGAIN)
        answer = await off_loop(self.store.calls.find, key, self.run, request.sampling.max_tokens)
        if answer is None:
            return None
        text, usage, finish = answer.reply or "", answer.usage, answer.finish_reason
        names = {"model": self.identity, "prompt": request.prompt.name}
        self.observer(CallAnswered(request.label, usage, 0.0, cached=True, finish_reason=finish, **names))
        return Reply(value_in(request, text), text, usage, finish, cached=True, repaired=answer.repaired)

    async def _asked(self, request: Request[InputT, ValueT], key: str) -> Reply[ValueT]:
        """Ask until there is an answer or no further attempt can help; an unreadable reply is repaired once, and once
        more in another mode."""
        tries = RetryPolicy(self.limiter, self._patience, self.limits, structured=request.prompt.returns is not str)
        attempt = 1
        since = time.monotonic()
        while True:
            try:
                async with self._reserved(request, key, attempt, since) as pending:
                    try:
                        return await self._attempt(request, pending)
                    except ModelError as error:
                        failure = error
                        # Where the server fails, the text that was sent is not at fault.
                        is_servers = isinstance(failure, RateLimited | TransientError)
                        place = self.identity.partition("@")[0] if is_servers else request.label
                        if not isinstance(failure, ProviderError):
                            failure.place = failure.place or place
            except DuplicateCallError:
                if (reply := await self._cached(request, key, waits=True)) is not None:
                    return reply
                continue
            attempt += 1
            wait = tries.pause(failure, repaired=request.complaint is not None)
            failure = failure if wait is not None else tries.final_error(failure)
            again_in = None if wait is None else max(wait, self.limiter.hold)
            names = {"model": self.identity, "prompt": request.prompt.name}
            self.observer(CallFailed(request.label, failure.message, again_in, failure.code, **names))
            if wait is None:
                # After a rate limit all other requests are given up, too.
                self._hopeless = failure if isinstance(failure, RateLimited) else self._hopeless
                raise failure
            if isinstance(failure, UnreadableReply):
                request = replace(request, complaint=Complaint.about(failure.text, failure.message))
            if wait:
                await self.pause(wait)
            since = time.monotonic()

    @asynccontextmanager
    async def _reserved(
        self, request: Request[Any, Any], key: str, attempt: int, since: float
    ) -> AsyncIterator[_PendingCall]:
        """Wait for a slot and for the budget, and reserve the attempt."""
        sampling, schema = request.sampling, prompt_schema(request)
        messages = (*messages_of(request), *([Message("schema", schema)] if schema else ()))
        size = sum(bytes_of(message.text) for message in messages)
        tokens = max(1, size // _BYTES_A_TOKEN_AS_A_RULE)
        count = most_tokens_of if self.tokenizer is None else self.tokenizer.count
        # A long text is counted in a thread; for a short one that would take longer than counting does.
        counts_here = self.tokenizer is None or size <= _SHORT_BYTES
        most_in = most_tokens_in(request, count) if counts_here else await off_loop(most_tokens_in, request, count)
        most_out = self.inner.most_tokens(request.sampling)
        async with self.limiter.slot(tokens + (sampling.max_tokens or 0)) as began:
            reply_room = most_out
            if sampling.max_tokens is not None:
                reply_room = min(most_out, sampling.max_tokens + getattr(self.inner, "reasoning_tokens", 0))
            call = Call(
                run=self.run,
                key=key,
                model=self.identity,
                prompt=request.prompt.name,
                prompt_hash=self.book.hash(request.prompt),
                label=request.label,
                sample=sampling.sample,
                temperature=sampling.temperature,
                max_tokens=sampling.max_tokens,
                attempt=attempt,
                outcome=SENT,
                # This excludes the wait.
                started=now(),
                seconds=0.0,
                usage=Usage(reported=False),
                lost_tokens=max(1, min(most_in, tokens)) + reply_room,
                booked_usd=None if self.price is None else self.price.of(Usage(most_in, most_out)),
                messages=messages,
            )
            async with self.budget.reserved(self.store.calls, call) as reservation:
                if self._hopeless is not None:
                    raise copy(self._hopeless) from self._hopeless.__cause__
                sent = time.monotonic()
                yield _PendingCall(began, sent, tokens, reservation, replace(call, waited=sent - since), most_out)

    async def _attempt(self, request: Request[InputT, ValueT], pending: _PendingCall) -> Reply[ValueT]:
        prompt, sampling = request.prompt, request.sampling
        self.observer(
            CallStarted(
                *(request.label, pending.call.waited, pending.tokens, prompt.returns is not str),
                *(sampling.temperature, sampling.top_p, sampling.max_tokens),
                model=self.identity,
                prompt=prompt.name,
            )
        )
        pending.reservation.sent = True
        thought_before = getattr(self.inner, "reasoning_tokens", 0)
        try:
            answer: Any = self.inner.ask(replace(request, most_tokens=pending.most_out))
            # A model of the user's may return anything, and at once.
            reply: Reply[ValueT] = await answer if isawaitable(answer) else answer
            if not isinstance(reply, Reply) or not isinstance(reply.value, prompt.returns):
                raise UsageError(
                    f"the model {self.identity} answered the prompt {prompt.name} with {reply!r:.80}",
                    hint=f"`ask` returns a redraft.Reply whose value is of the type {prompt.returns.__name__}",
                )
        except (Exception, asyncio.CancelledError) as error:
            await self._failed(error, pending)
            raise
        finally:
            if (thought := getattr(self.inner, "reasoning_tokens", 0)) > thought_before:
                await off_loop(self.store.capabilities.learn, self.identity, reasoning_tokens=thought)
        call = self._answered(pending, reply.usage, reply.text)
        text, odd = text_of(request, reply), "; ".join(reply.odd)[:500]
        call = replace(call, outcome=OK, reply=text, finish_reason=reply.finish_reason, error=odd)
        await self._keep(pending, call, [f"{self.identity}: {irregularity}" for irregularity in reply.odd])
        capabilities = self._capabilities
        if reply.mode and capabilities and reply.mode != capabilities.mode:
            self._capabilities = replace(capabilities, mode=reply.mode)
            await off_loop(self.store.capabilities.learn, self.identity, mode=reply.mode)
        names = {"model": self.identity, "prompt": prompt.name, "answered_by": reply.answered_by}
        names["finish_reason"] = reply.finish_reason
        self.observer(CallAnswered(request.label, call.usage, call.cost_usd, cached=False, **names))
        return replace(reply, repaired=request.complaint is not None)

    async def _failed(self, error: BaseException, pending: _PendingCall) -> None:
        """Record a failed attempt; without reported usage its maximum stays reserved."""
        if isinstance(error, ModelError):
            # Models of other packages may report anything.
            error.message = redacted(error.message, environment_keys())
        is_cancelled = isinstance(error, asyncio.CancelledError)
        code = "cancelled" if is_cancelled else error.code if isinstance(error, ModelError) else "bug"
        call = replace(pending.call, seconds=time.monotonic() - pending.sent)
        if isinstance(error, ReplyError):
            call = self._answered(pending, error.usage, error.text)
            call = replace(call, reply=error.text, finish_reason=error.finish_reason)
        elif isinstance(error, _UNBILLED):
            call = replace(call, lost_tokens=0, booked_usd=0.0)
        if isinstance(error, RateLimited):
            self.limiter.record_rate_limit(pending.began, error.retry_after, self.limits)
        elif isinstance(error, TimedOut):
            # A server that answers a few at a time lets the others wait.
            self.limiter.record_throttling(pending.began, None)
        elif isinstance(error, ProviderError):
            self._hopeless = error
        elif is_cancelled:
            self.observer(CallFailed(call.label, code, None, code, model=self.identity, prompt=call.prompt))
        # A cancellation may carry any object; LangGraph has one of its own.
        await self._keep(pending, replace(call, outcome=code, error="" if is_cancelled else str(error)[:500]))

    async def _keep(self, pending: _PendingCall, call: Call, notices: Sequence[str] = ()) -> None:
        """Store the outcome of a call, even while the run is being cancelled; report each notice once, and a call in
        vain."""

        def settled() -> str:
            self.store.calls.settle(pending.reservation, call)
            return self.store.connection.loss

        try:
            loss = await off_loop(settled)
        except StoreError as error:
            self._hopeless = error
            raise
        for notice in (text for text in (loss, *notices) if text and text not in self._noticed):
            self._noticed.add(notice)
            self.observer(Notice(notice, everywhere=True))

    def _answered(self, pending: _PendingCall, usage: Usage, text: str) -> Call:
        """Record that the model answered, and return the attempt with its usage; unreported usage is estimated from the
        sizes, at the highest possible cost."""
        self.limiter.record_answer()
        self._patience.update(answers=1, late=-self._patience["late"])
        usage = plausible_usage(usage)
        cost = pending.call.booked_usd
        if usage.reported:
            cost = None if self.price is None else self.price.of(usage)
        else:
            reply = bytes_of(text) // _BYTES_A_TOKEN_AS_A_RULE
            usage = Usage(pending.tokens, reply, reported=False)
        seconds = time.monotonic() - pending.sent
        return replace(pending.call, usage=usage, cost_usd=cost, booked_usd=cost, lost_tokens=0, seconds=seconds)


def most_tokens_in(request: Request[Any, Any], count: Callable[[str], int] = most_tokens_of) -> int:
    """Return the most tokens that a request can have, which is what a budget reserves for its prompt. `count` counts
    the tokens of a text exactly, where that is possible."""
    schema = prompt_schema(request, KEYWORDS)
    tokens = _FRAME_TOKENS + count(request.text)
    if schema:
        tokens += _TOOL_TOKENS + 2 * count(schema)
    if (complaint := request.complaint) is not None:
        tokens += _FRAME_TOKENS + count(complaint.reply) + count(complaint.reason) + count(schema)
    return tokens
