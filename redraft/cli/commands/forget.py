"""`redraft forget`: remove runs and documents for good."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from redraft.cli import options
from redraft.cli.parse_options import store_to_read
from redraft.cli.sections import command
from redraft.cli.terminal import echo_json, say
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.store.removal import ForgetReport
    from redraft.store.store import Store


_EPILOG = """\b
Examples:
  redraft forget 3fa2c1d0
  redraft forget --older-than 30d --dry-run
  redraft forget --document 9b1c --yes

Replies that other runs use are kept, and so are forks of a removed run. A
document is removed with its last run, unless it has questions or key facts.
Verdicts on a document are removed with it.
"""
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_KIB = 1024
_FEW = 4


@command(epilog=_EPILOG)
@click.argument("run_ids", nargs=-1, metavar="[RUN]...")
@options.typed_option(
    "--older-than", section="output", metavar="AGE", help="All runs idle for this long: 30d, 12h, 8w."
)
@options.typed_option(
    "--document",
    section="output",
    metavar="ID",
    help="A document with all its runs, questions, key facts and verdicts.",
)
@options.typed_option(
    "--dry-run", section="output", is_flag=True, help="Show what would be removed, and remove nothing."
)
@options.typed_option("--yes", section="output", is_flag=True, help="Do not ask.")
@options.store_options
def forget(
    run_ids: tuple[str, ...],
    older_than: str | None,
    document: str | None,
    dry_run: bool,
    yes: bool,
    db: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Remove RUNs for good, with their drafts, checkpoints and replies, and texts that no other run uses.

    The beginning of an id is enough. A run in progress is not removed.
    """
    from redraft.store.removal import ForgetReport

    if sum(map(bool, (run_ids, older_than, document))) != 1:
        raise UsageError("name RUNs, or give --older-than, or --document", hint="see `redraft forget --help`")
    with store_to_read(db) as store:
        runs = [store.runs.get(key).id for key in run_ids]
        documents = [store.documents.whole_id(document)] if document else []
        if older_than:
            runs = _idle(store, older_than)
        freed = store.forget(runs, documents=documents, dry_run=True)
        if not dry_run:
            freed = store.forget(runs, documents=documents) if yes or _agreed(freed) else ForgetReport()
    if as_json:
        echo_json({**asdict(freed), "dry_run": dry_run})
    elif dry_run or not quiet:
        for line in _told(freed, "would free" if dry_run else "freed"):
            click.echo(line, err=not dry_run)
    return 0


def _agreed(freed: ForgetReport) -> bool:
    """Whether the user wants to be rid of these."""

    if not freed.runs and not freed.documents:
        return True
    for line in _told(freed, "would free"):
        say(line)
    if not sys.stdin.isatty():
        raise UsageError("the removal cannot be confirmed without a terminal", hint="add --yes")
    return click.confirm("Remove them for good?", err=True)


def _idle(store: Store, age: str) -> list[str]:
    """The runs that are old enough, but for those that are being worked on."""
    match = re.fullmatch(rf"(\d{{1,5}})([{''.join(_UNITS)}])", age.strip())
    if match is None:
        raise UsageError(f"--older-than: {age!r} is not an age", hint="write a number and m, h, d or w, such as 30d")
    moment = datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})
    old = store.runs.unchanged_since(moment.isoformat(timespec="milliseconds"))
    return [run.id for run in old if not store.is_claimed(run.id)]


def _told(freed: ForgetReport, verb: str) -> Iterator[str]:
    from redraft.text.words import count

    if not freed.runs and not freed.documents:
        yield "nothing to remove"
        return
    runs = count(len(freed.runs), "run") + (f" ({', '.join(freed.runs)})" if len(freed.runs) <= _FEW else "")
    documents = f" and {count(len(freed.documents), 'document')}" if freed.documents else ""
    yield f"{verb} {runs}{documents}: {count(freed.replies, 'reply')}, {count(freed.texts, 'text')}, {_size(freed)}"
    if freed.trouble:
        yield f"the files could not be made smaller: {freed.trouble}"


def _size(freed: ForgetReport) -> str:
    if freed.bytes < _KIB:
        return f"{freed.bytes} bytes"
    return f"{freed.bytes / _KIB:,.0f} KiB" if freed.bytes < _KIB**2 else f"{freed.bytes / _KIB**2:,.1f} MiB"
