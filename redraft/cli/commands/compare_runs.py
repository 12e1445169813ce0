"""`redraft compare-runs`: runs beside each other, in one file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

import click

from redraft.cli import options
from redraft.cli.sections import command
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.dossier.beside.contents import RunsBeside

Form = Literal["html", "markdown", "json"]
_BY_SUFFIX: dict[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
}
_EPILOG = """\b
Examples:
  redraft compare-runs 3fa2 9b1c -o compare.html
  redraft compare-runs first=3fa2 refined=9b1c --format markdown
  redraft compare-runs 3fa2 9b1c 77d0 e41a 05cc 6a8e -o models.html

Runs on one document are held against each other item by item: what flipped
comes first. Runs on several documents are those of contestants: what has model,
strategy and settings in common, or the NAME that is given. They are paired by
document. Nobody is asked anything.
"""


@command("compare-runs", short_help="Hold runs against each other: scores, flips, places.", epilog=_EPILOG)
@click.argument("runs", metavar="[NAME=]RUN...", nargs=-1, required=True)
@options.typed_option("--output", "-o", section="output", metavar="FILE", help="Write it there instead of to stdout.")
@options.typed_option(
    "--format",
    "form",
    section="output",
    type=click.Choice(["html", "markdown", "json"]),
    help="A page, Markdown, or all of it for programs; without it, as FILE is called, or else a page.",
)
@options.embeddings
@options.db
@options.quiet
def compare_runs(
    runs: tuple[str, ...], output: str | None, form: Form | None, embeddings: str | None, db: str | None, quiet: bool
) -> int:
    """Hold two judged runs or more against each other: scores with intervals, the questions and facts that flipped,
    paired differences, score against cost, and where in the document they differ.
    """
    from pathlib import Path

    from redraft.cli.files import check_output, write
    from redraft.cli.given import store_to_read
    from redraft.cli.terminal import say
    from redraft.dossier.beside.reading import read_beside
    from redraft.text.embeddings import load_encoder

    check_output(output)
    wanted = form or _BY_SUFFIX.get(Path(output or ".html").suffix.lower(), "html")
    if output is None and wanted == "html" and sys.stdout.isatty():
        raise UsageError("a page is nothing for a terminal", hint="add -o compare.html, or --format markdown")
    encoder = load_encoder(embeddings) if embeddings else None
    with store_to_read(db) as store:
        beside = read_beside(store, runs, encoder=encoder)
    text = _written(beside, wanted)
    if output is None:
        click.echo(text, nl=False)
        return 0
    write(Path(output).expanduser(), text, "name another file with -o")
    if not quiet:
        say(f"written to {output}: {len(text.encode()) / 1000:,.0f} KB. {beside.holds}")
    return 0


def _written(beside: RunsBeside, form: Form) -> str:
    """The comparison in one of its forms."""
    if form == "json":
        return beside.model_dump_json(indent=2) + "\n"
    if form == "markdown":
        from redraft.pages.comparison_markdown import comparison_markdown

        return comparison_markdown(beside)
    from redraft.pages.comparison import comparison_page

    return comparison_page(beside)
