"""`redraft export`: everything there is to look at in a run, in one file."""

from __future__ import annotations

import click

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.output_files import Form, check_output, form_of, form_options, hand_over, in_form
from redraft.cli.sections import command

_EPILOG = """\b
Examples:
  redraft export 3fa2c1d0 -o dossier.html
  redraft export 3fa2 --no-source -o to-send.html
  redraft export 3fa2 --format markdown | less
  redraft export 3fa2 --format json > run.json

The HTML file is self-contained: it works offline, and includes the document's
text unless --no-source is given.
"""


@command(epilog=_EPILOG)
@click.argument("run_id", metavar="RUN")
@form_options("html", "markdown", "json")
@options.typed_option(
    "--no-source", section="output", is_flag=True, help="Leave out the document's text, except for cited passages."
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
    """Export RUN as one file: the summary beside the document, the sources of each sentence, findings, rounds, key
    facts, partial summaries, calls, settings and prompts.
    """
    from redraft.report.dossier.build import read_dossier
    from redraft.report.pages.comparison import dossier_markdown
    from redraft.report.pages.dossier import dossier_page

    check_output(output)
    wanted = form_of(form, output, f"redraft export {run_id} -o dossier.html")
    encoder = asked.encoder(embeddings)
    with asked.store_to_read(db) as store:
        dossier = read_dossier(store, run_id, source=not no_source, encoder=encoder)
    hand_over(in_form(dossier, wanted, dossier_page, dossier_markdown), dossier.holds, output, quiet=quiet)
    return 0
