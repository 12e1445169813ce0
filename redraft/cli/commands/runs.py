"""`redraft runs`: list the runs, newest first."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, get_args

import click

from redraft.cli import options
from redraft.cli.given import store_to_read
from redraft.cli.sections import command
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.settings import ExperimentPart
from redraft.text.sanitizer import one_line

if TYPE_CHECKING:
    from redraft.store.runs import Run
    from redraft.store.store import Store

KILLED = "killed"
"""The status of a run whose process has died, which is on record as running."""
_EPILOG = """\b
Examples:
  redraft runs
  redraft runs --kind refine --status stopped
  redraft runs --document "salt ledger" -m gpt-5
"""


@command(epilog=_EPILOG)
@options.typed_option("--kind", section="output", metavar="NAME", help="Only runs of summarize, evaluate, refine, ...")
@options.typed_option("--status", section="output", metavar="NAME", help="Only runs that are done, stopped, ...")
@options.typed_option(
    "--document", section="output", metavar="ID|WORDS", help="Only runs on this document, by id or title."
)
@options.typed_option(
    "--model", "-m", section="output", metavar="NAME", help="Only runs with this model, by part of its name."
)
@options.typed_option(
    "--all", "show_all", section="output", is_flag=True, help="Include runs of experiments and chapters."
)
@options.typed_option(
    "--limit",
    "-n",
    section="output",
    type=click.IntRange(min=1),
    metavar="N",
    default=20,
    help="Number of runs, newest first.",
)
@options.db
@options.as_json
def runs(limit: int, show_all: bool, db: str | None, as_json: bool, **filters: str | None) -> int:
    """List the latest runs. Runs of experiments and chapters need --all, or --kind."""

    from redraft.cli.views.lists import run_lines
    from redraft.cli.views.render import show
    from redraft.report.history.summaries import summary_of

    _check_status(filters["status"])
    with store_to_read(db) as store:
        found = _found(store, limit, show_all=show_all, **filters)
        all_of_them = (store.runs.readable(run.id, partial(summary_of, store, run)) for run in found)
        listed = [one for one in all_of_them if one is not None]
        damaged = dict(store.runs.damaged)
        any_at_all = bool(listed or store.runs.latest(1))
    if listed or as_json:
        content = {"runs": [one.model_dump(mode="json") for one in listed], "damaged": damaged}
        show(content, run_lines(listed, datetime.now(UTC)), as_json=as_json)
    elif any_at_all:
        say("No matching runs. All runs: redraft runs --all")
    elif not damaged:
        say("No runs yet. Make one: redraft summarize FILE")
    for run, why in damaged.items() if not as_json else ():
        say(f"cannot be read: run {run}: {one_line(why, 200)}")
    return 0


def _check_status(status: str | None) -> None:
    """Refuse a status that no run can have, which would list nothing."""
    from redraft.store.runs import Status

    known = (*get_args(Status), KILLED)
    if status is not None and status not in known:
        raise UsageError(f"--status: {status!r} is not a status", hint=f"choose from: {', '.join(known)}")


def _found(
    store: Store,
    limit: int,
    *,
    show_all: bool,
    kind: str | None,
    status: str | None,
    document: str | None,
    model: str | None,
) -> list[Run]:

    def wanted(run: Run) -> bool:
        of_another = run.experiment is not None or isinstance(run.purpose, ExperimentPart) or store.wholes_of([run.id])
        right = run.kind == kind if kind else show_all or not of_another
        return right and (status is None or store.status(run) == status)

    return store.runs.latest(
        limit,
        # One that was killed is stored as running still.
        status="running" if status == KILLED else status,
        model=model,
        documents=store.documents.named(document) if document else None,
        wanted=wanted,
    )
