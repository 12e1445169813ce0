"""`redraft experiment report`: stored results as one page, every table with its pictures."""

from __future__ import annotations

import click

from redraft.cli import options
from redraft.cli.output_files import hand_over
from redraft.cli.sections import command

_EPILOG = """\b
Examples:
  redraft experiment report results/ -o report.html
  redraft experiment report ours/ theirs/tables.json -o compare.html

RESULTS is a folder that an experiment or redraft agree wrote with -o, a folder
of such folders, or a published tables.json. Results of the same experiment are
shown side by side. No model is called.
"""


@command(short_help="Show stored results as one page with pictures.", epilog=_EPILOG)
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...")
@options.typed_option(
    "--output", "-o", section="output", required=True, metavar="FILE", help="Write the page to this file; - is stdout."
)
@options.quiet
def report(results: tuple[str, ...], output: str, quiet: bool) -> int:
    """Show RESULTS of experiments as one HTML page: every table with its pictures and its data for download.

    The page works offline.
    """
    from redraft.cli.output_files import check_output
    from redraft.lab.experiments.published import read_results
    from redraft.report.pages.report import report_page

    target = None if output == "-" else output
    check_output(target)
    found = read_results(results)
    says = f"{len(found)} set{'s' * (len(found) != 1)} of results"
    hand_over(report_page(found), says, target, quiet=quiet)
    return 0
