"""`redraft agree sheet` and `redraft agree read`: what people say of single verdicts, on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from redraft.cli import delivery, options
from redraft.cli.given import store_to_read
from redraft.cli.sections import command
from redraft.cli.terminal import say
from redraft.files import write

_WHAT = ("facts", "queries", "alignment", "verification", "claims")
_SHEET = """\b
Examples:
  redraft agree sheet 3fa2c1d0 --what facts --sample 600 -o facts.csv
  redraft agree sheet 3fa2 77b0 --what verification --people 3 -o sheet.csv

What the judge has said is not in the sheet. People fill in yes or no, each in a
column, or each in a copy; `redraft agree read` takes one file or several. What
somebody has said of findings in the studio stands in the first column already.
"""
_READ = """\b
Examples:
  redraft agree read facts.csv
  redraft agree read anna.csv ben.csv carla.csv -o results
"""


@command("sheet", short_help="Write a sheet on which people say what is right.", epilog=_SHEET)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@options.typed_option(
    "--what",
    section="summary",
    type=click.Choice(_WHAT),
    required=True,
    help="What people are asked about: whether key facts and queries are valid, whether a fact is in the summary"
    " (alignment), whether a sentence (verification) or an answer (claims) is borne out.",
)
@options.typed_option(
    "--sample",
    "size",
    section="summary",
    type=click.IntRange(min=1),
    default=600,
    metavar="N",
    help="Most rows, drawn at random from all RUNs; 600 are HAMLET's.",
)
@options.typed_option("--seed", section="summary", type=int, default=0, metavar="N", help="Another number, other rows.")
@options.typed_option(
    "--people",
    section="summary",
    type=click.IntRange(1, 20),
    default=3,
    metavar="N",
    help="Columns for answers.",
)
@options.typed_option("--output", "-o", section="output", metavar="FILE", help="Write it there instead of stdout.")
@options.db
@options.quiet
def sheet(runs: tuple[str, ...], output: str | None, db: str | None, quiet: bool, **given: Any) -> int:
    """Write a sheet, as CSV, on which people say of what RUNs have built or judged whether it is right."""
    from redraft.agreement.sheets.opinions import answers
    from redraft.agreement.sheets.questions import questions
    from redraft.agreement.sheets.sampling import drawn, margin_of
    from redraft.agreement.sheets.sheet import written

    with store_to_read(db) as store:
        everything = questions(store, runs, given["what"])
        known = answers(store, runs, given["what"], everything)
    chosen = drawn(everything, given["size"], given["seed"])
    text = written(chosen, given["what"], given["people"], known)
    if output:
        write(Path(output).expanduser(), text, "name another file with -o")
    else:
        click.echo(text, nl=False)
    if not quiet:
        margin = margin_of(len(chosen), len(everything)) or 0.0
        say(f"{len(chosen)} of {len(everything)} rows: a share of them is off by up to ±{margin:.1%}, 95 times in 100")
    return 0


@command("read", short_help="Read what people have filled in.", epilog=_READ)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@delivery.output
@options.db
@options.as_json
@options.quiet
def read(files: tuple[str, ...], output: str | None, db: str | None, as_json: bool, quiet: bool) -> int:
    """Read the sheets that people have filled in: what most of them say, beside what the judge has said."""
    from redraft.agreement.sheets.sheet import read_sheets
    from redraft.agreement.sheets.sheet_report import sheet_report

    folder = delivery.folder(output)
    answers = read_sheets(files)
    with store_to_read(db) as store:
        report = sheet_report(store, answers)
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return delivery.SHORT if answers.troubles else delivery.DONE
