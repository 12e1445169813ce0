"""Events of a run for progress displays, applications, logs and tests.

Each has a field `kind`, so that whoever serializes events keeps it. An event about a record extends it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from pydantic.dataclasses import dataclass as record
from pydantic_core import to_jsonable_python

from redraft.domain import (
    DEFERRED,
    Finding,
    Piece,
    ReviewQuestion,
    Round,
    Usage,
    Verdict,
    computed,
)

T = TypeVar("T")
_log = logging.getLogger("redraft")
_notes = logging.getLogger("redraft.notes")
# Applications that configure logging get them; elsewhere Python would print them beside the command line's own.
_notes.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run starts or resumes; from now on it is stored under this id."""

    kind: Literal["started"] = field(default="started", init=False, repr=False)
    run: str


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage of the run starts; `planned` is the expected number of calls."""

    kind: Literal["stage"] = field(default="stage", init=False, repr=False)
    name: str
    planned: int


@dataclass(frozen=True, slots=True)
class CallEvent:
    """What happens to a request."""

    kind: str = field(init=False, repr=False)
    label: str
    model: str = field(default="", kw_only=True)
    """The model's identity as in the ledger."""
    prompt: str = field(default="", kw_only=True)
    """The name of the prompt."""


@dataclass(frozen=True, slots=True)
class CallStarted(CallEvent):
    """A request is sent."""

    kind: Literal["asking"] = field(default="asking", init=False, repr=False)
    waited: float | None = None
    """Seconds that it waited for a free slot, a rate limit or the budget."""
    tokens: int = 0
    """The approximate tokens of its prompt."""
    structured: bool = False
    """Whether JSON is requested."""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    """The most tokens of the reply."""


@dataclass(frozen=True, slots=True)
class CallAnswered(CallEvent):
    """A reply arrived from the model or the cache."""

    kind: Literal["call"] = field(default="call", init=False, repr=False)
    usage: Usage
    cost_usd: float | None
    cached: bool
    finish_reason: str = ""
    answered_by: str = ""
    """The model that the provider says has answered; empty where it says nothing."""


@dataclass(frozen=True, slots=True)
class CallFailed(CallEvent):
    """A request failed; `again_in` is the delay before it is repeated, None if it is not."""

    kind: Literal["failed_call"] = field(default="failed_call", init=False, repr=False)
    reason: str
    again_in: float | None
    code: str = ""
    """The code of the error."""


@record(frozen=True, slots=True, config=DEFERRED)
class PieceDone(Piece):
    """A partial summary is ready."""

    kind: Literal["piece"] = field(default="piece", init=False, repr=False)


@record(frozen=True, slots=True, config=DEFERRED)
class MetricScored(Verdict):
    """A metric has judged the draft of a round. Without a score, the outcome and the reason say why."""

    kind: Literal["score"] = field(default="score", init=False, repr=False)
    round: int = field(kw_only=True)
    offline_check: bool = False
    """Whether the built-in model judged its own summary."""


@dataclass(frozen=True, slots=True)
class FindingFound:
    """A metric has found a fault in the draft of a round."""

    kind: Literal["finding"] = field(default="finding", init=False, repr=False)
    round: int
    finding: Finding


@record(frozen=True, slots=True, config=DEFERRED)
class RoundSettled(Round):
    """A round is over: its purpose, and whether and why its draft was accepted."""

    kind: Literal["round"] = field(default="round", init=False, repr=False)
    scores: Mapping[str, float | None] = field(default_factory=dict)
    standings: Mapping[str, str] = field(default_factory=dict)
    """Whether the draft meets each goal: met, missed, or unsure where too few items have a verdict."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The run waits for a person to answer `question`, and continues after that."""

    kind: Literal["waiting"] = field(default="waiting", init=False, repr=False)
    run: str
    question: ReviewQuestion


@dataclass(frozen=True, slots=True)
class RunDone:
    """The run has ended, and why."""

    kind: Literal["done"] = field(default="done", init=False, repr=False)
    run: str
    stop_reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the user: a gap, an over-long summary that was kept, an approximation."""

    kind: Literal["note"] = field(default="note", init=False, repr=False)
    message: str
    everywhere: bool = False
    """Whether it holds for every run with such a model."""


@dataclass(frozen=True, slots=True)
class PartDone:
    """One of many parts has finished or failed: of an experiment, or a chapter of a run."""

    kind: Literal["part"] = field(default="part", init=False, repr=False)
    name: str
    number: int
    of: int


@dataclass(frozen=True, kw_only=True)
class BatchUse:
    """What a batch has taken from its budget, and its pace: None if no worker is active, or no document has finished.
    The time alone makes no difference."""

    calls: int = 0
    cost_usd: float | None = None
    """Calls in flight count at their maximum; None where a price is unknown."""
    a_minute: float | None = field(default=None, compare=False)
    """The documents finished per minute in the last ten minutes."""
    seconds_left: float | None = field(default=None, compare=False)
    """The estimated seconds left at this pace."""


@record(frozen=True, slots=True, config=DEFERRED)
class ItemCounts:
    """The number of documents of a batch in each state."""

    waiting: int = 0
    leased: int = 0
    done: int = 0
    failed: int = 0
    aside: int = 0
    short: int = 0
    """How many of the done items have gaps or missed a goal."""

    @computed
    def all(self) -> int:
        """Return the number of all items."""
        return self.left + self.ended

    @property
    def ended(self) -> int:
        """Return the number of items that are finished."""
        return self.done + self.failed + self.aside

    @property
    def left(self) -> int:
        """Return the number of items that are not finished, including those leased by a worker that may have died."""
        return self.waiting + self.leased


@record(frozen=True, slots=True, config=DEFERRED)
class BatchProgress(BatchUse, ItemCounts):
    """The progress of a batch: its documents by state, their cost, and its pace."""

    kind: Literal["batch"] = field(default="batch", init=False, repr=False)
    batch: str = field(kw_only=True)
    status: str = field(kw_only=True)

    @computed
    def at_work(self) -> int:
        """Return the number of documents that are worked on."""
        return self.leased


Event = (
    RunStarted
    | StageStarted
    | CallStarted
    | CallAnswered
    | CallFailed
    | PieceDone
    | MetricScored
    | FindingFound
    | RoundSettled
    | Waiting
    | RunDone
    | Notice
    | PartDone
    | BatchProgress
)
"""Every kind of event; each is a dataclass with fields of its own."""
Observer = Callable[[Event], None]
"""What is called with each event."""


def ignore_event(event: Event) -> None:
    """Ignore an event; the default observer."""


def with_errors_logged(observer: Observer) -> Observer:
    """Return the observer with its exceptions logged and suppressed."""

    def observe(event: Event) -> None:
        try:
            observer(event)
        except Exception:  # noqa: BLE001  (an observer may raise anything)
            _log.exception("an observer failed at %s", event.kind)

    return observe


def event_json(event: Event) -> dict[str, object]:
    """Return an event as JSON."""
    content: dict[str, object] = to_jsonable_python(event)
    return content


_part: ContextVar[tuple[str, str] | None] = ContextVar("redraft_part", default=None)
_run: ContextVar[str] = ContextVar("redraft_run", default="")
_streams: ContextVar[tuple[Observer, ...]] = ContextVar("redraft_streams", default=())


@contextmanager
def bound(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a variable this value within the context."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def stream_to(write: Observer) -> AbstractContextManager[None]:
    """Also pass events to `write`, as for a graph's custom stream."""
    return bound(_streams, (*_streams.get(), write))


def nested_run(name: str, run: str) -> AbstractContextManager[None]:
    """Mark events as those of a part of a larger run: only its calls and notes are reported."""
    return bound(_part, (name, run))


def for_run(run: str, observer: Observer) -> Observer:
    """Return an observer that records the run of each event for `happens_in`."""

    def observe(event: Event) -> None:
        with bound(_run, run):
            observer(event)

    return observe


def current_run() -> str:
    """Return the id of the run of the event being observed; of a part, that of the whole; empty if there is none."""
    part = _part.get()
    return part[1] if part else _run.get()


def safe_observer(observer: Observer) -> Observer:
    """Return an observer for the caller's observer and all streams. Their exceptions are logged and end nothing. Notes
    are logged as well."""

    def observe(event: Event) -> None:
        if isinstance(event, Notice):
            _notes.warning("%s", event.message, extra={"run": current_run()})
        if part := _part.get():
            if not isinstance(event, CallStarted | CallAnswered | CallFailed | Notice):
                return
            if isinstance(event, Notice) and not event.everywhere:
                event = Notice(f"{part[0]}: {event.message}")
        for receiver in (observer, *_streams.get()):
            with_errors_logged(receiver)(event)

    return observe
