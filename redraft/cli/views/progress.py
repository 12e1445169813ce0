"""Progress of a run on stderr: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from math import ceil

from rich.console import Console, ConsoleDimensions
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task
from rich.table import Column
from rich.text import Text

from redraft.cli import terminal
from redraft.domain import Usage
from redraft.events import (
    CallAnswered,
    CallFailed,
    CallStarted,
    Event,
    Notice,
    Observer,
    PartDone,
    RunStarted,
    StageStarted,
    ignore_event,
)
from redraft.text.sanitizer import clean, one_line
from redraft.text.words import dollars, lasting

_PLAIN_SECONDS = 10.0
_NOTES_SHOWN = 20


class LineTimer:
    """Decides when the next plain line is due."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def is_over(self) -> bool:
        """Return whether enough time has passed since the last line; if so, restart the interval."""
        if time.monotonic() - self._last < _PLAIN_SECONDS:
            return False
        self._last = time.monotonic()
        return True


def first_notes(echo: Callable[[str], object]) -> Callable[[str], None]:
    """Return a function that prints its first calls' notes and drops the rest."""
    left = _NOTES_SHOWN

    def show(note: str) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            echo(f"note: {note}")

    return show


class _Console(Console):
    """A console as wide as its own stream; rich would ask all standard streams, stdin first."""

    @property
    def size(self) -> ConsoleDimensions:
        return ConsoleDimensions(terminal.terminal_width(sys.stderr), super().size.height)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        """Ignore the new size: the size is the stream's."""


class _Line(ProgressColumn):
    """Text that is updated at each refresh and continues on a second line if the first is full."""

    def __init__(self, text: Callable[[], str]) -> None:
        super().__init__(Column(no_wrap=False, overflow="fold"))
        self._text = text

    def render(self, task: Task) -> Text:  # noqa: ARG002
        return Text(one_line(self._text()))


@contextmanager
def live_line(text: Callable[[], str], *, refreshes: float) -> Iterator[tuple[Progress, Callable[[str], None]]]:
    """Show a live bar and text on stderr; yield them with a function that prints notes above them."""
    console = _Console(file=terminal.raw_stream(sys.stderr), highlight=False)
    # Other output goes through the sanitizing streams, not through rich, which does not sanitize.
    with Progress(
        SpinnerColumn(),
        BarColumn(bar_width=12),
        _Line(text),
        console=console,
        transient=True,
        refresh_per_second=refreshes,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bar:
        yield bar, first_notes(lambda line: bar.console.print(clean(line), markup=False))


@dataclass
class ProgressTotals:
    """The progress so far."""

    run: str = ""
    stage: str = ""
    planned: int = 0
    waves: tuple[int, ...] = ()
    done: int = 0
    """The answered calls of this stage."""
    cached: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    waiting: str = ""
    began: float = field(default_factory=time.monotonic)
    running: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    """The unanswered calls by label and model: when each was sent, and the tokens of its prompt."""
    peak: int = 1
    """The largest number of concurrent calls."""
    seconds: float = 0.0
    """The total duration of the answered calls."""
    timed: int = 0
    latest: float = 0.0
    """The time of the last answer."""

    def take(self, event: Event) -> None:
        """Count an event."""
        match event:
            case RunStarted(run):
                self.run = run
            case StageStarted(name, planned, waves):
                self.stage, self.planned, self.waves = name, planned, waves
                self.done = self.cached = 0
            case CallStarted(label, model, tokens=tokens):
                self.running[label, model] = (time.monotonic(), tokens)
                self.peak = max(self.peak, len(self.running))
                self.waiting = ""
            case CallAnswered(label, usage, cost, cached, model):
                self._answered((label, model), usage, cost, cached)
            case CallFailed(label, reason, again_in, model):
                self.running.pop((label, model), None)
                self.waiting = f"{reason}; retrying in {again_in:.0f} s" if again_in else reason
            case PartDone(name, number, of):
                self.stage = f"{number} of {of} done, last {name}"

    def _answered(self, which: tuple[str, str], usage: Usage, cost: float | None, cached: bool) -> None:
        self.done += 1
        self.cached += cached
        self.waiting = ""
        if cached:
            return
        self.latest = time.monotonic()
        if (sent := self.running.pop(which, None)) is not None:
            self.seconds += self.latest - sent[0]
            self.timed += 1
        self.tokens += usage.prompt_tokens + usage.completion_tokens
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    def line(self) -> str:
        """Return the stage, finished calls, elapsed and remaining time, tokens and cost."""
        done = f"{self.done} of {max(self.planned, self.done)} calls" if self.planned else _calls(self.done)
        parts = [f"{self.stage}: {done}" if self.stage else done, lasting(time.monotonic() - self.began)]
        if left := self.seconds_left():
            parts.append(f"about {lasting(left)} left")
        if self.waiting:
            parts.append(self.waiting)
        elif self.running and not self.tokens:
            sent = sum(tokens for _, tokens in self.running.values())
            parts.append(f"reading ({sent:,} tokens sent)")
        elif self.running and not self.planned:
            parts.append(f"{len(self.running)} running")
        parts += [f"{self.cached} cached"] if self.cached else []
        parts += [f"{self.tokens:,} tokens"] if self.tokens else []
        return " · ".join([*parts, *([dollars(self.cost)] if self.cost else [])])

    def seconds_left(self) -> float:
        """Return the estimated seconds left in this stage, at the pace of the calls so far; it counts down.

        Calls of a wave run concurrently; a wave that depends on another begins when that one is complete.
        """
        left = self.planned - self.done
        if not self.timed or left <= 0:
            return 0.0
        finished, turns = self.done, 0
        for size in self.waves or (self.planned,):
            turns += ceil(max(0, size - finished) / self.peak)
            finished = max(0, finished - size)
        latency = self.seconds / self.timed
        return max(1.0, turns * latency - (time.monotonic() - self.latest))


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number:,} calls"


@dataclass(frozen=True, slots=True)
class Display:
    """An observer that displays events, and a context that pauses the display."""

    observe: Observer
    paused: Callable[[], AbstractContextManager[None]] = nullcontext


@contextmanager
def open_progress(*, quiet: bool) -> Iterator[Display]:
    """Open the display that suits stderr."""
    if quiet:
        yield Display(ignore_event)
    elif terminal.is_interactive():
        with _live() as display:
            yield display
    else:
        yield Display(_plain())


@contextmanager
def _live() -> Iterator[Display]:
    tally = ProgressTotals(stage="reading")
    with live_line(tally.line, refreshes=4) as (bar, note):
        task = bar.add_task("", total=None)

        def observe(event: Event) -> None:
            tally.take(event)
            if isinstance(event, Notice):
                note(event.message)
            bar.update(task, completed=tally.done, total=max(tally.planned, tally.done) if tally.planned else None)

        @contextmanager
        def paused() -> Iterator[None]:
            bar.stop()
            try:
                yield
            finally:
                bar.start()

        yield Display(observe, paused)


def _plain() -> Observer:
    tally, interval, note = ProgressTotals(), LineTimer(), first_notes(terminal.say)

    def observe(event: Event) -> None:
        tally.take(event)
        if isinstance(event, StageStarted):
            planned = f": {_calls(event.planned)} planned" if event.planned else ""
            terminal.say(f"{event.name}{planned}{f' (run {tally.run})' if tally.run else ''}")
        elif isinstance(event, PartDone):
            terminal.say(f"{event.number} of {event.of} done: {event.name}")
        elif isinstance(event, Notice):
            note(event.message)
        elif isinstance(event, (CallStarted, CallAnswered, CallFailed)) and interval.is_over():
            terminal.say(tally.line())

    return observe
