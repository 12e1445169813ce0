"""The runs that the studio itself works on: tasks of one session, each with its feed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from redraft.batches.api import worked_on
from redraft.batches.request import open_again
from redraft.domain import Document
from redraft.errors import RedraftError, RunError
from redraft.runs.driver import streaming
from redraft.runs.experiment_runner import described
from redraft.runs.prepare import RunSpec
from redraft.runs.session import Session
from redraft.settings import DraftConfig
from redraft.store.batches import Batch
from redraft.store.connection import off_loop
from redraft.studio.feeds import Feed

_log = logging.getLogger("redraft")
# Feeds of runs at rest are only kept to be shown to those who look a little later.
_MOST_FEEDS = 200


class Work:
    """Starts runs, stops them, and goes on with them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._feeds: dict[str, Feed] = {}
        self._batches: dict[str, asyncio.Task[object]] = {}

    def feed(self, run: str) -> Feed | None:
        """What happens in a run, where this studio has worked on it."""
        return self._feeds.get(run)

    def is_at_work(self, run: str) -> bool:
        """Whether this studio is working on a run."""
        feed = self._feeds.get(run)
        return feed is not None and not feed.over

    async def start(self, document: Document, settings: DraftConfig, order: RunSpec) -> str:
        """Begin a run, and return its id once it is on record. What is amiss with it is raised."""
        return await self._begun(Feed(streaming(self.session.begin_order(document, settings, order))))

    async def resume(self, run: str) -> str:
        """Go on with a run that has stopped."""
        await self._check_idle(run)
        return await self._begun(Feed(self.session.stream_resume(run)), run)

    async def answer(self, run: str, answer: Mapping[str, Any]) -> str:
        """Answer a run that waits, and let it go on. What is wrong with the answer is returned, in a sentence."""
        await self._check_idle(run)
        feed = Feed(self.session.stream_resume(run, answer))
        await self._begun(feed, run)
        # A wrong answer is asked about again at once; after a right one something else happens first.
        told = await feed.first("waiting", "stage", "score", "round", "done", "error", "stopped", "call", "finding")
        asked = told["question"] if told and told["kind"] == "waiting" else None
        return str(asked["problem"]) if asked else ""

    async def _check_idle(self, run: str) -> None:
        feed = self._feeds.get(run)
        if feed is not None and not await feed.is_over():
            raise RunError(f"run {run} is being worked on", hint="wait for it, or stop it first")

    async def _begun(self, feed: Feed, run: str = "") -> str:
        """The run's id once it is on record that it goes on; `run` is that of one which may have nothing left to do."""
        told = await feed.first("started", "done", "error", "stopped")
        if feed.error is not None and (told is None or told["kind"] == "error"):
            raise feed.error
        run = str(told["run"]) if told is not None and "run" in told else run
        if not run:
            raise RedraftError("the run never began")
        self._feeds.pop(run, None)
        self._feeds[run] = feed
        at_rest = [key for key, one in self._feeds.items() if one.over]
        for key in at_rest[: max(0, len(at_rest) - _MOST_FEEDS)]:
            del self._feeds[key]
        return run

    async def stop(self, run: str) -> None:
        """Stop a run of this studio; all that was answered is kept, and it can go on."""
        feed = self._feeds.get(run)
        if feed is None or feed.over:
            raise RunError(
                f"run {run} is not worked on by this studio", hint="stop it where it was started, with Ctrl-C"
            )
        await feed.stop()

    def batches(self) -> frozenset[str]:
        """The batches that this studio is working on."""
        return frozenset(name for name, task in self._batches.items() if not task.done())

    async def resume_batch(self, name: str) -> None:
        """Go on with a batch here, under the limits that it has, until it has come to its next stop."""
        opened = await off_loop(open_again, self.session.store, name)
        self._batches[name] = asyncio.create_task(self._worked_on(opened))

    async def _worked_on(self, opened: Batch) -> None:
        try:
            await worked_on(self.session, opened)
        except RedraftError as error:
            await off_loop(self.session.store.batches.set_status, opened.name, "stopped", described(error))
        except Exception as error:  # noqa: BLE001  (whoever looks at it shall see that it has ended, whatever it was)
            _log.exception("a batch of the studio failed")
            await off_loop(self.session.store.batches.set_status, opened.name, "stopped", described(error))

    async def aclose(self) -> None:
        """Stop all runs and batches. They are on record as interrupted, and can go on."""
        for task in self._batches.values():
            task.cancel()
        await asyncio.gather(*self._batches.values(), return_exceptions=True)
        await asyncio.gather(*(feed.stop() for feed in self._feeds.values()))
