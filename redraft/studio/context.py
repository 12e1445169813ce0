"""What the studio has: a store to read, a session to work with, and what it was told when it was opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar

from starlette.requests import Request

from redraft.domain import Document
from redraft.errors import RunError
from redraft.llm.prices import PriceTable
from redraft.settings import Limits, ModelSettings
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.studio.batches import Tables
from redraft.studio.orders import Pending, RunBody
from redraft.studio.rows import RunRows
from redraft.studio.work import Work

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StudioConfig:
    """What the studio was told when it was opened."""

    database: Path | str | None = None
    token: str = ""
    read_only: bool = False
    guarded: bool = True
    """Whether everything needs the token, and not only what writes: other users of this machine can reach it, too."""
    exposed: bool = False
    """Whether other machines can reach it."""
    hosts: frozenset[str] = frozenset({"127.0.0.1", "localhost", "::1"})
    """The names under which it answers."""
    any_address: bool = False
    """Whether it answers under any address that is a number besides, as one that listens on all of them has to."""
    cookie: str = "redraft_studio"
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    """The models of the settings file by name."""
    prices: PriceTable = field(default_factory=lambda: PriceTable({}, {}))
    limits: Limits = field(default_factory=Limits)
    """What each run may use."""
    experiments: Path | None = None
    """A folder with the tables of experiments."""


@dataclass(slots=True)
class StudioContext:
    """What every route works with. `work` is None where nothing may be written."""

    told: StudioConfig
    reading: Store
    rows: RunRows
    tables: Tables
    """Those on batches."""
    work: Work | None
    pending: Pending[tuple[RunBody, Document]]
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is asked to end: nobody is shown any more events then."""


def house(request: Request) -> StudioContext:
    """The studio that a request has come to."""
    found: StudioContext = request.app.state.house
    return found


def work_of(request: Request) -> Work:
    """What works on runs; there is one wherever there is a route that needs it."""
    found = house(request).work
    assert found is not None, "a studio that is only for reading has no route that leads here"
    return found


async def read(request: Request, work: Callable[..., T], *args: object) -> T:
    """Something that reads the store, done in a thread: `work(store, *args)`."""
    return await off_loop(work, house(request).reading, *args)


class NoSuchRun(RunError):
    """There is no run of that name."""

    code = "no_run"


async def run_of(request: Request) -> Run:
    """The run that an address names."""
    return await read(request, found_run, request.path_params["run"])


def found_run(store: Store, key: str) -> Run:
    """The run with this id, or with the only id that begins so."""
    known = [one for one, _, _ in store.runs.stamps() if one.startswith(key)]
    if len(known) != 1:
        raise NoSuchRun(f"{'more than one run' if known else 'no run'} begins with {key!r}", hint="/runs lists them")
    return store.runs.get(known[0])
