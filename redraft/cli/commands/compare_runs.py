"""`redraft compare-runs`: compare runs in one file."""

from __future__ import annotations

import click

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.output_files import Form, check_output, form_of, form_options, hand_over, in_form
from redraft.cli.sections import command
from redraft.errors import UsageError

_EPILOG = """\b
Examples:
  redraft compare-runs 3fa2 9b1c -o compare.html
  redraft compare-runs first=3fa2 refined=9b1c --format json
  redraft compare-runs 3fa2 9b1c 77d0 e41a 05cc 6a8e -o models.html

Runs on one document are compared item by item. Runs on several documents are
grouped by model, strategy and settings, or by the NAME that is given, and paired
by document. No model is called.
"""


@command("compare-runs", epilog=_EPILOG)
@click.argument("runs", metavar="[NAME=]RUN...", nargs=-1, required=True)
@form_options("html", "json")
@options.embeddings
@options.db
@options.quiet
def compare_runs(
    runs: tuple[str, ...], output: str | None, form: Form | None, embeddings: str | None, db: str | None, quiet: bool
) -> int:
    """Compare two runs or more: scores with intervals, the questions and facts on which they differ, paired
    differences, score against cost, and where in the document they differ.
    """
    from redraft.report.dossier.comparison.build import read_beside
    from redraft.report.pages.comparison import comparison_page

    check_output(output)
    wanted = form_of(form, output, "add -o compare.html, or --format json")
    if wanted == "markdown":
        raise UsageError("a comparison is a page or JSON, not Markdown", hint="name a .html or .json file with -o")
    encoder = asked.encoder(embeddings)
    with asked.store_to_read(db) as store:
        beside = read_beside(store, runs, encoder=encoder)
    hand_over(in_form(beside, wanted, comparison_page), beside.holds, output, quiet=quiet)
    return 0
