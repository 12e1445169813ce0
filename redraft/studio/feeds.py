"""What happens in a run, for any number of watchers: of runs of this studio, and of those that others work on."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from redraft.errors import RedraftError
from redraft.events import (
    CallAnswered,
    CallFailed,
    CallStarted,
    Event,
    PieceDone,
    RoundSettled,
    RunDone,
    RunStarted,
    StageStarted,
    event_json,
)
from redraft.store.connection import off_loop
from redraft.store.store import Store

_log = logging.getLogger("redraft")
Message = dict[str, Any]
ENDS = frozenset({"done", "waiting", "error", "stopped"})
"""The kinds of events after which nothing more comes."""
EVENT_STREAM = "text/event-stream"
STREAMED = {"cache-control": "no-cache", "x-accel-buffering": "no"}
"""The headers of a reply that is sent as it happens."""
_PASSING = (CallStarted, CallAnswered, CallFailed)
# Of the calls only the last few are shown to whoever comes later; all of them are counted.
_RECENT = 500
_PAUSE = 1.0


@dataclass(slots=True)
class Progress:
    """How far a run has come, in numbers. It is sent as the event `progress`."""

    stage: str = ""
    planned: int = 0
    """The calls that the stage is expected to make."""
    done: int = 0
    """Those of them that were answered."""
    calls: int = 0
    cached: int = 0
    failed: int = 0
    under_way: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    """None where a price is not known."""

    def note(self, event: Event) -> None:
        """Count what has happened."""
        if isinstance(event, StageStarted):
            self.stage, self.planned, self.done = event.name, event.planned, 0
        elif isinstance(event, CallStarted):
            self.under_way += 1
        elif isinstance(event, CallAnswered):
            self._answered(event)
        elif isinstance(event, CallFailed):
            self.under_way = max(0, self.under_way - 1)
            self.failed += 1

    def _answered(self, event: CallAnswered) -> None:
        self.done += 1
        if event.cached:
            self.cached += 1
            return
        self.under_way = max(0, self.under_way - 1)
        self.calls += 1
        self.prompt_tokens += event.usage.prompt_tokens
        self.completion_tokens += event.usage.completion_tokens
        known = self.cost_usd is not None and event.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0) + (event.cost_usd or 0) if known else None

    def to_json(self) -> Message:
        """The event."""
        return {"kind": "progress", **{name: getattr(self, name) for name in self.__slots__}}


@dataclass(frozen=True, slots=True)
class _Numbered:
    number: int
    message: Message = field(compare=False)


class Feed:
    """What happens in a run from here to its next stop, for any number of watchers, each from the first event on."""

    def __init__(self, events: AsyncIterator[Event]) -> None:
        self.over = False
        self.error: RedraftError | None = None
        self._progress = Progress()
        self._last = 0
        self._kept: list[_Numbered] = []
        self._recent: deque[_Numbered] = deque(maxlen=_RECENT)
        self._more = asyncio.Event()
        self._task = asyncio.create_task(self._follow(events))

    async def _follow(self, events: AsyncIterator[Event]) -> None:
        try:
            async for event in events:
                self._progress.note(event)
                self._show(event_json(event), passing=isinstance(event, _PASSING))
        except RedraftError as error:
            self.error = error
            self._show({"kind": "error", "code": error.code, "message": str(error), "hint": error.hint})
        except asyncio.CancelledError:
            self._show({"kind": "stopped", "status": "interrupted"})
            raise
        except Exception:  # noqa: BLE001  (watchers shall not wait for ever, whatever it is)
            _log.exception("a run of the studio failed")
            self._show({"kind": "error", "code": "bug", "message": "something unexpected happened", "hint": ""})
        finally:
            self.over = True
            self._wake()

    def _show(self, message: Message, *, passing: bool = False) -> None:
        self._last += 1
        one = _Numbered(self._last, message)
        (self._recent if passing else self._kept).append(one)
        self._wake()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()

    async def watch(self) -> AsyncIterator[Message]:
        """The events so far without single calls, how far it has come, and then each as it happens."""
        at = self._last
        for message in self._in_order(self._kept):
            yield message
        while not (self.over and at == self._last):
            more = self._more
            if at == self._last:
                await more.wait()
            news, at = self._since(at), self._last
            for message in self._in_order(news):
                yield message

    def _in_order(self, numbered: Sequence[_Numbered]) -> list[Message]:
        """What happened, how far it has come with that, and last that it is over."""
        messages = [one.message for one in numbered]
        ends = [one for one in messages if one["kind"] in ENDS]
        return [*(one for one in messages if one["kind"] not in ENDS), self._progress.to_json(), *ends]

    def _since(self, at: int) -> list[_Numbered]:
        found = [one for part in (self._kept, self._recent) for one in reversed_until(part, at)]
        return sorted(found, key=lambda one: one.number)

    async def first(self, *kinds: str) -> Message | None:
        """The first event of one of these kinds; None where it ends without one."""
        async for message in self.watch():
            if message["kind"] in kinds:
                return message
        return None

    async def is_over(self) -> bool:
        """Whether nothing more happens. Of a run that has shown its end the rest is waited for, which is a moment."""
        if not self.over and self._kept and self._kept[-1].message["kind"] in ENDS:
            await asyncio.wait([self._task])
        return self.over

    async def stop(self) -> None:
        """Stop the run, and wait until that is on record."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(self._task, return_exceptions=True)


def reversed_until(numbered: Any, at: int) -> list[_Numbered]:
    """Those after a number, latest first: of a long list only its end is looked at."""
    found: list[_Numbered] = []
    for one in reversed(numbered):
        if one.number <= at:
            break
        found.append(one)
    return found


async def sent(closing: asyncio.Event, shown: AsyncIterator[Message]) -> AsyncIterator[str]:
    """Events on the wire: each is `message`, with its kind within, so that one listener hears them all."""
    async for message in _until(closing, shown):
        yield f"data: {json.dumps(message, ensure_ascii=False, default=str)}\n\n"
        if message["kind"] in ENDS:
            return


async def _until(closing: asyncio.Event, shown: AsyncIterator[Message]) -> AsyncIterator[Message]:
    """What is shown, until nobody is to be shown anything any more."""
    ending = asyncio.ensure_future(closing.wait())
    try:
        while True:
            coming = asyncio.ensure_future(anext(shown, None))
            await asyncio.wait((coming, ending), return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return
            message = coming.result()
            if message is None:
                return
            yield message
    finally:
        ending.cancel()


async def elsewhere(store: Store, run: str, pause: float = _PAUSE) -> AsyncIterator[Message]:
    """How a run goes on that another process works on, or how it stands: the store is asked again and again."""
    before: Message = {}
    pieces: set[tuple[int, int]] = set()
    rounds = 0
    while True:
        now = await off_loop(_look, store, run, frozenset(pieces), rounds)
        for message in now.events:
            yield message
        pieces |= now.pieces
        rounds = now.rounds
        if now.progress != before:
            before = now.progress
            yield before
        if now.end is not None:
            yield now.end
            return
        await asyncio.sleep(pause)


@dataclass(frozen=True, slots=True)
class _Look:
    events: list[Message]
    pieces: set[tuple[int, int]]
    rounds: int
    progress: Message
    end: Message | None


def _look(store: Store, key: str, known: frozenset[tuple[int, int]], rounds_known: int) -> _Look:
    run = store.runs.get(key)
    status, used = store.status(run), store.calls.totals(key)
    found: list[Message] = [event_json(RunStarted(key))] if not known and not rounds_known else []
    pieces = store.runs.pieces(key)
    for one in pieces:
        if (one.level, one.index) not in known:
            chunks = (one.first_chunk, one.last_chunk)
            found.append(event_json(PieceDone(one.level, one.index, *chunks, one.words, one.flaw)))
    rounds = [made for made in store.judgments.rounds(key) if made.accepted is not None]
    for made in rounds[rounds_known:]:
        scores = {name: one.score for name, one in store.judgments.of(made.draft).items() if one.score is not None}
        settled = RoundSettled(made.number, made.draft, bool(made.accepted), made.reason, made.aims, scores)
        found.append(event_json(settled))
    progress = Progress(
        calls=used.calls,
        cached=used.cached,
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
        cost_usd=used.cost_usd,
    )
    end = _end(key, status, run.stop_reason or "", run.error)
    return _Look(found, {(one.level, one.index) for one in pieces}, len(rounds), progress.to_json(), end)


def _end(key: str, status: str, reason: str, error: dict[str, str] | None) -> Message | None:
    if status == "running":
        return None
    if status == "done":
        return event_json(RunDone(key, reason))
    if status == "waiting":
        return {"kind": "waiting", "run": key}
    if error:
        return {"kind": "error", "code": error.get("code", ""), "message": error.get("message", ""), "hint": ""}
    return {"kind": "stopped", "status": status}
