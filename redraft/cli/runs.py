"""`redraft runs` and `redraft show`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from redraft.cli import options


@click.command()
@click.option(
    "--limit", "-n", type=click.IntRange(min=1), default=20, show_default=True, help="How many, newest first."
)
@options.db
@options.as_json
def runs(limit: int, db: str | None, as_json: bool) -> int:
    """List the latest runs."""
    from redraft.cli import render
    from redraft.store.store import Store
    from redraft.text.cleaning import one_line

    with Store(db) as store:
        listed = [
            {
                "run": run.id,
                "created": run.created,
                "status": store.status(run),
                "strategy": run.settings.strategy,
                "model": run.settings.model,
                "words": run.settings.words,
                "title": store.documents.title(run.document),
                "stop_reason": run.stop_reason,
            }
            for run in store.runs.latest(limit)
        ]
    if as_json:
        click.echo(json.dumps(listed, ensure_ascii=False, indent=2))
    elif not listed:
        click.echo("No runs yet. Make one: redraft summarize FILE", err=True)
    else:
        head = [("RUN", "WHEN (UTC)", "STATUS", "STRATEGY", "MODEL", "WORDS", "TITLE")]
        body = [
            (
                str(run["run"]),
                str(run["created"])[:16].replace("T", " "),
                str(run["status"]),
                str(run["strategy"]),
                str(run["model"]),
                str(run["words"]),
                one_line(str(run["title"]), 50),
            )
            for run in listed
        ]
        render.table([*head, *body])
    return 0


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--pieces", is_flag=True, help="Show the partial summaries that the summary was made from.")
@options.db
@options.as_json
@options.quiet
def show(run_id: str, pieces: bool, db: str | None, as_json: bool, quiet: bool) -> int:
    """Show RUN: its summary on stdout, what it took on stderr. The beginning of its id is enough."""
    from redraft.cli import render
    from redraft.results import read_result
    from redraft.store.store import Store

    with Store(db) as store:
        result = read_result(store, run_id)
        parts = store.runs.pieces(result.run.id) if pieces else []
    if as_json:
        shown = result.to_json()
        if pieces:
            shown["pieces"] = [asdict(piece) for piece in parts]
        click.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return 0
    for piece in parts:
        click.echo(render.piece_text(piece))
    if result.summary is not None:
        click.echo(result.summary)
    if not quiet:
        if result.summary is None:
            click.echo(f"run {result.run.id} ({result.status}) has no summary yet", err=True)
        if result.run.error:
            click.echo(f"it ended with: {result.run.error['message']}", err=True)
        render.closing(result, None)
    return 0
