"""What happens during a run, for whoever watches: a progress display, an application, a log, a test.

Each event has a `kind`, which is what it is called on the wire: `event_json` has it with the event's own fields.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from pydantic_core import to_jsonable_python

from redraft.domain import Finding, Outcome, Usage

_log = logging.getLogger("redraft")


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins or goes on; from here on it is in the store under this id."""

    kind: ClassVar[str] = "started"
    run: str


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage of the run begins; `planned` is how many calls it is expected to make."""

    kind: ClassVar[str] = "stage"
    name: str
    planned: int
    waves: tuple[int, ...] = ()
    """How many of them can be under way at the same time, one wave after the other; empty where nobody knows."""


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A request goes out."""

    kind: ClassVar[str] = "asking"
    label: str
    model: str = ""
    """Which model is asked, as the ledger has it."""
    prompt: str = ""
    """The name of what it is asked."""
    waited: float | None = None
    """The seconds for which it has waited: for a place, for a limit a minute, for the budget."""
    tokens: int = 0
    """About how many tokens its prompt has."""


@dataclass(frozen=True, slots=True)
class CallAnswered:
    """A reply is there, from the model or from the cache."""

    kind: ClassVar[str] = "call"
    label: str
    usage: Usage
    cost_usd: float | None
    cached: bool
    model: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class CallFailed:
    """An attempt failed; `again_in` says when it is repeated, None that it is not."""

    kind: ClassVar[str] = "failed_call"
    label: str
    reason: str
    again_in: float | None
    model: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class PieceDone:
    """A partial summary is there: of chunks `first` to `last`, at a level of the tree. `flaw` says what is wrong."""

    kind: ClassVar[str] = "piece"
    level: int
    index: int
    first_chunk: int
    last_chunk: int
    words: int
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class Scored:
    """A metric has judged the draft of a round. Without a score the outcome and the reason say why."""

    kind: ClassVar[str] = "score"
    metric: str
    round: int
    outcome: Outcome
    score: float | None
    judged: int
    unjudged: int
    reason: str = ""
    self_check: bool = False
    """Whether the built-in model has judged what it has written itself."""


@dataclass(frozen=True, slots=True)
class FindingFound:
    """A metric has found something wrong with the draft of a round."""

    kind: ClassVar[str] = "finding"
    round: int
    finding: Finding


@dataclass(frozen=True, slots=True)
class RoundSettled:
    """A round is over: what it was for, whether its draft was taken, and why."""

    kind: ClassVar[str] = "round"
    number: int
    draft: str
    accepted: bool
    reason: str
    aims: tuple[str, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict)
    standings: Mapping[str, str] = field(default_factory=dict)
    """How the draft stands to each goal: met, missed, or unsure where too few items have a verdict."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The run waits for a person. `question` is what is asked; the run goes on once it has been answered."""

    kind: ClassVar[str] = "waiting"
    run: str
    question: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunDone:
    """The run has come to its end, and why."""

    kind: ClassVar[str] = "done"
    run: str
    stop_reason: str


@dataclass(frozen=True, slots=True)
class Noted:
    """Something the user should know: a gap, an over-long summary that was kept, an approximation."""

    kind: ClassVar[str] = "note"
    message: str
    everywhere: bool = False
    """Whether it holds for every run with such a model, and not only for this one."""


@dataclass(frozen=True, slots=True)
class PartDone:
    """One of many parts is done with, or has failed: of an experiment, or a chapter of a run."""

    kind: ClassVar[str] = "part"
    name: str
    number: int
    of: int


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """How far a batch is: its documents by state, what they have cost, how many come to their end a minute, and how
    long it takes if it goes on so. The last two are None as long as nobody can tell."""

    kind: ClassVar[str] = "batch"
    batch: str
    status: str
    all: int
    done: int
    short: int
    """Those of them that fell short of what was asked."""
    failed: int
    aside: int
    at_work: int
    calls: int
    cost_usd: float | None
    """None where a price is not known."""
    a_minute: float | None
    seconds_left: float | None

    def moved(self, other: BatchProgress) -> bool:
        """Whether anything but the time is different."""
        return replace(self, a_minute=None, seconds_left=None) != replace(other, a_minute=None, seconds_left=None)


Event = (
    RunStarted
    | StageStarted
    | CallStarted
    | CallAnswered
    | CallFailed
    | PieceDone
    | Scored
    | FindingFound
    | RoundSettled
    | Waiting
    | RunDone
    | Noted
    | PartDone
    | BatchProgress
)
Observer = Callable[[Event], None]


def unobserved(event: Event) -> None:
    """The observer of a run that nobody watches."""


def guarded(observer: Observer) -> Observer:
    """The observer, whose faults are noted and end nothing."""

    def observe(event: Event) -> None:
        try:
            observer(event)
        except Exception:  # noqa: BLE001  (whatever somebody else's observer does)
            _log.exception("an observer failed at %s", event.kind)

    return observe


def event_json(event: Event) -> dict[str, object]:
    """An event as programs read it."""
    return {"kind": event.kind, **to_jsonable_python(event)}


_part: ContextVar[tuple[str, str] | None] = ContextVar("redraft_part", default=None)
_run: ContextVar[str] = ContextVar("redraft_run", default="")
_streams: ContextVar[tuple[Observer, ...]] = ContextVar("redraft_streams", default=())


@contextmanager
def streamed(write: Observer) -> Iterator[None]:
    """Whatever is observed within also goes to `write`, as a graph streams what happens in its nodes."""
    token = _streams.set((*_streams.get(), write))
    try:
        yield
    finally:
        _streams.reset(token)


@contextmanager
def part_of_another(name: str, whole: str) -> Iterator[None]:
    """What is observed within is of a part of a larger run: its calls are told and what is to be noted, and no more."""
    token = _part.set((name, whole))
    try:
        yield
    finally:
        _part.reset(token)


def of_run(run: str, observer: Observer) -> Observer:
    """The observer of what happens in a run, which is told by `happens_in` of which."""

    def observe(event: Event) -> None:
        token = _run.set(run)
        try:
            observer(event)
        finally:
            _run.reset(token)

    return observe


def happens_in() -> str:
    """The run that an event is of while it is observed, the whole one where it is of a part; empty if of none."""
    part = _part.get()
    return part[1] if part else _run.get()


def _told(event: Event) -> Event | None:
    """An event as it is told to whoever watches; None for what says nothing of the run that they watch."""
    if (part := _part.get()) is None:
        return event
    if isinstance(event, Noted) and not event.everywhere:
        return Noted(f"{part[0]}: {event.message}")
    return event if isinstance(event, CallStarted | CallAnswered | CallFailed | Noted) else None


def harmless(observer: Observer) -> Observer:
    """The observer, and the streams of those who watch what goes on. A fault of theirs is noted, and ends no run."""

    def observe(event: Event) -> None:
        told = _told(event)
        if told is None:
            return
        for one in (observer, *_streams.get()):
            guarded(one)(told)

    return observe
