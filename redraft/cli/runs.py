"""`redraft runs` and `redraft show`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options

if TYPE_CHECKING:
    from redraft.history.results import Result
    from redraft.store.store import Store


@click.command()
@click.option(
    "--limit", "-n", type=click.IntRange(min=1), default=20, show_default=True, help="How many, newest first."
)
@options.db
@options.as_json
def runs(limit: int, db: str | None, as_json: bool) -> int:
    """List the latest runs."""
    from redraft.cli import render
    from redraft.cli.given import store_to_read
    from redraft.history.comparison import preferred
    from redraft.history.tracing import scores_of

    with store_to_read(db) as store:
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
    from redraft.cli import preferences, render
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


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--pieces", is_flag=True, help="Show the partial summaries that the summary was made from.")
@options.db
@options.as_json
@options.quiet
def show(run_id: str, pieces: bool, db: str | None, as_json: bool, quiet: bool) -> int:
    """Show RUN: its summary on stdout, its scores and what it took on stderr. The beginning of its id is enough.

    What was found wrong with the summary is shown by `redraft trace RUN`. Of a run that built a pack or key facts these
    are shown, and of one that compared two summaries what came of it.
    """
    from redraft.cli import render
    from redraft.cli.given import store_to_read
    from redraft.cli.outcome import finish
    from redraft.history.results import read_result

    with store_to_read(db) as store:
        result = read_result(store, run_id)
        parts = store.runs.pieces(result.run.id) if pieces else []
        if as_json:
            listed = {"pieces": [asdict(piece) for piece in parts]} if pieces else {}
            render.echo_json(result.to_json() | _comparison(store, result) | listed)
            return 0
        if result.run.kind in render.OTHERWISE and result.status == "done":
            finish(store, result, as_json=False, quiet=quiet)
            return 0
    for piece in parts:
        click.echo(render.piece_text(piece))
    if result.summary is not None and result.run.kind not in render.OTHERWISE:
        click.echo(result.summary)
    if not quiet:
        if result.summary is None and result.run.kind not in render.OTHERWISE:
            click.echo(f"run {result.run.id} ({result.status}) has no summary yet", err=True)
        if result.run.error:
            click.echo(f"it ended with: {result.run.error['message']}", err=True)
        render.closing(result, None, scores=result.run.kind not in render.OTHERWISE)
        if (what := render.OTHERWISE.get(result.run.kind)) and result.status != "done":
            render.say(f"no {what} yet: redraft resume {result.run.id}")
    return 0


def _comparison(store: Store, result: Result) -> dict[str, object]:
    from redraft.history.comparison import compared

    done = result.run.kind == "compare" and result.status == "done"
    return {"comparison": compared(store, result).to_json()} if done else {}
