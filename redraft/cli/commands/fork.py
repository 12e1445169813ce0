"""`redraft fork`: a round of a run taken up again in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.output_files import target
from redraft.cli.sections import command
from redraft.cli.terminal import reading

if TYPE_CHECKING:
    from redraft.report.outputs.formats import Format

_EPILOG = """\b
Examples:
  redraft fork 3fa2c1d0 --round 1 -g consistency=0.9
  redraft fork 3fa2c1d0 --round 0 --policy all --rounds 8
  redraft fork 3fa2c1d0 --round 2 --findings lost.json

`redraft trace RUN` shows the rounds.
"""


@command(
    epilog=_EPILOG,
    first=("round", "goal", "rounds", "policy", "tolerance", "review", "max-cost", "output", "json", "quiet"),
)
@click.argument("run_id", metavar="RUN")
@options.typed_option(
    "--round",
    "number",
    section="refining",
    type=click.IntRange(min=0),
    required=True,
    metavar="N",
    help="The round whose draft to begin with.",
)
@options.findings
@options.refining_options
@options.limit_options
@options.prices
@options.summary_output
@options.store_options
def fork(
    run_id: str,
    number: int,
    findings: str | None,
    output: str | None,
    form: Format | None,
    quiet: bool,
    **given: Any,
) -> int:
    """Refine the draft of a round of RUN anew, in a run of its own.

    The goals given here are added to those of RUN or replace them; everything else is as it was there, unless it is
    given on the command line. What was judged is not asked again.
    """
    reading(f"run {run_id}", quiet=quiet)
    from redraft.cli.runner import work
    from redraft.cli.views.outcome import finish

    to = target(output, form, as_json=given["as_json"])
    table = asked.prices(given)
    with asked.store_to_read(given["db"]) as store:
        before = store.runs.get(run_id)
        # What a settings file says is meant for new runs; this one has its settings from the other.
        refinement = asked.refinement(asked.typed(given), before.refinement)
        limits, wanted = asked.limits(given, before.limits), asked.findings(findings, review=refinement.review)
        result = work(
            store,
            lambda session: session.fork(run_id, number, refinement=refinement, findings=wanted),
            limits=limits,
            prices=table,
            quiet=quiet,
            # The run that it is forked from knows nothing of who is named only now.
            decider=asked.models_named(asked.typed(given)).get(refinement.decider or ""),
        )
        return finish(store, result, target=to, as_json=to.as_json, quiet=quiet)
