"""The group of commands about batches; without the name of one it takes the documents of a batch."""

from __future__ import annotations

import click

from redraft.cli.commands.batch.control import cancel, pause
from redraft.cli.commands.batch.looking import results, status
from redraft.cli.commands.batch.working import resume, run
from redraft.cli.sections import Group

_EPILOG = """\b
Examples:
  redraft batch reports/*.pdf --words 200 -o out/
  redraft batch corpus.jsonl -w 200 --refine -g coverage=0.7 --max-cost 50
  redraft batch status
  redraft batch results 3fa2c1d0 --format csv > results.csv
  redraft batch resume 3fa2c1d0 --max-cost 100
"""


class _Batch(Group):
    """A group whose first word may be a document, or an option: then that is a batch to be run."""

    usual = "run"
    """The command that is meant where none is named."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        known = {*self.commands, *context.help_option_names}
        return super().parse_args(context, [self.usual, *args] if args and args[0] not in known else args)


@click.group(cls=_Batch, epilog=_EPILOG)
def batch() -> None:
    """Summarize any number of documents, by several workers, under one budget.

    `redraft batch FILES...` is short for `redraft batch run FILES...`. A batch that was stopped, killed or cut off by
    its budget goes on when its command is repeated.
    """


for each in (run, status, results, pause, cancel, resume):
    batch.add_command(each)
