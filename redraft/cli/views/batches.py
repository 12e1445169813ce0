"""Batches: a progress line, tables at the end, and a row each in lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import click

from redraft.batches.tables import NAMED, WORDS, BatchSnapshot, Watcher, report_on, table_files, write_folder
from redraft.cli import hints
from redraft.cli.terminal import DONE, FAILED, SHORT, say, show_record
from redraft.cli.views.progress import progress_line
from redraft.domain import record_json
from redraft.errors import BudgetError
from redraft.report.markdown.evaluation import joined
from redraft.report.markdown.records import records_table, when
from redraft.report.markdown.trace import OVERSPENT
from redraft.report.tables import Report, line, number
from redraft.store.store import Store
from redraft.text.words import count, dollars, lasting, score, spaced


@contextmanager
def batch_progress(*, quiet: bool) -> Iterator[tuple[Callable[[str], object], Watcher]]:
    """Show progress in the form that suits stderr; yield what takes workers' notes and what takes the progress."""
    text = "starting the workers"
    with progress_line(lambda: text, quiet=quiet) as line:

        def watch(snapshot: BatchSnapshot) -> None:
            nonlocal text
            text = pace_line(snapshot)
            line.update(snapshot.counts.ended, snapshot.counts.all)

        yield line.note, watch


def pace_line(snapshot: BatchSnapshot) -> str:
    """Return a batch's progress: documents, rate, calls, cost and the estimated time left."""
    counts = snapshot.counts
    parts = [f"{counts.ended:,} of {counts.all:,} documents"]
    parts += [f"{counts.leased:,} running"] if counts.leased else []
    parts += [f"{counts.failed + counts.aside:,} failed"] if counts.failed + counts.aside else []
    if snapshot.a_minute is not None:
        parts.append(f"{snapshot.a_minute:.3g} a minute")
    parts.append(count(snapshot.calls, "call"))
    if snapshot.cost_usd:
        parts.append(dollars(snapshot.cost_usd))
    if snapshot.seconds_left:
        parts.append(f"about {lasting(snapshot.seconds_left)} left")
    return " · ".join(parts)


def show_batch(store: Store, snapshot: BatchSnapshot, *, as_json: bool) -> Report:
    """Print the tables of a batch so far."""
    report = report_on(store, snapshot)
    content = record_json(snapshot) | {"tables": [record_json(table) for table in report.tables]}
    show_record(content, report.to_markdown(), as_json=as_json)
    return report


def finish(store: Store, snapshot: BatchSnapshot, *, as_json: bool, quiet: bool) -> int:
    """Print a batch's outcome and write its folder; return the exit code. The outcome is the documents, the mean of
    each score with its goal, failures, and what has the same text."""
    if as_json:
        report = show_batch(store, snapshot, as_json=True)
    else:
        report = report_on(store, snapshot)
        click.echo(report.about[0])
        tables = {table.name: table.records for table in report.tables}
        done = snapshot.counts.done
        goals = {str(row["goal"]): f", goal met by {row['met']} of {done}" for row in tables.get("goals", ())}
        for row in tables.get("figures", ()):
            name = str(row["figure"])
            # The first figures are the scores.
            if name == WORDS:
                break
            mean, lowest, highest = (score(number(row[key])) for key in ("mean", "min", "max"))
            goal = goals.get(name.partition(" ")[0], "")
            click.echo(f"{spaced(name)} {mean} on average (lowest {lowest}, highest {highest}){goal}")
        for row in tables.get("troubles", ()):
            more = int(str(row["documents"])) - NAMED
            names = f"{row['such as']}{f' (and {more:,} more)' if more > 0 else ''}"
            click.echo(f"{row['state']}: {names}: {row['which says']}")
    write_folder(store, snapshot, report)
    if not quiet:
        _close(snapshot)
    if snapshot.complete:
        return DONE
    return SHORT if snapshot.counts.done or snapshot.status in ("paused", "cancelled", "stopped") else FAILED


def _close(snapshot: BatchSnapshot) -> None:
    """Say where the summaries are and what to do next."""
    counts, error = snapshot.counts, snapshot.error
    if snapshot.folder:
        listing = table_files(snapshot)[1].name
        say(f"{count(counts.done, 'summary')} in {snapshot.folder}; {listing} there names their runs")
    elif counts.done:
        say(f"Summaries: {hints.run_command('batch results', snapshot.name)}; as a table: add -o results.csv")
    if snapshot.over_usd:
        say(f"{dollars(snapshot.over_usd)} {OVERSPENT}")
    if error and snapshot.status == "stopped":
        say(f"stopped: {error['message']}")
    if snapshot.status != "done" or counts.failed + counts.aside:
        label = "Resume" if snapshot.status != "done" else "Try again"
        label += " with a higher limit" if error and error["code"] == BudgetError.code else ""
        say(f"{label}: {hints.run_command('batch resume', snapshot.name)}")
    else:
        say(f"Details: {hints.run_command('batch status', snapshot.name)}")


def batches_markdown(batches: Sequence[BatchSnapshot], now: datetime) -> str:
    """Return a row for each batch."""
    rows = (
        {
            "batch": line(snapshot.name),
            "when (UTC)": when(snapshot.created, now),
            "status": snapshot.status,
            "done": f"{snapshot.counts.done:,}/{snapshot.counts.all:,}",
            "failed": f"{failed:,}" if (failed := snapshot.counts.failed + snapshot.counts.aside) else "",
            "calls": f"{snapshot.calls:,}",
            "cost": dollars(snapshot.cost_usd) if snapshot.cost_usd else "",
            "folder": line(snapshot.folder or ""),
        }
        for snapshot in batches
    )
    return joined([records_table(rows)])
