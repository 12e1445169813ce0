"""The engines that there are, by their names: redraft's own, and those of installed packages."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from importlib.util import find_spec

from redraft import plugins
from redraft.batches.engine import Engine, Make
from redraft.errors import UsageError

OWN = {"local": "redraft.batches.processes:Processes", "ray": "redraft.batches.actors:Actors"}
"""Each as an entry point would name it: only the one that is asked for is imported."""
_KIND: plugins.Kind = "engines"
_NEEDS = {"ray": "ray"}


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
    if name in _NEEDS and find_spec(_NEEDS[name]) is None:
        raise UsageError(
            f"the engine {name} needs the package {_NEEDS[name]}, which is not installed",
            hint=f'pip install "redraft[{name}]"',
        )
    make: Make = EntryPoint(name, OWN[name], f"redraft.{_KIND}").load()
    return make
