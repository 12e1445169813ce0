"""Progress on stderr: a live line on a terminal, and in a pipe a line per stage and one every ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import ceil

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task
from rich.table import Column
from rich.text import Text

from redraft.cli import terminal
from redraft.domain import Totals
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
)
from redraft.text.sanitizer import clean, one_line
from redraft.text.words import count, dollars, lasting

_PLAIN_SECONDS = 10.0
_NOTES_SHOWN = 20


class ProgressLine:
    """A line of progress with notes above it: in place with a bar, or else as text every ten seconds if it has changed.
    Without `echo` it stays silent."""

    def __init__(
        self, text: Callable[[], str], echo: Callable[[str], None] | None = None, bar: Progress | None = None
    ) -> None:
        self._text, self._echo, self._bar = text, echo, bar
        self._task = bar.add_task("", total=None) if bar else None
        self._since, self._latest, self._notes = time.monotonic(), "", 0

    def update(self, done: int, total: int | None) -> None:
        """Show how many of how many steps are done; `total` is None while it is unknown."""
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)
        elif self._echo and self._text() != self._latest and time.monotonic() - self._since >= _PLAIN_SECONDS:
            self._latest, self._since = self._text(), time.monotonic()
            self._echo(self._latest)

    def milestone(self, text: str) -> None:
        """Show that something begins or is done, unless a line in place says so."""
        if self._echo and not self._bar:
            self._echo(text)

    def note(self, text: str) -> None:
        """Show a note; after the first ones, notes are dropped."""
        self._notes += 1
        if self._echo and self._notes <= _NOTES_SHOWN:
            self._echo(f"note: {text}")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Give the terminal to something else meanwhile."""
        if self._bar:
            self._bar.stop()
        try:
            yield
        finally:
            if self._bar:
                self._bar.start()


class _TextColumn(ProgressColumn):
    """Text that is updated at each refresh and continues on a second line if the first is full."""

    def __init__(self, text: Callable[[], str]) -> None:
        super().__init__(Column(no_wrap=False, overflow="fold"))
        self._text = text

    def render(self, task: Task) -> Text:  # noqa: ARG002
        return Text(one_line(self._text()))


@contextmanager
def progress_line(text: Callable[[], str], *, quiet: bool) -> Iterator[ProgressLine]:
    """Open the line that suits stderr; `text` returns what it says."""
    if quiet or not terminal.is_interactive():
        yield ProgressLine(text, None if quiet else terminal.say)
        return
    console = Console(file=terminal.raw_stream(sys.stderr), highlight=False)
    # Other output goes through the sanitizing streams, not through rich, which does not sanitize.
    with Progress(
        SpinnerColumn(),
        BarColumn(bar_width=12),
        _TextColumn(text),
        console=console,
        transient=True,
        refresh_per_second=4,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bar:
        yield ProgressLine(text, lambda note: bar.console.print(clean(note), markup=False), bar)


@dataclass
class ProgressTotals:
    """The progress so far."""

    run: str = ""
    stage: str = ""
    part: str = ""
    """The last part of the stage that is done, and how many are."""
    planned: int = 0
    done: int = 0
    """The answered calls of this stage."""
    cached: int = 0
    """Those of them that came from the cache."""
    failed: int = 0
    under_way: int = 0
    totals: Totals = field(default_factory=Totals)
    """The totals of all stages."""
    waiting: str = ""
    began: float = field(default_factory=time.monotonic)
    running: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    """The unanswered calls by label and model: when each was sent, and the tokens of its prompt."""
    peak: int = 1
    """The largest number of concurrent calls."""
    answer_seconds: float = 0.0
    """The total duration of the answered calls."""
    timed: int = 0
    latest: float = 0.0
    """The time of the last answer."""

    def take(self, event: Event) -> None:
        """Count an event."""
        match event:
            case RunStarted(run):
                self.run = run
            case StageStarted(name, planned):
                self.stage, self.planned = name, planned
                self.part, self.done, self.cached = "", 0, 0
            case CallStarted(label, tokens=tokens, model=model):
                self.under_way += 1
                self.running[label, model] = (time.monotonic(), tokens)
                self.peak = max(self.peak, len(self.running))
                self.waiting = ""
            case CallAnswered(label, usage, cost, cached, model=model):
                self.done += 1
                self.cached += cached
                self.waiting = ""
                totals = self.totals
                if cached:
                    self.totals = replace(totals, cached=totals.cached + 1)
                    return
                self.latest, self.under_way = time.monotonic(), max(0, self.under_way - 1)
                if (sent := self.running.pop((label, model), None)) is not None:
                    self.answer_seconds += self.latest - sent[0]
                    self.timed += 1
                self.totals = replace(
                    totals,
                    calls=totals.calls + 1,
                    prompt_tokens=totals.prompt_tokens + usage.prompt_tokens,
                    completion_tokens=totals.completion_tokens + usage.completion_tokens,
                    cost_usd=None if totals.cost_usd is None or cost is None else totals.cost_usd + cost,
                )
            case CallFailed(label, reason, again_in, model=model):
                self.failed, self.under_way = self.failed + 1, max(0, self.under_way - 1)
                self.running.pop((label, model), None)
                self.waiting = f"{reason}; retrying in {again_in:.0f} s" if again_in else reason
            case PartDone(name, number, of):
                self.part = f"{number} of {of} done, last {name}"

    def line(self) -> str:
        """Return the stage, finished calls, elapsed and remaining time, tokens and cost."""
        done = f"{self.done} of {max(self.planned, self.done)} calls" if self.planned else count(self.done, "call")
        stage, tokens = self.part or self.stage, self.totals.prompt_tokens + self.totals.completion_tokens
        parts = [f"{stage}: {done}" if stage else done, lasting(time.monotonic() - self.began)]
        if remaining := self.seconds_left():
            parts.append(f"about {lasting(remaining)} left")
        if self.waiting:
            parts.append(self.waiting)
        elif self.running and not tokens:
            sent = sum(size for _, size in self.running.values())
            parts.append(f"reading ({sent:,} tokens sent)")
        elif self.running and not self.planned:
            parts.append(f"{len(self.running)} running")
        parts += [f"{self.cached} cached"] if self.cached else []
        parts += [f"{tokens:,} tokens"] if tokens else []
        return " · ".join([*parts, *([dollars(self.totals.cost_usd)] if self.totals.cost_usd else [])])

    def seconds_left(self) -> float:
        """Return the estimated seconds left in this stage, at the pace of the calls so far; it counts down."""
        if not self.timed or self.planned <= self.done:
            return 0.0
        turns, latency = ceil((self.planned - self.done) / self.peak), self.answer_seconds / self.timed
        return max(1.0, turns * latency - (time.monotonic() - self.latest))


@contextmanager
def open_progress(*, quiet: bool) -> Iterator[tuple[Observer, ProgressLine]]:
    """Open the line that suits stderr; yield what shows the events of runs on it, and the line itself."""
    totals = ProgressTotals(stage="reading")
    with progress_line(totals.line, quiet=quiet) as line:

        def observe(event: Event) -> None:
            totals.take(event)
            match event:
                case StageStarted(name, planned):
                    calls = f": {count(planned, 'call')} planned" if planned else ""
                    line.milestone(f"{name}{calls}{f' (run {totals.run})' if totals.run else ''}")
                case PartDone(name, number, of):
                    line.milestone(f"{number} of {of} done: {name}")
                case Notice(message):
                    line.note(message)
            line.update(totals.done, max(totals.planned, totals.done) if totals.planned else None)

        yield observe, line
