"""`redraft lineage`: where each sentence of a summary comes from, and what was lost on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.sections import command
from redraft.domain import record_json
from redraft.errors import UsageError
from redraft.settings import JudgeConfig

if TYPE_CHECKING:
    from redraft.report.history.lineage import Lineage
    from redraft.report.history.lost import Losses
    from redraft.runs.session import Session

_EPILOG = """\b
Examples:
  redraft lineage 3fa2c1d0
  redraft lineage 3fa2 --lost
  redraft lineage 3fa2 --trace openai:gpt-5-mini

Without --trace no model is called. With it, a model is asked about sentences that
cannot be found by their words. It uses at most 12% of the tokens that drafting the
summary took.
"""


@command(
    epilog=_EPILOG,
    first=("lost", "trace", "base-url", "key-env", "embeddings", "max-cost", "dry-run", "db", "json", "quiet"),
)
@click.argument("run_id", metavar="RUN")
@options.typed_option(
    "--lost",
    section="output",
    is_flag=True,
    help="Show key facts (or else questions) of the document that the summary lacks, and at which step each was lost.",
)
@options.typed_option(
    "--trace",
    "trace_by",
    section="model",
    metavar="MODEL",
    help="Ask this model about sentences that cannot be traced by their words.",
)
@options.embeddings
@options.setup_options
@options.limit_options
@options.prices
@options.dry_run
@options.store_options
def lineage(
    run_id: str, lost: bool, trace_by: str | None, dry_run: bool, db: str | None, as_json: bool, **given: Any
) -> int:
    """Show where each sentence of RUN's summary comes from: its places in the document, how certain they are, the
    intermediate texts, and where these differ from the document.
    """
    from redraft.cli.views import lineages
    from redraft.cli.views.render import show
    from redraft.report.history.lineage import read_lineage
    from redraft.report.history.lost import read_losses

    if dry_run and not trace_by:
        raise UsageError("without --trace no model is called", hint="leave --dry-run out, or name a model with --trace")
    if lost and trace_by:
        raise UsageError("--lost asks no model", hint="leave --trace out; what a judge said of the summary is used")
    if trace_by:
        return _traced(run_id, trace_by, dry_run=dry_run, db=db, as_json=as_json, **given)
    with asked.store_to_read(db) as store:
        read = read_losses if lost else read_lineage
        found: Lineage | Losses = read(store, run_id, encoder=asked.encoder(given["embeddings"]))
    show(record_json(found), lineages.lines(found), as_json=as_json)
    return 0


def _traced(run_id: str, model: str, *, dry_run: bool, db: str | None, as_json: bool, **given: Any) -> int:
    """With a model's help, which is a run of its own; or what that would ask."""
    from redraft.cli.runner import work
    from redraft.cli.views import lineages
    from redraft.cli.views.render import show
    from redraft.runs.lineage import foreseen, to_trace
    from redraft.runs.prepare import prepare

    with asked.store_to_read(db) as store:
        run = store.runs.get(run_id)
        chunks = {"chunk_tokens": run.settings.chunk_tokens, "language": run.settings.language}
        settings = asked.settings({**given, **chunks, "model": model})
        limits, prices = asked.limits(given), asked.prices(given)
        document, order = to_trace(store, run_id, settings, JudgeConfig(), given["embeddings"])
        if dry_run:
            prepared = prepare(document, order.settled(settings), given=order.given)
            plan = foreseen(store, run.id, prepared)
            lineages.show_plan(plan, as_json=as_json)
            return 0

        async def traced(session: Session) -> Lineage:
            return await session.lineage(run.id, ask=True, embeddings=given["embeddings"])

        found = work(store, traced, limits=limits, prices=prices, quiet=given["quiet"], settings=settings)
    show(record_json(found), lineages.lines(found), as_json=as_json)
    return 0
