"""The entry points of other packages by kind and name, and the packages of our extras."""

from __future__ import annotations

from collections.abc import Container
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, Literal

from redraft.errors import UsageError

Kind = Literal["metrics", "strategies", "models", "readers", "commands", "studio"]
"""The entry-point groups are `redraft.metrics`, `redraft.strategies`, `redraft.models`, `redraft.readers`,
`redraft.commands` and `redraft.studio`."""
_ONE: dict[Kind, str] = {
    "metrics": "a metric",
    "strategies": "a strategy",
    "models": "a model",
    "readers": "a reader",
    "commands": "a table of commands",
    "studio": "an extension of the studio",
}


def require(what: str, extra: str, *modules: str) -> None:
    """Raise if a module of an extra is not installed, saying how to install it."""
    missing = []
    for name in modules:
        try:
            is_installed = find_spec(name) is not None
        except ModuleNotFoundError:  # a package that it is in is missing
            is_installed = False
        missing += [] if is_installed else [name]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UsageError(
            f"{what} needs {' and '.join(missing)}, which {verb} not installed", hint=f'pip install "redraft[{extra}]"'
        )


@cache
def names(kind: Kind) -> tuple[str, ...]:
    """Return the names of installed plugins of a kind in alphabetical order."""
    return tuple(sorted({entry.name for entry in entry_points(group=f"redraft.{kind}")}))


@cache
def load(kind: Kind, name: str) -> Any:
    """Load a plugin. Errors name its package."""
    entry = _found(kind, name)
    try:
        return entry.load()
    except Exception as error:
        package = package_of(kind, name)
        raise UsageError(
            f"{name}, of the package {package}, cannot be loaded: {type(error).__name__}: {error}",
            hint=f"update {package}, or remove it",
        ) from error


def package_of(kind: Kind, name: str) -> str:
    """Return the name of the plugin's package."""
    entry = _found(kind, name)
    return entry.dist.name if entry.dist else entry.module


def refuse_taken(kind: Kind, own_names: Container[str]) -> None:
    """Raise if a plugin uses a name of redraft's own."""
    for name in names(kind):
        if name in own_names:
            raise UsageError(
                f"an installed package has {_ONE[kind]} named {name}, which is one of redraft's own",
                hint=f"update {package_of(kind, name)}, or remove it: it is among its entry points redraft.{kind}",
            )


def _found(kind: Kind, name: str) -> EntryPoint:
    first, *duplicates = entry_points(group=f"redraft.{kind}", name=name)
    if different := [entry for entry in duplicates if entry.value != first.value]:
        packages = " and ".join(entry.dist.name if entry.dist else entry.module for entry in (first, *different))
        raise UsageError(
            f"several installed packages have {_ONE[kind]} named {name}: {packages}", hint="remove all but one of them"
        )
    return first
