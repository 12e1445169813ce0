"""What other packages add to redraft: their entry points, by kind and by name."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

from redraft.errors import UsageError

Kind = Literal["metrics", "strategies", "models", "readers"]
"""The groups are `redraft.metrics`, `redraft.strategies`, `redraft.models` and `redraft.readers`."""


@cache
def names(kind: Kind) -> tuple[str, ...]:
    """What the installed packages offer of a kind, in alphabetical order."""
    return tuple(sorted({found.name for found in entry_points(group=f"redraft.{kind}")}))


@cache
def load(kind: Kind, name: str) -> Any:
    """The object behind an entry point. One that cannot be loaded is somebody else's fault, and is named."""
    found = next(iter(entry_points(group=f"redraft.{kind}", name=name)))
    try:
        return found.load()
    except Exception as error:
        package = found.dist.name if found.dist else found.value
        raise UsageError(
            f"{name}, of the package {package}, cannot be loaded: {type(error).__name__}: {error}",
            hint=f"update {package}, or remove it",
        ) from error
