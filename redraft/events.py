"""What happens during a run, for whoever watches: a progress display, a log, a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redraft.domain import Usage


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins or goes on; from here on it is in the store under this id."""

    run: str


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage of the run begins; `planned` is how many calls it is expected to make."""

    name: str
    planned: int


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A request goes out."""

    label: str


@dataclass(frozen=True, slots=True)
class CallAnswered:
    """A reply is there, from the model or from the cache."""

    label: str
    usage: Usage
    cost_usd: float | None
    cached: bool


@dataclass(frozen=True, slots=True)
class CallFailed:
    """An attempt failed; `again_in` says when it is repeated, None that it is not."""

    label: str
    reason: str
    again_in: float | None


@dataclass(frozen=True, slots=True)
class Noted:
    """Something the user should know: a gap, an over-long summary that was kept, an approximation."""

    message: str


@dataclass(frozen=True, slots=True)
class PartDone:
    """One of many parts of an experiment is done with, or has failed."""

    name: str
    number: int
    of: int


Event = RunStarted | StageStarted | CallStarted | CallAnswered | CallFailed | Noted | PartDone
Observer = Callable[[Event], None]


def unobserved(event: Event) -> None:
    """The observer of a run that nobody watches."""
