"""What a run shows of itself on stderr: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn

from redraft.cli import terminal
from redraft.domain import Usage
from redraft.events import (
    CallAnswered,
    CallFailed,
    CallStarted,
    Event,
    Noted,
    Observer,
    PartDone,
    RunStarted,
    StageStarted,
    unobserved,
)
from redraft.text.sanitizer import clean, one_line

_PLAIN_SECONDS = 10.0
_NOTES_SHOWN = 20


class Interval:
    """Says when a line is due, where lines cannot be rewritten."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def is_over(self) -> bool:
        """Whether enough time has passed since it last was; if so, it begins again."""
        if time.monotonic() - self._last < _PLAIN_SECONDS:
            return False
        self._last = time.monotonic()
        return True


def first_notes(echo: Callable[[str], object]) -> Callable[[str], None]:
    """Return a function that prints the first notes it is called with, and drops the rest."""
    left = _NOTES_SHOWN

    def show(note: str) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            echo(f"note: {note}")

    return show


@contextmanager
def live_line(*columns: ProgressColumn, refreshes: float) -> Iterator[tuple[Progress, Callable[[str], None]]]:
    """Show a line on stderr that is rewritten; with it comes a function that prints notes above it."""
    console = Console(file=terminal.bare_stderr(), highlight=False)
    # What others print meanwhile goes through the streams, which clean it, and not through rich, which does not.
    with Progress(
        SpinnerColumn(),
        *columns,
        TextColumn("{task.fields[line]}", markup=False),
        console=console,
        transient=True,
        refresh_per_second=refreshes,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bar:
        yield bar, first_notes(lambda line: bar.console.print(clean(line), markup=False))


@dataclass
class ProgressTotals:
    """What has happened so far."""

    run: str = ""
    stage: str = ""
    planned: int = 0
    done: int = 0
    under_way: int = 0
    cached: int = 0
    latest: str = ""
    tokens: int = 0
    cost: float | None = 0.0
    waiting: str = ""
    began: float = field(default_factory=time.monotonic)

    def take(self, event: Event) -> None:
        """Count an event in."""
        match event:
            case RunStarted(run):
                self.run = run
            case StageStarted(name, planned):
                self.stage, self.planned = name, planned
            case CallStarted(label):
                self.latest = label
                self.under_way += 1
            case CallAnswered(_, usage, cost, cached):
                self._answered(usage, cost, cached)
            case CallFailed(_, reason, again_in):
                self.under_way -= 1
                self.waiting = f"{reason}, again in {again_in:.0f} s" if again_in else reason
            case PartDone(name, number, of):
                self.stage, self.latest = f"{number}/{of}", name

    def _answered(self, usage: Usage, cost: float | None, cached: bool) -> None:
        self.done += 1
        self.cached += cached
        self.waiting = ""
        if cached:
            return
        self.under_way -= 1
        self.tokens += usage.prompt_tokens + usage.completion_tokens
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    def where(self) -> str:
        """The strategy, and the step that was begun last."""
        return f"{self.stage}: {self.latest}" if self.latest else self.stage

    def line(self) -> str:
        """Calls, tokens, money, and the time that is left if it goes on so."""
        parts = [
            f"{self.done}/{max(self.planned, self.done)} calls"
            if self.planned
            else f"{self.done} call{'s' * (self.done != 1)}"
        ]
        if self.under_way > 0 and not self.done < self.planned:
            parts.append(f"{self.under_way} under way")
        if self.cached:
            parts.append(f"{self.cached} from the cache")
        parts.append(f"{self.tokens:,} tokens")
        if self.cost:
            parts.append(f"${self.cost:.4f}")
        if left := self.seconds_left():
            parts.append(f"about {left + 0.5:.0f} s left")
        return " · ".join(parts)

    def seconds_left(self) -> float:
        """At the pace of the calls so far; cached answers take no time."""
        asked = self.done - self.cached
        if not asked or self.done >= self.planned:
            return 0.0
        return (time.monotonic() - self.began) / asked * (self.planned - self.done)


@dataclass(frozen=True, slots=True)
class Display:
    """An observer that shows what it sees, and a context in which it keeps out of the way."""

    observe: Observer
    paused: Callable[[], AbstractContextManager[None]] = nullcontext


@contextmanager
def open_progress(*, quiet: bool) -> Iterator[Display]:
    """The display that suits where stderr goes."""
    if quiet:
        yield Display(unobserved)
    elif terminal.is_interactive():
        with _live() as display:
            yield display
    else:
        yield Display(_plain())


@contextmanager
def _live() -> Iterator[Display]:
    tally = ProgressTotals()
    columns = TextColumn("{task.description}", markup=False), BarColumn(bar_width=24)
    with live_line(*columns, refreshes=8) as (bar, note):
        task = bar.add_task("reading", total=None, line="")

        def observe(event: Event) -> None:
            tally.take(event)
            if isinstance(event, Noted):
                note(event.message)
            line = f"{tally.line()}  ({tally.waiting})" if tally.waiting else tally.line()
            total = max(tally.planned, tally.done) or None
            bar.update(
                task, description=one_line(tally.where()), completed=tally.done, total=total, line=one_line(line)
            )

        @contextmanager
        def paused() -> Iterator[None]:
            bar.stop()
            try:
                yield
            finally:
                bar.start()

        yield Display(observe, paused)


def _plain() -> Observer:
    tally, interval, note = ProgressTotals(), Interval(), first_notes(terminal.say)

    def observe(event: Event) -> None:
        tally.take(event)
        if isinstance(event, StageStarted):
            calls = "1 call" if event.planned == 1 else f"{event.planned:,} calls"
            planned = f": {calls} planned" if event.planned else ""
            terminal.say(f"{event.name}{planned}{f' (run {tally.run})' if tally.run else ''}")
        elif isinstance(event, PartDone):
            terminal.say(f"{event.number}/{event.of} {event.name}")
        elif isinstance(event, Noted):
            note(event.message)
        elif isinstance(event, (CallAnswered, CallFailed)) and interval.is_over():
            terminal.say(f"{tally.where()} · {tally.line()}{f' ({tally.waiting})' if tally.waiting else ''}")

    return observe
