"""`redraft store`: what becomes of a database as a whole."""

from __future__ import annotations

from dataclasses import asdict

import click

from redraft.cli import options
from redraft.cli.sections import CommandGroup, command
from redraft.cli.terminal import say

_EPILOG = """\b
Examples:
  redraft store copy redraft.db postgresql://ann@db.example.org/books
  redraft store copy postgresql://ann@db.example.org/books mine.db

Give passwords in PGPASSWORD or in ~/.pgpass: others can read what is typed.
"""


@click.group(cls=CommandGroup, short_help="Copy a database to another place.", epilog=_EPILOG)
def store() -> None:
    """Copy whole databases: files, or on a PostgreSQL server."""


@command(short_help="Copy a database into another.", epilog=_EPILOG)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@options.as_json
@options.quiet
def copy(source: str, target: str, as_json: bool, quiet: bool) -> int:
    """Copy everything in the database FROM to the database TO, which may be new or in use.

    What TO has already is not changed, so copying twice is safe. FROM is only read.
    """
    import asyncio

    from redraft.cli.views.render import count, echo_json
    from redraft.runs.store_copy import copy_store
    from redraft.store.addresses import shown
    from redraft.store.store import Store

    with Store(source, must_exist=True, to_read=True) as here, Store(target) as there:
        copied = asyncio.run(copy_store(here, there))
    if as_json:
        echo_json(asdict(copied))
    elif not quiet:
        known = f"; {copied.there:,} were there" if copied.there else ""
        what = f"{count(copied.documents, 'document')}, {count(copied.texts, 'text')}"
        say(f"copied to {shown(target)}: {count(len(copied.runs), 'run')}{known}, {what}")
    return 0


store.add_command(copy)
