"""The engines that there are, by their names: redraft's own, and those of installed packages."""

from __future__ import annotations

from importlib.util import find_spec

from redraft import plugins
from redraft.batches.engine import Engine, Make
from redraft.batches.processes import Processes
from redraft.errors import UsageError

OWN = ("local", "ray")
_KIND: plugins.Kind = "engines"


def engine_named(name: str, address: str | None, db: str) -> Engine:
    """The engine of this name, for what is at the address. It has not begun anything yet."""
    plugins.refuse_taken(_KIND, OWN)
    return _make(name)(address, db)


def _make(name: str) -> Make:
    if name == "local":
        return Processes
    if name == "ray":
        return _ray()
    if name not in (installed := plugins.names(_KIND)):
        *others, last = (*OWN, *installed)
        raise UsageError(f"there is no engine {name!r}; there are {', '.join(others)} and {last}")
    make: Make = plugins.load(_KIND, name)
    return make


def _ray() -> Make:
    if find_spec("ray") is None:
        raise UsageError("the engine ray needs Ray, which is not installed", hint='pip install "redraft[ray]"')
    from redraft.batches.actors import Actors

    return Actors
