"""The group of commands that hold judges against people; without the name of one it takes a file of annotations."""

from __future__ import annotations

import click

from redraft.cli.commands.agree.annotations import with_
from redraft.cli.commands.agree.listing import list_
from redraft.cli.commands.agree.sheet import read, sheet
from redraft.cli.sections import Group

_EPILOG = """\b
Examples:
  redraft agree mturk_cnndm.jsonl --format qags --model extractive
  redraft agree labels.jsonl --metric coverage --human relevance \\
      --judge openai:a --judge openai:b --max-cost 5
  redraft agree sheet 3fa2c1d0 --what facts --sample 600 -o facts.csv
  redraft agree read facts.csv
"""


class _Agree(Group):
    """A group whose first word may be a file: then that is held against the judges."""

    usual = "with"
    """The command that is meant where none is named."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        known = {*self.commands, *context.help_option_names}
        return super().parse_args(context, [self.usual, *args] if args and args[0] not in known else args)


@click.group(cls=_Agree, epilog=_EPILOG)
def agree() -> None:
    """How far do judges agree with people?

    `redraft agree FILE` is short for `redraft agree with FILE`.
    """


for each in (with_, sheet, read, list_):
    agree.add_command(each)
