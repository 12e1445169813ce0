"""Batches: a progress line, tables at the end, and a row each in lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import click

from redraft.batches.tables import NAMED, WORDS, BatchPace, BatchSnapshot, Watcher, report_on, write_folder
from redraft.cli import hints, terminal
from redraft.cli.terminal import DONE, FAILED, SHORT, say
from redraft.cli.views.markdown import show_record
from redraft.cli.views.progress import LineTimer, first_notes, live_line
from redraft.domain import record_json
from redraft.errors import BudgetError
from redraft.report.markdown.layout import joined, line
from redraft.report.markdown.lists import records_table
from redraft.report.markdown.result import overspend
from redraft.report.tables import Cell, Report
from redraft.store.store import Store
from redraft.text.words import count, dollars, lasting, score


class BatchProgressView(NamedTuple):
    """Callbacks for a batch's progress and for its workers' notes."""

    see: Watcher
    tell: Callable[[str], object]


@contextmanager
def open_progress_view(*, quiet: bool) -> Iterator[BatchProgressView]:
    """Show progress in the form that suits stderr."""
    shown, interval = "starting the workers", LineTimer()
    if quiet:
        yield BatchProgressView(lambda *_: None, lambda _: None)
    elif terminal.is_interactive():
        with live_line(lambda: shown, refreshes=4) as (bar, note):
            task = bar.add_task("", total=None)

            def update(snapshot: BatchSnapshot, pace: BatchPace) -> None:
                nonlocal shown
                shown = progress_line(snapshot, pace)
                bar.update(task, completed=snapshot.counts.ended, total=snapshot.counts.all)

            yield BatchProgressView(update, note)
    else:

        def print_line(snapshot: BatchSnapshot, pace: BatchPace) -> None:
            nonlocal shown
            latest = progress_line(snapshot, pace)
            if latest != shown and interval.is_over():
                shown = latest
                say(latest)

        yield BatchProgressView(print_line, first_notes(say))


def dossier_counter(*, quiet: bool) -> Callable[[int], None]:
    """Return a function that occasionally reports how many dossiers have been written."""
    interval = LineTimer()

    def tell(written: int) -> None:
        if not quiet and interval.is_over():
            say(f"{written:,} dossiers written")

    return tell


def progress_line(snapshot: BatchSnapshot, pace: BatchPace) -> str:
    """Return a batch's progress: documents, rate, calls, cost and the estimated time left."""
    counts = snapshot.counts
    parts = [f"{counts.ended:,} of {counts.all:,} documents"]
    parts += [f"{counts.leased:,} running"] if counts.leased else []
    parts += [f"{counts.failed + counts.aside:,} failed"] if counts.failed + counts.aside else []
    if pace.a_minute is not None:
        parts.append(f"{pace.a_minute:.3g} a minute")
    parts.append(count(snapshot.calls, "call"))
    if snapshot.cost_usd:
        parts.append(dollars(snapshot.cost_usd))
    if pace.seconds_left:
        parts.append(f"about {lasting(pace.seconds_left)} left")
    return " · ".join(parts)


def show_batch(store: Store, snapshot: BatchSnapshot, *, as_json: bool) -> Report:
    """Print the tables of a batch so far."""
    report = report_on(store, snapshot)
    content = record_json(snapshot) | {"tables": [record_json(table) for table in report.tables]}
    show_record(content, report.to_markdown(), as_json=as_json)
    return report


def finish(store: Store, snapshot: BatchSnapshot, *, as_json: bool, quiet: bool) -> int:
    """Print a batch's outcome and write its folder; return the exit code."""
    report = show_batch(store, snapshot, as_json=True) if as_json else report_on(store, snapshot)
    for words in () if as_json else _outcome(snapshot, report):
        click.echo(words)
    write_folder(store, snapshot, report, dossier_counter(quiet=quiet))
    if not quiet:
        _close(snapshot)
    return _code(snapshot)


def _outcome(snapshot: BatchSnapshot, report: Report) -> Iterator[str]:
    """Yield a batch's documents, the mean of each score with its goal, its failures, and what has the same text."""
    yield report.about[0]
    rows = {table.name: table.records for table in report.tables}
    goals = {str(one["goal"]): f", goal met by {one['met']} of {snapshot.counts.done}" for one in rows.get("goals", ())}
    for one in rows.get("figures", ()):
        name = str(one["figure"])
        # The first figures are the scores.
        if name == WORDS:
            break
        mean, least, most = (_mean(one[key]) for key in ("mean", "least", "most"))
        yield f"{name} {mean} on average ({least} to {most}){goals.get(name.partition(' ')[0], '')}"
    for one in (*rows.get("troubles", ()), *rows.get("alike", ())):
        unnamed = int(str(one["items"])) - NAMED
        named = f"{one['such as']}{f' (and {unnamed:,} more)' if unnamed > 0 else ''}"
        yield f"{one['state']}: {named}: {one['which says']}" if "state" in one else f"the same text: {named}"


def _mean(value: Cell) -> str:
    return score(value) if isinstance(value, float | int) else "–"


def _close(snapshot: BatchSnapshot) -> None:
    """Say where the summaries are and what to do next."""
    batch, counts = snapshot.batch, snapshot.counts
    if batch.folder:
        say(f"{count(counts.done, 'summary')} in {batch.folder}; items.jsonl there names their runs")
    else:
        say(f"Summaries: {hints.run_command('batch results', batch.name)}")
    if snapshot.over_usd:
        say(overspend(snapshot.over_usd))
    if batch.error and snapshot.status == "stopped":
        say(f"stopped: {batch.error['message']}")
    if snapshot.status != "done" or counts.failed + counts.aside:
        more = " with a higher limit" if batch.error and batch.error["code"] == BudgetError.code else ""
        say(f"{'Resume' if snapshot.status != 'done' else 'Try again'}{more}: {resume_command(batch.name)}")
    else:
        say(f"Details: {hints.run_command('batch status', batch.name)}")


def _code(snapshot: BatchSnapshot) -> int:
    if snapshot.complete:
        return DONE
    return SHORT if snapshot.counts.done or snapshot.status in ("paused", "cancelled", "stopped") else FAILED


def resume_command(name: str) -> str:
    """Return the command that resumes a batch."""
    return hints.run_command("batch resume", name)


def batches_markdown(batches: Sequence[BatchSnapshot]) -> str:
    """Return a row for each batch."""
    rows = (
        {
            "batch": line(snapshot.batch.name),
            "when (UTC)": snapshot.batch.created[:16].replace("T", " "),
            "status": snapshot.status,
            "done": f"{snapshot.counts.done:,}/{snapshot.counts.all:,}",
            "failed": f"{failed:,}" if (failed := snapshot.counts.failed + snapshot.counts.aside) else "",
            "calls": f"{snapshot.calls:,}",
            "cost": dollars(snapshot.cost_usd) if snapshot.cost_usd else "",
            "folder": line(snapshot.batch.folder),
        }
        for snapshot in batches
    )
    return joined([records_table(rows)])
