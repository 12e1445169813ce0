"""`redraft agree list`: how far judges were found to agree with people."""

from __future__ import annotations

import click

from redraft.cli import options
from redraft.cli.given import store_to_read
from redraft.cli.sections import command


@command("list", short_help="How far judges were found to agree with people.")
@options.db
@options.as_json
def list_(db: str | None, as_json: bool) -> int:
    """All the figures that stand behind scores: those that --save has put on record, and the built-in judge's own."""
    from redraft.cli.views.render import aligned, echo_json
    from redraft.history.certificates import in_words, packaged

    with store_to_read(db) as store:
        found = [*store.agreements.all(), *packaged()]
    if as_json:
        echo_json(
            [
                {
                    "judge": one.standing.judge,
                    "metric": one.standing.metric,
                    "version": one.standing.version,
                    "prompts": one.standing.prompts or None,
                    "terms": one.standing.terms,
                    **one.to_json(),
                }
                for one in found
            ]
        )
    elif not found:
        click.echo("no judge has been checked against people: `redraft agree FILE --save` does so")
    else:
        rows = [
            [one.standing.judge, f"{one.standing.metric} {one.standing.version}", in_words(one), one.measured]
            for one in found
        ]
        for line in aligned(rows):
            click.echo(line)
    return 0
