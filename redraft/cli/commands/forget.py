"""`redraft forget`: remove runs and documents for good."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options
from redraft.cli.parse_options import store_to_read
from redraft.cli.sections import command
from redraft.cli.terminal import echo_json, say
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.store.removal import ForgetReport


_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_FEW = 4


@command()
@click.argument("run_ids", nargs=-1, metavar="[RUN]...")
@options.typed_option("--older-than", metavar="AGE", help="All runs idle for this long: 30d, 12h, 8w.")
@options.typed_option(
    "--document", metavar="ID", help="A document with all its runs, questions, key facts and verdicts."
)
@options.typed_option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@options.typed_option("--yes", is_flag=True, help="Do not ask.")
@options.store_options
def forget(run_ids: tuple[str, ...], older_than: str | None, document: str | None, **values: Any) -> None:
    """Remove RUNs for good, with their drafts, checkpoints and replies, and texts that no other run uses.

    The beginning of an id is enough. A run in progress is not removed.
    """
    from redraft.store.removal import ForgetReport

    dry_run = values["dry_run"]
    if sum(map(bool, (run_ids, older_than, document))) != 1:
        raise UsageError("name RUNs, or give --older-than, or --document", hint="see `redraft forget --help`")
    since = ""
    if older_than:
        match = re.fullmatch(rf"(\d{{1,5}})([{''.join(_UNITS)}])", older_than.strip())
        if match is None:
            problem = f"--older-than: {older_than!r} is not an age"
            raise UsageError(problem, hint="write a number and h, d or w, such as 30d")
        moment = datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})
        since = moment.isoformat(timespec="milliseconds")
    with store_to_read(values["db"]) as store:
        idle_runs = store.runs.some(unchanged_since=since)[::-1] if since else []
        runs = [store.runs.get(key).id for key in run_ids]
        runs += [run.id for run in idle_runs if not store.is_claimed(run.id)]
        documents = [store.documents.whole_id(document)] if document else []
        report = store.forget(runs, documents=documents, dry_run=True)
        if not dry_run:
            is_agreed = values["yes"] or not (report.runs or report.documents) or _confirm(report)
            report = store.forget(runs, documents=documents) if is_agreed else ForgetReport()
    if values["as_json"]:
        echo_json({**asdict(report), "dry_run": dry_run})
    elif dry_run or not values["quiet"]:
        for line in _summary(report, "would remove" if dry_run else "removed"):
            click.echo(line, err=not dry_run)


def _confirm(report: ForgetReport) -> bool:
    """Return whether the user wants to remove what the report names."""
    for line in _summary(report, "will remove"):
        say(line)
    if not sys.stdin.isatty():
        raise UsageError("cannot ask for confirmation without a terminal", hint="add --yes")
    return click.confirm("Remove them for good?", err=True)


def _summary(report: ForgetReport, verb: str) -> Iterator[str]:
    """Yield what was removed, or would be."""
    from redraft.text.words import count

    if not report.runs and not report.documents:
        yield "nothing to remove"
        return
    runs = count(len(report.runs), "run") + (f" ({', '.join(report.runs)})" if len(report.runs) <= _FEW else "")
    documents = f" and {count(len(report.documents), 'document')}" if report.documents else ""
    kibibytes = report.bytes / 1024
    size = f"{kibibytes:,.0f} KiB" if kibibytes < 1024 else f"{kibibytes / 1024:,.1f} MiB"
    size = f"{report.bytes} bytes" if kibibytes < 1 else size
    about = "" if verb == "removed" else "at least "
    yield f"{verb} {runs}{documents}: {count(report.replies, 'reply')}, {count(report.texts, 'text')}, {about}{size}"
    if report.trouble:
        yield f"the files could not be made smaller: {report.trouble}"
