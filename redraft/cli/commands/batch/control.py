"""`redraft batch pause` and `redraft batch cancel`: stopping a batch that workers are at, from anywhere."""

from __future__ import annotations

import click

from redraft.cli import options
from redraft.cli.given import store_to_read
from redraft.cli.sections import command
from redraft.cli.terminal import say


@command(short_help="Begin no more documents of a batch.")
@click.argument("name")
@options.db
@options.quiet
def pause(name: str, db: str | None, quiet: bool) -> int:
    """Begin no more documents of the batch NAME; those that workers are at are brought to their end."""
    from redraft.cli.views.batches import going_on

    with store_to_read(db) as store:
        store.batches.get(name)
        store.batches.set_status(name, "paused")
        leased = store.batches.counts(name).leased
    if not quiet:
        at_work = f"; {leased} at work are brought to their end" if leased else ""
        say(f"batch {name} is paused{at_work}")
        say(f"go on with: {going_on(name)}")
    return 0


@command(short_help="Stop a batch, and what its workers are at.")
@click.argument("name")
@options.db
@options.quiet
def cancel(name: str, db: str | None, quiet: bool) -> int:
    """Stop the batch NAME, and what its workers are at; what is done is kept.

    Requests that are in flight may be paid for, and are asked again if the batch is resumed after all.
    """
    from redraft.cli.views.batches import going_on

    with store_to_read(db) as store:
        store.batches.get(name)
        store.batches.set_status(name, "cancelled")
    if not quiet:
        say(f"batch {name} is cancelled; what is done is kept")
        say(f"go on all the same with: {going_on(name)}")
    return 0
