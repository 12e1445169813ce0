"""The group of experiments."""

from __future__ import annotations

import click

from redraft.cli.commands.experiment.booookscore import booookscore
from redraft.cli.commands.experiment.papers import chunk_size, context, grid, hamlet, longsumeval, qa, thesis
from redraft.cli.commands.experiment.report import report
from redraft.cli.sections import CommandGroup

_EPILOG = """\b
Examples:
  redraft experiment grid books/ -m openai:a -m openai:b --judge openai:c -o out
  redraft experiment longsumeval books/ -m openai:a -o out
  redraft experiment hamlet book.txt -m openai:a --judge openai:c -o out
  redraft experiment context book.txt -m openai:a -m openai:b -o out
  redraft experiment chunk-size book.txt --judge openai:c -o out
  redraft experiment booookscore --summaries summaries.json --judge openai:c
  redraft experiment qa book.txt -m openai:a -m openai:b --judge openai:c -o out
  redraft experiment report out -o report.html
"""


@click.group(cls=CommandGroup, epilog=_EPILOG)
def experiment() -> None:
    """Compare models and settings on your documents, or run the experiments of the papers on them.

    To continue a stopped experiment, repeat its command with the same database: nothing is paid for twice, and a
    finished one prints the same tables to the byte.
    """


for each in (grid, context, qa, thesis, longsumeval, hamlet, chunk_size, booookscore, report):
    experiment.add_command(each)
