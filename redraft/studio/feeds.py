"""Event feeds of runs for any number of watchers, for runs of this studio and of other processes."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from redraft.cli.views.progress import ProgressTotals
from redraft.errors import RedraftError
from redraft.events import Event, RunDone, RunStarted, event_json
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.studio.doors import PAGE

_log = logging.getLogger("redraft")
Message = dict[str, Any]
ENDS = frozenset({"done", "waiting", "error", "stopped"})
"""The kinds of events that end a feed."""
EVENT_STREAM = "text/event-stream"
_OF_CALLS = frozenset({"asking", "call", "failed_call"})
# Watchers that fall behind get only the latest events of calls; all calls are counted.
_RECENT = 500
# Feeds of finished runs are kept for pages that are opened a little later.
_MAX_FEEDS = 200
_PAUSE = 1.0


def progress_message(progress: ProgressTotals) -> Message:
    """Return the event `progress`: the stage with its planned and answered calls, and the totals of all stages."""
    numbers: Message = {"kind": "progress"}
    numbers |= {name: getattr(progress, name) for name in ("stage", "planned", "done", "failed", "under_way")}
    figures = ("calls", "cached", "prompt_tokens", "completion_tokens", "cost_usd")
    numbers |= {name: getattr(progress.totals, name) for name in figures}
    return numbers | {"seconds_left": round(progress.seconds_left(), 1)}


class Feed:
    """The events of a run until its next stop, for any number of watchers, each of which gets them from the start."""

    def __init__(self, events: AsyncIterator[Event]) -> None:
        self.over = False
        self.error: RedraftError | None = None
        self.progress = ProgressTotals()
        self._ended = False
        self._messages: list[Message | None] = []
        self._of_calls: deque[int] = deque()
        """Where the latest events of calls are; None stands for earlier ones."""
        self._more = asyncio.Event()
        self._task = asyncio.create_task(self._follow(events))

    async def _follow(self, events: AsyncIterator[Event]) -> None:
        try:
            async for event in events:
                self.progress.take(event)
                self._show(event_json(event))
            if not self._ended:
                # It has used up its budget after making a draft.
                self._show({"kind": "stopped", "status": "stopped"})
        except RedraftError as error:
            self.error = error
            self._show(
                {"kind": "error", "code": error.code, "message": PAGE.message(error), "hint": PAGE.render(error.fix)}
            )
        except asyncio.CancelledError:
            self._show({"kind": "stopped", "status": "interrupted"})
            raise
        except Exception:  # noqa: BLE001  (whatever it is, watchers must not wait forever)
            _log.exception("a run of the studio failed")
            self._show({"kind": "error", "code": "bug", "message": "something unexpected happened", "hint": ""})
        finally:
            self.over = True
            self._show(None)

    def _show(self, message: Message | None) -> None:
        """Keep a message, if there is one, and wake the watchers."""
        if message is not None:
            self._ended |= message["kind"] in ENDS
            if message["kind"] in _OF_CALLS:
                self._of_calls.append(len(self._messages))
                if len(self._of_calls) > _RECENT:
                    self._messages[self._of_calls.popleft()] = None
            self._messages.append(message)
        self._more.set()
        self._more = asyncio.Event()

    async def watch(self) -> AsyncIterator[Message]:
        """Yield the events so far without single calls, then the progress, then each new event."""
        at = len(self._messages)
        news = [message for message in self._messages if message and message["kind"] not in _OF_CALLS]
        while True:
            # The progress comes after them, and an end last.
            for message in (message for message in news if message["kind"] not in ENDS):
                yield message
            yield progress_message(self.progress)
            for message in (message for message in news if message["kind"] in ENDS):
                yield message
            if self.over and at == len(self._messages):
                return
            if at == len(self._messages):
                await self._more.wait()
            news, at = [message for message in self._messages[at:] if message], len(self._messages)

    async def first(self, *kinds: str) -> Message | None:
        """Return the first event of one of these kinds; None if the feed ends without one."""
        async for message in self.watch():
            if message["kind"] in kinds:
                return message
        return None

    async def is_over(self) -> bool:
        """Return whether the feed is over. If its end has been shown, wait a moment for the rest."""
        if not self.over and self._ended:
            await asyncio.wait([self._task])
        return self.over

    async def wait(self, seconds: float) -> None:
        """Wait until the feed is over, but no longer than this."""
        await asyncio.wait([self._task], timeout=seconds)

    async def stop(self) -> None:
        """Stop the run, and wait until that is stored."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(self._task, return_exceptions=True)


class Feeds(dict[str, Feed]):
    """The feeds of the runs that a server has started or resumed, by run."""

    @property
    def at_work(self) -> list[str]:
        """The runs that the server is working on."""
        return [run for run, feed in self.items() if not feed.over]

    async def begin(self, feed: Feed, run: str = "") -> str:
        """Wait until a run has started, and return its id; `run` is the id of a resumed run, which may have nothing
        left to do."""
        message = await feed.first("started", "done", "error", "stopped")
        if feed.error is not None and (message is None or message["kind"] == "error"):
            raise feed.error
        run = str(message["run"]) if message is not None and "run" in message else run
        if not run:
            raise RedraftError("the run did not start")
        self.pop(run, None)
        self[run] = feed
        at_rest = [key for key, feed in self.items() if feed.over]
        for key in at_rest[: max(0, len(at_rest) - _MAX_FEEDS)]:
            del self[key]
        return run

    async def aclose(self) -> None:
        """Stop all work. It is stored as interrupted, and can be resumed."""
        await asyncio.gather(*(feed.stop() for feed in self.values()))


async def other_process_events(store: Store, key: str, pause: float = _PAUSE) -> AsyncIterator[Message]:
    """Yield the progress of a run in another process, and how it ends, by polling the store."""
    before: Message = event_json(RunStarted(key))
    yield before
    while True:
        run, is_claimed = await off_loop(lambda: (store.runs.get(key), store.is_claimed(key)))
        progress = progress_message(ProgressTotals(totals=await off_loop(store.calls.totals, key)))
        if progress != before:
            before = progress
            yield before
        if run.status != "running" or not is_claimed:
            break
        await asyncio.sleep(pause)
    status = "killed" if run.status == "running" else run.status
    if status == "done":
        yield event_json(RunDone(key, run.stop_reason or ""))
    elif status == "waiting":
        yield {"kind": "waiting", "run": key}
    elif run.error:
        yield {"kind": "error", "hint": "", **{name: run.error.get(name, "") for name in ("code", "message")}}
    else:
        yield {"kind": "stopped", "status": status}
