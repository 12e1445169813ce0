"""`redraft export`: everything there is to look at in a run, in one file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

import click

from redraft.cli import options
from redraft.cli.sections import command
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.dossier.contents import Dossier

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
  redraft export 3fa2c1d0 -o dossier.html
  redraft export 3fa2 --no-source -o to-send.html
  redraft export 3fa2 --format markdown | less
  redraft export 3fa2 --format json > run.json

The HTML file stands alone: it opens from a disk, asks no network for anything,
and has the document's text in it unless --no-source is given.
"""


@command(short_help="Write a run as one file to look at.", epilog=_EPILOG)
@click.argument("run_id", metavar="RUN")
@options.typed_option("--output", "-o", section="output", metavar="FILE", help="Write it there instead of to stdout.")
@options.typed_option(
    "--format",
    "form",
    section="output",
    type=click.Choice(["html", "markdown", "json"]),
    help="A page, Markdown, or all of it for programs; without it, as FILE is called, or else a page.",
)
@options.typed_option(
    "--no-source",
    section="output",
    is_flag=True,
    help="Leave the document's text out, but for the passages that are cited.",
)
@options.embeddings
@options.db
@options.quiet
def export(
    run_id: str,
    output: str | None,
    form: Form | None,
    no_source: bool,
    embeddings: str | None,
    db: str | None,
    quiet: bool,
) -> int:
    """Write RUN as one file: its summary beside the document, each sentence with its sources, findings and what became
    of them, rounds, key facts, partial summaries, calls, settings and prompts.
    """
    from pathlib import Path

    from redraft.cli.files import check_output, write
    from redraft.cli.given import store_to_read
    from redraft.cli.terminal import say
    from redraft.dossier.reading import read_dossier
    from redraft.text.embeddings import load_encoder

    check_output(output)
    wanted = form or _BY_SUFFIX.get(Path(output or ".html").suffix.lower(), "html")
    if output is None and wanted == "html" and sys.stdout.isatty():
        raise UsageError("a page is nothing for a terminal", hint=f"redraft export {run_id} -o dossier.html")
    encoder = load_encoder(embeddings) if embeddings else None
    with store_to_read(db) as store:
        dossier = read_dossier(store, run_id, source=not no_source, encoder=encoder)
    text = _written(dossier, wanted)
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
        return 0
    write(Path(output).expanduser(), text, "name another file with -o")
    if not quiet:
        say(f"written to {output}: {len(text.encode()) / 1000:,.0f} KB. {dossier.holds}")
    return 0


def _written(dossier: Dossier, form: Form) -> str:
    """The dossier in one of its forms."""
    if form == "json":
        return dossier.model_dump_json(indent=2) + "\n"
    if form == "markdown":
        from redraft.pages.markdown import dossier_markdown

        return dossier_markdown(dossier)
    from redraft.pages.dossier import dossier_page

    return dossier_page(dossier)
