"""The context of every request: the store, the configuration, and the work in progress."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from redraft import plugins
from redraft.batches.api import run_batch
from redraft.batches.queue import Batch, Batches
from redraft.batches.request import BatchRequest, open_again, open_batch
from redraft.batches.sources import of_document
from redraft.domain import Document
from redraft.errors import RedraftError, RunCommand, RunError, UsageError
from redraft.llm.budget import PriceTable
from redraft.order import Order
from redraft.runs.driver import streaming
from redraft.runs.experiment_runner import describe_error
from redraft.runs.session import Session, runner_of
from redraft.settings import Limits, ModelSettings
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store, default_path
from redraft.studio.endpoints import Endpoint, query_of
from redraft.studio.feeds import ENDS, EVENT_STREAM, Feed, Feeds, Message
from redraft.studio.orders import ExpiringItems, StartableRuns, limits_of
from redraft.studio.run_views import RunRows, stamps_of
from redraft.text.words import dollars

_log = logging.getLogger("redraft")


class WorkManager:
    """Starts, stops and resumes runs and batches."""

    def __init__(self, session: Session) -> None:
        self.session, self.runner = session, runner_of(session)
        self.feeds = Feeds()
        self.batches: dict[str, asyncio.Task[object]] = {}
        """The tasks of the batches that this studio has run."""

    async def start(self, document: Document, order: Order, max_cost: float | None = None) -> str:
        """Start a run, and return its id once it is stored. Earlier errors are raised."""
        limits = limits_of(self.runner.limits or Limits(), max_cost)
        return await self.feeds.begin(Feed(streaming(partial(self.runner.begin_order, document, order, limits))))

    async def resume(self, run: str, max_cost: float | None = None) -> str:
        """Resume a run that has stopped, optionally with another limit of cost."""
        return await self.feeds.begin(await self._resumed(run, max_cost=max_cost), run)

    async def answer(self, run: str, answer: Mapping[str, Any]) -> str:
        """Answer a run that waits for a review, and resume it. Return what is wrong with the answer, or an empty
        string."""
        feed = await self._resumed(run, answer)
        await self.feeds.begin(feed, run)
        # After an invalid answer the same question comes next; after a valid one, any other event.
        message = await feed.first("waiting", "stage", "score", "round", "done", "error", "stopped", "call", "finding")
        question = message["question"] if message and message["kind"] == "waiting" else None
        return str(question["problem"]) if question else ""

    async def _resumed(self, key: str, answer: Mapping[str, Any] | None = None, max_cost: float | None = None) -> Feed:
        """Resume a run that is idle, under its own limit of cost or another, but never above that of the studio."""
        running_feed = self.feeds.get(key)
        if running_feed is not None and not await running_feed.is_over():
            raise RunError(f"run {key} is running", hint="wait for it, or stop it first")
        self._check_limit(max_cost)
        run = await off_loop(self.session.store.runs.get, key)
        limits = limits_of(self.runner.limits or Limits(), max_cost or run.limits.max_cost)
        return Feed(streaming(partial(self.session.resume, key, limits=limits, answer=answer)))

    def _check_limit(self, max_cost: float | None) -> None:
        usual = (self.runner.limits or Limits()).max_cost
        if max_cost is not None and usual is not None and max_cost > usual:
            raise UsageError(
                f"this studio spends no more than {dollars(usual, exact=True)} on a run or a batch",
                hint="give no more than that",
            )

    async def stop(self, run: str) -> None:
        """Stop a run of this studio. Finished calls are kept, and it can be resumed."""
        if run not in self.feeds.at_work:
            status = (await off_loop(self.session.store.runs.get, run)).status
            if status != "running":
                raise RunError(f"run {run} is not running: it is {status}", fix=("see ", RunCommand("show", run)))
            raise RunError(
                f"this studio is not running {run}", hint="stop it with Ctrl-C in the terminal where it was started"
            )
        await self.feeds[run].stop()

    async def start_batch(self, startable: StartableRuns, batch_request: BatchRequest, name: str) -> str:
        """Start a batch, or continue the same one, and return its name."""
        store = self.session.store
        sources = [await off_loop(of_document, store, document, document.source) for document in startable.documents]
        limits = limits_of(self.runner.limits or Limits(), startable.asked.max_cost)
        options: dict[str, Any] = {"folder": "", "name": name or None, "left_out": startable.left_out}
        return self._begin_batch(await off_loop(partial(open_batch, store, sources, batch_request, limits, **options)))

    async def resume_batch(self, name: str, max_cost: float | None = None) -> None:
        """Resume a batch in this studio under its own limits, optionally with another limit of cost."""
        self._check_limit(max_cost)
        store = self.session.store
        limits = Limits.model_validate((await off_loop(Batches(store).get, name)).limits)
        replaced = limits.model_copy(update={"max_cost": max_cost}) if max_cost else None
        self._begin_batch(await off_loop(open_again, store, name, self.runner.places, replaced))

    def _begin_batch(self, opened: Batch) -> str:
        """Run a batch unless it is running already, and return its name."""

        async def run() -> None:
            try:
                await run_batch(self.session, opened)
            except Exception as error:  # noqa: BLE001  (whatever it is, the batch is shown as stopped)
                if not isinstance(error, RedraftError):
                    _log.exception("a batch of the studio failed")
                await off_loop(Batches(self.session.store).set_status, opened.name, "stopped", describe_error(error))

        task = self.batches.get(opened.name)
        if task is None or task.done():
            self.batches[opened.name] = asyncio.create_task(run())
        return opened.name

    async def aclose(self) -> None:
        """Stop all work. It is stored as interrupted, and can be resumed."""
        for task in self.batches.values():
            task.cancel()
        await asyncio.gather(*self.batches.values(), return_exceptions=True)
        await self.feeds.aclose()


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StudioConfig:
    """The configuration of the studio: its database, its token, and who can reach it."""

    database: Path | str | None = None
    token: str = ""
    read_only: bool = False
    guarded: bool = True
    """Whether reading needs the token, too: other users of this machine can reach the studio."""
    exposed: bool = False
    """Whether other machines can reach it."""
    hosts: frozenset[str] = frozenset({"127.0.0.1", "localhost", "::1"})
    """The host names that it answers to."""
    any_address: bool = False
    """Whether it answers to any IP address, as it must when it listens on all of them."""
    cookie: str = "redraft_studio"
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    """The models of redraft.toml by name."""
    prices: PriceTable = field(default_factory=lambda: PriceTable({}, {}))
    limits: Limits = field(default_factory=Limits)
    """The limits of each run."""
    experiments: Path | None = None
    """The folder with the results of experiments."""

    @property
    def results(self) -> Path:
        """The folder with the results of experiments; by default `experiments` next to the database."""
        if self.experiments is not None:
            return self.experiments
        is_file = self.database is not None and "://" not in str(self.database)
        return (Path(str(self.database)) if is_file else default_path()).parent / "experiments"


class MenuLink(NamedTuple):
    """A link in the menu of all pages."""

    address: str
    here: str
    """What its pages are called in the menu's markup."""
    text: str
    about: str = ""
    works: bool = False
    """Whether a read-only studio is without it."""


@dataclass(frozen=True, slots=True)
class Extension:
    """What another package adds to the studio, by an entry point in the group `redraft.studio`."""

    package: str
    """The package with its folders `templates` and `static`."""
    open: Callable[[StudioContext], AbstractAsyncContextManager[Any]]
    """Opens what it keeps while the studio is open."""
    menu: tuple[MenuLink, ...] = ()
    reading: tuple[Route, ...] = ()
    working: tuple[Route, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    uploads: frozenset[str] = frozenset()
    """The addresses that take files."""
    read_documents: Callable[[bytes, str], Sequence[Document]] | None = None
    """Reads the documents in a file of a given name, where they may be several."""
    own_documents: str = ""
    """The experiment whose documents are its own, and not offered for runs."""


@cache
def extensions() -> tuple[Extension, ...]:
    """Return the installed extensions, without those whose own requirements are not installed."""
    extensions_found: list[Extension] = []
    for name in plugins.names("studio"):
        try:
            extensions_found.append(plugins.load("studio", name))
        except UsageError as error:
            if not isinstance(error.__cause__, ModuleNotFoundError):
                raise
            _log.warning(
                "the pages of redraft[%s] are left out, as %s is not installed: pip install 'redraft[%s]'",
                name,
                error.__cause__.name,
                name,
            )
    return tuple(extensions_found)


@dataclass(slots=True)
class StudioContext:
    """The context of every route. `work` is None in a read-only studio."""

    config: StudioConfig
    reading: Store
    rows: RunRows
    work: WorkManager | None
    pending: ExpiringItems[StartableRuns]
    extensions: tuple[Extension, ...] = ()
    added: dict[str, Any] = field(default_factory=dict)
    """What each extension keeps while the studio is open, by its package."""
    notices: ExpiringItems[str] = field(default_factory=ExpiringItems)
    """What an action did, for the page that is shown after it."""
    local: dict[str, ModelSettings] = field(default_factory=dict)
    """The models found on this machine, by name."""
    named_models: dict[str, ModelSettings] = field(default_factory=dict)
    """The models of the settings file by name, with those that were added since the studio was started."""
    menu: tuple[MenuLink, ...] = ()
    """The links that extensions add to the menu."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server shuts down: all event streams end then."""

    @property
    def batches_at_work(self) -> frozenset[str]:
        """The batches that this studio is running."""
        tasks = self.work.batches if self.work else {}
        return frozenset(name for name, task in tasks.items() if not task.done())

    @property
    def models(self) -> Mapping[str, ModelSettings]:
        """All models that a request can name."""
        return {**self.local, **self.named_models}


def context_of(request: Request) -> StudioContext:
    """Return the context of a request."""
    context: StudioContext = request.app.state.context
    return context


def work_of(request: Request) -> WorkManager:
    """Return the work of this studio; a read-only studio has no route that needs it."""
    manager = context_of(request).work
    assert manager is not None, "a read-only studio has no route that leads here"
    return manager


async def read(request: Request, work: Callable[..., T], *args: object) -> T:
    """Call `work(store, *args)` in a thread."""
    return await off_loop(work, context_of(request).reading, *args)


def reading(
    path: str,
    work: Callable[..., object],
    gives: type[BaseModel] | None = None,
    *,
    query: type[BaseModel] | None = None,
    says: str = "",
) -> Endpoint:
    """Return an endpoint that calls `work` in a thread, with the store, what its address names, and its query."""

    @wraps(work)
    async def handler(request: Request) -> object:
        names = request.path_params.items()
        values = [(await run_of(request)).id if name == "run" else value for name, value in names]
        return await read(request, work, *values, *([query_of(request, query)] if query else []))

    return Endpoint("GET", path, handler, says=says, gives=gives, query=query)


def streamed(request: Request, messages: AsyncIterator[Message]) -> Response:
    """Return a response that streams events until they end or the server shuts down. All have the type `message`, with
    their kind in the data, so that one listener gets them all."""

    async def parts() -> AsyncIterator[str]:
        ending = asyncio.ensure_future(context_of(request).closing.wait())
        try:
            while True:
                coming = asyncio.ensure_future(anext(messages, None))
                await asyncio.wait((coming, ending), return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    return
                message = coming.result()
                if message is None:
                    return
                yield f"data: {json.dumps(message, ensure_ascii=False, default=str)}\n\n"
                if message["kind"] in ENDS:
                    return
        finally:
            ending.cancel()

    headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    return StreamingResponse(parts(), media_type=EVENT_STREAM, headers=headers)


class NoSuchRun(RunError):
    """No run has this id."""

    code = "no_run"


async def run_of(request: Request) -> Run:
    """Return the run in the address."""
    return await read(request, found_run, request.path_params["run"])


def found_run(store: Store, key: str) -> Run:
    """Return the run with this id, or with the only id that starts with it."""
    keys = [run_key for run_key, _, _ in stamps_of(store) if run_key.startswith(key)]
    if len(keys) != 1:
        raise NoSuchRun(
            f"{'more than one run has' if keys else 'no run has'} an id that starts with {key!r}",
            fix=(RunCommand("runs"), " lists them"),
        )
    return store.runs.get(keys[0])
