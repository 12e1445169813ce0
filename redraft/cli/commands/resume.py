"""`redraft resume`: a run that stopped goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.output_files import target
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.report.outputs.formats import Format

_EPILOG = """\b
Examples:
  redraft resume 3fa2c1d0
  redraft resume 3fa2 --max-cost 2
  redraft resume 3fa2 -o summary.docx
"""


@command(epilog=_EPILOG)
@click.argument("run_id", metavar="RUN")
@options.limit_options
@options.prices
@options.summary_output
@options.store_options
def resume(run_id: str, output: str | None, form: Format | None, quiet: bool, **given: Any) -> int:
    """Resume RUN where it stopped; nothing is paid for twice.

    The run keeps its settings and its output file. Limits given here replace its own.
    """
    reading(f"run {run_id}", quiet=quiet)
    from redraft.cli.runner import work
    from redraft.cli.views.outcome import finish

    table = asked.prices(given)
    with asked.store_to_read(given["db"]) as store:
        run = store.runs.get(run_id)
        if form not in (None, "json") and run.kind not in ("summarize", "refine"):
            raise UsageError(
                f"run {run.id} makes no summary, so --format does not apply", hint="leave it out, or use --format json"
            )
        to = target(output or run.output, form, as_json=given["as_json"])
        limits = asked.limits(given, run.limits)
        result = work(
            store, lambda session: session.resume(run_id, limits=limits), limits=limits, prices=table, quiet=quiet
        )
        return finish(store, result, target=to, as_json=to.as_json, quiet=quiet)
