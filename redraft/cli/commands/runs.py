"""`redraft runs` and `redraft show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options
from redraft.cli.sections import command

if TYPE_CHECKING:
    pass


@command(short_help="List the latest runs.")
@options.typed_option(
    "--limit",
    "-n",
    section="output",
    type=click.IntRange(min=1),
    default=20,
    help="How many, newest first.",
)
@options.db
@options.as_json
def runs(limit: int, db: str | None, as_json: bool) -> int:
    """List the latest runs."""
    from redraft.cli.views import render
    from redraft.history.comparison import preferred
    from redraft.history.tracing import scores_of
    from redraft.store.store import Store

    with Store(db) as store:
        listed = [
            {
                "run": run.id,
                "created": run.created,
                "status": store.status(run),
                "kind": run.kind,
                "parent": run.parent,
                "strategy": run.settings.strategy,
                "model": run.settings.model,
                "words": run.settings.words,
                "title": store.documents.title(run.document),
                "stop_reason": run.stop_reason,
                "scores": scores_of(store, run),
                "preferred": preferred(store, run),
            }
            for run in store.runs.latest(limit)
        ]
    if as_json:
        render.echo_json(listed)
    elif not listed:
        click.echo("No runs yet. Make one: redraft summarize FILE", err=True)
    else:
        render.table([("RUN", "WHEN (UTC)", "STATUS", "KIND", "MODEL", "WORDS", "SCORES", "TITLE"), *map(_row, listed)])
    return 0


def _row(run: dict[str, Any]) -> tuple[str, ...]:
    from redraft.cli.views import preferences, render
    from redraft.text.cleaning import one_line

    # How a summary was drafted says more than that it was.
    kind = run["kind"] if run["strategy"] == "given" else run["strategy"]
    if run["strategy"] != "given" and run["kind"] == "refine":
        kind += "+refine"
    return (
        run["run"],
        run["created"][:16].replace("T", " "),
        run["status"],
        kind,
        one_line(run["model"], 24),
        "" if run["kind"] in render.OTHERWISE else str(run["words"]),
        preferences.outcome(run["preferred"]) if run["kind"] == "compare" else render.scores(run["scores"]),
        one_line(run["title"], 40),
    )
