"""Engines start the workers of a batch: what one is, and those that there are by name. All else is in the store."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from redraft import plugins
from redraft.batches.terms import Tell, WorkerTerms
from redraft.errors import UsageError

OWN = {"local": "redraft.batches.local_engine:Processes", "ray": "redraft.batches.ray_engine:Actors"}
"""Each as an entry point would name it: only the one that is asked for is imported."""
_KIND: plugins.Kind = "engines"
_NEEDS = {"ray": ("ray",)}


class WorkerPlace(NamedTuple):
    """Where a worker is at work."""

    pid: int
    machine: str = ""
    """Empty for this one."""


class Ended(NamedTuple):
    """A worker has ended."""

    died: str = ""
    """Of what, in words; empty where it came to its end as it should."""
    for_good: bool = False
    """Whether another would die of the same, as of a full disk."""


class WorkerHandle(Protocol):
    """One worker, wherever it is."""

    def place(self) -> WorkerPlace | None:
        """Where it is; None before it has begun, for which there may be no room yet."""

    def ended(self) -> Ended | None:
        """How it has ended; None as long as it has not, or has not begun."""

    def stop(self) -> None:
        """Tell it to hand back what it is at, and to end."""

    def kill(self) -> None:
        """End it at once. It does not work any more when this returns."""


class Engine(Protocol):
    """Starts workers, as long as its context lasts; none of them outlives the process that has entered it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...

    def room(self) -> int:
        """How many workers suit it where nobody says how many there shall be."""

    def is_elsewhere(self) -> bool:
        """Whether workers may be on machines that do not see the files of this one."""

    def start(self, terms: WorkerTerms, tell: Tell) -> WorkerHandle:
        """Have a worker begin as soon as there is room. `tell` is called with each line that it has for users."""


class Make(Protocol):
    """What an entry point of the group `redraft.engines` is: an engine's class, or a function."""

    def __call__(self, address: str | None, db: str, /) -> Engine:
        """An engine for what is at this address, and for workers with this database. It may refuse either."""


def engine_named(name: str, address: str | None, db: str) -> Engine:
    """The engine of this name, for what is at the address. It has not begun anything yet."""
    plugins.refuse_taken(_KIND, OWN)
    if name in OWN:
        return _own(name)(address, db)
    if name not in (installed := plugins.names(_KIND)):
        *others, last = (*OWN, *installed)
        raise UsageError(f"there is no engine {name!r}; there are {', '.join(others)} and {last}")
    make: Make = plugins.load(_KIND, name)
    return make(address, db)


def _own(name: str) -> Make:
    plugins.require(f"the engine {name}", name, *_NEEDS.get(name, ()))
    make: Make = EntryPoint(name, OWN[name], f"redraft.{_KIND}").load()
    return make
