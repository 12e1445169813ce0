"""`redraft lineage`: where each sentence of a summary comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from redraft.cli import options
from redraft.cli.sections import command

if TYPE_CHECKING:
    from redraft.history.lineage import Lineage
    from redraft.history.lost import Losses
    from redraft.text.embeddings import Encoder

_EPILOG = """\b
Examples:
  redraft lineage 3fa2c1d0
  redraft lineage 3fa2 --lost
"""


@command(short_help="Show where each sentence of a summary comes from.", epilog=_EPILOG)
@click.argument("run_id", metavar="RUN")
@options.typed_option(
    "--lost",
    section="output",
    is_flag=True,
    help="Show what the document has and the summary has not, of its key facts or else its questions, and at which step"
    " each was lost.",
)
@options.embeddings
@options.db
@options.as_json
def lineage(run_id: str, lost: bool, embeddings: str | None, db: str | None, as_json: bool) -> int:
    """Show where each sentence of RUN's summary comes from: the places of the document, how sure that is, the texts in
    between, and where these say something else than the document.
    """
    from redraft.cli.given import store_to_read
    from redraft.cli.views import lineages
    from redraft.cli.views.render import echo_json
    from redraft.history.lineage import read_lineage
    from redraft.history.lost import read_losses

    with store_to_read(db) as store:
        read = read_losses if lost else read_lineage
        found: Lineage | Losses = read(store, run_id, encoder=_encoder(embeddings))
    if as_json:
        echo_json(found.to_json())
        return 0
    for line in lineages.lines(found):
        click.echo(line)
    return 0


def _encoder(name: str | None) -> Encoder | None:
    from redraft.text.embeddings import load_encoder

    return load_encoder(name) if name else None
