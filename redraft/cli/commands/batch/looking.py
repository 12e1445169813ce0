"""`redraft batch status` and `redraft batch results`: how batches stand, and what came of their documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from redraft.cli import options
from redraft.cli.files import check_output
from redraft.cli.given import store_to_read
from redraft.cli.sections import command
from redraft.cli.terminal import json_text, say
from redraft.errors import RedraftError, UsageError
from redraft.files import write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redraft.batches.results import Row
    from redraft.store.store import Store

_EPILOG = """\b
Examples:
  redraft batch results 3fa2c1d0 > results.jsonl
  redraft batch results 3fa2c1d0 --dossiers --format csv -o results.csv
"""


@command(short_help="Show how batches stand.")
@click.argument("name", required=False)
@options.db
@options.as_json
def status(name: str | None, db: str | None, as_json: bool) -> int:
    """Show how the batch NAME stands, with tables of what came of it so far; or without it, all batches."""
    from redraft.batches.standing import standing_of
    from redraft.cli.views.batches import batch_lines, show
    from redraft.cli.views.render import echo_json

    with store_to_read(db) as store:
        if name is not None:
            show(store, standing_of(store, name), as_json=as_json)
            return 0
        listed = [standing_of(store, one.name) for one in store.batches.all()]
    if as_json:
        echo_json({"batches": [one.to_json() for one in listed]})
    elif not listed:
        say("No batches yet. Make one: redraft batch FILES...")
    else:
        for line in batch_lines(listed):
            click.echo(line)
    return 0


@command(short_help="Print what came of each document.", epilog=_EPILOG)
@click.argument("name")
@options.typed_option(
    "--format",
    "form",
    section="output",
    type=click.Choice(["jsonl", "csv", "parquet"]),
    default="jsonl",
    help="An object a line, a table for spreadsheets, or a table for programs.",
)
@options.typed_option("--output", "-o", section="output", metavar="FILE", help="Write it there instead of to stdout.")
@options.typed_option(
    "--dossiers",
    section="output",
    is_flag=True,
    help="Write the dossiers first, into the folder dossiers in the batch's own, or beside FILE.",
)
@options.db
@options.quiet
def results(name: str, form: str, output: str | None, dossiers: bool, db: str | None, quiet: bool) -> int:
    """Print what came of each document of the batch NAME: its summary, its scores, its run, or why there is none."""
    from redraft.batches.results import results as rows_of
    from redraft.reports.items import items_csv

    check_output(output)
    with store_to_read(db) as store:
        store.batches.get(name)
        folder = _with_dossiers(store, name, output, quiet=quiet) if dossiers else None
        rows = rows_of(store, name, folder)
        if form == "parquet":
            _write_parquet(rows, output)
        elif form == "csv" or output:
            text = items_csv(list(rows)) if form == "csv" else "".join(map(_line, rows))
            if output is None:
                click.echo(text, nl=False)
            else:
                write(Path(output).expanduser(), text, "name another file with -o")
        else:
            for row in rows:
                click.echo(_line(row), nl=False)
    if output and not quiet:
        say(f"written to {output}")
    return 0


def _with_dossiers(store: Store, name: str, output: str | None, *, quiet: bool) -> str:
    """Have the dossiers of a batch written; returns the folder that they are in."""
    from redraft.batches.folder import add_dossiers
    from redraft.cli.views.batches import counting

    folder = add_dossiers(store, name, Path(output).expanduser() if output else None, counting("dossiers", quiet=quiet))
    if not quiet:
        say(f"dossiers in {Path(folder) / 'dossiers'}")
    return folder


def _line(row: Row) -> str:
    return json_text(row, indent=None) + "\n"


def _write_parquet(rows: Iterator[Row], output: str | None) -> None:
    """Write a table of Parquet, by a library that is no part of redraft."""
    if output is None:
        raise UsageError("a Parquet file is nothing for stdout", hint="name a file with -o")
    try:
        from pyarrow import Table, parquet
    except ImportError:
        raise RedraftError(
            "the package pyarrow, which writes Parquet, is not installed",
            hint="pip install pyarrow, or use --format jsonl, which it reads",
        ) from None
    try:
        parquet.write_table(Table.from_pylist([_flat(row) for row in rows]), str(Path(output).expanduser()))
    except OSError as error:
        raise RedraftError(f"it cannot be written: {error}", place=output, hint="name another file with -o") from error


def _flat(row: Row) -> dict[str, object]:
    """A row whose columns are the same for every document: scores and goals by their names, an error by its parts."""
    flat = {name: value for name, value in row.items() if not isinstance(value, dict)}
    parts = {f"{name}.{key}": value for name in ("scores", "goals") for key, value in row[name].items()}
    error = row["error"] or {}
    return flat | parts | {f"error.{key}": error.get(key) for key in ("code", "message", "hint")} | {"error": None}
